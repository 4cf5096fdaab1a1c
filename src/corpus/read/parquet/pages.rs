//! Pages that are looked at before they are decoded: the decoders allocate what a page claims.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pages of more values than this in a column of lists, or a row that goes on over so many, are no documents: a few
/// bytes can stand for millions of equal values, and a row is decoded as a whole.
const MAX_VALUES: usize = 1 << 24;

/// The pages of one column chunk.
pub(super) struct Pages {
    inner: Box<dyn PageReader>,
    /// Values in pages since the current batch of rows began, where rows have lists.
    n_values: Option<Arc<AtomicUsize>>,
}

impl Pages {
    pub(super) fn new(inner: Box<dyn PageReader>, n_values: Option<Arc<AtomicUsize>>) -> Self {
        Self { inner, n_values }
    }

    fn check(&self, page: &Page) -> Result<()> {
        let n_values = page.num_values() as usize;
        let too_many = match page {
            // Every value takes up four bytes at least.
            Page::DictionaryPage { buf, .. } => n_values > buf.len() / 4,
            _ => self.n_values.as_ref().is_some_and(|sum| {
                n_values.saturating_add(sum.fetch_add(n_values, Ordering::Relaxed)) > MAX_VALUES
            }),
        };
        if too_many {
            return Err(ParquetError::General(format!("a page or row claims {n_values} values, too many")));
        }
        match page.encoding() {
            encoding @ (Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) => {
                Err(ParquetError::NYI(format!("encoding {encoding}; write it plain or with a dictionary")))
            }
            _ => Ok(()),
        }
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

//! Documents from a source of one's own: a `Reader` gives one after another, and `ingest_reader` makes a corpus of them, with the
//! vocabulary chosen by how often words occur. A source that has token numbers already needs no reader: see `Corpus::push`.

use noisyor::corpus::read::{OnFault, Reader};
use noisyor::corpus::{Df, Document, IngestOptions, WordOptions, ingest_reader};
use noisyor::{Corpus, Error, Monitor, Result};

/// Records as a database or a queue might give them: an id and tags.
struct Records(std::vec::IntoIter<(u32, &'static str)>);

impl Reader for Records {
    /// Fills an empty document with names of tokens; text would go into `document.text` and be split into words. False ends it.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        for (id, tags) in self.0.by_ref() {
            if tags.is_empty() {
                // A strict reading ends with the fault; a check would note it and go on behind it.
                on_fault(Error::input("records".as_ref(), None, format!("record {id} has no tags")))?;
                continue;
            }
            document.id = format!("record-{id}");
            tags.split(',').for_each(|tag| {
                document.words.push(tag);
            });
            return Ok(true);
        }
        Ok(false)
    }
}

fn read(records: Vec<(u32, &'static str)>) -> Result<Corpus> {
    let mut corpus = Corpus::default();
    // Tags of one record alone are left out.
    let words = WordOptions { min_df: Some(Df::Docs(2)), ..WordOptions::default() };
    let options = IngestOptions { words, ..IngestOptions::default() };
    let reader = Box::new(Records(records.into_iter()));
    let ingested = ingest_reader("records".as_ref(), reader, &options, &mut corpus, &Monitor::default())?;
    println!("{} documents, {} of {} tags kept", ingested.n_docs, ingested.n_tokens, ingested.n_words);
    Ok(corpus)
}

fn main() -> Result<()> {
    let corpus = read(vec![(7, "red,round"), (8, "red,square,heavy"), (9, "square,red")])?;
    let names = corpus.token_names().map(|names| names.iter().collect::<Vec<_>>()).unwrap_or_default();
    println!("tags: {names:?}");
    for doc_ix in 0..corpus.n_docs() {
        let tags: Vec<&str> = corpus.tokens(doc_ix).iter().map(|&token| names[token as usize]).collect();
        println!("{}: {tags:?}", corpus.id(doc_ix));
    }
    assert_eq!(names, ["red", "square"]);
    assert_eq!((corpus.id(1), corpus.tokens(1)), ("record-8".into(), &[0, 1][..]));

    let fault = read(vec![(1, "red"), (2, "")]);
    assert!(
        matches!(&fault, Err(Error::Input { message, .. }) if message == "record 2 has no tags"),
        "{fault:?}"
    );
    Ok(())
}

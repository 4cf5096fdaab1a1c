//! A corpus in memory: documents as CSR, with ids, labels and token names where there are any.

/// One document as a reader gives it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Tokens that occur, in any order; a repeated one counts once.
    pub tokens: Vec<u32>,
    /// The document's id.
    pub id: Option<String>,
    /// The document's label.
    pub label: Option<String>,
}

/// Documents in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    doc_offsets: Vec<u64>,
    tokens: Vec<u32>,
    token_names: Option<Vec<String>>,
    ids: Vec<Option<String>>,
    labels: Vec<Option<String>>,
}

impl Default for Corpus {
    fn default() -> Self {
        Self { doc_offsets: vec![0], tokens: vec![], token_names: None, ids: vec![], labels: vec![] }
    }
}

impl Corpus {
    /// Adds a document; its tokens are sorted, repeats dropped. Ids and labels are kept from the first
    /// document that has one.
    pub fn push(&mut self, document: &mut Document) {
        document.tokens.sort_unstable();
        document.tokens.dedup();
        self.tokens.extend(&document.tokens);
        let doc_ix = self.n_docs();
        for (list, value) in [(&mut self.ids, &mut document.id), (&mut self.labels, &mut document.label)] {
            if value.is_some() || !list.is_empty() {
                list.resize(doc_ix, None);
                list.push(value.take());
            }
        }
        self.doc_offsets.push(self.tokens.len() as u64);
    }

    /// A corpus from lists of token numbers.
    pub fn from_tokens(docs: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut corpus = Self::default();
        for tokens in docs {
            corpus.push(&mut Document { tokens, ..Document::default() });
        }
        corpus
    }

    /// Sets the tokens' names.
    pub fn set_token_names(&mut self, names: Option<Vec<String>>) {
        self.token_names = names;
    }

    /// Names of the tokens, where the corpus has them.
    pub fn token_names(&self) -> Option<&[String]> {
        self.token_names.as_deref()
    }

    /// Number of documents, empty ones included.
    pub fn n_docs(&self) -> usize {
        self.doc_offsets.len() - 1
    }

    /// Number of tokens over all documents.
    pub fn n_occurrences(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens of one document, ascending.
    #[inline]
    pub fn tokens(&self, doc_ix: usize) -> &[u32] {
        &self.tokens[self.doc_offsets[doc_ix] as usize..self.doc_offsets[doc_ix + 1] as usize]
    }

    /// A document's id, or its number as text.
    pub fn id(&self, doc_ix: usize) -> std::borrow::Cow<'_, str> {
        match self.ids.get(doc_ix) {
            Some(Some(id)) => id.as_str().into(),
            _ => doc_ix.to_string().into(),
        }
    }

    /// A document's label.
    pub fn label(&self, doc_ix: usize) -> Option<&str> {
        self.labels.get(doc_ix)?.as_deref()
    }
}

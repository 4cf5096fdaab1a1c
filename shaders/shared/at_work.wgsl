// Whether a document is at work, where nobody changes that.
fn is_at_work(doc: u32, step: u32) -> bool {
    return doc_state[doc] >= step;
}

// What runs once is for all documents.
fn is_at_work(doc: u32, step: u32) -> bool {
    return true;
}

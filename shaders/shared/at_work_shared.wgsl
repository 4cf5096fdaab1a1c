// Whether a document is at work, where several threads may say that it stays so.
fn is_at_work(doc: u32, step: u32) -> bool {
    return atomicLoad(&doc_state[doc]) >= step;
}

fn stay_at_work(doc: u32, step: u32) {
    atomicStore(&doc_state[doc], step);
}

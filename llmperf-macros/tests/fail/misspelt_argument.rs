//! A slip of the keyboard.

#[llmperf::retrieval(store = "qdrant", topk = 8)]
async fn search(query: &str) -> Vec<String> {
    vec![query.to_owned()]
}

fn main() {
    drop(search("a"));
}

//! A literal of the wrong kind.

#[llmperf::retrieval(top_k = "8")]
async fn search(query: &str) -> Vec<String> {
    vec![query.to_owned()]
}

fn main() {
    drop(search("a"));
}

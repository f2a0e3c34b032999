//! An expression of the wrong type.

#[llmperf::retrieval(top_k = query)]
async fn search(query: &str) -> Vec<String> {
    vec![query.to_owned()]
}

fn main() {
    drop(search("a"));
}

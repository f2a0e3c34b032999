//! An expression over a parameter that there is not.

#[llmperf::retrieval(top_k = documents)]
async fn search(query: &str) -> Vec<String> {
    vec![query.to_owned()]
}

fn main() {
    drop(search("a"));
}

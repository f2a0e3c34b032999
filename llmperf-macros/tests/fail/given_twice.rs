//! The same argument again, with others between.

#[llmperf::retrieval(store = "qdrant", top_k = 8, store = "pgvector")]
async fn search(query: &str) -> Vec<String> {
    vec![query.to_owned()]
}

fn main() {
    drop(search("a"));
}

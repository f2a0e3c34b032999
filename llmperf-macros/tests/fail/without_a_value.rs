//! An argument that says nothing.

#[llmperf::retrieval(store)]
async fn search(store: &str) -> Vec<String> {
    vec![store.to_owned()]
}

fn main() {
    drop(search("a"));
}

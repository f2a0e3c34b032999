//! A promise cannot be measured.

trait Search {
    #[llmperf::retrieval]
    fn search(&self, query: &str) -> Vec<String>;
}

impl Search for () {
    fn search(&self, query: &str) -> Vec<String> {
        vec![query.to_owned()]
    }
}

fn main() {
    ().search("a");
}

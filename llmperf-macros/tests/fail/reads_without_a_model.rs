//! Nothing is called that the answer could tell of.

#[llmperf::generation(reads = |answer| llmperf::Output::text(answer))]
async fn answer() -> String {
    String::new()
}

fn main() {
    drop(answer());
}

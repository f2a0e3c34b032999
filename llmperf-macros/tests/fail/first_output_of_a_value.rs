//! There are no items to look at.

#[llmperf::pipeline(first_output = |item| item.is_some())]
async fn answer() -> Option<String> {
    None
}

fn main() {
    drop(answer());
}

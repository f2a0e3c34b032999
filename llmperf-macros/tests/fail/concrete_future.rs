//! A future whose type has no room for what measures it.

struct AnswerFuture;

#[llmperf::tool]
fn answer() -> AnswerFuture {
    AnswerFuture
}

fn main() {
    answer();
}

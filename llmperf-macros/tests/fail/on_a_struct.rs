//! No function at all.

#[llmperf::tool]
struct Weather;

fn main() {
    let _ = Weather;
}

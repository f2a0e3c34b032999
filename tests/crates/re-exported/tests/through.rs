//! Attributes that come through another crate.

use futures::executor::block_on;
use llmperf_re_exported::telemetry::{llmperf, llmperf::testing::Probe, tool};

#[tool(crate = llmperf_re_exported::telemetry::llmperf, name = "renamed")]
async fn by_name(n: u32) -> Result<u32, std::fmt::Error> {
    by_module(n).await
}

#[llmperf::agent(crate = llmperf)]
async fn by_module(n: u32) -> Result<u32, std::fmt::Error> {
    Ok(of_the_part(n).len() as u32)
}

#[llmperf_re_exported::telemetry::rag::retrieval(crate = llmperf_re_exported::telemetry::rag, top_k = n)]
fn of_the_part(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[test]
fn the_path_leads_through_the_crate_that_gives_them_on() {
    let probe = Probe::new();
    assert_eq!(block_on(probe.instrumentation().scope(async { by_name(2).await })), Ok(2));
    assert_eq!(probe.tree(), "execute_tool renamed\n  invoke_agent by_module\n    retrieval\n");
}

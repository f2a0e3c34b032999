//! Switched off, nothing is recorded and everything passes through: in a process of its own, since the switch is global.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io;

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{set_enabled, testing::Probe};
use llmperf_rag::{Cache, Index, Output, Work as _, current_query, generation, pipeline, retrieval};

#[test]
fn switched_off_everything_passes_and_nothing_is_recorded() {
    let probe = Probe::new();
    set_enabled(false);
    block_on(probe.instrumentation().scope(async {
        let answered = pipeline("support").run(async {
            let found = retrieval().store("a").relevant(&["d"]).search(async { io::Result::Ok([("d", 1.0)]) }).await?;
            assert_eq!(found, [("d", 1.0)]);
            assert!(current_query().is_none());
            Cache::new("c").stands_in().hit();
            let stage = generation().provider("openai").model("gpt");
            let items = async { io::Result::Ok(stream::iter(["a", "b"])) };
            Ok::<_, io::Error>(stage.open_with(items, |item| Output::text(item)).await?.collect::<Vec<_>>().await)
        });
        assert_eq!(answered.await.unwrap(), ["a", "b"]);
        let mut stage = generation().provider("openai").model("gpt").start();
        stage.answered(|| Output::text("a"));
        assert!(!stage.is_measured());
        stage.complete();
        Index::new("a").documents(3);
    }));
    assert!(
        probe.spans().is_empty()
            && probe.metric_names().is_empty()
            && probe.instrumentation().snapshot().series.is_empty()
    );
}

//! What the whole process shares: the switch, the propagator that the application set. One test, since they would see each
//! other.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use llmperf_agent::{Work as _, conclude, mcp, plan, run, step, tool, workflow};
use llmperf_core::{
    opentelemetry::{
        Context, global,
        propagation::{Extractor, Injector, TextMapPropagator, text_map_propagator::FieldIter},
        trace::TraceContextExt as _,
    },
    set_enabled,
    testing::Probe,
};

/// A propagator of another kind than the W3C's.
#[derive(Debug)]
struct Own([String; 1]);

impl TextMapPropagator for Own {
    fn inject_context(&self, context: &Context, injector: &mut dyn Injector) {
        injector.set("x-own", context.span().span_context().trace_id().to_string());
    }

    fn extract_with_context(&self, context: &Context, _: &dyn Extractor) -> Context {
        context.clone()
    }

    fn fields(&self) -> FieldIter<'_> {
        FieldIter::new(&self.0)
    }
}

fn injected() -> BTreeMap<String, String> {
    let mut meta = BTreeMap::new();
    mcp::inject(|key, value| drop(meta.insert(key.to_owned(), value)));
    meta
}

#[test]
fn the_switch_and_the_propagator_of_the_application_are_heeded() {
    let probe = Probe::new();
    set_enabled(false);
    let answer = probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        let answer = guard.in_scope(|| {
            conclude(llmperf_agent::AgentResult::GaveUp);
            tool("weather").arguments("Lisbon").start().fail("no_city");
            step("s").start().complete();
            plan("desk").start().complete();
            workflow("w").start().complete();
            mcp::call_tool("book").start().complete();
            injected()
        });
        guard.goal(&answer, BTreeMap::is_empty);
        guard.complete();
        answer
    });
    set_enabled(true);
    assert!(answer.is_empty());
    assert_eq!((probe.tree().as_str(), probe.metric_names()), ("", vec![]));

    global::set_text_map_propagator(Own(["x-own".to_owned()]));
    let meta = probe.instrumentation().sync_scope(|| {
        mcp::call_tool("book").in_scope(injected, |guard, meta| {
            guard.complete();
            meta
        })
    });
    let trace = probe.span().span_context.trace_id().to_string();
    assert_eq!(meta, BTreeMap::from([("x-own".to_owned(), trace)]));
}

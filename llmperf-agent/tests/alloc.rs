//! What a piece of work allocates: the row of the budget that noise cannot move.
#![allow(clippy::unwrap_used, reason = "tests")]

use allocation_counter::measure;
use llmperf_agent::{Work as _, run, step, tool};
use llmperf_core::{Instrumentation, testing::Probe};
use opentelemetry::{
    Context, KeyValue,
    trace::{SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _},
};

/// Allocations of one such piece of work. Instruments, attribute sets and names exist once: those before it make them.
fn of_one(work: impl Fn()) -> u64 {
    (0..3).for_each(|_| work());
    measure(work).count_total
}

/// The span that a user would write by hand, in the context of what goes on inside.
fn by_hand(probe: &Probe) -> u64 {
    let tracer = probe.tracer_provider().tracer("by-hand");
    of_one(|| {
        let attributes = [
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", "weather"),
            KeyValue::new("gen_ai.agent.name", "desk"),
        ];
        let builder = tracer.span_builder("execute_tool weather").with_kind(SpanKind::Internal);
        let context = Context::current_with_span(builder.with_attributes(attributes).start(&tracer));
        drop(context.clone().attach());
        context.span().set_attribute(KeyValue::new("llmperf.outcome", "complete"));
        context.span().end();
    })
}

#[test]
fn a_piece_of_work_allocates_no_more_than_its_bar() {
    let probe = Probe::new();
    let bare = Instrumentation::builder().build();
    let span = by_hand(&probe);
    // A name, attributes, what MCP requests inside look for; the rest is the frame, the context and, where there is a tracer,
    // the span that it records.
    for (instrumentation, bars) in [(probe.instrumentation(), [7, 6, 11]), (&bare, [4, 3, 7])] {
        instrumentation.sync_scope(|| {
            let tool_call = of_one(|| tool("weather").arguments("Lisbon").start().complete());
            let marked = of_one(|| step("search").start().complete());
            let whole = of_one(|| run("desk").start().complete());
            let made = [tool_call, marked, whole];
            let within = made.iter().zip(bars).all(|(made, more)| *made <= span + more);
            assert!(within, "tool, step, run: {made:?}, a bare span: {span}, and {bars:?}");
        });
    }
}

#[test]
fn a_repeated_call_allocates_as_much_as_any() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        guard.in_scope(|| {
            let plain = of_one(|| tool("weather").start().complete());
            let repeated = of_one(|| tool("weather").arguments("Lisbon").start().complete());
            assert!(repeated <= plain, "{repeated} of {plain}: nothing of the arguments is kept but their hash");
        });
        guard.complete();
    });
}

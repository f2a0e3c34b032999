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
    for (instrumentation, more) in [(probe.instrumentation(), 2), (&bare, 0)] {
        instrumentation.sync_scope(|| {
            let tool_call = of_one(|| tool("weather").arguments("Lisbon").start().complete());
            let marked = of_one(|| step("search").start().complete());
            let whole = of_one(|| run("desk").start().complete());
            // A name, attributes, what MCP requests inside look for; the rest is the frame, the context and the span.
            assert!(tool_call <= span + 7 + more, "tool: {tool_call}, a bare span: {span}");
            assert!(marked <= span + 6 + more, "step: {marked}, a bare span: {span}");
            assert!(whole <= span + 9 + more, "run: {whole}, a bare span: {span}");
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

//! What a stage and a pipeline allocate: the row of the budget that noise cannot move.
#![allow(clippy::unwrap_used, reason = "tests")]

use allocation_counter::measure;
use llmperf_core::{Instrumentation, testing::Probe};
use llmperf_rag::{Work as _, generation, pipeline, rerank, retrieval};
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
        let attributes =
            [KeyValue::new("gen_ai.operation.name", "retrieval"), KeyValue::new("llmperf.rag.stage", "retrieve")];
        let builder = tracer.span_builder("retrieval").with_kind(SpanKind::Client);
        let context = Context::current_with_span(builder.with_attributes(attributes).start(&tracer));
        drop(context.clone().attach());
        context.span().set_attribute(KeyValue::new("llmperf.outcome", "complete"));
        context.span().end();
    })
}

#[test]
fn a_stage_allocates_no_more_than_its_bar() {
    let probe = Probe::new();
    let bare = Instrumentation::builder().build();
    let span = by_hand(&probe);
    // A name, attributes, the frame by which what is made inside finds it; the rest is the context and, where there is a
    // tracer, the span that it records. A pipeline has a journal, and the breakdown of its time.
    for (instrumentation, bars) in [(probe.instrumentation(), [7, 6, 6, 10]), (&bare, [4, 3, 3, 6])] {
        instrumentation.sync_scope(|| {
            let made = [
                of_one(|| retrieval().store("qdrant").start().complete()),
                of_one(|| rerank().start().complete()),
                of_one(|| generation().start().complete()),
                of_one(|| pipeline("support").start().complete()),
            ];
            let within = made.iter().zip(bars).all(|(made, more)| *made <= span + more);
            assert!(within, "retrieval, rerank, generation, pipeline: {made:?}, a bare span: {span}, and {bars:?}");
        });
    }
}

//! Spans of work: names, kinds, parents, times; sampling; what there is without a provider.

use std::{collections::HashMap, time::Duration};

use futures::FutureExt as _;
use llmperf_core::{
    Instrumentation, Work as _, chat,
    opentelemetry::{
        Context, SpanId,
        trace::{SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _},
    },
    stats::{SeriesKind, Window},
    testing::Probe,
};
use opentelemetry_sdk::trace::{Sampler, SpanData};

use crate::{
    diagnosis::takes,
    job::{Ends, agent, pipeline, stage, step, tool},
};

/// Every span ends within its parent.
pub(crate) fn assert_within_parents(spans: &[SpanData]) {
    let by_id: HashMap<SpanId, &SpanData> = spans.iter().map(|span| (span.span_context.span_id(), span)).collect();
    for span in spans.iter().filter(|span| span.parent_span_id != SpanId::INVALID) {
        let parent = by_id[&span.parent_span_id];
        let within = parent.start_time <= span.start_time && span.end_time <= parent.end_time;
        assert!(within && span.start_time <= span.end_time, "{} reaches beyond {}", span.name, parent.name);
    }
}

fn value(span: &SpanData, key: &str) -> Option<String> {
    span.attributes.iter().find(|attribute| attribute.key.as_str() == key).map(|found| found.value.to_string())
}

#[test]
fn work_nests_with_calls_and_with_the_application_s_own_spans() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    probe.instrumentation().sync_scope(|| {
        let request = Context::current_with_span(tracer.start("request")).attach();
        agent("desk").in_scope(
            || {
                takes(&probe, tool("weather"), 10);
                step("first").in_scope(
                    || {
                        tracer.in_span("sql", |_| drop(chat("openai", "gpt-4o").start()));
                        pipeline("support").in_scope(|| takes(&probe, stage("retrieve", ""), 5), |g, ()| g.complete());
                    },
                    |guard, ()| guard.fail("x"),
                );
            },
            |guard, ()| guard.complete(),
        );
        drop(request);
    });
    let expected = "\
request
  agent desk
    tool weather
    step desk !
      pipeline support
        stage retrieve
      sql
        chat gpt-4o
";
    assert_eq!(probe.tree(), expected);
}

#[test]
fn a_span_has_its_name_kind_and_what_it_began_and_ended_with() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| takes(&probe, tool("weather"), 120));
    let span = probe.span();
    assert_eq!((&*span.name, span.span_kind.clone()), ("tool weather", SpanKind::Internal));
    assert_eq!(span.end_time.duration_since(span.start_time).unwrap(), Duration::from_millis(120));
    let values = ["job.name", "job.done", "llmperf.outcome", "error.type"].map(|key| value(&span, key));
    assert_eq!(values.map(Option::unwrap_or_default), ["weather", "true", "complete", ""]);
    assert_eq!(span.instrumentation_scope.name(), "llmperf");
}

#[test]
fn what_has_no_span_leaves_what_is_inside_to_the_span_around_it() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        pipeline("support").in_scope(
            || {
                stage("generate", "")
                    .spanless()
                    .in_scope(|| drop(chat("openai", "gpt-4o").start()), |g, ()| g.complete());
            },
            |guard, ()| guard.complete(),
        );
    });
    assert_eq!(probe.tree(), "pipeline support\n  chat gpt-4o\n");
    assert!(probe.instrumentation().snapshot().get(SeriesKind::Stage, "generate", "").is_some());
}

/// Somebody sets the clock of the machine back while a run goes on.
#[test]
fn spans_end_within_their_parents_whatever_is_done_to_the_system_s_clock() {
    let probe = Probe::new();
    let jump = || probe.clock().set_wall_back(Duration::from_secs(3_600));
    probe.instrumentation().sync_scope(|| {
        agent("desk").in_scope(
            || {
                probe.clock().advance(Duration::from_millis(30));
                jump();
                step("first").in_scope(
                    || {
                        takes(&probe, tool("weather"), 10);
                        jump();
                        let call = chat("openai", "gpt-4o").start();
                        probe.clock().advance(Duration::from_millis(30));
                        drop(call);
                    },
                    |guard, ()| guard.complete(),
                );
                jump();
            },
            |guard, ()| guard.complete(),
        );
    });
    assert_eq!(probe.spans().len(), 4);
    assert_within_parents(&probe.spans());
    let roots = || probe.spans().into_iter().filter(|span| span.parent_span_id == SpanId::INVALID);
    let run = roots().next().unwrap();
    assert_eq!(run.end_time.duration_since(run.start_time).unwrap(), Duration::from_millis(70));
    probe.instrumentation().sync_scope(|| takes(&probe, tool("later"), 1));
    assert!(roots().last().unwrap().start_time < run.start_time, "the control: outside of it the clock is what it is");
}

/// A call that is given its parent by hand takes its times from there, like one that is made there.
#[test]
fn a_call_with_a_given_parent_ends_within_it() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let run = agent("desk").start();
        probe.clock().set_wall_back(Duration::from_secs(60));
        probe.clock().advance(Duration::from_millis(5));
        let call = probe.chat("openai", "gpt-4o").parent(run.context()).start();
        probe.clock().advance(Duration::from_millis(5));
        drop(call);
        run.complete();
    });
    assert_eq!(probe.tree(), "agent desk\n  chat gpt-4o\n");
    assert_within_parents(&probe.spans());
}

#[test]
fn the_real_clock_keeps_spans_within_their_parents_too() {
    let probe = Probe::new();
    let real = Instrumentation::builder().tracer_provider(probe.tracer_provider()).build();
    for _ in 0..200 {
        real.sync_scope(|| {
            agent("desk").in_scope(
                || {
                    step("first").in_scope(|| drop(tool("weather").start()), |guard, ()| guard.complete());
                    drop(chat("openai", "gpt-4o").start());
                },
                |guard, ()| guard.complete(),
            );
        });
    }
    assert_eq!(probe.spans().len(), 800);
    assert_within_parents(&probe.spans());
}

#[test]
fn what_an_unsampled_run_holds_is_measured_and_leaves_no_stray_root() {
    let probe = Probe::sampled(Sampler::AlwaysOff, |builder| builder);
    let ends = Ends::default();
    probe.instrumentation().sync_scope(|| {
        agent("desk").told(&ends).in_scope(
            || {
                assert!(Context::current().span().span_context().is_valid(), "what is made here has a parent");
                takes(&probe, tool("weather").told(&ends), 10);
                drop(chat("openai", "gpt-4o").start());
            },
            |guard, ()| guard.complete(),
        );
    });
    assert_eq!((probe.spans().len(), ends.lock().unwrap().len()), (0, 2));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    let snapshot = probe.instrumentation().snapshot();
    assert_eq!(snapshot.diagnose().roots[0].shares.len(), 2, "the tool and the call");
}

#[test]
fn without_a_provider_there_are_statistics_and_nothing_is_attached_to_lone_work() {
    let instrumentation = Instrumentation::builder().build();
    instrumentation.sync_scope(|| {
        pipeline("support").in_scope(
            || {
                assert!(!Context::current().span().span_context().is_valid());
                drop(tool("weather").start());
            },
            |guard, ()| guard.complete(),
        );
    });
    let snapshot = instrumentation.snapshot();
    let run = snapshot.get(SeriesKind::Pipeline, "support", "").unwrap().window(Window::SinceStart).unwrap();
    assert_eq!((run.outcomes.complete, run.slowest[0].trace_id), (1, None));
    assert_eq!(run.slowest[0].breakdown.as_ref().unwrap().parts[0].title.name.as_str(), "weather");
    let lone = stage("retrieve", "").run_then(async { Context::current() }, |guard, inside| {
        guard.complete();
        inside
    });
    let inside = lone.now_or_never().unwrap();
    assert!(!inside.has_active_span());
}

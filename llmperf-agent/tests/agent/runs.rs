//! Runs: results, outcomes, totals, figures, objectives.

use std::{io, task::Poll, time::Duration};

use futures::{StreamExt as _, stream};
use llmperf_agent::{AgentResult, Work as _, conclude, run, step, tool};
use llmperf_core::{
    Objective, Output, Price, Prices, Slo, chat,
    stats::{Figure, SeriesKind, Window},
    testing::{Point, Probe},
};
use opentelemetry_sdk::trace::SpanData;

use crate::{attribute, failing, scripted_panic, settled, silent};

/// One model call with tokens.
pub(crate) fn call(input: u64, output: u64) {
    let mut call = chat("openai", "gpt-4o-mini").start();
    call.on_chunk(Output::text("thinking"));
    call.on_chunk(Output::usage(input, output));
    drop(call.finish());
}

fn result_of(span: &SpanData) -> &str {
    attribute(span, "llmperf.agent.result").unwrap_or_default()
}

fn runs(probe: &Probe) -> Vec<Point> {
    probe.points("llmperf.agent.runs")
}

#[test]
fn a_run_is_an_internal_span_with_the_attributes_of_the_convention() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let run = run("travel-desk").task("simple").conversation("c-1").model("gpt-4o-mini").attribute("tier", 2);
        run.label("tenant", "acme").start().complete();
    });
    let span = probe.span();
    assert_eq!((&*span.name, format!("{:?}", span.span_kind).as_str()), ("invoke_agent travel-desk", "Internal"));
    for (key, value) in [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.name", "travel-desk"),
        ("gen_ai.conversation.id", "c-1"),
        ("gen_ai.request.model", "gpt-4o-mini"),
        ("llmperf.task.class", "simple"),
        ("tier", "2"),
        ("tenant", "acme"),
        ("llmperf.agent.result", "success"),
        ("llmperf.outcome", "complete"),
    ] {
        assert_eq!(attribute(&span, key), Some(value), "{key}");
    }
    assert!(!span.attributes.iter().any(|own| own.key.as_str().starts_with("gen_ai.usage")), "{:?}", span.attributes);
}

#[test]
fn a_run_without_a_name_has_none() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| run("").start().complete());
    assert_eq!(probe.tree(), "invoke_agent\n");
    assert_eq!(attribute(&probe.span(), "gen_ai.agent.name"), None);
    assert!(probe.points("gen_ai.invoke_agent.duration")[0].attributes.is_empty());
}

#[tokio::test]
async fn each_way_a_run_ends_has_its_result_and_its_outcome() {
    let probe = Probe::new();
    let scope = async {
        let _ = run("ok").run(async { Ok::<_, io::Error>(1) }).await;
        let _ = run("err").run(async { failing::<()>() }).await;
        settled(run("panic").run(async { scripted_panic::<Result<(), io::Error>>() })).await;
        drop(run("never-armed").run(async { Ok::<_, io::Error>(1) }));
        let pending = run("dropped").run(std::future::pending::<Result<(), io::Error>>());
        silent(pending).await;
        let late = run("timeout").deadline(Duration::ZERO).run(std::future::pending::<Result<(), io::Error>>());
        silent(late).await;
        run("by-hand").start().fail("no_flights");
        for result in AgentResult::ALL {
            let mut guard = run(result.as_str()).start();
            let verdict = guard.judged_by(&result);
            guard.end(verdict);
        }
    };
    probe.instrumentation().scope(scope).await;
    let found: Vec<(String, String, String)> = runs(&probe)
        .iter()
        .map(|point| {
            let of = |name: &str| probe.spans().into_iter().find(|span| span.name.ends_with(name));
            let name = point.attribute("gen_ai.agent.name").to_owned();
            let span = of(&format!("invoke_agent {name}")).unwrap();
            assert_eq!(result_of(&span), point.attribute("llmperf.agent.result"), "{name}");
            let error = attribute(&span, "error.type").unwrap_or_default().to_owned();
            let status = format!("{:?}", span.status);
            assert_eq!(status.starts_with("Error"), !error.is_empty(), "{name}: {status}");
            (name, point.attribute("llmperf.agent.result").to_owned(), error)
        })
        .collect();
    let expected = [
        ("ok", "success", ""),
        ("err", "error", "connection_reset"),
        ("panic", "error", "panic"),
        ("dropped", "cancelled", ""),
        ("timeout", "error", "timeout"),
        ("by-hand", "error", "no_flights"),
        ("success", "success", ""),
        ("failure", "failure", ""),
        ("gave_up", "gave_up", ""),
        ("step_limit", "step_limit", ""),
        ("suspended", "suspended", ""),
        ("error", "error", "_OTHER"),
        ("cancelled", "cancelled", ""),
    ];
    let mut expected: Vec<_> =
        expected.map(|(name, result, error)| (name.to_owned(), result.to_owned(), error.to_owned())).into();
    let mut found = found;
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn the_result_is_what_was_said_last_and_an_error_is_stronger() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("said").start();
        guard.result(AgentResult::Failure);
        guard.result(AgentResult::GaveUp);
        guard.complete();
        let mut guard = run("inside").start();
        guard.in_scope(|| {
            step("deeper").in_scope(|| conclude(AgentResult::StepLimit), |guard, ()| guard.complete());
            nested_and_suspended();
        });
        guard.complete();
        let mut guard = run("goal").start();
        guard.goal("Lisbon", str::is_empty);
        guard.complete();
        let mut guard = run("error").start();
        guard.in_scope(|| conclude(AgentResult::Success));
        guard.fail("no_flights");
    });
    let spans = probe.spans();
    let of = |name: &str| {
        let span = spans.iter().find(|span| span.name == format!("invoke_agent {name}"));
        span.map(result_of)
    };
    assert_eq!(
        ["said", "inside", "nested", "goal", "error"].map(of),
        [Some("gave_up"), Some("step_limit"), Some("suspended"), Some("failure"), Some("error")]
    );
}

#[tokio::test]
async fn what_was_said_of_the_result_is_stronger_than_a_drop_unless_a_success_and_the_outcome_agrees_with_it() {
    let probe = Probe::new();
    let waits = |result| async move {
        conclude(result);
        std::future::pending::<Result<(), io::Error>>().await
    };
    let scope = async {
        for result in AgentResult::ALL {
            let name = if result == AgentResult::Success { "cancelled" } else { result.as_str() };
            silent(run(name).run(waits(result))).await;
            let mut guard = run(result.as_str()).start();
            guard.result(result);
            guard.complete();
        }
        silent(run("timeout").deadline(Duration::ZERO).run(waits(AgentResult::Success))).await;
        let mut guard = run("panic").start();
        guard.result(AgentResult::Success);
        settled(async { guard.in_scope(scripted_panic::<()>) }).await;
    };
    probe.instrumentation().scope(scope).await;
    for span in probe.spans() {
        let (result, outcome) = match span.name.trim_start_matches("invoke_agent ") {
            "timeout" | "panic" | "error" => ("error", "error"),
            "cancelled" => ("cancelled", "cancelled"),
            other => (other, "complete"),
        };
        assert_eq!((result_of(&span), attribute(&span, "llmperf.outcome")), (result, Some(outcome)), "{}", span.name);
    }
    assert_eq!(probe.spans().len(), 2 * AgentResult::ALL.len() + 2);
}

/// A nested run that says its own result: not that of the run around it.
fn nested_and_suspended() {
    run("nested").in_scope(|| conclude(AgentResult::Suspended), |guard, ()| guard.complete());
}

#[test]
fn a_word_outside_any_run_goes_nowhere() {
    conclude(AgentResult::Failure);
}

#[test]
fn a_run_counts_what_it_used_up_failures_included() {
    let prices = Prices::new().model("openai", "gpt-4o-mini", Price::new(1.0, 10.0));
    let probe = Probe::with(|builder| builder.prices(prices));
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").task("complex").start();
        guard.in_scope(|| {
            call(1_000, 100);
            tool("weather").start().fail("no_city");
            call(2_000, 300);
            chat("openai", "gpt-4o-mini").start().fail("overloaded");
            drop(chat("openai", "ada").operation("embeddings").start());
            tool("book").start().complete();
        });
        guard.complete();
    });
    let span = probe.spans().into_iter().find(|span| span.name == "invoke_agent desk").unwrap();
    for (key, value) in [
        ("llmperf.agent.inference_calls", "3"),
        ("llmperf.agent.tool_calls", "2"),
        ("llmperf.agent.steps", "3"),
        ("llmperf.agent.input_tokens", "3000"),
        ("llmperf.agent.output_tokens", "400"),
        ("llmperf.agent.cost", "0.007"),
    ] {
        assert_eq!(attribute(&span, key), Some(value), "{key}");
    }
    assert_eq!(attribute(&span, "llmperf.agent.nested_runs"), None, "roll-ups are for runs with runs in them");
    let one = |name: &str| {
        let points = probe.points(name);
        assert_eq!((points.len(), points[0].count), (1, 1), "{name}");
        points[0].clone()
    };
    assert_eq!(one("gen_ai.invoke_agent.inference_calls").sum, 3.0);
    assert_eq!(one("gen_ai.invoke_agent.tool_calls").sum, 2.0);
    assert_eq!(one("llmperf.agent.steps").sum, 3.0);
    assert!((one("llmperf.agent.cost").sum - 0.007).abs() < 1e-9);
    let tokens = probe.points("llmperf.agent.tokens");
    let of = |kind: &str| tokens.iter().find(|point| point.attribute("llmperf.token.type") == kind).unwrap().sum;
    assert_eq!((of("input"), of("output"), tokens.len()), (3_000.0, 400.0, 2));

    let snapshot = probe.instrumentation().snapshot();
    let series = snapshot.get(SeriesKind::Agent, "desk", "complex").unwrap();
    let value = |figure| series.figure(Window::SinceStart, figure).unwrap().max;
    assert_eq!(value(Figure::Steps), 3.0);
    assert_eq!((value(Figure::InferenceCalls), value(Figure::ToolCalls)), (3.0, 2.0));
    assert!((value(Figure::InputTokens) / 3_000.0 - 1.0).abs() < 0.01);
    assert!((value(Figure::OutputTokens) / 400.0 - 1.0).abs() < 0.01);
    assert!((value(Figure::Cost) / 0.007 - 1.0).abs() < 0.01);
}

#[test]
fn what_nobody_told_is_absent() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        guard.in_scope(|| drop(chat("openai", "gpt-4o-mini").start().finish()));
        guard.complete();
    });
    assert!(probe.points("llmperf.agent.tokens").is_empty());
    assert!(probe.points("llmperf.agent.cost").is_empty());
    assert!(probe.points("llmperf.agent.time_to_first_output").is_empty());
    let span = probe.spans().into_iter().find(|span| span.name == "invoke_agent desk").unwrap();
    assert_eq!(attribute(&span, "llmperf.agent.input_tokens"), None);
    assert_eq!(attribute(&span, "llmperf.agent.cost"), None);
}

#[test]
fn the_totals_of_a_nested_run_are_its_own_and_roll_up_under_other_keys() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut outer = run("outer").start();
        outer.in_scope(|| {
            call(10, 1);
            let mut middle = run("middle").start();
            middle.in_scope(|| {
                call(100, 2);
                tool("t").in_scope(
                    || run("inner").in_scope(|| call(1_000, 4), |guard, ()| guard.complete()),
                    |guard, ()| guard.complete(),
                );
            });
            middle.complete();
        });
        outer.complete();
    });
    let spans = probe.spans();
    let of = |name: &str, key: &str| {
        let span = spans.iter().find(|span| span.name == format!("invoke_agent {name}")).unwrap();
        attribute(span, key).map(str::to_owned)
    };
    let expected =
        [("outer", ["10", "0", "2", "3", "1", "1110", "7"]), ("middle", ["100", "1", "1", "2", "1", "1100", "6"])];
    let keys = [
        "input_tokens",
        "tool_calls",
        "nested_runs",
        "total.inference_calls",
        "total.tool_calls",
        "total.input_tokens",
        "total.output_tokens",
    ];
    for (name, values) in expected {
        for (key, value) in keys.into_iter().zip(values) {
            assert_eq!(of(name, &format!("llmperf.agent.{key}")).as_deref(), Some(value), "{name} {key}");
        }
    }
    assert_eq!(of("inner", "llmperf.agent.input_tokens").as_deref(), Some("1000"));
    assert_eq!(of("inner", "llmperf.agent.total.input_tokens"), None);
    let tokens = probe.points("llmperf.agent.tokens");
    let input = tokens.iter().filter(|point| point.attribute("llmperf.token.type") == "input");
    assert_eq!(input.map(|point| point.sum).sum::<f64>(), 1_110.0, "nothing is counted twice");
}

#[test]
fn what_ends_after_its_run_is_late_and_counts_nowhere_in_it() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        let (call, tool) = guard.in_scope(|| (chat("openai", "gpt-4o-mini").start(), tool("weather").start()));
        guard.complete();
        drop(call);
        tool.complete();
    });
    let count = |name: &str| probe.points(name)[0].sum;
    assert_eq!(count("gen_ai.invoke_agent.inference_calls"), 0.0);
    assert_eq!(count("gen_ai.invoke_agent.tool_calls"), 0.0);
    assert_eq!(probe.count("llmperf.tool.calls"), 1.0, "the tool itself is measured");
    let late = probe.points("llmperf.internal.events");
    let late = late.iter().find(|point| point.attribute("llmperf.internal.kind") == "late_call").unwrap();
    assert_eq!(late.sum, 2.0);
}

#[tokio::test]
async fn a_streaming_run_ends_with_its_stream_and_knows_its_first_output() {
    let probe = Probe::new();
    let clock = probe.clock().clone();
    let scope = async {
        let started = run("desk").run_then(std::future::ready(()), |guard, ()| {
            let words = stream::iter(["a", "dry", "weekend"]).inspect(|_| clock.advance(Duration::from_secs(1)));
            let called = words.inspect(|word| call(word.len() as u64, 1));
            guard.stream(called, |guard, _| guard.output())
        });
        let mut answer = started.await;
        assert_eq!(answer.next().await, Some("a"));
        let rest: Vec<_> = answer.collect().await;
        assert_eq!(rest.len(), 2);
        let dropped =
            run("dropped").start().stream(stream::poll_fn(|_| Poll::<Option<()>>::Pending), |guard, ()| guard.output());
        drop(dropped);
    };
    probe.instrumentation().scope(scope).await;
    let first = probe.points("llmperf.agent.time_to_first_output");
    assert_eq!((first.len(), first[0].sum), (1, 1.0));
    let runs = probe.points("llmperf.agent.run.duration");
    let of = |agent: &str| runs.iter().find(|point| point.attribute("gen_ai.agent.name") == agent).unwrap();
    assert_eq!((of("desk").sum, of("desk").attribute("llmperf.agent.result")), (3.0, "success"));
    assert_eq!(of("dropped").attribute("llmperf.agent.result"), "cancelled");
    let tree = "invoke_agent desk\n  chat gpt-4o-mini\n  chat gpt-4o-mini\n  chat gpt-4o-mini\ninvoke_agent dropped\n";
    assert_eq!(probe.tree(), tree);
    let snapshot = probe.instrumentation().snapshot();
    let series = snapshot.get(SeriesKind::Agent, "desk", "").unwrap();
    assert_eq!(series.figure(Window::SinceStart, Figure::TimeToFirstOutput).unwrap().count, 1);
}

#[test]
fn a_run_that_missed_its_goal_missed_its_objective_however_fast_it_was() {
    let slo = Slo::new("desk", Objective::AgentRun, Duration::from_secs(10));
    let probe = Probe::with(|builder| builder.slos([slo]));
    probe.instrumentation().sync_scope(|| {
        for result in AgentResult::ALL {
            let mut guard = run("desk").start();
            let verdict = guard.judged_by(&result);
            guard.end(verdict);
        }
        let slow = run("desk").start();
        probe.clock().advance(Duration::from_secs(11));
        slow.complete();
    });
    let events = probe.points("llmperf.slo.events");
    let of = |met: &str| events.iter().find(|point| point.attribute("llmperf.slo.met") == met).unwrap();
    assert_eq!(of("true").sum, 1.0, "the success");
    assert_eq!(of("false").sum, 5.0, "failure, gave up, step limit, error, too slow; not: suspended, cancelled");
    assert_eq!((of("true").attribute("gen_ai.agent.name"), of("true").attribute("llmperf.slo.name")), ("desk", "desk"));
    assert!(probe.points("llmperf.agent.run.duration")[0].bounds.contains(&10.0), "the limit is a bound");
}

#[test]
fn objectives_of_many_tenants_are_folded_before_the_limit_of_the_sdk() {
    let slo = |name| Slo::new(name, Objective::AgentRun, Duration::from_secs(10));
    let probe = Probe::with(|builder| builder.slos([slo("desk"), slo("desk too")]));
    probe.instrumentation().sync_scope(|| {
        for number in 0..1_100 {
            let tenant = format!("tenant {}", number / 44);
            run(format!("agent {}", number % 44)).label("tenant", tenant).start().complete();
        }
    });
    let events = probe.points("llmperf.slo.events");
    assert_eq!((events.len(), probe.count("llmperf.slo.events")), (1_802, 2_200.0));
    let folded = events.iter().filter(|event| event.attribute("tenant") == "_other").map(|event| event.sum);
    assert_eq!(folded.sum::<f64>(), 400.0);
}

#[test]
fn labels_stand_on_our_metrics_and_not_on_those_of_the_convention() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").label("tenant", "acme").start();
        guard.in_scope(|| {
            tool("weather").label("tenant", "acme").start().complete();
            step("s").label("tenant", "acme").start().complete();
        });
        guard.complete();
    });
    let metrics = probe.metric_names();
    for name in metrics.iter().filter(|name| *name != "llmperf.internal.events") {
        for point in probe.points(name) {
            let labelled = point.attribute("tenant") == "acme";
            assert_eq!(labelled, name.starts_with("llmperf."), "{name} {point:?}");
        }
    }
    assert!(metrics.len() > 6, "{metrics:?}");
}

#[test]
fn names_past_the_cap_are_one_series() {
    let probe = Probe::with(|builder| builder.name_cap(3));
    probe.instrumentation().sync_scope(|| {
        for number in 0..10 {
            run(format!("agent-{number}")).start().complete();
            tool(format!("tool-{number}")).start().complete();
        }
    });
    for name in ["llmperf.agent.runs", "llmperf.tool.calls", "gen_ai.invoke_agent.duration"] {
        assert_eq!((probe.points(name).len(), probe.count(name)), (4, 10.0), "{name}");
    }
}

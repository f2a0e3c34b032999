//! Steps, workflows, plans.

use std::{io, time::Duration};

use llmperf_agent::{Work as _, plan, run, step, workflow};
use llmperf_core::{stats::SeriesKind, testing::Probe};

use crate::{attribute, failing, runs::call, scripted_panic, settled, silent};

#[test]
fn marked_steps_are_the_steps_of_a_run() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        guard.in_scope(|| {
            for name in ["search", "search", "compare"] {
                let mut step = step(name).start();
                step.in_scope(|| (0..4).for_each(|_| call(1, 1)));
                probe.clock().advance(Duration::from_secs(2));
                step.complete();
            }
        });
        guard.complete();
    });
    let points = probe.points("llmperf.agent.step.duration");
    let of = |name: &str| points.iter().find(|point| point.attribute("llmperf.agent.step") == name).unwrap();
    assert_eq!((of("search").count, of("search").sum, of("compare").count), (2, 4.0, 1));
    assert_eq!(of("search").attribute("gen_ai.agent.name"), "desk");
    assert_eq!(of("search").attribute("llmperf.outcome"), "complete");
    assert_eq!(probe.points("llmperf.agent.steps")[0].sum, 3.0);
    assert_eq!(probe.points("gen_ai.invoke_agent.inference_calls")[0].sum, 12.0);
    let span = probe.spans().into_iter().find(|span| span.name == "step compare").unwrap();
    assert_eq!(attribute(&span, "gen_ai.agent.name"), Some("desk"));
    assert!(probe.instrumentation().snapshot().get(SeriesKind::Step, "desk", "search").is_some());
}

#[test]
fn without_marked_steps_each_inference_call_is_one() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        guard.in_scope(|| (0..4).for_each(|_| call(1, 1)));
        guard.complete();
        run("idle").start().complete();
    });
    let steps = probe.points("llmperf.agent.steps");
    assert_eq!(steps.iter().map(|point| point.sum).sum::<f64>(), 4.0);
    assert!(probe.points("llmperf.agent.step.duration").is_empty(), "only marked steps have a duration");
}

#[test]
fn a_step_outside_any_run_is_measured_too() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| step("lonely").start().complete());
    assert_eq!((probe.tree().as_str(), probe.count("llmperf.agent.step.duration")), ("step lonely\n", 1.0));
}

#[tokio::test]
async fn each_way_that_steps_workflows_and_plans_end_has_its_outcome() {
    let probe = Probe::new();
    macro_rules! each {
        ($work:expr) => {
            let _ = $work.run(async { Ok::<_, io::Error>(()) }).await;
            let _ = $work.run(async { failing::<()>() }).await;
            settled($work.run(async { scripted_panic::<Result<(), io::Error>>() })).await;
            silent($work.run(std::future::pending::<Result<(), io::Error>>())).await;
            silent($work.deadline(Duration::ZERO).run(std::future::pending::<Result<(), io::Error>>())).await;
        };
    }
    let scope = async {
        each!(step("s"));
        each!(workflow("w"));
        each!(plan("p"));
    };
    probe.instrumentation().scope(scope).await;
    let ends = ["", "connection_reset", "panic", "", "timeout"];
    let outcomes = ["complete", "error", "error", "cancelled", "error"];
    for name in ["step s", "invoke_workflow w", "plan p"] {
        let spans: Vec<_> = probe.spans().into_iter().filter(|span| span.name == name).collect();
        let told: Vec<_> = spans.iter().map(|span| attribute(span, "error.type").unwrap_or_default()).collect();
        assert_eq!(told, ends, "{name}");
        let told: Vec<_> = spans.iter().map(|span| attribute(span, "llmperf.outcome").unwrap_or_default()).collect();
        assert_eq!(told, outcomes, "{name}");
    }
    let mut workflows: Vec<_> = probe.points("gen_ai.invoke_workflow.duration");
    workflows.sort_by_key(|point| point.attribute("error.type").to_owned());
    let told: Vec<_> = workflows.iter().map(|point| (point.attribute("error.type"), point.count)).collect();
    assert_eq!(told, [("", 2), ("connection_reset", 1), ("panic", 1), ("timeout", 1)]);
}

#[test]
fn workflows_and_plans_have_the_attributes_of_the_convention() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = workflow("weekly-report").conversation("c-1").attribute("week", 48).start();
        guard.in_scope(|| plan("writer").in_scope(|| call(1, 1), |guard, ()| guard.complete()));
        guard.complete();
        plan("").start().complete();
        workflow("").start().complete();
    });
    let tree = "invoke_workflow weekly-report\n  plan writer\n    chat gpt-4o-mini\n";
    let all = probe.tree();
    assert!(all.contains(tree) && all.contains("\nplan\n") || all.starts_with("plan\n"), "{all}");
    let of = |name: &str| probe.spans().into_iter().find(|span| span.name == name).unwrap();
    let workflow = of("invoke_workflow weekly-report");
    for (key, value) in [
        ("gen_ai.operation.name", "invoke_workflow"),
        ("gen_ai.workflow.name", "weekly-report"),
        ("gen_ai.conversation.id", "c-1"),
        ("week", "48"),
    ] {
        assert_eq!(attribute(&workflow, key), Some(value), "{key}");
    }
    let plan = of("plan writer");
    assert_eq!(attribute(&plan, "gen_ai.operation.name"), Some("plan"));
    assert_eq!(attribute(&plan, "gen_ai.agent.name"), Some("writer"));
    assert_eq!(format!("{:?} {:?}", plan.span_kind, workflow.span_kind), "Internal Internal");
    let snapshot = probe.instrumentation().snapshot();
    assert!(snapshot.get(SeriesKind::Plan, "writer", "").is_some());
    assert!(snapshot.get(SeriesKind::Workflow, "weekly-report", "").is_some());
}

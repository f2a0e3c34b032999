//! The agent: how its runs come out, what they use up, and what is found of a run that goes round in circles.

use llmperf::Instrumentation;
use llmperf::agent::{AgentOutcome as _, AgentResult};
use llmperf::opentelemetry::trace::noop::NoopTracerProvider;
use llmperf::stats::Diagnosis;
use llmperf::testing::Probe;

use super::model;
use crate::assistants::{Desk, FULL, Reply, Task};

/// One run on a probe of its own.
async fn run(task: Task) -> (Reply, Probe) {
    let (server, model) = model();
    let probe = Probe::new();
    let reply = probe.instrumentation().scope(Desk::new(model).plan(task)).await.unwrap();
    drop(server);
    (reply, probe)
}

const TOUR: &str = "invoke_agent travel-desk
  chat swift-1
  step book
    chat swift-1
    execute_tool book
  step gather
    chat swift-1
    execute_tool prices !
    execute_tool prices
    execute_tool second_opinion
      invoke_agent critic
        chat swift-1
    execute_tool weather
    execute_tool weather
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tour_is_one_tree_with_tools_side_by_side_and_an_agent_in_a_task_of_its_own() {
    let (reply, probe) = run(Task::Tour { places: ["aldermouth", "brackwell"] }).await;
    assert!(matches!(reply, Reply::Plan(_)), "{reply:?}");
    // The clock stands still, so that siblings come in the order of their names, and those of one name in that of their ends.
    assert_eq!(probe.tree(), TOUR);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_come_out_as_their_replies_say() {
    let cases = [
        (Task::Weekend { place: "eastray" }, "simple", AgentResult::Success),
        (Task::Tour { places: ["aldermouth", "brackwell"] }, "complex", AgentResult::Success),
        (Task::Tour { places: [FULL, "brackwell"] }, "complex", AgentResult::Failure),
        (Task::Nowhere, "complex", AgentResult::GaveUp),
        (Task::Riddle { place: "eastray" }, "simple", AgentResult::StepLimit),
    ];
    for (task, class, result) in cases {
        let (reply, probe) = run(task.clone()).await;
        assert_eq!(reply.agent_result(), Some(result), "{task:?}");
        let runs = probe.points("llmperf.agent.runs");
        let desk: Vec<_> = runs.iter().filter(|run| run.attribute("gen_ai.agent.name") == "travel-desk").collect();
        assert_eq!(desk.len(), 1, "{task:?}");
        let told = [desk[0].attribute("llmperf.task.class"), desk[0].attribute("llmperf.agent.result")];
        assert_eq!(told, [class, result.as_str()], "{task:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_fail_by_their_error_and_by_their_value_each_with_its_own_word() {
    let (_, probe) = run(Task::Tour { places: [FULL, "brackwell"] }).await;
    let mut failures: Vec<_> = probe
        .points("llmperf.tool.calls")
        .iter()
        .map(|point| {
            let of = |name| point.attribute(name).to_owned();
            (of("gen_ai.tool.name"), of("llmperf.outcome"), of("error.type"), point.sum)
        })
        .filter(|(_, outcome, ..)| outcome == "error")
        .collect();
    failures.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("book", "error", "sold_out", 1.0), ("prices", "error", "timeout", 1.0)];
    let expected = expected.map(|(tool, outcome, error, count)| (tool.into(), outcome.into(), error.into(), count));
    assert_eq!(failures, expected);
    assert_eq!(probe.count("mcp.client.operation.duration"), 1.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_round_in_circles_shows() {
    let (_, probe) = run(Task::Riddle { place: "eastray" }).await;
    let repeated = probe.points("llmperf.agent.repeated_calls");
    assert_eq!(repeated.iter().map(|point| point.sum).sum::<f64>(), 2.0, "the third and the fourth");
    let diagnosis = diagnosed(Task::Riddle { place: "eastray" }).await;
    let repeated: Vec<_> = diagnosis.roots.iter().flat_map(|root| &root.repetitions).collect();
    assert_eq!(repeated.len(), 1, "{diagnosis}");
    assert_eq!((repeated[0].title.name.as_str(), repeated[0].most), ("weather", 4));

    let (_, probe) = run(Task::Weekend { place: "eastray" }).await;
    assert!(probe.points("llmperf.agent.repeated_calls").is_empty());
    let diagnosis = diagnosed(Task::Weekend { place: "eastray" }).await;
    assert!(diagnosis.roots.iter().all(|root| root.repetitions.is_empty()), "{diagnosis}");
}

/// The diagnosis of one run, by a clock that goes: time that does not pass has no parts.
async fn diagnosed(task: Task) -> Diagnosis {
    let (_server, model) = model();
    let instrumentation = Instrumentation::builder().tracer_provider(&NoopTracerProvider::new()).build();
    instrumentation.scope(Desk::new(model).plan(task)).await.unwrap();
    instrumentation.snapshot().diagnose()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_uses_up_is_what_its_model_told() {
    let (_, probe) = run(Task::Tour { places: ["aldermouth", "brackwell"] }).await;
    let told = |name: &str| {
        let spans = probe.spans();
        let of_calls = spans.iter().filter(|span| span.name.starts_with("chat"));
        let values = of_calls.flat_map(|span| &span.attributes).filter(|attribute| attribute.key.as_str() == name);
        values.map(|attribute| attribute.value.to_string().parse::<f64>().unwrap()).sum::<f64>()
    };
    let used = |kind: &str| {
        let points = probe.points("llmperf.agent.tokens");
        points.iter().filter(|point| point.attribute("llmperf.token.type") == kind).map(|point| point.sum).sum::<f64>()
    };
    assert_eq!(used("input"), told("gen_ai.usage.input_tokens"));
    assert_eq!(used("output"), told("gen_ai.usage.output_tokens"));
    assert_eq!(used("input"), 4.0 * 120.0, "three calls of the desk, one of its critic");
}

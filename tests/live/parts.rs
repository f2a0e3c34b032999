//! The metrics of retrieval and of agents on the page held to a real Prometheus, both ways in: the service and the agent of
//! the examples at work, and by hand what they do not do.

use std::collections::BTreeSet;

use llmperf::agent::{run, workflow};
use llmperf::opentelemetry::trace::noop::NoopTracerProvider;
use llmperf::{Instrumentation, Price, Prices, Work as _, agent, rag};

use crate::assistants::{Desk, FULL, Model, Task, plans};
use crate::assistants_in_jaeger::{Shelf, read, request, runtime, service};
use crate::backends::{self, Prometheus};
use crate::contract::{the_buckets_are_those_of_the_page, the_query_has_an_answer};
use crate::page::{self, Row};
use crate::series::{JOBS, both_ways, bring_up_to_date};
use crate::server::Server;

#[test]
fn the_metrics_and_queries_of_retrieval_and_of_agents_are_those_of_prometheus() {
    if backends::left_out() {
        return;
    }
    let (of_rag, of_agents) = (page::rag_rows(), page::agent_rows());
    assert_eq!(
        of_rag.len(),
        rag::metrics::TABLE.iter().filter(|metric| metric.name.starts_with("llmperf.rag.")).count()
    );
    assert_eq!(of_agents.len(), agent::metrics::TABLE.len(), "the page lists every metric");
    let (prometheus, telemetry) = both_ways();
    let instrumentation = Instrumentation::builder()
        .tracer_provider(&NoopTracerProvider::new())
        .meter_provider(telemetry.meter_provider().unwrap().clone())
        .prices(Prices::new().model("*", "*", Price::new(1.0, 1.0)))
        .build();
    let server = Server::start(plans()).unwrap();
    let model = Model::new(&server).unwrap();
    // Twice, with a look in between: a rate needs an increase.
    for _ in 0..2 {
        runtime().block_on(instrumentation.scope(answer_questions(&model)));
        runtime().block_on(instrumentation.scope(plan_trips(&model)));
        instrumentation.sync_scope(what_the_examples_do_not);
        bring_up_to_date(&prometheus, &telemetry);
    }

    let rows: Vec<Row> = of_rag.into_iter().chain(of_agents).collect();
    let expected: BTreeSet<String> = rows.iter().flat_map(Row::all_series).collect();
    for job in JOBS {
        let found = names_of_parts(&prometheus, job);
        let differing: Vec<_> = found.symmetric_difference(&expected).collect();
        assert!(differing.is_empty(), "by {job} or on the page, not both: {differing:?}");
        for row in &rows {
            the_query_has_an_answer(&prometheus, row, job);
            the_buckets_are_those_of_the_page(&prometheus, row, job);
        }
    }
    telemetry.shutdown().unwrap();
}

/// Every stage, each cache hit and missed, the index.
async fn answer_questions(model: &Model) {
    let shelf = Shelf::new();
    let service = service(&shelf, model).await;
    for request in [request(0), request(0), request(1)] {
        read(&service, request).await;
    }
}

/// Runs that come out well and otherwise, tools that fail, a loop.
async fn plan_trips(model: &Model) {
    let desk = Desk::new(model.clone());
    let tasks = [Task::Tour { places: [FULL, "eastray"] }, Task::Riddle { place: "eastray" }];
    for task in tasks.into_iter().chain([Task::Weekend { place: "eastray" }, Task::Nowhere]) {
        desk.plan(task).await.unwrap();
    }
}

/// An agent whose answer is a stream, and a workflow.
fn what_the_examples_do_not() {
    workflow("plan and book").in_scope(
        || {
            let mut streaming = run("reporter").start();
            streaming.output();
            streaming.complete();
        },
        |guard, ()| guard.complete(),
    );
}

fn names_of_parts(prometheus: &Prometheus, job: &str) -> BTreeSet<String> {
    let parts = "(llmperf_rag|llmperf_agent|llmperf_tool|gen_ai_invoke|gen_ai_execute_tool|mcp)_.+";
    let samples = prometheus.query(&format!("{{job=\"{job}\",__name__=~\"{parts}\"}}")).unwrap();
    samples.into_iter().map(|sample| sample.labels["__name__"].clone()).collect()
}

//! `docs/metrics.md` held to a real Prometheus: names, buckets, and every PromQL expression, both ways in.

use std::collections::BTreeSet;
use std::convert::Infallible;

use futures::executor::block_on_stream;
use futures_util::stream;
use llmperf::opentelemetry::trace::noop::NoopTracerProvider;
use llmperf::{Dialect, Instrumentation, MeasureWire as _, Output, Price, Prices, Sees, Side, Slo, Usage, metrics};

use crate::backends::{self, Prometheus};
use crate::page::{self, Row};
use crate::series::{JOBS, all, both_ways, bring_up_to_date, names};

#[test]
fn the_page_s_names_buckets_and_queries_are_those_of_prometheus() {
    if backends::left_out() {
        return;
    }
    let rows = page::rows();
    assert_eq!(rows.len(), metrics::TABLE.len(), "the page lists every metric");
    let (prometheus, telemetry) = both_ways();
    // Its spans are no matter, and stay out of the set-up that another test has installed.
    let instrumentation = Instrumentation::builder()
        .tracer_provider(&NoopTracerProvider::new())
        .meter_provider(telemetry.meter_provider().unwrap().clone())
        .prices(Prices::new().model("*", "*", Price::new(1.0, 1.0)))
        .slos(Slo::standard())
        .build_info("app.release", "7")
        .build();
    // Twice, with a look in between: a rate needs an increase.
    for _ in 0..2 {
        record_every_metric(&instrumentation);
        bring_up_to_date(&prometheus, &telemetry);
    }

    let expected: BTreeSet<_> = rows.iter().flat_map(Row::all_series).collect();
    for job in JOBS {
        let found = names(&all(&prometheus, job));
        let differing: Vec<_> = found.symmetric_difference(&expected).collect();
        assert!(differing.is_empty(), "by {job} or on the page, not both: {differing:?}");
        for row in &rows {
            the_query_has_an_answer(&prometheus, row, job);
            the_buckets_are_those_of_the_page(&prometheus, row, job);
        }
    }
    telemetry.shutdown().unwrap();
}

/// Calls of all kinds: between them they record each metric at least once.
fn record_every_metric(instrumentation: &Instrumentation) {
    let usage = Usage::of(1_000, 20).cache_read(100).cache_write(50).reasoning(5);
    let chat = || instrumentation.chat("local", "swift-1");

    let mut retried = chat().sees(Sees::Marker).start();
    retried.in_scope(|| {
        let call = llmperf::current_call().unwrap();
        call.attempt();
        call.attempt_failed("429");
        call.attempt();
    });
    retried.on_head();
    for output in [Output::text("to"), Output::text("ken"), Output::finish("stop")] {
        retried.on_chunk(output);
    }
    retried.on_usage(usage);
    // Its finish reason came, its marker did not.
    assert_eq!(retried.end().outcome, Some(llmperf::Outcome::Complete));

    let mut failed = chat().start();
    failed.fail("429");
    drop(failed);

    let malformed = stream::iter([Ok::<_, Infallible>("data: {oops\n\n")]).measure_wire(chat(), Dialect::OpenAiChat);
    assert_eq!(block_on_stream(malformed).count(), 1);

    drop(chat().operation("embeddings").start().finish());

    let mut served = chat().side(Side::Server).start();
    served.on_chunk(Output::text("to"));
    served.on_chunk(Output::text("ken"));
    served.on_usage(usage);
    drop(served.finish());
}

pub(crate) fn the_query_has_an_answer(prometheus: &Prometheus, row: &Row, job: &str) {
    let promql = row.promql_of(job);
    let samples = prometheus.query(&promql).unwrap();
    assert!(!samples.is_empty(), "{promql} gives nothing");
    assert!(samples.iter().all(|sample| sample.value.is_finite()), "{promql} gives {samples:?}");
}

pub(crate) fn the_buckets_are_those_of_the_page(prometheus: &Prometheus, row: &Row, job: &str) {
    if row.kind != "histogram" {
        return;
    }
    let promql = format!("count by (le) ({}_bucket{{job=\"{job}\"}})", row.series());
    let samples = prometheus.query(&promql).unwrap();
    let mut bounds: Vec<f64> = samples.iter().map(|sample| sample.labels["le"].parse().unwrap()).collect();
    bounds.sort_by(f64::total_cmp);
    assert_eq!(bounds.pop(), Some(f64::INFINITY), "{promql}");
    assert_eq!(bounds, row.bounds, "{promql}");
}

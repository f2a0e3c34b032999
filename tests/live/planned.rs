//! The planned load through OTLP into Jaeger, and both ways into Prometheus.

use std::collections::BTreeMap;

use llmperf::stats::{Figure, Snapshot, Window};
use llmperf::{Instrumentation, Outcome, export};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::backends::{self, Jaeger, Prometheus, Trace};
use crate::calls::{self, Called, PROVIDER};
use crate::load::Load;
use crate::series::{JOBS, SERVICE, all, both_ways, bring_up_to_date, by_label};
use crate::{page, traces};

const LOAD: Load = Load { calls: 120, concurrency: 32 };
/// Its first 120 plans have every ending.
const SEED: u64 = 1;

#[test]
fn the_load_arrives_in_jaeger_over_grpc_and_both_ways_in_prometheus() {
    if backends::left_out() {
        return;
    }
    let jaeger = Jaeger::start().unwrap();
    let (prometheus, metrics) = both_ways();
    let spans = export::otlp_grpc().endpoint(&jaeger.otlp_grpc).service(SERVICE).metrics(false).build().unwrap();
    let instrumentation = Instrumentation::builder()
        .tracer_provider(spans.tracer_provider().unwrap())
        .meter_provider(metrics.meter_provider().unwrap().clone())
        .prices(calls::prices())
        .build();

    let application = tracing_subscriber::registry().with(spans.layer());
    let calls = tracing::subscriber::with_default(application, || calls::drive(SEED, LOAD, &instrumentation));
    let outcomes = calls::outcomes(&calls);
    assert_eq!(outcomes.keys().copied().collect::<Vec<_>>(), Outcome::ALL, "the seed has every outcome");
    let statistics = instrumentation.snapshot();

    spans.force_flush().unwrap();
    assert_eq!((spans.exported_spans(), spans.dropped_spans()), ((calls.len() * traces::SPANS) as u64, 0));
    traces::agree(&arrived(&jaeger, SERVICE, calls.len()), &calls, &statistics, SERVICE);

    bring_up_to_date(&prometheus, &metrics);
    both_ways_hold_the_same(&prometheus);
    for job in JOBS {
        counts_are_those_of_the_calls(&prometheus, job, &calls, &outcomes);
        quantiles_are_those_of_the_statistics(&prometheus, job, &statistics);
    }
    spans.shutdown().unwrap();
    metrics.shutdown().unwrap();
}

/// The traces of a service as soon as all spans of so many calls are there.
pub(crate) fn arrived(jaeger: &Jaeger, service: &str, calls: usize) -> Vec<Trace> {
    let spans = |traces: &[Trace]| traces.iter().map(|trace| trace.spans.len()).sum::<usize>();
    jaeger.wait_for(service, |traces| spans(traces) >= calls * traces::SPANS).unwrap()
}

/// The same series with the same values, name for name and bucket for bucket.
fn both_ways_hold_the_same(prometheus: &Prometheus) {
    let [scraped, pushed] = JOBS.map(|job| all(prometheus, job));
    for (series, value) in &scraped {
        let other = pushed.get(series).unwrap_or_else(|| panic!("{series:?} did not come by OTLP"));
        assert!((value - other).abs() <= 1e-9 * value.abs(), "{series:?}: {value} scraped, {other} by OTLP");
    }
    assert_eq!(scraped.len(), pushed.len(), "OTLP brings more than the scrape");
}

fn counts_are_those_of_the_calls(
    prometheus: &Prometheus,
    job: &str,
    calls: &[Called],
    outcomes: &BTreeMap<Outcome, usize>,
) {
    let counted = format!("sum by (llmperf_outcome) (llmperf_client_calls_total{{job=\"{job}\"}})");
    let returned = outcomes.iter().map(|(outcome, count)| (outcome.to_string(), *count as f64)).collect();
    assert_eq!(by_label(prometheus, "llmperf_outcome", &counted), returned);

    let counted = format!("sum by (llmperf_token_type) (llmperf_client_tokens_total{{job=\"{job}\"}})");
    let sum = |tokens: fn(&llmperf::Usage) -> Option<u64>| {
        calls.iter().filter_map(|called| tokens(&called.timing.usage)).sum::<u64>() as f64
    };
    let returned = [
        ("input", sum(llmperf::Usage::input_tokens)),
        ("output", sum(llmperf::Usage::output_tokens)),
        ("cache_read", sum(llmperf::Usage::cache_read_tokens)),
        ("reasoning", sum(llmperf::Usage::reasoning_tokens)),
    ];
    assert!(returned.iter().all(|(_, tokens)| *tokens > 0.0), "the seed has tokens of every type: {returned:?}");
    let returned = returned.map(|(class, tokens)| (class.to_owned(), tokens));
    assert_eq!(by_label(prometheus, "llmperf_token_type", &counted), returned.into());

    let live = prometheus.query(&format!("sum(llmperf_client_active_calls{{job=\"{job}\"}})")).unwrap();
    assert_eq!(live[0].value, 0.0, "all calls have ended");
}

/// By model: P95 from the buckets lies in the bucket that holds the local P95, which HDR knows to 1 %.
fn quantiles_are_those_of_the_statistics(prometheus: &Prometheus, job: &str, statistics: &Snapshot) {
    let rows = page::rows();
    for (metric, figure) in [
        ("llmperf.client.duration", Figure::Duration),
        ("llmperf.client.time_to_first_token", Figure::TimeToFirstToken),
        ("llmperf.client.time_per_output_token", Figure::TimePerOutputToken),
    ] {
        let row = rows.iter().find(|row| row.name == metric).unwrap();
        let buckets = format!("{}_bucket{{job=\"{job}\"}}", row.series());
        let p95 = format!("histogram_quantile(0.95, sum by (le, gen_ai_request_model) ({buckets}))");
        let by_model = by_label(prometheus, "gen_ai_request_model", &p95);
        assert_eq!(by_model.len(), statistics.series.len());
        for (model, p95) in by_model {
            let local = statistics.call(PROVIDER, &model).unwrap().figure(Window::SinceStart, figure).unwrap().p95;
            let above = row.bounds.iter().position(|bound| p95 <= bound * (1.0 + 1e-9)).unwrap();
            let (lower, upper) = (above.checked_sub(1).map_or(0.0, |below| row.bounds[below]), row.bounds[above]);
            assert!(
                lower * 0.99 <= local && local <= upper * 1.01,
                "{model}: P95 of {metric} is {p95} by {job}, in ({lower}, {upper}], and {local} here"
            );
        }
    }
}

//! Design section 5: the names, units, boundaries and attributes of every metric, held to literal lists.

use std::{collections::BTreeSet, io, time::Duration};

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    GenAiNames, Instrumentation, InstrumentationBuilder, Objective, Output, Price, Prices, Sees, Side, Slo, Usage,
    testing::ManualClock,
};
use opentelemetry::KeyValue;
use opentelemetry_sdk::metrics::{
    InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
    data::{AggregatedMetrics, MetricData},
};

use crate::script::drain;

pub(crate) const B_LATENCY: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5,
    10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0,
];
const B_GAP: &[f64] = &[
    0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
    0.5, 1.0, 2.0, 5.0,
];
const B_LAT: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const B_TOK: &[f64] = &[
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
];
const B_SERVER_TTFT: &[f64] =
    &[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
const B_SERVER_TPOT: &[f64] = &[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5];

/// The common attributes of the convention; those of ours have scenario and the user's label besides.
const GEN_AI: &str =
    "gen_ai.operation.name gen_ai.provider.name gen_ai.request.model gen_ai.response.model server.address server.port";
const OWN: &str = "llmperf.scenario tenant";

type Row = (String, String, Vec<f64>, BTreeSet<String>);

/// What a plain provider exports of calls that were made from an instrumentation on it: no views, nothing set up.
fn exported(
    build: impl FnOnce(InstrumentationBuilder) -> InstrumentationBuilder,
    calls: impl FnOnce(&Instrumentation, &ManualClock),
) -> Vec<Row> {
    let exporter = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_secs(3_600)).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let clock = ManualClock::new();
    let builder = Instrumentation::builder().meter_provider(meters.clone()).clock(&clock);
    calls(&build(builder).build(), &clock);
    meters.force_flush().unwrap();
    let finished = exporter.get_finished_metrics().unwrap();
    let mut rows = Vec::new();
    for scope in finished.iter().flat_map(opentelemetry_sdk::metrics::data::ResourceMetrics::scope_metrics) {
        assert_eq!((scope.scope().name(), scope.scope().version()), ("llmperf", Some(env!("CARGO_PKG_VERSION"))));
        assert_eq!(scope.scope().schema_url(), Some("https://opentelemetry.io/schemas/gen-ai/1.42.0"));
        for metric in scope.metrics() {
            let (bounds, keys) = match metric.data() {
                AggregatedMetrics::F64(data) => shape(data),
                AggregatedMetrics::U64(data) => shape(data),
                AggregatedMetrics::I64(data) => shape(data),
            };
            rows.push((metric.name().to_owned(), metric.unit().to_owned(), bounds, keys));
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

fn shape<T: Copy>(data: &MetricData<T>) -> (Vec<f64>, BTreeSet<String>) {
    let keys = |attributes: &mut dyn Iterator<Item = &KeyValue>| -> BTreeSet<String> {
        attributes.map(|attribute| attribute.key.to_string()).collect()
    };
    match data {
        MetricData::Gauge(data) => {
            (Vec::new(), data.data_points().flat_map(|point| keys(&mut point.attributes())).collect())
        }
        MetricData::Sum(data) => {
            (Vec::new(), data.data_points().flat_map(|point| keys(&mut point.attributes())).collect())
        }
        MetricData::Histogram(data) => (
            data.data_points().next().map(|point| point.bounds().collect()).unwrap_or_default(),
            data.data_points().flat_map(|point| keys(&mut point.attributes())).collect(),
        ),
        MetricData::ExponentialHistogram(_) => panic!("boundaries are set on the instrument"),
    }
}

fn rows(table: &[(&str, &str, &[f64], &[&str])]) -> Vec<Row> {
    let row = |(name, unit, bounds, keys): &(&str, &str, &[f64], &[&str])| {
        let keys = keys.iter().flat_map(|keys| keys.split(' ')).map(str::to_owned).collect();
        (name.to_string(), unit.to_string(), bounds.to_vec(), keys)
    };
    let mut rows: Vec<Row> = table.iter().map(row).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

/// A call in which everything happens, and one that fails.
fn everything(from: &Instrumentation, clock: &ManualClock, side: Side) {
    let call = || {
        let call = from.chat("openai", "gpt-4o-mini").server("api.openai.com", 443).side(side);
        call.scenario("batch").label("tenant", "acme").sees(Sees::Marker)
    };
    let usage = Usage::of(700, 40).cache_read(100).cache_write(50).reasoning(8).audio_output(10);
    let last = Output::finish("stop").and_usage(usage);
    let items = [Output::none().model("gpt-4o-mini-2024-07-18"), Output::text("one"), Output::text("two"), last];
    let clocked = clock.clone();
    let request = async {
        let call = llmperf_core::current_call().unwrap();
        call.attempt_failed("429");
        call.attempt();
        let items = stream::iter(items).then(move |item| {
            clocked.advance(Duration::from_millis(100));
            std::future::ready(item)
        });
        Ok::<_, io::Error>(items)
    };
    let mut reply = block_on(call().open_with(request, |output| *output)).unwrap();
    drain(&mut reply);
    let mut failed = call().start();
    failed.on_chunk(Output::none().model("gpt-4o-mini-2024-07-18"));
    failed.fail("server_error");
}

#[test]
fn the_client_metrics_are_exactly_these() {
    let slos = [Slo::new("e2e", Objective::Duration, Duration::from_secs(5))];
    let prices = Prices::new().model("*", "*", Price::new(1.0, 2.0));
    let found = exported(
        |builder| builder.slos(slos).prices(prices).build_info("model.release", "7"),
        |from, clock| everything(from, clock, Side::Client),
    );
    let rates: &[f64] =
        &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0];
    let expected = rows(&[
        ("gen_ai.client.inference.duration", "s", B_LAT, &[GEN_AI, "error.type"]),
        ("gen_ai.client.inference.time_to_first_chunk", "s", B_LAT, &[GEN_AI]),
        ("gen_ai.client.inference.time_per_output_chunk", "s", B_LAT, &[GEN_AI]),
        ("gen_ai.client.inference.usage.input_tokens", "{token}", &[], &[GEN_AI, "gen_ai.token.modality"]),
        ("gen_ai.client.inference.usage.output_tokens", "{token}", &[], &[GEN_AI, "gen_ai.token.modality"]),
        ("gen_ai.client.inference.usage.cache_read.input_tokens", "{token}", &[], &[GEN_AI, "gen_ai.token.modality"]),
        ("gen_ai.client.inference.usage.cache_write.input_tokens", "{token}", &[], &[GEN_AI, "gen_ai.token.modality"]),
        ("gen_ai.client.inference.usage.reasoning.output_tokens", "{token}", &[], &[GEN_AI, "gen_ai.token.modality"]),
        ("gen_ai.client.inference.operation.input_tokens", "{token}", B_TOK, &[GEN_AI]),
        ("gen_ai.client.inference.operation.output_tokens", "{token}", B_TOK, &[GEN_AI]),
        ("llmperf.client.duration", "s", B_LATENCY, &[GEN_AI, OWN, "llmperf.outcome llmperf.input.size"]),
        ("llmperf.client.time_to_head", "s", B_LATENCY, &[GEN_AI, OWN]),
        ("llmperf.client.time_to_first_token", "s", B_LATENCY, &[GEN_AI, OWN, "llmperf.input.size"]),
        ("llmperf.client.time_to_first_answer", "s", B_LATENCY, &[GEN_AI, OWN]),
        ("llmperf.client.time_per_output_token", "s", B_GAP, &[GEN_AI, OWN]),
        ("llmperf.client.longest_gap", "s", B_GAP, &[GEN_AI, OWN]),
        ("llmperf.client.consumer_wait", "s", B_LATENCY, &[GEN_AI, OWN]),
        ("llmperf.client.output_token_rate", "{token}/s", rates, &[GEN_AI, OWN]),
        ("llmperf.client.calls", "{call}", &[], &[GEN_AI, OWN, "gen_ai.request.stream llmperf.outcome error.type"]),
        (
            "llmperf.client.active_calls",
            "{call}",
            &[],
            &[&GEN_AI.replace("gen_ai.response.model ", ""), OWN, "llmperf.phase"],
        ),
        ("llmperf.client.retries", "{attempt}", &[], &[GEN_AI, OWN]),
        ("llmperf.client.markers_missing", "{call}", &[], &[GEN_AI, OWN]),
        ("llmperf.client.tokens", "{token}", &[], &[GEN_AI, OWN, "llmperf.token.type"]),
        ("llmperf.client.prompt.tokens", "{token}", B_TOK, &[GEN_AI, OWN]),
        ("llmperf.client.cost", "{USD}", &[], &[GEN_AI, OWN]),
        ("llmperf.slo.events", "{event}", &[], &[GEN_AI, OWN, "llmperf.slo.name llmperf.slo.met"]),
        ("llmperf.build.info", "1", &[], &["model.release"]),
    ]);
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn the_server_metrics_are_exactly_these() {
    let found = exported(|builder| builder, |from, clock| everything(from, clock, Side::Server));
    let expected = rows(&[
        ("gen_ai.server.request.duration", "s", B_LAT, &[GEN_AI, "error.type"]),
        ("gen_ai.server.time_to_first_token", "s", B_SERVER_TTFT, &[GEN_AI]),
        ("gen_ai.server.time_per_output_token", "s", B_SERVER_TPOT, &[GEN_AI]),
        ("llmperf.server.duration", "s", B_LATENCY, &[GEN_AI, OWN, "llmperf.outcome llmperf.input.size"]),
        ("llmperf.server.time_to_first_token", "s", B_LATENCY, &[GEN_AI, OWN, "llmperf.input.size"]),
        ("llmperf.server.time_per_output_token", "s", B_GAP, &[GEN_AI, OWN]),
        ("llmperf.server.calls", "{call}", &[], &[GEN_AI, OWN, "gen_ai.request.stream llmperf.outcome error.type"]),
        (
            "llmperf.server.active_calls",
            "{call}",
            &[],
            &[&GEN_AI.replace("gen_ai.response.model ", ""), OWN, "llmperf.phase"],
        ),
        ("llmperf.server.tokens", "{token}", &[], &[GEN_AI, OWN, "llmperf.token.type"]),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn the_v1_41_names_are_those_that_other_sdks_emit_each_once() {
    let found = exported(
        |builder| builder.gen_ai_names(GenAiNames::V1_41),
        |from, clock| {
            everything(from, clock, Side::Client);
            drop(from.chat("openai", "text-embedding-3-small").operation("embeddings").start());
        },
    );
    let found: Vec<Row> = found.into_iter().filter(|row| row.0.starts_with("gen_ai.")).collect();
    let expected = rows(&[
        ("gen_ai.client.operation.duration", "s", B_LAT, &[GEN_AI, "error.type"]),
        ("gen_ai.client.operation.time_to_first_chunk", "s", B_LAT, &[GEN_AI]),
        ("gen_ai.client.operation.time_per_output_chunk", "s", B_LAT, &[GEN_AI]),
        ("gen_ai.client.token.usage", "{token}", B_TOK, &[GEN_AI, "gen_ai.token.type"]),
    ]);
    assert_eq!(found, expected);
}

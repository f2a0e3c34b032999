//! Design section 5: what each metric counts, and when.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use llmperf_core::{
    Call, Failure, MeasureStream as _, Objective, Observer, Oddity, Output, Price, Prices, Read, Reader, Sees, Slo,
    StartedCall, Usage,
    testing::{Point, Probe},
};

use crate::{
    contract::B_LATENCY,
    script::{drain, paced, take},
};

type Chunk = Output<'static>;

fn call(probe: &Probe) -> Call {
    probe.chat("openai", "gpt-4o-mini")
}

/// Measures outputs that come 10 ms apart, to their end.
fn measured(probe: &Probe, call: Call, outputs: &[Chunk]) {
    drain(&mut paced(probe, outputs.iter().map(|output| (10, *output))).measure_with(call, |output| *output));
}

fn text() -> Chunk {
    Output::text("word")
}

fn with_usage(usage: Usage) -> [Chunk; 2] {
    [text(), Output::none().and_usage(usage)]
}

/// Each series of a metric as `value-of-key: sum`, sorted.
fn by(probe: &Probe, metric: &str, key: &str) -> Vec<(String, f64)> {
    let mut series: Vec<_> =
        probe.points(metric).iter().map(|point| (point.attribute(key).to_owned(), point.sum)).collect();
    series.sort_by(|a, b| a.0.cmp(&b.0));
    series
}

fn is(found: Vec<(String, f64)>, expected: &[(&str, f64)]) {
    let expected: Vec<_> = expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    assert_eq!(found, expected);
}

fn one(probe: &Probe, metric: &str) -> Point {
    let mut points = probe.points(metric);
    assert_eq!(points.len(), 1, "{metric}: {points:?}");
    points.remove(0)
}

#[test]
fn an_unknown_usage_is_the_convention_s_zero_and_nothing_of_ours() {
    let probe = Probe::new();
    measured(&probe, call(&probe), &[text()]);
    is(by(&probe, "gen_ai.client.inference.usage.input_tokens", "gen_ai.token.modality"), &[("unknown", 0.0)]);
    is(by(&probe, "gen_ai.client.inference.usage.output_tokens", "gen_ai.token.modality"), &[("unknown", 0.0)]);
    for absent in ["cache_read.input_tokens", "cache_write.input_tokens", "reasoning.output_tokens"] {
        assert!(probe.points(&format!("gen_ai.client.inference.usage.{absent}")).is_empty());
    }
    for absent in
        ["gen_ai.client.inference.operation.output_tokens", "llmperf.client.tokens", "llmperf.client.prompt.tokens"]
    {
        assert!(probe.points(absent).is_empty(), "{absent}");
    }
    assert_eq!(one(&probe, "llmperf.client.duration").attribute("llmperf.input.size"), "");
}

#[test]
fn tokens_are_counted_by_type_and_by_modality() {
    let probe = Probe::new();
    let usage = Usage::of(700, 40).cache_read(100).cache_write(50).reasoning(8).audio_input(60).audio_output(10);
    measured(&probe, call(&probe), &with_usage(usage));
    is(
        by(&probe, "llmperf.client.tokens", "llmperf.token.type"),
        &[("cache_read", 100.0), ("cache_write", 50.0), ("input", 700.0), ("output", 40.0), ("reasoning", 8.0)],
    );
    let modality = |name: &str| by(&probe, &format!("gen_ai.client.inference.usage.{name}"), "gen_ai.token.modality");
    is(modality("input_tokens"), &[("audio", 60.0), ("unknown", 640.0)]);
    is(modality("output_tokens"), &[("audio", 10.0), ("unknown", 30.0)]);
    assert_eq!(one(&probe, "llmperf.client.prompt.tokens").sum, 700.0);
}

#[test]
fn where_billed_and_used_tokens_differ_the_convention_has_the_billed_and_ours_the_used() {
    let probe = Probe::with(|builder| builder.prices(Prices::new().model("*", "*", Price::new(1.0, 1.0))));
    measured(&probe, call(&probe), &with_usage(Usage::of(1_493, 38).billed_input(68).billed_output(24)));
    assert_eq!(one(&probe, "gen_ai.client.inference.usage.input_tokens").sum, 68.0);
    assert_eq!(one(&probe, "gen_ai.client.inference.operation.output_tokens").sum, 24.0);
    is(by(&probe, "llmperf.client.tokens", "llmperf.token.type"), &[("input", 1_493.0), ("output", 38.0)]);
    assert!((one(&probe, "llmperf.client.cost").sum - 92e-6).abs() < 1e-12);
}

#[test]
fn an_estimate_enters_no_counter() {
    let probe = Probe::new();
    measured(&probe, call(&probe).estimate_tokens(), &[text(), text()]);
    assert!(probe.points("llmperf.client.tokens").is_empty());
    assert!(probe.points("llmperf.client.cost").is_empty());
    assert_eq!(probe.count("llmperf.client.output_token_rate"), 1.0);
}

#[test]
fn prompts_have_a_size_class() {
    let probe = Probe::new();
    let sizes =
        [(512, "le_512"), (513, "le_2k"), (2_048, "le_2k"), (8_192, "le_8k"), (32_768, "le_32k"), (32_769, "gt_32k")];
    for (input, _) in sizes {
        measured(&probe, call(&probe), &with_usage(Usage::of(input, 5)));
    }
    for metric in ["llmperf.client.duration", "llmperf.client.time_to_first_token"] {
        let mut found: Vec<_> = probe
            .points(metric)
            .iter()
            .map(|point| (point.attribute("llmperf.input.size").to_owned(), point.count))
            .collect();
        found.sort();
        let classes = [("gt_32k", 1), ("le_2k", 2), ("le_32k", 1), ("le_512", 1), ("le_8k", 1)];
        assert_eq!(found, classes.map(|(class, count)| (class.to_owned(), count)), "{metric}");
    }
}

#[test]
fn active_calls_show_their_phase_and_come_back_to_zero_however_a_call_ends() {
    let endings: [(&str, &[Chunk], usize); 6] = [
        ("complete", &[text(), Output::done()], 2),
        ("error", &[text(), Output::error("overloaded")], 2),
        ("interrupted", &[text(), Output::failure(Failure::transport("reset"))], 2),
        ("cancelled", &[text(), text()], 1),
        ("cancelled before an event", &[text()], 0),
        ("ended", &[], 1),
    ];
    for (ending, outputs, taken) in endings {
        let probe = Probe::new();
        let items = outputs.iter().map(|output| (10, *output));
        let mut reply = paced(&probe, items).measure_with(call(&probe).sees(Sees::Marker), |output| *output);
        let active = || by(&probe, "llmperf.client.active_calls", "llmperf.phase");
        is(active(), &[("waiting", 1.0)]);
        take(&mut reply, taken.min(1));
        if taken > 0 && !outputs.is_empty() {
            is(active(), &[("streaming", 1.0), ("waiting", 0.0)]);
        }
        take(&mut reply, taken.saturating_sub(1));
        drop(reply);
        assert!(active().iter().all(|(_, calls)| *calls == 0.0), "{ending}: {:?}", active());
        assert_eq!(probe.count("llmperf.client.calls"), 1.0, "{ending}");
        assert_eq!(probe.instrumentation().live_calls(), 0, "{ending}");
    }
}

#[test]
fn attempts_beyond_the_first_are_retries_and_unseen_ones_are_absent() {
    let retries = |attempts: usize| {
        let probe = Probe::new();
        let mut recorder = call(&probe).start();
        recorder.in_scope(|| {
            for _ in 0..attempts {
                llmperf_core::current_call().unwrap().attempt();
            }
        });
        let timing = recorder.finish();
        (probe.count("llmperf.client.retries"), timing.attempts)
    };
    assert_eq!(retries(0), (0.0, None));
    assert_eq!(retries(1), (0.0, Some(1)));
    assert_eq!(retries(3), (2.0, Some(3)));
}

#[test]
fn cost_needs_a_row_and_a_count() {
    let probe =
        Probe::with(|builder| builder.prices(Prices::new().model("openai", "gpt-4o-mini*", Price::new(2.0, 8.0))));
    measured(&probe, call(&probe), &with_usage(Usage::of(500_000, 125_000)));
    assert_eq!(one(&probe, "llmperf.client.cost").sum, 2.0);
    measured(&probe, call(&probe), &[text()]);
    measured(&probe, probe.chat("groq", "llama"), &with_usage(Usage::of(1, 1)));
    assert_eq!(one(&probe, "llmperf.client.cost").sum, 2.0);
}

fn judged(call: impl Fn(&Probe)) -> Vec<(String, String, f64)> {
    let probe = Probe::with(|builder| builder.slos(Slo::standard()));
    call(&probe);
    let mut events: Vec<_> = probe
        .points("llmperf.slo.events")
        .iter()
        .map(|point| (point.attribute("llmperf.slo.name").into(), point.attribute("llmperf.slo.met").into(), point.sum))
        .collect();
    events.sort_by(|a: &(String, String, f64), b| a.partial_cmp(b).unwrap());
    events
}

fn event(name: &str, met: &str) -> (String, String, f64) {
    (name.to_owned(), met.to_owned(), 1.0)
}

/// Two chunks with a count of 3 tokens, after so many milliseconds each.
fn streamed(probe: &Probe, first: u64, second: u64, last: Chunk, taken: usize) {
    let items = [(first, text()), (second, text()), (0, last)];
    let mut reply = paced(probe, items).measure_with(call(probe).sees(Sees::Marker), |output| *output);
    take(&mut reply, taken);
}

#[test]
fn each_complete_call_meets_or_misses_each_objective() {
    let done = Output::usage(9, 2).and_done();
    let met = [event("e2e", "true"), event("tpot", "true"), event("ttft", "true")];
    assert_eq!(judged(|probe| streamed(probe, 1_000, 50, done, 3)), met, "a limit that is reached is met");
    let missed = [event("e2e", "false"), event("tpot", "false"), event("ttft", "false")];
    assert_eq!(judged(|probe| streamed(probe, 1_001, 5_000, done, 3)), missed);
}

#[test]
fn a_failed_or_interrupted_call_misses_all() {
    let missed = [event("e2e", "false"), event("tpot", "false"), event("ttft", "false")];
    assert_eq!(judged(|probe| streamed(probe, 10, 10, Output::error("overloaded"), 3)), missed);
    let reset = Output::failure(Failure::transport("reset"));
    assert_eq!(judged(|probe| streamed(probe, 10, 10, reset, 3)), missed);
}

#[test]
fn an_absent_figure_of_a_complete_call_is_no_event() {
    assert_eq!(judged(|probe| measured(probe, call(probe), &[text()])), [event("e2e", "true"), event("ttft", "true")]);
    assert_eq!(judged(|probe| measured(probe, call(probe), &[Output::none()])), [event("e2e", "true")]);
}

#[test]
fn a_cancelled_call_counts_only_as_a_miss_of_what_it_had_broken() {
    assert_eq!(judged(|probe| streamed(probe, 10, 10, Output::done(), 2)), []);
    assert_eq!(judged(|probe| streamed(probe, 2_000, 10, Output::done(), 2)), [event("ttft", "false")]);
    let without_a_token = |probe: &Probe| {
        let recorder = call(probe).start();
        probe.clock().advance(Duration::from_secs(6));
        drop(recorder);
    };
    assert_eq!(judged(without_a_token), [event("e2e", "false"), event("ttft", "false")]);
}

#[test]
fn what_is_said_of_streams_is_not_said_of_a_call_that_gives_its_answer_whole() {
    let failed = |probe: &Probe| {
        let request = std::future::ready(Err::<(), _>(std::io::Error::other("x")));
        let _ = futures::executor::block_on(call(probe).run(request));
    };
    assert_eq!(judged(failed), [event("e2e", "false")]);
}

#[test]
fn declared_limits_and_overridden_boundaries_are_the_instrument_s() {
    let slo = Slo::new("fast", Objective::TimeToFirstToken, Duration::from_millis(400));
    let probe = Probe::with(|builder| builder.slos([slo]).boundaries("llmperf.client.duration", [1.0, 2.0]));
    measured(&probe, call(&probe), &[text()]);
    let ttft = one(&probe, "llmperf.client.time_to_first_token").bounds;
    assert_eq!(ttft.len(), B_LATENCY.len() + 1);
    assert!(ttft.contains(&0.4));
    assert_eq!(one(&probe, "llmperf.client.duration").bounds, [1.0, 2.0]);
    assert_eq!(one(&probe, "llmperf.client.time_to_first_answer").bounds, B_LATENCY);
}

#[test]
fn the_per_chunk_histogram_has_a_record_for_each_gap_and_can_be_switched_off() {
    let chunks = [text(); 50];
    let on = Probe::new();
    measured(&on, call(&on), &chunks);
    let point = one(&on, "gen_ai.client.inference.time_per_output_chunk");
    assert_eq!(point.count, 49);
    assert!((point.sum - 0.49).abs() < 1e-9, "{}", point.sum);
    let off = Probe::with(|builder| builder.per_chunk_histogram(false));
    measured(&off, call(&off), &chunks);
    assert!(off.points("gen_ai.client.inference.time_per_output_chunk").is_empty());
    assert_eq!(off.count("llmperf.client.longest_gap"), 1.0);
}

#[test]
fn an_operation_that_is_no_inference_has_the_convention_s_other_duration_and_no_more_of_it() {
    for operation in ["embeddings", "search_memory", "upsert_memory", "create_memory_store"] {
        let probe = Probe::new();
        measured(&probe, call(&probe).operation(operation), &[text(), text(), Output::usage(5, 2)]);
        let names = probe.metric_names();
        let gen_ai: Vec<_> = names.iter().filter(|name| name.starts_with("gen_ai.")).collect();
        assert_eq!(gen_ai, ["gen_ai.client.operation.duration"], "{operation}");
        assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    }
}

#[test]
fn a_label_of_the_user_s_takes_the_place_of_none_of_ours_and_a_third_is_ignored() {
    let probe = Probe::new();
    let labelled = call(&probe).label("llmperf.outcome", "mine").label("feature", "search").label("tenant", "t");
    let labelled = labelled.label("third", "x");
    measured(&probe, labelled, &[text()]);
    let point = one(&probe, "llmperf.client.calls");
    assert_eq!((point.attribute("llmperf.outcome"), point.attribute("feature")), ("complete", "search"));
    assert_eq!(point.attribute("third"), "");
    assert_eq!(one(&probe, "gen_ai.client.inference.duration").attribute("feature"), "", "ours have it alone");
}

#[test]
fn a_label_that_prometheus_would_refuse_or_take_for_ours_is_ignored() {
    let probe = Probe::new();
    for key in ["", "le", "quantile", "1st", "a:b", "__name__", "..x", "llmperf_outcome", "gen_ai_request_model"] {
        measured(&probe, call(&probe).label(key, "mine"), &[text()]);
    }
    assert!(!probe.points("llmperf.client.calls").iter().any(|point| format!("{point:?}").contains("mine")));
    measured(&probe, call(&probe).label("tenant.id", "mine"), &[text()]);
    assert!(probe.points("llmperf.client.calls").iter().any(|point| point.attribute("tenant.id") == "mine"));
}

#[test]
fn a_label_is_capped_by_its_key_wherever_it_stands() {
    let probe = Probe::with(|builder| builder.name_cap(10));
    for n in 0..30 {
        call(&probe).label("tenant", format!("a{n}")).label("feature", "x").start().finish();
        call(&probe).label("feature", "x").label("tenant", format!("b{n}")).start().finish();
    }
    let tenants: BTreeSet<_> = by(&probe, "llmperf.client.calls", "tenant").into_iter().map(|(name, _)| name).collect();
    assert_eq!(tenants.len(), 11, "{tenants:?}");
    assert!(probe.points("llmperf.client.calls").iter().all(|point| point.attribute("feature") == "x"));
    assert_eq!(probe.count("llmperf.client.calls"), 60.0);
}

#[test]
fn an_error_type_is_a_code_and_capped() {
    let probe = Probe::with(|builder| builder.name_cap(10));
    measured(&probe, call(&probe), &[Output::error("your prompt 'secret' was refused")]);
    assert_eq!(one(&probe, "llmperf.client.calls").attribute("error.type"), "_OTHER");
    for code in 0..100 {
        let code = format!("code_{code}");
        let mut recorder = call(&probe).start();
        recorder.fail(&code);
    }
    let types: BTreeSet<_> =
        by(&probe, "llmperf.client.calls", "error.type").into_iter().map(|(code, _)| code).collect();
    assert!(types.len() <= 11 && types.contains("_OTHER"), "{types:?}");
    assert_eq!(probe.count("llmperf.client.calls"), 101.0);
}

/// Makes calls with these many names and gives, over all metrics, the most values that an attribute has.
fn most_values(probe: &Probe, calls: impl Iterator<Item = (String, String)>) -> usize {
    for (asked, answers) in calls {
        let mut recorder = probe.chat("openai", asked).start();
        recorder.on_chunk(Output::text("word"));
        let answer = recorder.in_scope(|| answers);
        recorder.on_chunk(Output::none().model(answer.as_str()));
        drop(recorder.finish());
    }
    let mut most = 0;
    for metric in probe.metric_names() {
        let points = probe.points(&metric);
        for key in ["gen_ai.request.model", "gen_ai.response.model"] {
            let values: BTreeSet<_> = points.iter().filter_map(|point| point.attributes.get(key)).collect();
            most = most.max(values.len());
        }
        let overflown = points.iter().any(|point| point.attributes.contains_key("otel.metric.overflow"));
        assert!(!overflown, "{metric} has the SDK's overflow series");
    }
    most
}

#[test]
fn ten_thousand_models_leave_the_cap_and_one() {
    let probe = Probe::new();
    let calls = (0..10_000).map(|n| (format!("model-{n}"), format!("model-{n}-2024")));
    let most = most_values(&probe, calls);
    assert!((2..=101).contains(&most), "{most}");
    assert_eq!(probe.count("llmperf.client.calls"), 10_000.0, "none is lost");
    is(
        by(&probe, "llmperf.client.active_calls", "none"),
        &vec![("", 0.0); probe.points("llmperf.client.active_calls").len()],
    );
    assert!(
        by(&probe, "llmperf.internal.events", "llmperf.internal.kind").iter().any(|(kind, _)| kind == "folded_name")
    );
}

#[test]
fn products_of_names_fold_before_the_sdk_s_limit() {
    let probe = Probe::with(|builder| builder.name_cap(5_000));
    let calls = (0..4_000).map(|n| (format!("model-{n}"), format!("answer-{}", n % 7)));
    most_values(&probe, calls);
    for code in 0..4_000 {
        probe.chat("openai", format!("model-{code}")).start().fail(&format!("code_{code}"));
    }
    for metric in probe.metric_names() {
        let points = probe.points(&metric);
        assert!(points.len() < 2_000, "{metric}: {}", points.len());
        assert!(points.iter().all(|point| !point.attributes.contains_key("otel.metric.overflow")), "{metric}");
    }
    assert_eq!(probe.count("llmperf.client.calls"), 8_000.0);
}

struct Odd;

impl Reader<&'static str> for Odd {
    const SEES: Sees = Sees::Nothing;

    fn read(&mut self, _: &&'static str, read: &mut Read<'_>) {
        read.oddity(Oddity::MalformedPayload, 2);
        read.oddity(Oddity::UnknownEvent, 1);
        read.oddity(Oddity::DecoderBlind, 0);
    }
}

#[derive(Debug)]
struct Panics;

impl Observer for Panics {
    fn started(&self, _: &StartedCall<'_>) {
        panic!("observer");
    }
}

#[test]
fn what_could_not_be_measured_is_counted_by_kind() {
    let probe = Probe::with(|builder| builder.observer(Arc::new(Panics)));
    let mut reply = llmperf_core::Measured::new(paced(&probe, [(1, "?")]), call(&probe), Odd);
    drain(&mut reply);
    is(
        by(&probe, "llmperf.internal.events", "llmperf.internal.kind"),
        &[("caught_panic", 1.0), ("malformed_payload", 2.0), ("unknown_event", 1.0)],
    );
    assert_eq!(reply.timing().chunks, 0, "a payload that does not parse is no event");
}

#[test]
fn what_is_deployed_is_said_as_a_gauge() {
    let probe = Probe::with(|builder| builder.build_info("model.release", "7").build_info("prompt.version", "v3"));
    drop(call(&probe).start());
    let point = one(&probe, "llmperf.build.info");
    assert_eq!((point.sum, point.attribute("model.release"), point.attribute("prompt.version")), (1.0, "7", "v3"));
}

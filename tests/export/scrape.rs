//! `/metrics`, as Prometheus and others ask for it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use llmperf::export;
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;

use super::by;
use super::collector::Collector;

const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn names_follow_the_specification() {
    let telemetry = export::prometheus(LOOPBACK).service("travel-desk").build().unwrap();
    let meter = telemetry.meter_provider().unwrap().meter("llmperf");
    let model = [KeyValue::new("gen_ai.request.model", "gpt-4o-mini")];
    let ttft = meter.f64_histogram("llmperf.client.time_to_first_token").with_unit("s").with_boundaries(vec![0.1, 1.0]);
    ttft.build().record(0.25, &model);
    meter.u64_counter("llmperf.client.calls").with_unit("{call}").build().add(3, &model);
    meter.f64_histogram("llmperf.client.output_token_rate").with_unit("{token}/s").build().record(50.0, &model);
    meter.i64_up_down_counter("llmperf.client.active_calls").with_unit("{call}").build().add(2, &model);

    let answer = ask(telemetry.metrics_address().unwrap(), "GET /metrics");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    let labels = r#"gen_ai_request_model="gpt-4o-mini",otel_scope_name="llmperf""#;
    for line in [
        "# TYPE llmperf_client_time_to_first_token_seconds histogram".to_owned(),
        format!(r#"llmperf_client_time_to_first_token_seconds_bucket{{{labels},le="0.1"}} 0"#),
        format!(r#"llmperf_client_time_to_first_token_seconds_bucket{{{labels},le="1"}} 1"#),
        format!(r#"llmperf_client_time_to_first_token_seconds_bucket{{{labels},le="+Inf"}} 1"#),
        format!("llmperf_client_time_to_first_token_seconds_count{{{labels}}} 1"),
        format!("llmperf_client_calls_total{{{labels}}} 3"),
        format!("llmperf_client_output_token_rate_per_second_count{{{labels}}} 1"),
        format!("llmperf_client_active_calls{{{labels}}} 2"),
    ] {
        assert!(body.lines().any(|found| found == line), "{line} is not in\n{body}");
    }
    assert!(body.contains("target_info{"), "{body}");
    assert!(body.contains(r#"service_name="travel-desk""#), "{body}");
    assert!(body.lines().all(is_exposition), "{body}");
}

/// A line of the text format: a comment, or a name, labels and a number.
fn is_exposition(line: &str) -> bool {
    if line.starts_with("# HELP ") || line.starts_with("# TYPE ") {
        return true;
    }
    line.rsplit_once(' ').is_some_and(|(series, value)| !series.is_empty() && value.parse::<f64>().is_ok())
}

#[test]
fn other_paths_and_methods_are_refused() {
    let telemetry = export::prometheus(LOOPBACK).build().unwrap();
    let address = telemetry.metrics_address().unwrap();
    let head = ask(address, "HEAD /metrics");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(ask(address, "GET /").starts_with("HTTP/1.1 404 "));
    let refused = ask(address, "POST /metrics");
    assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("allow: GET, HEAD"), "{refused}");
}

#[test]
fn scrapes_run_side_by_side() {
    let telemetry = export::prometheus(LOOPBACK).build().unwrap();
    let address = telemetry.metrics_address().unwrap();
    // One that says nothing must not keep others out.
    let _silent = TcpStream::connect(address).unwrap();
    let scrapes: Vec<_> = (0..40).map(|_| thread::spawn(move || ask(address, "GET /metrics"))).collect();
    for scrape in scrapes {
        assert!(scrape.join().unwrap().starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn metrics_are_pushed_and_scraped_from_one_provider() {
    let collector = Collector::start();
    let telemetry = by("http").endpoint(collector.url()).prometheus(LOOPBACK).build().unwrap();
    let counter = telemetry.meter_provider().unwrap().meter("test").u64_counter("llmperf.client.calls").build();
    counter.add(5, &[]);
    let answer = ask(telemetry.metrics_address().unwrap(), "GET /metrics");
    assert!(answer.contains(r#"llmperf_client_calls_total{otel_scope_name="test"} 5"#), "{answer}");
    telemetry.shutdown().unwrap();
    assert!(collector.metrics().iter().any(|metric| metric.name == "llmperf.client.calls"));
}

#[test]
fn the_port_is_free_after_shutdown() {
    let telemetry = export::prometheus(LOOPBACK).build().unwrap();
    let address = telemetry.metrics_address().unwrap();
    assert!(TcpListener::bind(address).is_err());
    telemetry.shutdown().unwrap();
    assert!(TcpListener::bind(address).is_ok());
}

#[test]
fn an_address_in_use_is_an_error() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let error = export::prometheus(taken.local_addr().unwrap()).build().unwrap_err();
    assert!(error.is_address_unavailable(), "{error:?}");
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.unwrap().kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn exponential_histograms_exclude_it() {
    let error = export::otlp_http().exponential_histograms().prometheus(LOOPBACK).build().unwrap_err();
    assert!(error.is_conflict(), "{error:?}");
}

/// Whether the labels of each line have names, each once, as Prometheus wants them: it refuses the whole page otherwise.
fn refused_labels(page: &str) -> Vec<String> {
    let mut refused = Vec::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, labels)) = line.split_once('{') else { continue };
        let mut names: Vec<&str> = labels.split("=\"").filter_map(|part| part.rsplit(['{', ',']).next()).collect();
        names.pop();
        let is_name = |name: &&str| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let once = names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1);
        if !once || !names.iter().all(is_name) {
            refused.push(line.to_owned());
        }
    }
    refused
}

#[test]
fn no_label_of_the_user_s_costs_the_page() {
    let telemetry = export::prometheus(LOOPBACK).build().unwrap();
    let instrumentation =
        llmperf::Instrumentation::builder().meter_provider(telemetry.meter_provider().unwrap().clone()).build();
    let labels =
        ["le", "quantile", "", "1st", "tenant id", "a:b", "é", "__name__", "gen_ai_request_model", "a.b", "a_b"];
    for label in labels {
        let _timing =
            instrumentation.chat("openai", "gpt").label(label, "x").label("tenant", "y\n\"\\\0").start().finish();
    }
    let answer = ask(telemetry.metrics_address().unwrap(), "GET /metrics");
    let (_, page) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(refused_labels(page), Vec::<String>::new());
    assert!(!page.contains("gpt;x") && !page.contains("x;gpt"), "{page}");
    assert!(page.contains(r#"tenant_id="x""#) && page.contains(r#"a_b="x""#), "{page}");
}

#[test]
fn no_attribute_of_the_application_s_costs_the_page() {
    const KEYS: [&str; 9] = ["", "1st", "le", "__name__", "a b", "a:b", "a.b", "a_b", "é"];
    let mut export = export::prometheus(LOOPBACK);
    for key in KEYS {
        export = export.resource(key, "x");
    }
    let telemetry = export.build().unwrap();
    let meter = telemetry.meter_provider().unwrap().meter("test");
    let attributes = KEYS.map(|key| KeyValue::new(key, "x"));
    meter.f64_histogram("sizes").build().record(1.0, &attributes);
    meter.u64_counter("calls").build().add(1, &attributes);
    let answer = ask(telemetry.metrics_address().unwrap(), "GET /metrics");
    let (_, page) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(refused_labels(page), Vec::<String>::new());
    assert!(page.contains(r#"key_1st="x""#) && page.contains(r#"exported_le="x""#), "{page}");
}

#[test]
fn clients_that_connect_and_say_nothing_keep_nobody_out() {
    let telemetry = export::prometheus(LOOPBACK).build().unwrap();
    let address = telemetry.metrics_address().unwrap();
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut stream = TcpStream::connect(address).unwrap();
    // Long after the answer should have come, and long before the silent ones are let go.
    stream.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(silent);
}

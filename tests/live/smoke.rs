//! The real servers start, take what is sent to them, give it back, and are gone afterwards.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::backends::{self, Client, Jaeger, Kind, Prometheus, Status};

#[test]
fn jaeger_gives_back_the_span_that_it_was_sent() {
    if backends::left_out() {
        return;
    }
    let jaeger = Jaeger::start().unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
    let request = json!({ "resourceSpans": [{
        "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "smoke" } }] },
        "scopeSpans": [{
            "scope": { "name": "llmperf", "version": "0.1.0" },
            "spans": [{
                "traceId": "0102030405060708090a0b0c0d0e0f10",
                "spanId": "0102030405060708",
                "name": "chat gpt-4o-mini",
                "kind": 3,
                "startTimeUnixNano": "1700000000123456789",
                "endTimeUnixNano": "1700000001623456789",
                "attributes": [
                    { "key": "gen_ai.usage.output_tokens", "value": { "intValue": "42" } },
                    { "key": "gen_ai.response.finish_reasons",
                      "value": { "arrayValue": { "values": [{ "stringValue": "stop" }] } } },
                ],
                "events": [{ "name": "retry", "timeUnixNano": "1700000000623456789" }],
                "status": { "code": 2, "message": "overloaded" },
            }, {
                "traceId": "0102030405060708090a0b0c0d0e0f10",
                "spanId": "1112131415161718",
                "parentSpanId": "0102030405060708",
                "name": "POST",
                "kind": 1,
                "startTimeUnixNano": "1700000000200000000",
                "endTimeUnixNano": "1700000000300000000",
            }],
        }],
    }] });
    let (status, answer) = Client::new().post(&format!("{}/v1/traces", jaeger.otlp_http), &request).unwrap();
    assert_eq!(status, 200, "{answer}");

    let traces = jaeger.wait_for("smoke", |traces| traces.iter().any(|trace| trace.spans.len() == 2)).unwrap();
    let [trace] = traces.as_slice() else { panic!("one trace was sent: {traces:?}") };
    let [root] = trace.roots().collect::<Vec<_>>()[..] else { panic!("one root was sent: {trace:?}") };
    assert_eq!(root.name, "chat gpt-4o-mini");
    assert_eq!(root.parent_id, None);
    assert_eq!(root.kind, Kind::Client);
    assert_eq!((root.start, root.duration), (start, Duration::from_millis(1500)));
    assert_eq!((root.status, root.status_message.as_str()), (Status::Error, "overloaded"));
    assert_eq!(root.number("gen_ai.usage.output_tokens"), Some(42.0));
    assert_eq!(root.attributes["gen_ai.response.finish_reasons"], json!(["stop"]));
    assert_eq!((root.scope.as_str(), root.scope_version.as_str()), ("llmperf", "0.1.0"));
    assert_eq!(root.resource["service.name"], "smoke");
    assert_eq!((root.events[0].name.as_str(), root.events[0].at), ("retry", start + Duration::from_millis(500)));

    let [child] = trace.children(root).collect::<Vec<_>>()[..] else { panic!("one child was sent: {trace:?}") };
    assert_eq!((child.name.as_str(), child.kind, child.status), ("POST", Kind::Internal, Status::Unset));
    assert!(child.end() < root.end());

    assert!(jaeger.traces("somebody else").unwrap().is_empty());
}

#[test]
fn prometheus_takes_an_otlp_histogram() {
    if backends::left_out() {
        return;
    }
    let prometheus = Prometheus::start(&[]).unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let request = json!({ "resourceMetrics": [{
        "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "smoke" } }] },
        "scopeMetrics": [{
            "scope": { "name": "llmperf" },
            "metrics": [{
                "name": "llmperf.client.time_to_first_token",
                "unit": "s",
                "histogram": {
                    "aggregationTemporality": 2,
                    "dataPoints": [{
                        "startTimeUnixNano": (now - 1_000_000_000).to_string(),
                        "timeUnixNano": now.to_string(),
                        "count": "10",
                        "sum": 4.5,
                        "explicitBounds": [0.2, 0.5, 1.0],
                        "bucketCounts": ["2", "8", "0", "0"],
                    }],
                },
            }],
        }],
    }] });
    let (status, answer) = Client::new().post(&format!("{}/v1/metrics", prometheus.otlp_http), &request).unwrap();
    assert_eq!(status, 200, "{answer}");

    let metric = "llmperf_client_time_to_first_token_seconds";
    let count = prometheus.wait_until(&format!("{metric}_count"), |samples| !samples.is_empty()).unwrap();
    assert_eq!(count.len(), 1, "{count:?}");
    assert_eq!(count[0].value, 10.0);
    assert_eq!(count[0].labels["service_name"], "smoke");
    let median = prometheus.query(&format!("histogram_quantile(0.5, {metric}_bucket)")).unwrap();
    // Rank 5 of 10, the third of the 8 between 0.2 and 0.5.
    assert!((median[0].value - 0.3125).abs() < 1e-9, "{median:?}");

    assert_eq!(prometheus.query("scalar(vector(2))").unwrap()[0].value, 2.0);
    assert!(prometheus.query("sum(").unwrap_err().to_string().contains("400"));
}

#[test]
fn prometheus_scrapes_its_target() {
    if backends::left_out() {
        return;
    }
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = target.local_addr().unwrap();
    thread::spawn(move || {
        for connection in target.incoming() {
            serve_metrics(connection.unwrap());
        }
    });
    let prometheus = Prometheus::start(&[address]).unwrap();

    let calls = prometheus.wait_until("llmperf_client_calls_total", |samples| !samples.is_empty()).unwrap();
    assert_eq!(calls[0].value, 7.0);
    assert_eq!(calls[0].labels["instance"], address.to_string());
}

#[test]
fn a_server_is_gone_when_its_test_panics() {
    if backends::left_out() {
        return;
    }
    let prometheus = Prometheus::start(&[]).unwrap();
    let address = prometheus.url.strip_prefix("http://").unwrap().to_owned();
    assert!(TcpStream::connect(&address).is_ok());

    let test = thread::spawn(move || {
        let _running = prometheus;
        panic!("a test that fails");
    });

    assert!(test.join().is_err());
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn a_port_that_somebody_took_is_replaced() {
    let attempts = Cell::new(0);
    let attempt = |error: &str| {
        attempts.set(attempts.get() + 1);
        if attempts.get() == 1 { Err(error.into()) } else { Ok(()) }
    };

    let ports =
        backends::on_free_ports(|ports: [u16; 2]| attempt("listen tcp: bind: address already in use").map(|()| ports));
    assert!(matches!(ports, Ok([first, second]) if first != second));
    assert_eq!(attempts.take(), 2);

    let other = backends::on_free_ports(|_: [u16; 1]| attempt("no such file"));
    assert!(other.is_err());
    assert_eq!(attempts.take(), 1, "nothing but a taken port is worth another attempt");
}

/// Answers one scrape with one counter.
fn serve_metrics(mut connection: TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        let read = connection.read(&mut buffer).unwrap();
        assert_ne!(read, 0, "the scrape was cut");
        request.extend_from_slice(&buffer[..read]);
    }
    assert!(request.starts_with(b"GET /metrics "));
    let body = "# TYPE llmperf_client_calls_total counter\nllmperf_client_calls_total 7\n";
    write!(
        connection,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
}

//! Shutdown returns within its limit, whatever the collector does and wherever it is called from. The only tests that
//! look at the clock: a bound with a generous margin is what is promised.

use std::time::{Duration, Instant};

use llmperf::export::{Error, Export};

use super::collector::{self, Collector};
use super::{by, end_spans};

const LIMIT: Duration = Duration::from_millis(500);
/// For a machine that many share.
const MARGIN: Duration = Duration::from_secs(4);

/// Ends spans and shuts down, from a plain thread, inside a current-thread runtime and inside a multi-thread runtime
/// with a single worker.
fn everywhere(limit: Duration, export: impl Fn() -> Export) -> Vec<Result<(), Error>> {
    let current = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let export = || export().shutdown_limit(limit);
    let spawned = export();
    vec![
        timed(limit, export()),
        current.block_on(async { timed(limit, export()) }),
        multi.block_on(async { tokio::spawn(async move { timed(limit, spawned) }).await.unwrap() }),
    ]
}

fn timed(limit: Duration, export: Export) -> Result<(), Error> {
    let telemetry = export.build().unwrap();
    end_spans(&telemetry, 10);
    let start = Instant::now();
    let outcome = telemetry.shutdown();
    let took = start.elapsed();
    assert!(took <= limit + MARGIN, "shutdown took {took:?}");
    outcome
}

#[test]
fn with_the_collector_up_all_is_delivered() {
    for protocol in ["grpc", "http"] {
        let collector = Collector::start();
        // Not a test of speed: the limit leaves a loaded machine its time.
        let outcomes = everywhere(Duration::from_secs(60), || by(protocol).endpoint(collector.url()));
        assert!(outcomes.iter().all(Result::is_ok), "{protocol}: {outcomes:?}");
        assert_eq!(collector.spans().len(), 30);
    }
}

#[test]
fn with_the_collector_hanging_it_gives_up_in_time() {
    for protocol in ["grpc", "http"] {
        let collector = collector::hanging();
        let outcomes = everywhere(LIMIT, || by(protocol).endpoint(collector.url()));
        for outcome in outcomes {
            assert!(outcome.as_ref().is_err_and(Error::is_timeout), "{protocol}: {outcome:?}");
        }
    }
}

#[test]
fn with_the_collector_refusing_it_says_what_was_lost() {
    for protocol in ["grpc", "http"] {
        let endpoint = collector::refusing();
        let outcomes = everywhere(LIMIT, || by(protocol).endpoint(&endpoint));
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert!(error.is_timeout() || error.is_lost(), "{protocol}: {error:?}");
        }
        let patient = by(protocol).endpoint(&endpoint).timeout(Duration::from_millis(50)).build().unwrap();
        end_spans(&patient, 1);
        let error = patient.shutdown().unwrap_err();
        assert!(error.is_lost(), "{protocol}: {error:?}");
    }
}

#[test]
fn with_the_collector_dribbling_it_gives_up_in_time() {
    let collector = collector::slow();
    for outcome in everywhere(LIMIT, || by("http").endpoint(collector.url())) {
        assert!(outcome.as_ref().is_err_and(Error::is_timeout), "{outcome:?}");
    }
}

#[test]
fn dropping_the_guard_is_bounded_too() {
    let collector = collector::hanging();
    for protocol in ["grpc", "http"] {
        let telemetry =
            by(protocol).endpoint(collector.url()).shutdown_limit(Duration::from_secs(600)).build().unwrap();
        end_spans(&telemetry, 10);
        let start = Instant::now();
        drop(telemetry);
        let took = start.elapsed();
        assert!(took <= Duration::from_secs(1) + MARGIN, "drop took {took:?}");
    }
}

#[test]
fn a_flush_against_a_hanging_collector_is_bounded() {
    let collector = collector::hanging();
    let telemetry = by("http").endpoint(collector.url()).shutdown_limit(LIMIT).build().unwrap();
    end_spans(&telemetry, 1);
    let start = Instant::now();
    let error = telemetry.force_flush().unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(start.elapsed() <= LIMIT + MARGIN);
}

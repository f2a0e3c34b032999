//! The set-up that an application installs: the process's own providers and subscriber, over OTLP/HTTP.

use std::time::Duration;

use llmperf::{Instrumentation, export};

use crate::backends::{self, Jaeger, Prometheus};
use crate::load::Load;
use crate::planned::arrived;
use crate::series::by_label;
use crate::{calls, traces};

const LOAD: Load = Load { calls: 40, concurrency: 20 };
const SEED: u64 = 2;
const SERVICE: &str = "installed";

/// The only test of this binary that sets what is global.
#[test]
fn an_installed_set_up_sends_what_is_measured_without_being_handed_around() {
    if backends::left_out() {
        return;
    }
    let jaeger = Jaeger::start().unwrap();
    let telemetry = export::otlp_http()
        .endpoint(&jaeger.otlp_http)
        .service(SERVICE)
        .metrics(false)
        .prometheus(([127, 0, 0, 1], 0))
        .install()
        .unwrap();
    let prometheus = Prometheus::start(&[telemetry.metrics_address().unwrap()]).unwrap();
    Instrumentation::builder().prices(calls::prices()).build().make_global();

    let calls = calls::drive(SEED, LOAD, &Instrumentation::global());
    assert_eq!(telemetry.drain(Duration::from_secs(5)), 0);
    telemetry.force_flush().unwrap();
    traces::agree(&arrived(&jaeger, SERVICE, calls.len()), &calls, &llmperf::stats::snapshot(), SERVICE);

    let counted = "sum by (llmperf_outcome) (llmperf_client_calls_total)";
    let all = |samples: &[backends::Sample]| samples.iter().map(|sample| sample.value).sum::<f64>() == 40.0;
    prometheus.wait_until(counted, all).unwrap();
    let returned =
        calls::outcomes(&calls).iter().map(|(outcome, count)| (outcome.to_string(), *count as f64)).collect();
    assert_eq!(by_label(&prometheus, "llmperf_outcome", counted), returned);
    telemetry.shutdown().unwrap();
}

//! What the builder leaves open is filled from the environment, then from the defaults.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_sdk::trace::{IdGenerator as _, RandomIdGenerator, Sampler};

use super::builder::Export;
use super::env::{Env, bad_setting, pairs};
use super::error::Error;
use super::filter::Filter;

const SPAN_QUEUE: usize = 2048;
const LONGEST_QUEUE: usize = 1_000_000;
const METRIC_INTERVAL: Duration = Duration::from_secs(60);

/// Everything that does not depend on the destination, decided.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) resource: Resource,
    pub(super) sampler: Sampler,
    /// False under `OTEL_SDK_DISABLED=true`, which beats all the others.
    pub(super) enabled: bool,
    pub(super) traces: bool,
    pub(super) metrics: bool,
    pub(super) logs: bool,
    pub(super) span_queue: usize,
    pub(super) metric_interval: Duration,
    pub(super) filter: Filter,
}

impl Settings {
    pub(super) fn resolve(export: &Export, env: &Env<'_>) -> Result<Self, Error> {
        let signal = |code: Option<bool>, name: &str, default: bool| {
            code.unwrap_or_else(|| env.text(name).map_or(default, |value| value != "none"))
        };
        let logs = signal(export.logs, "OTEL_LOGS_EXPORTER", false);
        if logs {
            // Read by the SDK, which takes any number.
            queue("OTEL_BLRP_MAX_QUEUE_SIZE", env)?;
        }
        Ok(Self {
            resource: resource(export, env),
            sampler: sampler(export, env)?,
            enabled: !env.flag("OTEL_SDK_DISABLED"),
            traces: signal(export.traces, "OTEL_TRACES_EXPORTER", true),
            metrics: signal(export.metrics, "OTEL_METRICS_EXPORTER", true),
            logs,
            span_queue: span_queue(env)?,
            metric_interval: metric_interval(export, env)?,
            filter: Filter::resolve(export.filter.as_deref(), env)?,
        })
    }
}

/// `service.*` and what the code adds, over `OTEL_SERVICE_NAME`, over `OTEL_RESOURCE_ATTRIBUTES`, over the defaults.
fn resource(export: &Export, env: &Env<'_>) -> Resource {
    let listed = env.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let service = export.service.clone().or_else(|| env.text("OTEL_SERVICE_NAME"));
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", unknown_service()),
            KeyValue::new("service.instance.id", random_uuid()),
        ])
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attributes(pairs(&listed).map(|(key, value)| KeyValue::new(key, value)))
        .with_attributes(service.map(|name| KeyValue::new("service.name", name)))
        .with_attributes(export.attributes.iter().cloned())
        .build()
}

fn unknown_service() -> String {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
    program.map_or_else(|| "unknown_service".to_owned(), |name| format!("unknown_service:{name}"))
}

/// A random (version 4) UUID: what tells two replicas of one service apart, Prometheus' `instance` among others.
fn random_uuid() -> String {
    let random = u128::from_be_bytes(RandomIdGenerator::default().new_trace_id().to_bytes());
    let versioned = random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{versioned:032x}");
    let mut uuid = String::with_capacity(36);
    for (at, digit) in digits.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            uuid.push('-');
        }
        uuid.push(digit);
    }
    uuid
}

fn sampler(export: &Export, env: &Env<'_>) -> Result<Sampler, Error> {
    const NAME: &str = "OTEL_TRACES_SAMPLER";
    let parent_based = |root| Sampler::ParentBased(Box::new(root));
    if let Some(ratio) = export.ratio {
        return Ok(parent_based(Sampler::TraceIdRatioBased(checked_ratio("ratio", ratio)?)));
    }
    let from_env = || -> Result<Sampler, Error> {
        let name = "OTEL_TRACES_SAMPLER_ARG";
        let ratio = env.parsed(name, "a number from 0 to 1")?.unwrap_or(1.0);
        Ok(Sampler::TraceIdRatioBased(checked_ratio(name, ratio)?))
    };
    match env.text(NAME).as_deref() {
        None | Some("parentbased_always_on") => Ok(parent_based(Sampler::AlwaysOn)),
        Some("parentbased_always_off") => Ok(parent_based(Sampler::AlwaysOff)),
        Some("parentbased_traceidratio") => Ok(parent_based(from_env()?)),
        Some("always_on") => Ok(Sampler::AlwaysOn),
        Some("always_off") => Ok(Sampler::AlwaysOff),
        Some("traceidratio") => from_env(),
        Some(other) => Err(bad_setting(
            NAME,
            other,
            "always_on, always_off, traceidratio, or one of them with `parentbased_` before it",
        )),
    }
}

fn checked_ratio(name: &str, ratio: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&ratio) {
        return Ok(ratio);
    }
    Err(bad_setting(name, &ratio.to_string(), "a number from 0 to 1"))
}

fn span_queue(env: &Env<'_>) -> Result<usize, Error> {
    const NAME: &str = "OTEL_BSP_MAX_QUEUE_SIZE";
    Ok(queue(NAME, env)?.unwrap_or(SPAN_QUEUE))
}

/// The length of a queue: the SDK sets its room aside at once, and more than there is aborts the process.
fn queue(name: &str, env: &Env<'_>) -> Result<Option<usize>, Error> {
    const EXPECTED: &str = "a number from 1 to 1000000";
    let length = env.parsed(name, EXPECTED)?;
    match length.filter(|length| !(1..=LONGEST_QUEUE).contains(length)) {
        None => Ok(length),
        Some(other) => Err(bad_setting(name, &other.to_string(), EXPECTED)),
    }
}

fn metric_interval(export: &Export, env: &Env<'_>) -> Result<Duration, Error> {
    const NAME: &str = "OTEL_METRIC_EXPORT_INTERVAL";
    const EXPECTED: &str = "a number of milliseconds above 0";
    let interval = match export.metric_interval {
        Some(interval) => Some(interval),
        None => env.parsed(NAME, EXPECTED)?.map(Duration::from_millis),
    };
    match interval {
        None => Ok(METRIC_INTERVAL),
        Some(Duration::ZERO) => Err(bad_setting(NAME, "0", EXPECTED)),
        Some(interval) => Ok(interval),
    }
}

#[cfg(test)]
mod tests;

//! Every metric of this crate as one table: name, kind, unit, boundaries, what it tells.
//!
//! `docs/metrics.md` is held to [`TABLE`] by a test; nothing is recorded that is not in it.

use crate::semconv::GenAiNames;

/// Boundaries of our latencies, in seconds.
pub const LATENCY: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5,
    10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0,
];
/// Boundaries of TPOT and gaps, in seconds.
pub(crate) const GAP: &[f64] = &[
    0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
    0.5, 1.0, 2.0, 5.0,
];
/// Boundaries of output rates, in tokens per second.
pub(crate) const RATE: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0];
/// The conventions' boundaries for client durations and server requests, in seconds.
const GEN_AI_LATENCY: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// The conventions' boundaries for token counts.
const GEN_AI_TOKENS: &[f64] = &[
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
];
/// The conventions' boundaries for a server's time to first token, in seconds.
const GEN_AI_SERVER_TTFT: &[f64] =
    &[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
/// The conventions' boundaries for a server's time per output token, in seconds.
const GEN_AI_SERVER_TPOT: &[f64] = &[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5];

/// The kind of an instrument, with the boundaries of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Histogram of `f64`.
    Histogram(&'static [f64]),
    /// Histogram of `u64`.
    CountHistogram(&'static [f64]),
    /// Counter of `u64`.
    Counter,
    /// Counter of `f64`.
    Sum,
    /// Gauge of `f64`.
    Gauge,
    /// Up-down counter of `i64`.
    UpDown,
    /// Gauge that is always 1: its attributes are what it tells.
    Info,
}

/// One row of a table of metrics.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Definition {
    /// The instrument's name.
    pub name: &'static str,
    /// Its name in the v1.41 set, if it has another there.
    pub(crate) name_v1_41: Option<&'static str>,
    /// Its kind and boundaries.
    pub kind: Kind,
    /// Its unit (UCUM).
    pub unit: &'static str,
    /// What it tells you.
    pub description: &'static str,
}

impl Definition {
    /// A row.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, unit: &'static str, description: &'static str) -> Self {
        Self { name, name_v1_41: None, kind, unit, description }
    }

    const fn or_v1_41(self, name: &'static str) -> Self {
        Self { name_v1_41: Some(name), ..self }
    }

    pub(crate) fn name_in(&self, names: GenAiNames) -> &'static str {
        match names {
            GenAiNames::V1_41 => self.name_v1_41.unwrap_or(self.name),
            GenAiNames::Latest => self.name,
        }
    }
}

/// Writes the table of a crate's metrics, in the order of `docs/metrics.md`: `TABLE`, and an enum `Metric` of their places
/// in it. For authors of parts.
///
/// ```
/// use llmperf_core::metrics::{Definition, Kind};
///
/// llmperf_core::metric_table! {
///     Lookups: Definition::new("shelf.lookups", Kind::Counter, "{lookup}", "Lookups in the shelf");
/// }
/// assert_eq!(TABLE[Metric::Lookups as usize].name, "shelf.lookups");
/// ```
#[macro_export]
macro_rules! metric_table {
    ($($metric:ident: $definition:expr;)*) => {
        /// A metric of this crate: its place in [`TABLE`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Metric { $($metric),* }

        /// All metrics of this crate, in the order of `docs/metrics.md`.
        pub const TABLE: &[$crate::metrics::Definition] = &[$($definition),*];
    };
}

const fn latency(name: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::Histogram(LATENCY), "s", description)
}
const fn gap(name: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::Histogram(GAP), "s", description)
}
const fn gen_ai_latency(name: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::Histogram(GEN_AI_LATENCY), "s", description)
}
const fn tokens(name: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::Counter, "{token}", description)
}
const fn token_histogram(name: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::CountHistogram(GEN_AI_TOKENS), "{token}", description)
}
const fn counter(name: &'static str, unit: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::Counter, unit, description)
}
const fn calls(name: &'static str, description: &'static str) -> Definition {
    Definition::new(name, Kind::UpDown, "{call}", description)
}

metric_table! {
    GenAiDuration: gen_ai_latency("gen_ai.client.inference.duration", "Request issued to response received or failed")
        .or_v1_41("gen_ai.client.operation.duration");
    GenAiFirstChunk: gen_ai_latency("gen_ai.client.inference.time_to_first_chunk", "Request issued to first chunk of any kind")
        .or_v1_41("gen_ai.client.operation.time_to_first_chunk");
    GenAiPerChunk: gen_ai_latency("gen_ai.client.inference.time_per_output_chunk", "Each gap between reads that carry output")
        .or_v1_41("gen_ai.client.operation.time_per_output_chunk");
    GenAiInput: tokens("gen_ai.client.inference.usage.input_tokens", "Billable input tokens, cached ones included");
    GenAiOutput: tokens("gen_ai.client.inference.usage.output_tokens", "Billable output tokens, reasoning included");
    GenAiCacheRead: tokens("gen_ai.client.inference.usage.cache_read.input_tokens", "Input tokens read from the provider's cache");
    GenAiCacheWrite: tokens("gen_ai.client.inference.usage.cache_write.input_tokens", "Input tokens written to the provider's cache");
    GenAiReasoning: tokens("gen_ai.client.inference.usage.reasoning.output_tokens", "Output tokens spent on reasoning");
    GenAiInputPerCall: token_histogram("gen_ai.client.inference.operation.input_tokens", "Input tokens of one call")
        .or_v1_41("gen_ai.client.token.usage");
    GenAiOutputPerCall: token_histogram("gen_ai.client.inference.operation.output_tokens", "Output tokens of one call")
        .or_v1_41("gen_ai.client.token.usage");
    GenAiOtherDuration: gen_ai_latency("gen_ai.client.operation.duration", "Duration of an operation that is no inference");
    GenAiServerDuration: gen_ai_latency("gen_ai.server.request.duration", "Request received to response sent");
    GenAiServerFirstToken: Definition::new("gen_ai.server.time_to_first_token", Kind::Histogram(GEN_AI_SERVER_TTFT), "s", "Request received to first token, of complete responses");
    GenAiServerPerToken: Definition::new("gen_ai.server.time_per_output_token", Kind::Histogram(GEN_AI_SERVER_TPOT), "s", "Time per token after the first, of complete responses");

    ClientDuration: latency("llmperf.client.duration", "E2E: start to the event that decided the outcome");
    ClientHead: latency("llmperf.client.time_to_head", "Start to response head: queue and connection, without prefill");
    ClientFirstToken: latency("llmperf.client.time_to_first_token", "TTFT: start to first output of any kind");
    ClientFirstAnswer: latency("llmperf.client.time_to_first_answer", "Start to first output that is not reasoning");
    ClientPerToken: gap("llmperf.client.time_per_output_token", "TPOT: the model's pace after the first token");
    ClientLongestGap: gap("llmperf.client.longest_gap", "The longest wait between two reads with output: stalls");
    ClientConsumerWait: latency("llmperf.client.consumer_wait", "How long ready items waited for the application");
    ClientTokenRate: Definition::new("llmperf.client.output_token_rate", Kind::Histogram(RATE), "{token}/s", "Output tokens per second of generation");
    ClientCalls: counter("llmperf.client.calls", "{call}", "Finished calls by outcome");
    ClientActive: calls("llmperf.client.active_calls", "Live calls by phase: stuck ones show");
    ClientRetries: counter("llmperf.client.retries", "{attempt}", "Attempts beyond the first");
    ClientMarkersMissing: counter("llmperf.client.markers_missing", "{call}", "Complete calls whose stream closed without its terminal marker");
    ClientTokens: tokens("llmperf.client.tokens", "Tokens used, by type; cache and reasoning are subsets");
    ClientPromptTokens: token_histogram("llmperf.client.prompt.tokens", "Input tokens of one call: prompts that grow");
    ClientCost: Definition::new("llmperf.client.cost", Kind::Sum, "{USD}", "Cost by the price table that the user gave");

    ServerDuration: latency("llmperf.server.duration", "Request received to the event that decided the outcome");
    ServerFirstToken: latency("llmperf.server.time_to_first_token", "Request received to first output");
    ServerPerToken: gap("llmperf.server.time_per_output_token", "The pace of generation after the first token");
    ServerCalls: counter("llmperf.server.calls", "{call}", "Finished requests by outcome");
    ServerActive: calls("llmperf.server.active_calls", "Live requests by phase");
    ServerTokens: tokens("llmperf.server.tokens", "Tokens processed, by type");

    SloEvents: counter("llmperf.slo.events", "{event}", "Each finished call judged against each declared SLO");
    BuildInfo: Definition::new("llmperf.build.info", Kind::Info, "1", "1, with what is deployed as attributes: for joins and annotations");
    InternalEvents: counter("llmperf.internal.events", "{event}", "What could not be measured, by kind");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn boundaries_rise_and_reach_minutes() {
        for definition in TABLE {
            if let Kind::Histogram(bounds) | Kind::CountHistogram(bounds) = definition.kind {
                assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{}", definition.name);
            }
        }
        assert!(LATENCY.last() >= Some(&81.92) && GEN_AI_LATENCY.last() >= Some(&81.92));
    }

    #[test]
    fn each_name_stands_once() {
        let names: HashSet<_> = TABLE.iter().map(|definition| definition.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn every_slo_value_and_its_multiples_lie_on_or_between_close_bounds() {
        let slos = [(1.0, LATENCY), (5.0, LATENCY), (0.5, LATENCY), (0.8, LATENCY), (0.05, GAP)];
        for (value, bounds) in slos {
            for factor in [1.0, 1.5, 3.0] {
                let at: f64 = value * factor;
                let above = bounds.iter().copied().find(|bound| *bound >= at - 1e-9).unwrap();
                let below = bounds.iter().copied().rev().find(|bound| *bound <= at + 1e-9).unwrap();
                assert!(above / below <= 1.6 + 1e-9, "{at} lies between {below} and {above}");
            }
        }
    }
}

//! Every name that leaves the process: attributes, metrics, scope.
//!
//! Pinned to the OpenTelemetry GenAI conventions (repository `semantic-conventions-genai`) as of October 2026: token
//! counters of its #374, `gen_ai.client.inference.*` of its #521. They have no release; [`GenAiNames::V1_41`] gives the
//! names of the core conventions v1.41, the last ones that other SDKs emit. `llmperf.*` is ours.

pub mod request;

use opentelemetry::InstrumentationScope;

/// Which names the `gen_ai.*` client metrics have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GenAiNames {
    /// `gen_ai.client.inference.*`, the newest.
    #[default]
    Latest,
    /// `gen_ai.client.operation.*` and `gen_ai.client.token.usage`, as core conventions v1.41 and most other SDKs.
    V1_41,
}

/// The instrumentation scope of all our spans and metrics.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("llmperf")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url("https://opentelemetry.io/schemas/gen-ai/1.42.0")
        .build()
}

/// What a capped name becomes.
pub(crate) const OTHER_NAME: &str = "_other";

macro_rules! names {
    ($($const:ident = $name:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub const $const: &str = $name;
        )*

        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}

pub mod agent;
pub mod rag;

/// Whether we write attributes of this name.
pub(crate) fn is_ours(name: &str) -> bool {
    ours().any(|ours| *ours == name)
}

fn ours() -> impl Iterator<Item = &'static &'static str> {
    [NAMES, agent::NAMES, rag::NAMES].into_iter().flatten()
}

/// Whether a metric may have a label of the user's under this name: Prometheus refuses a whole page for one name that it
/// does not allow or that stands twice, and it has no dots, so that `llmperf_outcome` would be ours.
pub(crate) fn is_free_label(name: &str) -> bool {
    fn there(name: &str) -> impl Iterator<Item = char> {
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
    }
    !name.is_empty()
        && !name.contains(':')
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !there(name).take(2).eq("__".chars())
        && !["le", "quantile"].contains(&name)
        && !ours().any(|ours| there(ours).eq(there(name)))
}

names! {
    // GenAI and general conventions
    OPERATION = "gen_ai.operation.name";
    PROVIDER = "gen_ai.provider.name";
    REQUEST_MODEL = "gen_ai.request.model";
    REQUEST_STREAM = "gen_ai.request.stream";
    RESPONSE_MODEL = "gen_ai.response.model";
    RESPONSE_ID = "gen_ai.response.id";
    FINISH_REASONS = "gen_ai.response.finish_reasons";
    RESPONSE_TTFC = "gen_ai.response.time_to_first_chunk";
    OUTPUT_MESSAGES = "gen_ai.output.messages";
    INPUT_MESSAGES = "gen_ai.input.messages";
    USAGE_INPUT = "gen_ai.usage.input_tokens";
    USAGE_OUTPUT = "gen_ai.usage.output_tokens";
    USAGE_CACHE_READ = "gen_ai.usage.cache_read.input_tokens";
    USAGE_CACHE_WRITE = "gen_ai.usage.cache_write.input_tokens";
    USAGE_CACHE_CREATION = "gen_ai.usage.cache_creation.input_tokens"; // v1.41
    USAGE_REASONING = "gen_ai.usage.reasoning.output_tokens";
    USAGE_AUDIO_INPUT = "gen_ai.usage.audio.input_tokens";
    USAGE_AUDIO_OUTPUT = "gen_ai.usage.audio.output_tokens";
    TOKEN_MODALITY = "gen_ai.token.modality";
    TOKEN_TYPE_V1_41 = "gen_ai.token.type";
    ERROR_TYPE = "error.type";
    ERROR_MESSAGE = "error.message";
    SERVER_ADDRESS = "server.address";
    SERVER_PORT = "server.port";
    HTTP_RESPONSE_SIZE = "http.response.body.size";
    // Ours
    OUTCOME = "llmperf.outcome";
    PHASE = "llmperf.phase";
    SCENARIO = "llmperf.scenario";
    INPUT_SIZE = "llmperf.input.size";
    TOKEN_TYPE = "llmperf.token.type";
    TOKEN_SOURCE = "llmperf.token.source";
    SLO_NAME = "llmperf.slo.name";
    SLO_MET = "llmperf.slo.met";
    INTERNAL_KIND = "llmperf.internal.kind";
    CONSUMER_BOUND = "llmperf.consumer_bound";
    CONSUMER_WAIT = "llmperf.consumer_wait";
    TIME_TO_HEAD = "llmperf.time_to_head";
    TTFT = "llmperf.time_to_first_token";
    TTFA = "llmperf.time_to_first_answer";
    TPOT = "llmperf.time_per_output_token";
    LONGEST_GAP = "llmperf.longest_gap";
    GENERATION_TIME = "llmperf.generation_time";
    TOKEN_RATE = "llmperf.output_token_rate";
    CHUNKS = "llmperf.chunks";
    OUTPUT_CHUNKS = "llmperf.output_chunks";
    ATTEMPTS = "llmperf.attempts";
    ATTEMPT = "llmperf.attempt";
    ATTEMPT_TTFT = "llmperf.attempt.time_to_first_token";
    COST = "llmperf.cost";
    // What a server says of its own times (seconds) and counts
    SERVER_QUEUE = "llmperf.server_reported.queue_time";
    SERVER_LOAD = "llmperf.server_reported.load_time";
    SERVER_PROMPT = "llmperf.server_reported.prompt_time";
    SERVER_GENERATION = "llmperf.server_reported.generation_time";
    SERVER_TOTAL = "llmperf.server_reported.total_time";
    SERVER_TTFT = "llmperf.server_reported.time_to_first_token";
    SERVER_TPOT = "llmperf.server_reported.time_per_output_token";
    SERVER_DRAFTED = "llmperf.server_reported.draft_tokens";
    SERVER_ACCEPTED = "llmperf.server_reported.accepted_draft_tokens";
    // OpenAI
    SERVICE_TIER = "openai.response.service_tier";
    SYSTEM_FINGERPRINT = "openai.response.system_fingerprint";
}

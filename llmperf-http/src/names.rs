//! The attributes of a call that HTTP and the request tell, by the names of the OpenTelemetry conventions.

pub(crate) const METHOD: &str = "http.request.method";
pub(crate) const REQUEST_SIZE: &str = "http.request.body.size";
pub(crate) const STATUS: &str = "http.response.status_code";
/// Followed by the name of the header.
pub(crate) const RESPONSE_HEADER: &str = "http.response.header.";

pub(crate) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(crate) const TEMPERATURE: &str = "gen_ai.request.temperature";
pub(crate) const TOP_P: &str = "gen_ai.request.top_p";
pub(crate) const TOP_K: &str = "gen_ai.request.top_k";
pub(crate) const FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
pub(crate) const PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
pub(crate) const SEED: &str = "gen_ai.request.seed";
/// Only where it is not one.
pub(crate) const CHOICES: &str = "gen_ai.request.choice.count";
pub(crate) const DIMENSIONS: &str = "gen_ai.embeddings.dimension.count";
pub(crate) const ENCODING_FORMATS: &str = "gen_ai.request.encoding_formats";

//! What a call's span says of its request and of the transport, by the names of the conventions.
//!
//! The parts that read requests write them, the application may too: they are not among the names that
//! [`Call::attribute`](crate::Call::attribute) leaves to us.

/// `http.request.method`
pub const HTTP_METHOD: &str = "http.request.method";
/// `http.request.body.size`, in bytes
pub const HTTP_REQUEST_SIZE: &str = "http.request.body.size";
/// `http.response.status_code`
pub const HTTP_STATUS: &str = "http.response.status_code";
/// `http.response.header.`, followed by the name of the header
pub const HTTP_RESPONSE_HEADER: &str = "http.response.header.";

/// `gen_ai.request.max_tokens`
pub const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// `gen_ai.request.temperature`
pub const TEMPERATURE: &str = "gen_ai.request.temperature";
/// `gen_ai.request.top_p`
pub const TOP_P: &str = "gen_ai.request.top_p";
/// `gen_ai.request.top_k`
pub const TOP_K: &str = "gen_ai.request.top_k";
/// `gen_ai.request.frequency_penalty`
pub const FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
/// `gen_ai.request.presence_penalty`
pub const PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
/// `gen_ai.request.seed`
pub const SEED: &str = "gen_ai.request.seed";
/// `gen_ai.request.choice.count`, only where it is not one
pub const CHOICE_COUNT: &str = "gen_ai.request.choice.count";
/// `gen_ai.embeddings.dimension.count`
pub const DIMENSIONS: &str = "gen_ai.embeddings.dimension.count";
/// `gen_ai.request.encoding_formats`
pub const ENCODING_FORMATS: &str = "gen_ai.request.encoding_formats";

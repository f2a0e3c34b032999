//! The dialects of the local server, read by readers that share no code with it.

mod anthropic_tests;
pub(crate) mod asking;
mod bedrock_tests;
mod cohere_tests;
mod endings_tests;
mod event_stream;
mod gemini_tests;
mod ollama_tests;
mod responses_tests;
mod sse;

//! The dialects of the local server, read by readers that share no code with it.

mod asking;
mod bedrock_tests;
mod endings_tests;
mod event_stream;
mod ollama_tests;
mod responses_tests;
mod sse;

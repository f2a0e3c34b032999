#![doc = include_str!("../README.md")]

#[cfg(any(feature = "async-openai", feature = "bedrock", feature = "genai", feature = "rig"))]
mod asked;
#[cfg(any(feature = "async-openai", feature = "eventsource-stream", feature = "genai", feature = "rig"))]
mod error_body;
#[cfg(any(feature = "async-openai", feature = "bedrock", feature = "genai", feature = "ollama-rs", feature = "rig"))]
mod failing;
#[cfg(any(feature = "async-openai", feature = "ollama-rs"))]
mod parts;
#[cfg(any(feature = "genai", feature = "ollama-rs"))]
mod written;

#[cfg(feature = "async-openai")]
pub mod async_openai;
#[cfg(feature = "bedrock")]
pub mod bedrock;
#[cfg(feature = "eventsource-stream")]
pub mod eventsource_stream;
#[cfg(feature = "genai")]
pub mod genai;
#[cfg(feature = "ollama-rs")]
pub mod ollama_rs;
#[cfg(feature = "rig")]
pub mod rig;

//! Fuzzes the decoder of Ollama.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(Ollama);

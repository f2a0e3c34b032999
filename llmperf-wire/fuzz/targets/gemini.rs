//! Fuzzes the decoder of Gemini's server-sent events.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(Gemini);

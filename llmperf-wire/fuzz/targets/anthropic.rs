//! Fuzzes the decoder of Anthropic.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(Anthropic);

//! Fuzzes the decoder of Cohere.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(Cohere);

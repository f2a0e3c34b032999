//! Fuzzes the decoder of OpenAiResponses.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(OpenAiResponses);

//! Fuzzes the decoder of OpenAI Chat Completions.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(OpenAiChat);

//! Fuzzes the decoder of Gemini's array.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(GeminiArray);

//! Fuzzes the decoder of answers that have to show what they are.
#![no_main]

llmperf_wire_fuzz::libfuzzer_sys::fuzz_target!(|input: &[u8]| llmperf_wire_fuzz::sniff(input));

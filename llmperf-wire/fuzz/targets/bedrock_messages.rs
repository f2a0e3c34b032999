//! Fuzzes the decoder of Bedrock's ConverseStream behind the checks of its framing.
#![no_main]

use llmperf_wire_fuzz::libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| llmperf_wire_fuzz::decode_messages(input));

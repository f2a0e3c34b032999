//! Fuzzes the decoder of Bedrock's ConverseStream.
#![no_main]

llmperf_wire_fuzz::fuzz_dialect!(BedrockConverse);

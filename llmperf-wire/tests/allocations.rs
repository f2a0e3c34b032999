//! What the decoder costs in memory, counted by the allocator: noise cannot move it.

use allocation_counter::measure;
use llmperf_wire::{Decoder, Dialect, Event};

/// A text delta that holds escapes, as the large hosts write them.
const DELTA: &str = concat!(
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":"#,
    r#"[{"index":0,"delta":{"content":"caf\u00e9\n"},"logprobs":null,"finish_reason":null}],"#,
    r#""usage":null,"obfuscation":"aB3"}"#,
    "\n\n"
);

/// Decodes and counts the bytes of output.
fn output_bytes(decoder: &mut Decoder, reads: &[&[u8]]) -> usize {
    let mut bytes = 0;
    for read in reads {
        decoder.push(read, |event| {
            if let Event::Chunk(chunk) = event {
                bytes += chunk.outputs().map(|piece| piece.text.len()).sum::<usize>();
            }
        });
    }
    bytes
}

/// Asserts that, once the buffers have grown, the same reads again and again allocate nothing.
fn assert_steady(reads: &[&[u8]], bytes: usize) {
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    output_bytes(&mut decoder, reads);
    let mut counted = 0;
    let allocations = measure(|| {
        for _ in 0..1_000 {
            counted += output_bytes(&mut decoder, reads);
        }
    });
    assert_eq!(counted, 1_000 * bytes, "the deltas were decoded");
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn a_text_delta_whole_in_its_read_allocates_nothing() {
    assert_steady(&[DELTA.as_bytes()], 6);
}

#[test]
fn a_text_delta_cut_anywhere_allocates_nothing() {
    for cut in 1..DELTA.len() {
        let (head, tail) = DELTA.as_bytes().split_at(cut);
        assert_steady(&[head, tail], 6);
    }
}

#[test]
fn reasoning_tool_calls_usage_and_finish_allocate_nothing() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"ab\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"cd\",\"arguments\":\"ef\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"token_ids\":[1,2,3]}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"completion_tokens_details\":{\"reasoning_tokens\":1}}}\n\n",
        ": keep-alive\n\n",
        "data: [DONE]\n\n",
    );
    assert_steady(&[stream.as_bytes()], 6);
}

#[test]
fn a_decoder_is_small() {
    assert!(size_of::<Decoder>() <= 192, "{} bytes in place", size_of::<Decoder>());
    let allocations = measure(|| {
        let mut decoder = Decoder::new(Dialect::OpenAiChat);
        for read in DELTA.as_bytes().chunks(100) {
            output_bytes(&mut decoder, &[read]);
        }
        // Lives to the end: what counts is what it keeps.
        std::mem::forget(decoder);
    });
    assert!(allocations.bytes_current <= 1 << 10, "{} bytes on the heap", allocations.bytes_current);
}

#[test]
fn memory_stays_bounded_by_the_limit_whatever_comes_in() {
    const LIMIT: usize = 4 << 10;
    let endless_line = [b'x'; 1 << 10];
    let endless_event = b"data: 0123456789\n".repeat(64);
    let endless_name = b"event: 0123456789\r".repeat(64);
    let endless_object = b"{\n \"a\": [\n".repeat(64);
    for endless in [&endless_line[..], &endless_event, &endless_name, &endless_object] {
        let mut decoder = Decoder::new(Dialect::OpenAiChat).limit(LIMIT);
        let allocations = measure(|| {
            decoder.push(b"data: ", |_| {});
            for _ in 0..1_000 {
                decoder.push(endless, |_| {});
            }
        });
        // Buffers grow by doubling: while one moves, its old and its new half are both there.
        assert!(allocations.bytes_max <= 4 * LIMIT as u64, "{} bytes", allocations.bytes_max);
    }
}

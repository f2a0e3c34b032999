//! What every fuzz target checks: no panic, bounded memory, and the same events wherever the reads are cut.

use std::fmt::Write as _;

use llmperf_wire::{Decoder, Dialect, Event};

pub use libfuzzer_sys;

/// Small enough for the fuzzer to pass it.
const TIGHT: usize = 96;

/// Makes the fuzz target of a dialect.
#[macro_export]
macro_rules! fuzz_dialect {
    ($dialect:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::decode(llmperf_wire::Dialect::$dialect, input));
    };
}

/// Decodes an input whole and cut, with room and without. Its first byte says where to cut, the others are the stream.
pub fn decode(dialect: Dialect, input: &[u8]) {
    let Some((&seed, stream)) = input.split_first() else { return };
    for limit in [1 << 20, TIGHT] {
        let whole = events(dialect, limit, [stream]);
        let middle = stream.len() * usize::from(seed) / 256;
        let (head, tail) = stream.split_at(middle);
        assert_eq!(events(dialect, limit, [head, tail]), whole, "cut at {middle}, limit {limit}");
        let size = usize::from(seed % 7) + 1;
        assert_eq!(events(dialect, limit, stream.chunks(size)), whole, "cut into {size}, limit {limit}");
    }
}

/// The events of a stream, as text: comparing them reads every piece that they lend.
fn events<'r>(dialect: Dialect, limit: usize, reads: impl IntoIterator<Item = &'r [u8]>) -> String {
    let mut told = String::new();
    let mut decoder = Decoder::new(dialect).limit(limit);
    let mut tell = |event: Event<'_>| {
        if let Event::Chunk(chunk) = &event {
            for piece in chunk.outputs() {
                assert_eq!(piece.text.is_empty(), piece.text.decode().is_empty());
                assert!(!piece.text.is_empty(), "an empty piece is no output");
            }
        }
        let _infallible = writeln!(told, "{event:?}");
    };
    for read in reads {
        decoder.push(read, &mut tell);
        assert!(decoder.held() <= limit, "{} bytes held", decoder.held());
    }
    decoder.finish(&mut tell);
    assert_eq!(decoder.held(), 0, "bytes held after the end");
    told
}

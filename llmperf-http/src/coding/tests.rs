//! What was coded comes out again, at once and whatever the cuts; a bomb and noise blind, and never harm.

use std::io::Write as _;

use http::HeaderValue;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::*;

fn codings(names: &'static str) -> Codings {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(names));
    Codings::of(&headers).unwrap()
}

/// Codes parts so that each can be decoded once it has come.
fn coded(name: &str, parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    fn written<W: std::io::Write>(
        parts: &[Vec<u8>],
        mut to: W,
        mut take: impl FnMut(&mut W) -> Vec<u8>,
    ) -> Vec<Vec<u8>> {
        parts
            .iter()
            .map(|part| {
                to.write_all(part).unwrap();
                to.flush().unwrap();
                take(&mut to)
            })
            .collect()
    }
    let level = flate2::Compression::default();
    match name {
        "gzip" => written(parts, flate2::write::GzEncoder::new(Vec::new(), level), |to| std::mem::take(to.get_mut())),
        "deflate" => {
            written(parts, flate2::write::ZlibEncoder::new(Vec::new(), level), |to| std::mem::take(to.get_mut()))
        }
        "raw" => {
            written(parts, flate2::write::DeflateEncoder::new(Vec::new(), level), |to| std::mem::take(to.get_mut()))
        }
        "br" => {
            written(parts, ::brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22), |to| std::mem::take(to.get_mut()))
        }
        "zstd" => written(parts, ::zstd::Encoder::new(Vec::new(), 3).unwrap(), |to| std::mem::take(to.get_mut())),
        _ => unreachable!("{name}"),
    }
}

/// Text like that of a stream: much of it said again and again.
fn parts(rng: &mut StdRng) -> Vec<Vec<u8>> {
    let count = rng.random_range(1..12);
    (0..count)
        .map(|index| {
            let words: String = (0..rng.random_range(0..400)).map(|_| rng.random_range('a'..='z')).collect();
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}],\"n\":{index}}}\n\n").into_bytes()
        })
        .collect()
}

#[test]
fn each_part_comes_out_as_soon_as_its_last_byte_has_come_whatever_the_cuts() {
    let mut rng = StdRng::seed_from_u64(4);
    for (header, name) in [("gzip", "gzip"), ("deflate", "deflate"), ("DEFLATE", "raw"), ("br", "br"), ("zstd", "zstd")]
    {
        for round in 0..60 {
            let parts = parts(&mut rng);
            let mut codings = codings(header);
            let mut decoded = Vec::new();
            for (part, coded) in parts.iter().zip(coded(name, &parts)) {
                let mut rest = coded.as_slice();
                while !rest.is_empty() {
                    let cut = if round == 0 { 1 } else { rng.random_range(1..=rest.len()) };
                    let (read, behind) = rest.split_at(cut);
                    codings.push(read, &mut |piece| decoded.extend_from_slice(piece)).unwrap();
                    rest = behind;
                }
                assert_eq!(decoded, *part, "{name}, round {round}");
                decoded.clear();
            }
        }
    }
}

#[test]
fn codings_are_undone_in_the_order_opposite_to_that_in_which_they_were_applied() {
    let inner = coded("br", &[b"twice".to_vec()]).concat();
    let outer = coded("gzip", &[inner]).concat();
    for byte_by_byte in [false, true] {
        let (mut codings, mut decoded) = (codings("br, identity, gzip"), Vec::new());
        for read in outer.chunks(if byte_by_byte { 1 } else { outer.len() }) {
            codings.push(read, &mut |piece| decoded.extend_from_slice(piece)).unwrap();
        }
        assert_eq!(decoded, b"twice");
    }
}

#[test]
fn a_gzip_header_with_all_its_parts_and_a_second_member_are_read() {
    let member = |text: &str| {
        let mut encoder = flate2::GzBuilder::new()
            .extra(vec![1, 2, 3])
            .filename("name")
            .comment("comment")
            .write(Vec::new(), flate2::Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (mut codings, mut decoded) = (codings("x-gzip"), Vec::new());
    for byte in [member("one "), member("two")].concat() {
        codings.push(&[byte], &mut |piece| decoded.extend_from_slice(piece)).unwrap();
    }
    assert_eq!(decoded, b"one two");
}

#[test]
fn a_coding_that_nobody_knows_and_too_many_of_them_blind() {
    for names in ["compress", "gzip, dcb", "gzip,gzip,gzip,gzip,gzip"] {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(names));
        assert_eq!(Codings::of(&headers).unwrap_err(), Blind, "{names}");
    }
}

#[test]
fn a_bomb_blinds_after_little_more_than_it_may_give() {
    let zeros = vec![0; 16 * 1024 * 1024];
    for (header, name) in [("gzip", "gzip"), ("deflate", "raw"), ("br", "br"), ("zstd", "zstd")] {
        let bomb = coded(name, std::slice::from_ref(&zeros)).concat();
        let mut given = 0;
        let seen = codings(header).push(&bomb, &mut |piece| {
            assert!(piece.len() <= PIECE);
            given += piece.len() as u64;
        });
        assert_eq!(seen, Err(Blind), "{name}");
        assert!(given <= GRACE + bomb.len() as u64 * RATIO + PIECE as u64, "{name} gave {given}");
    }
}

#[test]
fn noise_does_no_harm() {
    let mut rng = StdRng::seed_from_u64(5);
    for round in 0..2_000 {
        let mut noise: Vec<u8> = (0..rng.random_range(0..300)).map(|_| rng.random()).collect();
        for name in ["gzip", "deflate", "br", "zstd"] {
            // Half of it begins well.
            if round % 2 == 0 {
                let mut begun = coded(name, &[b"begun well, and then ".to_vec()]).concat();
                begun.truncate(rng.random_range(0..=begun.len()));
                begun.append(&mut noise.clone());
                noise = begun;
            }
            let mut codings = codings(name);
            let _ = noise.chunks(7).try_for_each(|read| codings.push(read, &mut |_| {}));
        }
    }
}

/// A body of zstd frames, each with so much padding behind it that it grows less than a bomb does.
#[cfg(feature = "zstd")]
fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = Vec::new();
    for part in bytes.chunks(100_000) {
        let frame = ::zstd::encode_all(part, 19).unwrap();
        let padding = (part.len() / 150).saturating_sub(frame.len());
        padded.extend_from_slice(&frame);
        padded.extend_from_slice(&0x184D_2A50_u32.to_le_bytes()); // a frame to be skipped
        padded.extend_from_slice(&u32::try_from(padding).unwrap().to_le_bytes());
        padded.resize(padded.len() + padding, 0);
    }
    padded
}

#[cfg(feature = "zstd")]
#[test]
fn a_bomb_in_a_bomb_may_give_no_more_than_one() {
    let bomb = padded(&padded(&vec![b'\n'; 32 * 1024 * 1024]));
    let mut given = 0;
    let seen = codings("zstd, zstd").push(&bomb, &mut |piece| given += piece.len() as u64);
    assert_eq!(seen, Err(Blind));
    assert!(given <= GRACE + bomb.len() as u64 * RATIO + PIECE as u64, "{} gave {given}", bomb.len());
}

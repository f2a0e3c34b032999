//! Compressed responses: what a request's header asks for, flushed with every write so that its client sees it at once.

use std::io::{self, Write as _};
use std::mem;

use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};

use super::CODING_HEADER;
use super::response::Body;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    /// In the frame of zlib, as the standard says.
    Deflate,
    /// Without a frame, as some servers understand the same word.
    RawDeflate,
    Brotli,
    Zstd,
}

impl Coding {
    pub(crate) const ALL: [Self; 5] = [Self::Gzip, Self::Deflate, Self::RawDeflate, Self::Brotli, Self::Zstd];

    /// What a request calls it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::RawDeflate => "raw-deflate",
            _ => self.content_encoding(),
        }
    }

    /// What a response calls it.
    pub(crate) fn content_encoding(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate | Self::RawDeflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The codings that a request asks for, in the order of their use. `None` if one is not known.
    pub(super) fn asked(headers: &HeaderMap) -> Option<Vec<Self>> {
        let Some(header) = headers.get(CODING_HEADER) else { return Some(Vec::new()) };
        header.to_str().ok()?.split(',').map(|word| Self::named(word.trim())).collect()
    }

    fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|coding| coding.word() == word)
    }

    fn encoder(self) -> io::Result<Encoder> {
        let (buffer, level) = (Vec::new(), Compression::default());
        Ok(match self {
            Self::Gzip => Encoder::Gzip(GzEncoder::new(buffer, level)),
            Self::Deflate => Encoder::Deflate(ZlibEncoder::new(buffer, level)),
            Self::RawDeflate => Encoder::RawDeflate(DeflateEncoder::new(buffer, level)),
            Self::Brotli => Encoder::Brotli(Box::new(CompressorWriter::new(buffer, 4096, 5, 18))),
            Self::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(buffer, 0)?),
        })
    }
}

/// Compresses a response by these codings, one after the other.
pub(super) fn encoded(codings: &[Coding], mut response: Response<Body>) -> Response<Body> {
    for coding in codings {
        response = response.map(|body| body_by(*coding, body));
        response.headers_mut().append(CONTENT_ENCODING, HeaderValue::from_static(coding.content_encoding()));
    }
    response
}

fn body_by(coding: Coding, body: Body) -> Body {
    let encoder = coding.encoder().map(Some);
    let frames = stream::try_unfold((body.into_data_stream(), encoder), async |(mut plain, encoder)| {
        let Some(mut encoder) = encoder? else { return Ok(None) };
        match plain.next().await.transpose()? {
            Some(bytes) => Ok(Some((encoder.write(&bytes)?, (plain, Ok(Some(encoder)))))),
            None => Ok(Some((encoder.finish()?, (plain, Ok(None))))),
        }
    });
    StreamBody::new(frames.map(|bytes: io::Result<Bytes>| bytes.map(Frame::data))).boxed_unsync()
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    RawDeflate(DeflateEncoder<Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// All that a decoder needs in order to see these bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<Bytes> {
        macro_rules! flushed {
            ($encoder:ident) => {{
                $encoder.write_all(bytes)?;
                $encoder.flush()?;
                mem::take($encoder.get_mut())
            }};
        }
        let encoded = match self {
            Self::Gzip(encoder) => flushed!(encoder),
            Self::Deflate(encoder) => flushed!(encoder),
            Self::RawDeflate(encoder) => flushed!(encoder),
            Self::Brotli(encoder) => flushed!(encoder),
            Self::Zstd(encoder) => flushed!(encoder),
        };
        Ok(Bytes::from(encoded))
    }

    /// What follows the last bytes.
    fn finish(self) -> io::Result<Bytes> {
        let encoded = match self {
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Deflate(encoder) => encoder.finish()?,
            Self::RawDeflate(encoder) => encoder.finish()?,
            Self::Brotli(encoder) => encoder.into_inner(),
            Self::Zstd(encoder) => encoder.finish()?,
        };
        Ok(Bytes::from(encoded))
    }
}

//! Compressed responses decode to the plain ones, and each write can be decoded when it arrives.

use std::io::Write;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::dialects::asking::{complete, http, plan, request, streamed, whole};
use crate::server::{Asked, CODING_HEADER, Coding, Dialect, Ending, SWIFT, Script, Server, THINKER};

/// A decoder that gives what it can at once.
enum Decoder {
    Gzip(flate2::write::GzDecoder<Vec<u8>>),
    Deflate(flate2::write::ZlibDecoder<Vec<u8>>),
    RawDeflate(flate2::write::DeflateDecoder<Vec<u8>>),
    Brotli(Box<brotli::DecompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Decoder<'static, Vec<u8>>),
}

impl Decoder {
    fn of(coding: Coding) -> Self {
        match coding {
            Coding::Gzip => Self::Gzip(flate2::write::GzDecoder::new(Vec::new())),
            Coding::Deflate => Self::Deflate(flate2::write::ZlibDecoder::new(Vec::new())),
            Coding::RawDeflate => Self::RawDeflate(flate2::write::DeflateDecoder::new(Vec::new())),
            Coding::Brotli => Self::Brotli(Box::new(brotli::DecompressorWriter::new(Vec::new(), 4096))),
            Coding::Zstd => Self::Zstd(zstd::stream::write::Decoder::new(Vec::new()).unwrap()),
        }
    }

    /// All that has been decoded after these bytes too.
    fn read(&mut self, bytes: &[u8]) -> &[u8] {
        let decoder: &mut dyn Write = match self {
            Self::Gzip(decoder) => decoder,
            Self::Deflate(decoder) => decoder,
            Self::RawDeflate(decoder) => decoder,
            Self::Brotli(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
        };
        decoder.write_all(bytes).unwrap();
        decoder.flush().unwrap();
        match self {
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Deflate(decoder) => decoder.get_ref(),
            Self::RawDeflate(decoder) => decoder.get_ref(),
            Self::Brotli(decoder) => decoder.get_ref(),
            Self::Zstd(decoder) => decoder.get_ref(),
        }
    }
}

async fn response(server: &Server, dialect: Dialect, streams: bool, coding: &str) -> reqwest::Response {
    request(server, dialect, THINKER, streams).header(CODING_HEADER, coding).send().await.unwrap()
}

#[tokio::test]
async fn every_coding_decodes_to_the_plain_bytes() {
    let server = Server::start(|_| complete(THINKER)).unwrap();
    for dialect in Dialect::ALL {
        let plain = [streamed(dialect, complete(THINKER)).await.body, whole(dialect, complete(THINKER)).await.body];
        for coding in Coding::ALL {
            for (streams, plain) in [(true, &plain[0]), (false, &plain[1])] {
                let coded = response(&server, dialect, streams, coding.word()).await;
                assert_eq!(coded.headers()["content-encoding"], coding.content_encoding());
                let bytes = coded.bytes().await.unwrap();
                assert_ne!(&bytes[..], plain);
                assert_eq!(Decoder::of(coding).read(&bytes), plain, "{dialect:?} {coding:?}");
            }
        }
    }
}

/// The stream stops after one write, two, and so on, and stays open: what were held back would never come.
#[tokio::test]
async fn each_write_can_be_decoded_when_it_arrives() {
    for (coding, writes) in Coding::ALL.into_iter().flat_map(|coding| (1..=4).map(move |writes| (coding, writes))) {
        let mut silent = plan(THINKER, Ending::Silent);
        silent.bursts.truncate(writes);
        let asked = Asked { dialect: Dialect::Anthropic, index: 7, model: THINKER.into(), include_usage: true };
        let steps: Vec<_> = Script::new(silent.clone(), asked).collect();
        assert_eq!(steps.len(), writes);
        let plain: Vec<u8> = steps.iter().flat_map(|step| step.bytes.to_vec()).collect();
        let server = Server::start(move |_| silent.clone()).unwrap();
        let mut reads = response(&server, Dialect::Anthropic, true, coding.word()).await.bytes_stream();
        let mut decoder = Decoder::of(coding);
        let all = async { while decoder.read(&reads.next().await.unwrap().unwrap()) != plain {} };
        timeout(Duration::from_secs(20), all).await.unwrap_or_else(|_| panic!("{coding:?} holds back write {writes}"));
    }
}

#[tokio::test]
async fn codings_are_used_in_the_order_of_the_header() {
    let server = Server::start(|_| complete(THINKER)).unwrap();
    let coded = response(&server, Dialect::Cohere, true, "gzip, zstd").await;
    let encodings: Vec<_> = coded.headers().get_all("content-encoding").iter().collect();
    assert_eq!(encodings, ["gzip", "zstd"]);
    let bytes = coded.bytes().await.unwrap();
    let plain = streamed(Dialect::Cohere, complete(THINKER)).await.body;
    let mut outer = Decoder::of(Coding::Zstd);
    assert_eq!(Decoder::of(Coding::Gzip).read(outer.read(&bytes)), plain);
}

#[tokio::test]
async fn a_cut_stays_a_cut_and_a_refusal_is_coded_too() {
    let server = Server::start(|_| plan(THINKER, Ending::Cut)).unwrap();
    let told = streamed(Dialect::OpenAiChat, plan(THINKER, Ending::Cut)).await.body;
    let mut reads = response(&server, Dialect::OpenAiChat, true, "br").await.bytes_stream();
    let (mut decoder, mut decoded, mut broken) = (Decoder::of(Coding::Brotli), Vec::new(), false);
    while let Some(read) = reads.next().await {
        match read {
            Ok(bytes) => decoded = decoder.read(&bytes).to_vec(),
            Err(_) => broken = true,
        }
    }
    assert!(broken);
    assert_eq!(decoded, told);

    let server = Server::start(|_| plan(SWIFT, Ending::Refused(429))).unwrap();
    let refused = response(&server, Dialect::Anthropic, true, "gzip").await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["content-encoding"]), (429, &"gzip".parse().unwrap()));
    let bytes = refused.bytes().await.unwrap();
    let error: serde_json::Value = serde_json::from_slice(Decoder::of(Coding::Gzip).read(&bytes)).unwrap();
    assert_eq!(error["error"]["type"], "rate_limit_error");
}

#[tokio::test]
async fn a_coding_that_is_not_known_is_refused() {
    let server = Server::start(|_| complete(SWIFT)).unwrap();
    let response = http().get(server.url("/v1/models")).header(CODING_HEADER, "lzma").send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers().get("content-encoding")), (400, None));
}

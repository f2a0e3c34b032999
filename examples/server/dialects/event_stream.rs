//! The framing of AWS event streams: lengths, string headers, a JSON payload, and two checksums.

use serde_json::Value;

/// The lengths of the whole and of the headers, and their checksum.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// Marks a header value as a string.
const STRING: u8 = 7;

/// One message with a JSON payload. Header names and values are short.
pub(super) fn message(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name.as_bytes());
        head.push(STRING);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string();
    let mut message = Vec::new();
    for length in [PRELUDE + head.len() + payload.len() + CHECKSUM, head.len()] {
        message.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    message.extend_from_slice(&crc32(&message).to_be_bytes());
    message.extend_from_slice(&head);
    message.extend_from_slice(payload.as_bytes());
    message.extend_from_slice(&crc32(&message).to_be_bytes());
    message
}

/// The checksum of gzip and zlib, bit by bit: what is summed here is short.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |sum, _| bit(sum)))
}

//! Writes messages of the binary event stream.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test takes what it needs")]

/// A message with these headers, as they stand on the wire.
pub fn message(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(headers.len() + payload.len() + 16).unwrap();
    let content = [headers, payload].concat();
    sealed(length, u32::try_from(headers.len()).unwrap(), &content)
}

/// A message that says of itself to have these lengths, with both of its checks right.
pub fn sealed(length: u32, headers: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = [length.to_be_bytes(), headers.to_be_bytes()].concat();
    bytes.extend(crc32(&bytes).to_be_bytes());
    bytes.extend(content);
    bytes.extend(crc32(&bytes).to_be_bytes());
    bytes
}

/// A header whose value is a string.
pub fn text_header(name: &str, value: &str) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap().to_be_bytes();
    [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), &[7], &length, value.as_bytes()].concat()
}

/// An event as services write it.
pub fn event(name: &str, payload: &str) -> Vec<u8> {
    typed("event", ":event-type", name, payload)
}

/// An exception as services write it.
pub fn exception(name: &str, payload: &str) -> Vec<u8> {
    typed("exception", ":exception-type", name, payload)
}

fn typed(kind: &str, name_header: &str, name: &str, payload: &str) -> Vec<u8> {
    let headers = [
        text_header(name_header, name),
        text_header(":content-type", "application/json"),
        text_header(":message-type", kind),
    ]
    .concat();
    message(&headers, payload.as_bytes())
}

/// CRC-32 by its definition, bit by bit: not the implementation that is tested.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

//! A reader of AWS event streams that checks both checksums with a crate of its own.

use serde_json::Value;

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) headers: Vec<(String, String)>,
    pub(super) payload: Value,
}

impl Message {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn event(&self) -> &str {
        assert_eq!(self.header(":message-type"), Some("event"));
        self.header(":event-type").unwrap()
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}

/// The whole messages, and the bytes that follow them.
pub(super) fn messages(mut bytes: &[u8]) -> (Vec<Message>, &[u8]) {
    let mut messages = Vec::new();
    while bytes.len() >= 12 {
        let [total, head] = [&bytes[..4], &bytes[4..8]].map(|length| usize::try_from(number(length)).unwrap());
        assert_eq!(number(&bytes[8..12]), crc32fast::hash(&bytes[..8]), "the checksum of the prelude");
        if bytes.len() < total {
            break;
        }
        let (message, rest) = bytes.split_at(total);
        let (summed, sum) = message.split_at(total - 4);
        assert_eq!(number(sum), crc32fast::hash(summed), "the checksum of the message");
        let (head, payload) = summed[12..].split_at(head);
        messages.push(Message { headers: headers(head), payload: serde_json::from_slice(payload).unwrap() });
        bytes = rest;
    }
    (messages, bytes)
}

fn headers(mut bytes: &[u8]) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at(length.into());
        assert_eq!(rest[0], 7, "a string");
        let length = u16::from_be_bytes([rest[1], rest[2]]);
        let (value, rest) = rest[3..].split_at(length.into());
        headers.push([name, value].map(|text| String::from_utf8(text.to_vec()).unwrap()).into());
        bytes = rest;
    }
    headers
}

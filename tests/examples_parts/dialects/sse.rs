//! A reader of server-sent events, as far as the local server writes them.

use serde_json::Value;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: String,
}

impl Event {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {}", self.data))
    }
}

/// Events, comments, and what follows the last whole frame.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) events: Vec<Event>,
    pub(super) comments: usize,
    pub(super) rest: String,
}

impl Events {
    /// `end` is how lines end.
    pub(super) fn of(text: &str, end: &str) -> Self {
        let mut events = Self::default();
        let mut rest = text;
        while let Some((frame, behind)) = rest.split_once(&end.repeat(2)) {
            if !events.frame(frame, end) {
                break;
            }
            rest = behind;
        }
        events.rest = rest.to_owned();
        events
    }

    /// `false` for what is no frame.
    fn frame(&mut self, frame: &str, end: &str) -> bool {
        let (mut name, mut data) = (None, None);
        for line in frame.split(end) {
            match line.split_once(": ") {
                Some(("", _)) => self.comments += 1,
                Some(("event", value)) => name = Some(value.to_owned()),
                Some(("data", value)) => data = Some(value.to_owned()),
                _ => return false,
            }
        }
        self.events.extend(data.map(|data| Event { name, data }));
        true
    }

    /// The `type` of each event, which its name repeats.
    pub(super) fn types(&self) -> Vec<String> {
        self.events.iter().filter(|event| event.data != "[DONE]").map(kind).collect()
    }

    /// The payloads of one type.
    pub(super) fn all(&self, kind: &str) -> Vec<Value> {
        self.events.iter().filter(|event| event.name.as_deref() == Some(kind)).map(Event::json).collect()
    }
}

fn kind(event: &Event) -> String {
    let kind = event.json()["type"].as_str().unwrap().to_owned();
    assert_eq!(event.name.as_ref(), Some(&kind));
    kind
}

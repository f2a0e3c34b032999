//! What is measured, as the caller says it.

use std::{fmt, sync::Arc};

use opentelemetry::{KeyValue, trace::SpanKind};

use crate::{
    Sees, Side,
    capture::Content,
    labels::{Identity, MOST_LABELS},
    text::Text,
};

type Tokenizer = Arc<dyn Fn(&str) -> u64 + Send + Sync>;

/// What is measured, as the caller says it.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) side: Side,
    pub(crate) provider: Text,
    pub(crate) model: Text,
    pub(crate) server: Option<(Text, Option<u16>)>,
    pub(crate) kind: Option<SpanKind>,
    pub(crate) sees: Option<Sees>,
    pub(crate) estimate_tokens: bool,
    pub(crate) transport: bool,
    pub(crate) streamed: bool,
    /// It gives its answer whole: nothing that is said of streams can hold for it.
    pub(crate) whole: bool,
    /// It was none: its span is all that is left of it.
    pub(crate) withdrawn: bool,
    extras: Option<Box<Extras>>,
}

/// What few calls have.
#[derive(Default)]
pub(crate) struct Extras {
    /// Of a call that is no chat.
    pub(crate) operation: Option<Text>,
    pub(crate) scenario: Option<Text>,
    pub(crate) labels: Vec<(&'static str, Text)>,
    pub(crate) attributes: Vec<KeyValue>,
    /// Nanoseconds since the start.
    pub(crate) deadline: Option<u64>,
    pub(crate) idle_deadline: Option<u64>,
    pub(crate) tokenizer: Option<Tokenizer>,
    pub(crate) content: Option<Box<Content>>,
    pub(crate) tokenized: u64,
    /// Bytes of the answer's body, where a transport counts them.
    pub(crate) received: u64,
}

impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extras").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl Spec {
    /// A chat call of the client's.
    pub(crate) fn new(provider: Text, model: Text) -> Self {
        Self {
            side: Side::Client,
            provider,
            model,
            server: None,
            kind: None,
            sees: None,
            estimate_tokens: false,
            transport: false,
            streamed: false,
            whole: false,
            withdrawn: false,
            extras: None,
        }
    }

    pub(crate) fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    pub(crate) fn given(&self) -> Option<&Extras> {
        self.extras.as_deref()
    }

    pub(crate) fn operation(&self) -> &Text {
        static CHAT: Text = Text::Static("chat");
        self.given().and_then(|extras| extras.operation.as_ref()).unwrap_or(&CHAT)
    }

    pub(crate) fn identity(&self) -> Identity {
        let mut labels = [const { None }; MOST_LABELS];
        for (slot, label) in labels.iter_mut().zip(self.given().into_iter().flat_map(|extras| &extras.labels)) {
            *slot = Some(label.clone());
        }
        Identity {
            side: self.side,
            operation: self.operation().clone(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            address: self.server.as_ref().map(|(address, _)| address.clone()),
            port: self.server.as_ref().and_then(|(_, port)| *port),
            scenario: self.given().and_then(|extras| extras.scenario.clone()),
            labels,
        }
    }
}

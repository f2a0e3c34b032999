//! An event that carries several things, told in parts.

use llmperf_core::{Kind, Output, Read};

/// What is said of one event: the first part counts as the event, the others come with it.
///
/// Where one [`Output`] can hold it all, that is less to do; two pieces of one sort in one output would lose the words of the
/// second, which a tokenizer and content capture want.
#[derive(Debug)]
pub(crate) struct Parts<'a>(Option<Output<'a>>);

impl<'a> Parts<'a> {
    /// Of an event that carries at least `base`.
    pub(crate) fn of(base: Output<'a>) -> Self {
        Self(Some(base))
    }

    /// A piece of output of a choice. An empty one is none.
    pub(crate) fn piece(&mut self, read: &mut Read<'_>, choice: u32, kind: Kind, text: &'a str) {
        if !text.is_empty() {
            self.part(read, |output| output.and(kind, text).choice(choice));
        }
    }

    /// A piece of output that is not at hand as text.
    #[cfg(feature = "ollama-rs")]
    pub(crate) fn sized(&mut self, read: &mut Read<'_>, kind: Kind, bytes: usize) {
        if bytes > 0 {
            self.part(read, |output| output.and_sized(kind, bytes));
        }
    }

    /// The event is told, if nothing of it was so far. What ends the call comes after this.
    pub(crate) fn told(self, read: &mut Read<'_>) {
        if let Some(base) = self.0 {
            read.event(base);
        }
    }

    fn part(&mut self, read: &mut Read<'_>, with: impl FnOnce(Output<'a>) -> Output<'a>) {
        match self.0.take() {
            Some(base) => read.event(with(base)),
            None => read.also(with(Output::none())),
        }
    }
}

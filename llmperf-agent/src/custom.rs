//! The setters that all builders of this crate have.

/// Setters of what a user adds to work of any sort; the builder keeps it in `custom`.
macro_rules! custom_setters {
    () => {
        /// The caller's own time limit since the start, where it drops what it awaits: a drop after it is an error
        /// (`timeout`), not a cancellation. No timer runs.
        pub fn deadline(mut self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            self.custom.set_deadline(limit.into());
            self
        }

        /// An attribute on the span: at most 48; of one key the last value stands. Names that llmperf writes itself are
        /// left to it.
        pub fn attribute(mut self, key: impl Into<opentelemetry::Key>, value: impl Into<opentelemetry::Value>) -> Self {
            self.custom.attribute(key, value);
            self
        }

        /// A label on the span and on the `llmperf.*` metrics: at most two, each value capped like a name.
        pub fn label(mut self, key: &'static str, value: impl Into<llmperf_core::part::Text>) -> Self {
            self.custom.label(key, value);
            self
        }
    };
}

pub(crate) use custom_setters;

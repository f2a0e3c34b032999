//! Which attributes there are, and which arguments each of them takes.

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Retrieval,
    Rerank,
    Embedding,
    Generation,
    Pipeline,
    Agent,
    Step,
    Tool,
    Workflow,
}

/// What an argument is, and so how it is checked and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The path of the crate that the attribute came from.
    Crate,
    /// How a return type that does not show it is to be taken.
    Stream,
    /// A text: a literal as it is, anything else by `ToString`.
    Text,
    /// A number of things.
    Count,
    /// A `Duration`, or an `Option` of one.
    Limit,
    /// Any value that its setter takes by reference.
    Borrowed,
    /// Keys and values: attributes of the span.
    Values,
    /// Keys and texts: labels of span and metrics.
    Labels,
    /// A closure over what the function gave.
    Closure,
}

/// What every attribute takes.
const COMMON: &[(&str, Kind)] = &[
    ("name", Kind::Text),
    ("deadline", Kind::Limit),
    ("attributes", Kind::Values),
    ("labels", Kind::Labels),
    ("stream", Kind::Stream),
    ("crate", Kind::Crate),
];

impl Sort {
    /// The attribute's name, and that of what judges its values.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Retrieval => "retrieval",
            Self::Rerank => "rerank",
            Self::Embedding => "embedding",
            Self::Generation => "generation",
            Self::Pipeline => "pipeline",
            Self::Agent => "agent",
            Self::Step => "step",
            Self::Tool => "tool",
            Self::Workflow => "workflow",
        }
    }

    /// The function of its part that begins the builder.
    pub(crate) fn builder(self) -> &'static str {
        match self {
            Self::Agent => "run",
            other => other.name(),
        }
    }

    /// The module of the facade that is its part.
    pub(crate) fn part(self) -> &'static str {
        match self {
            Self::Retrieval | Self::Rerank | Self::Embedding | Self::Generation | Self::Pipeline => "rag",
            Self::Agent | Self::Step | Self::Tool | Self::Workflow => "agent",
        }
    }

    /// Whether the builder begins with a name: that of the function, where none is given. Stages have one of their own.
    pub(crate) fn is_named(self) -> bool {
        matches!(self, Self::Pipeline | Self::Agent | Self::Step | Self::Tool | Self::Workflow)
    }

    /// Whether it may be a measured call of a model: then what its stream carries is read.
    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::Embedding | Self::Generation)
    }

    /// The arguments that only it and few others take.
    fn own(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Retrieval => &[
                ("store", Kind::Text),
                ("top_k", Kind::Count),
                ("query", Kind::Text),
                ("provider", Kind::Text),
                ("model", Kind::Text),
                ("relevant", Kind::Borrowed),
                ("k", Kind::Count),
            ],
            Self::Rerank => &[
                ("model", Kind::Text),
                ("provider", Kind::Text),
                ("top_k", Kind::Count),
                ("candidates", Kind::Borrowed),
                ("relevant", Kind::Borrowed),
                ("k", Kind::Count),
            ],
            Self::Embedding => &[("provider", Kind::Text), ("model", Kind::Text), ("reads", Kind::Closure)],
            Self::Generation => {
                &[("provider", Kind::Text), ("model", Kind::Text), ("prompt", Kind::Text), ("reads", Kind::Closure)]
            }
            Self::Pipeline => &[("query", Kind::Text), ("first_output", Kind::Closure)],
            Self::Agent => &[
                ("task", Kind::Text),
                ("goal", Kind::Closure),
                ("conversation", Kind::Text),
                ("model", Kind::Text),
                ("first_output", Kind::Closure),
            ],
            Self::Step => &[],
            Self::Tool => &[
                ("kind", Kind::Text),
                ("call_id", Kind::Text),
                ("arguments", Kind::Borrowed),
                ("description", Kind::Text),
            ],
            Self::Workflow => &[("conversation", Kind::Text)],
        }
    }

    /// What an argument of this name is; `None` if the attribute takes none.
    pub(crate) fn kind(self, argument: &str) -> Option<Kind> {
        self.arguments().find_map(|(name, kind)| (name == argument).then_some(kind))
    }

    /// All arguments, its own first.
    pub(crate) fn arguments(self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.own().iter().chain(COMMON).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_attribute_names_an_argument_twice() {
        use Sort::{Agent, Embedding, Generation, Pipeline, Rerank, Retrieval, Step, Tool, Workflow};
        for sort in [Retrieval, Rerank, Embedding, Generation, Pipeline, Agent, Step, Tool, Workflow] {
            let names: Vec<_> = sort.arguments().map(|(name, _)| name).collect();
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        }
    }
}

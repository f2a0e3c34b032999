//! What a series, or a part of a run, is called.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SeriesKind;
use crate::text::Text;

/// A kind, and what tells its members apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Title {
    /// What it is about.
    pub kind: SeriesKind,
    /// Its name, as the kind says.
    pub name: Text,
    /// Its detail, as the kind says; may be empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub detail: Text,
}

impl Title {
    /// A title.
    pub fn new(kind: SeriesKind, name: impl Into<Text>, detail: impl Into<Text>) -> Self {
        Self { kind, name: name.into(), detail: detail.into() }
    }
}

fn is_empty(detail: &Text) -> bool {
    detail.as_str().is_empty()
}

/// For people: `stage retrieve / qdrant`, `openai / gpt-4o-mini`.
impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&heading(self.kind, self.name.as_str(), self.detail.as_str()))
    }
}

/// The words of a title.
pub(super) fn heading(kind: SeriesKind, name: &str, detail: &str) -> String {
    let kind = match kind {
        SeriesKind::Call | SeriesKind::Operation => "",
        SeriesKind::ServerCall => "server ",
        SeriesKind::Pipeline => "pipeline ",
        SeriesKind::Stage => "stage ",
        SeriesKind::Agent => "agent ",
        SeriesKind::Step => "step ",
        SeriesKind::Plan => "plan ",
        SeriesKind::Tool => "tool ",
        SeriesKind::Workflow => "workflow ",
    };
    let between = if detail.is_empty() { "" } else { " / " };
    format!("{kind}{name}{between}{detail}")
}

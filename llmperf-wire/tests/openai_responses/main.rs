//! The rules of the Responses dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Dialect, FinishKind, PieceKind, Sees};

#[path = "../said/mod.rs"]
mod said;

mod ends;
mod events;

use said::*;

const RESPONSES: Dialect = Dialect::OpenAiResponses;

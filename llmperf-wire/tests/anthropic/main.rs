//! The rules of the Anthropic dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Dialect, FinishKind, PieceKind, Sees, Usage};

#[path = "../said/mod.rs"]
mod said;

mod ends;
mod events;
mod figures;

use said::*;

const MESSAGES: Dialect = Dialect::Anthropic;

//! The streamed bytes of LLM providers, decoded on the side.
#![doc = include_str!("../README.md")]

mod dialect;
mod event;
mod json;
mod list;
#[cfg(feature = "measure")]
mod measure;
mod openai_chat;
pub mod sse;
mod text;

pub use dialect::{Counts, Decoder, Dialect, Sees};
pub use event::{Chunk, Event, Failure, Finish, FinishKind, Origin, Piece, PieceKind, ServerTimings, Usage};
#[cfg(feature = "measure")]
pub use measure::{MeasureWire, OpenWire, Wire};
pub use text::Text;

//! The streamed bytes of LLM providers, decoded on the side.
#![doc = include_str!("../README.md")]

mod decoder;
mod dialect;
mod endpoint;
mod event;
pub mod framing;
mod json;
mod list;
#[cfg(feature = "measure")]
mod measure;
mod request;
mod sniff;
mod text;
mod whole;

pub use decoder::{Counts, Decoder, Form};
pub use dialect::{Dialect, Sees};
pub use endpoint::{Endpoint, Operation};
pub use event::{Chunk, Event, Failure, Finish, FinishKind, Origin, Piece, PieceKind, ServerTimings, Usage};
#[cfg(feature = "measure")]
pub use measure::{MeasureWire, OpenWire, Wire};
pub use request::Request;
pub use text::Text;

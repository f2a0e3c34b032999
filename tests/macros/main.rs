//! The attribute macros: what they may stand on, what they measure there, what they refuse.

mod aliases;
mod arguments;
mod hygiene;
mod laziness;
mod odd;
mod outcomes;
mod shapes;
mod support;
mod values;

//! What an application puts around its own functions: a RAG service and an agent, measured.
//!
//! [`Service`] answers questions from the knowledge base; each of its stages is a function with an attribute. [`Desk`] is
//! an agent with tools. Both ask the [`Model`] of the local server, which answers by plans, whatever it is asked: what a
//! model would decide is decided by a script. [`Sending`] sets up where telemetry goes, [`spans()`] shows where it went.

mod desk;
mod model;
mod sending;
mod service;
mod spans;
mod tools;

pub(crate) use desk::{Desk, Reply, Task};
pub(crate) use model::{MODEL, Model, PROVIDER, plans};
pub(crate) use sending::Sending;
pub(crate) use service::{Answer, PIPELINE, Request, Service, TOP};
pub(crate) use spans::spans;
pub(crate) use tools::{Booking, FULL, Tools};

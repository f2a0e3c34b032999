//! The RAG service and the agent of the examples: what they do, and what is measured of it.

mod agent_tests;
mod service_tests;

use crate::assistants::{Model, plans};
use crate::server::Server;

/// A server with a model on it.
fn model() -> (Server, Model) {
    let server = Server::start(plans()).unwrap();
    let model = Model::new(&server).unwrap();
    (server, model)
}

//! The real async-openai against the local server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
#[path = "../support/mod.rs"]
mod support;

mod chat;
mod items;
mod responses;

use async_openai::{Client, config::OpenAIConfig};

use support::server::Server;

const ALL: usize = usize::MAX;

fn client(server: &Server) -> Client<OpenAIConfig> {
    // Loopback only; where other packages of the build ask for TLS, its provider must be there.
    let _already_set = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    Client::build(http, OpenAIConfig::new().with_api_base(server.base_url()).with_api_key("none"))
}

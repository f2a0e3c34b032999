//! Which `tracing` spans and events are exported, and which are printed.

use tracing_subscriber::filter::{LevelFilter, Targets};

use super::env::{Env, bad_setting};
use super::error::Error;

/// The call events of `llmperf` are DEBUG: exported with their trace ids, not printed unless asked for.
const EXPORTED: &str = "info,llmperf=debug";
const PRINTED: &str = "info";
/// Beginnings of targets: what speaks while we export. The export thread suppresses telemetry, but spans that these
/// crates open as roots escape that.
const OWN: [&str; 7] = ["opentelemetry", "h2::", "hyper::", "hyper_util::", "rustls::", "tonic::", "tower::"];

/// The filters of the layers that the set-up makes.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    pub(super) exported: Targets,
    pub(super) printed: Targets,
}

impl Filter {
    /// `directives` beat `RUST_LOG`, which beats the defaults.
    ///
    /// What the SDK and the transports say of themselves is printed but never exported: export must not feed itself.
    pub(super) fn resolve(directives: Option<&str>, env: &Env<'_>) -> Result<Self, Error> {
        let given = match directives {
            Some(directives) => Some(("filter", directives.to_owned())),
            None => env.text("RUST_LOG").map(|value| ("RUST_LOG", value)),
        };
        let (name, exported, printed) = match &given {
            Some((name, directives)) => (*name, directives.as_str(), directives.as_str()),
            None => ("filter", EXPORTED, PRINTED),
        };
        let exported =
            OWN.iter().fold(parse(name, exported)?, |targets, own| targets.with_target(*own, LevelFilter::OFF));
        Ok(Self { exported, printed: parse(name, printed)? })
    }
}

fn parse(name: &str, directives: &str) -> Result<Targets, Error> {
    let expected = "a list of `target=level`, like `info,my_app=debug`";
    directives.parse().map_err(|_| bad_setting(name, directives, expected))
}

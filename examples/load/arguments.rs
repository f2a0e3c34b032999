//! The command line of the quickstart.

use std::ffi::OsString;

use lexopt::prelude::*;

use super::Load;

type Error = Box<dyn std::error::Error + Send + Sync>;

pub(crate) const USAGE: &str = "\
Measures streamed chat completions: of a local server that comes with it, or of a real one.

Usage: cargo run --example quickstart -- [options]

  --calls <n>            calls in all                      [local: 300, remote: 10]
  --concurrency <n>      calls at a time                   [local: 48, remote: 2]
  --seed <n>             seed of the local server's plans  [1]

  --base-url <url>       a real OpenAI-compatible server, as in https://api.openai.com/v1
  --model <name>         the model to ask, with --base-url
  --api-key-env <name>   environment variable that holds the key
  --prompt <text>        what to ask                       [Tell me a short story about the sea.]
  --max-tokens <n>       limit of each answer              [256]

  --serve                keep /metrics up until Ctrl-C
  --help                 this text
";

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arguments {
    Help,
    Measure {
        load: Load,
        target: Target,
        /// Keep `/metrics` up when all is done.
        serve: bool,
    },
}

/// Who is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// The server that comes with the example, by plans of this seed.
    Local {
        seed: u64,
    },
    Remote(Remote),
}

/// A real server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remote {
    pub(crate) base_url: String,
    pub(crate) model: String,
    /// Name of the environment variable that holds the key; the key itself never stands on a command line.
    pub(crate) key_variable: Option<String>,
    pub(crate) prompt: String,
    pub(crate) max_tokens: u32,
}

impl Remote {
    /// The key from the environment; `None` if no variable was named.
    ///
    /// Fails if the variable that was named is not set.
    pub(crate) fn key(&self) -> Result<Option<String>, Error> {
        let read = |name: &String| std::env::var(name).map_err(|error| format!("--api-key-env {name}: {error}").into());
        self.key_variable.as_ref().map(read).transpose()
    }
}

/// The options as they are given.
#[derive(Default)]
struct Given {
    calls: Option<u64>,
    concurrency: Option<usize>,
    seed: Option<u64>,
    base_url: Option<String>,
    model: Option<String>,
    key_variable: Option<String>,
    prompt: Option<String>,
    max_tokens: Option<u32>,
    serve: bool,
}

impl Arguments {
    /// The arguments of this process. The error says which argument is wrong and why.
    pub(crate) fn from_env() -> Result<Self, Error> {
        Self::parse(std::env::args_os().skip(1))
    }

    /// As [`Arguments::from_env`], for arguments from anywhere, without the program's name.
    pub(crate) fn parse<I>(arguments: I) -> Result<Self, Error>
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
        I::IntoIter: 'static,
    {
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut given = Given::default();
        while let Some(argument) = parser.next()? {
            match argument {
                Short('h') | Long("help") => return Ok(Self::Help),
                Long("calls") => given.calls = Some(number(&mut parser, "--calls")?),
                Long("concurrency") => given.concurrency = Some(number(&mut parser, "--concurrency")?),
                Long("seed") => given.seed = Some(number(&mut parser, "--seed")?),
                Long("base-url") => given.base_url = Some(parser.value()?.string()?),
                Long("model") => given.model = Some(parser.value()?.string()?),
                Long("api-key-env") => given.key_variable = Some(parser.value()?.string()?),
                Long("prompt") => given.prompt = Some(parser.value()?.string()?),
                Long("serve") => given.serve = true,
                Long("max-tokens") => given.max_tokens = Some(number(&mut parser, "--max-tokens")?),
                _ => return Err(argument.unexpected().into()),
            }
        }
        given.resolve()
    }
}

impl Given {
    /// Fills in what was not given; refuses what does not go together.
    fn resolve(self) -> Result<Arguments, Error> {
        let Some(base_url) = self.base_url else {
            return self.local();
        };
        if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
            return Err(format!("--base-url {base_url}: expected http://… or https://…").into());
        }
        if self.seed.is_some() {
            return Err("--seed belongs to the local server and does not go with --base-url".into());
        }
        let remote = Remote {
            base_url,
            model: self.model.ok_or("--base-url needs --model: the name of the model to ask")?,
            key_variable: self.key_variable,
            prompt: self.prompt.unwrap_or_else(|| "Tell me a short story about the sea.".into()),
            max_tokens: self.max_tokens.unwrap_or(256),
        };
        let load = load(self.calls.unwrap_or(10), self.concurrency.unwrap_or(2))?;
        Ok(Arguments::Measure { load, target: Target::Remote(remote), serve: self.serve })
    }

    fn local(self) -> Result<Arguments, Error> {
        let remote_only = [
            ("--model", self.model.is_some()),
            ("--api-key-env", self.key_variable.is_some()),
            ("--prompt", self.prompt.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
        ];
        if let Some((option, _)) = remote_only.into_iter().find(|&(_, given)| given) {
            return Err(format!("{option} needs --base-url: the local server goes by its plans").into());
        }
        let load = load(self.calls.unwrap_or(300), self.concurrency.unwrap_or(48))?;
        let target = Target::Local { seed: self.seed.unwrap_or(1) };
        Ok(Arguments::Measure { load, target, serve: self.serve })
    }
}

fn load(calls: u64, concurrency: usize) -> Result<Load, Error> {
    match (calls, concurrency) {
        (0, _) => Err("--calls 0: at least one call is needed".into()),
        (_, 0) => Err("--concurrency 0: at least one call at a time is needed".into()),
        _ => Ok(Load { calls, concurrency }),
    }
}

fn number<N>(parser: &mut lexopt::Parser, option: &str) -> Result<N, Error>
where
    N: std::str::FromStr<Err = std::num::ParseIntError>,
{
    let value = parser.value()?.string()?;
    value.parse().map_err(|error| format!("{option} {value}: {error}").into())
}

//! The quickstart's command line.

use crate::load::{Arguments, Load, Remote, Target, USAGE};

fn parse(line: &str) -> Result<Arguments, String> {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    Arguments::parse(words).map_err(|error| error.to_string())
}

#[test]
fn without_arguments_the_local_server_is_driven() {
    let load = Load { calls: 300, concurrency: 48 };
    let target = Target::Local { seed: 1 };
    assert_eq!(parse(""), Ok(Arguments::Measure { load, target, serve: false }));
    let load = Load { calls: 20, concurrency: 4 };
    let target = Target::Local { seed: 9 };
    let expected = Arguments::Measure { load, target, serve: true };
    assert_eq!(parse("--calls 20 --concurrency=4 --seed 9 --serve"), Ok(expected));
}

#[test]
fn a_base_url_names_a_real_server() {
    let remote = Remote {
        base_url: "https://api.example.com/v1".into(),
        model: "big".into(),
        key_variable: Some("LLMPERF_TEST_NO_SUCH_KEY".into()),
        prompt: "Tell me a short story about the sea.".into(),
        max_tokens: 64,
    };
    let line =
        "--base-url https://api.example.com/v1 --model big --api-key-env LLMPERF_TEST_NO_SUCH_KEY --max-tokens 64";
    let load = Load { calls: 10, concurrency: 2 };
    let target = Target::Remote(remote.clone());
    assert_eq!(parse(line), Ok(Arguments::Measure { load, target, serve: false }));
    let missing = remote.key().unwrap_err().to_string();
    assert_eq!(missing, "--api-key-env LLMPERF_TEST_NO_SUCH_KEY: environment variable not found");
    assert_eq!(Remote { key_variable: None, ..remote }.key().unwrap(), None);
}

#[test]
fn a_wrong_argument_is_named() {
    for (line, error) in [
        ("--calls 0", "--calls 0: at least one call is needed"),
        ("--calls many", "--calls many: invalid digit found in string"),
        ("--concurrency 0", "--concurrency 0: at least one call at a time is needed"),
        ("--calls", "missing argument for option '--calls'"),
        ("--fast", "invalid option '--fast'"),
        ("word", "unexpected argument \"word\""),
        ("--model big", "--model needs --base-url: the local server goes by its plans"),
        ("--base-url http://x", "--base-url needs --model: the name of the model to ask"),
        ("--base-url x --model big", "--base-url x: expected http://… or https://…"),
        (
            "--base-url http://x --model big --seed 1",
            "--seed belongs to the local server and does not go with --base-url",
        ),
    ] {
        assert_eq!(parse(line).unwrap_err(), error, "{line}");
    }
}

#[test]
fn help_wins_and_lists_every_option() {
    assert_eq!(parse("--calls 5 --help"), Ok(Arguments::Help));
    assert_eq!(parse("-h"), Ok(Arguments::Help));
    let options = ["calls", "concurrency", "seed", "base-url", "model", "api-key-env", "prompt", "max-tokens"];
    for option in options.into_iter().chain(["serve", "help"]) {
        assert!(USAGE.contains(&format!("  --{option} ")), "{option} is not in the usage");
    }
}

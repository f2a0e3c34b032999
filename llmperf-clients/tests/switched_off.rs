//! A call that is switched off hears nothing, and neither does one around it. In a process of its own: the switch is global.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use async_openai::{error::OpenAIError, types::chat::ChatCompletionResponseStream};
use futures::executor::block_on;
use llmperf_clients::async_openai as measured;
use llmperf_core::{Outcome, set_enabled, testing::Probe};

#[test]
fn a_failure_inside_a_call_that_is_off_is_not_the_outer_ones() {
    let probe = Probe::new();
    let mut outer = probe.chat("router", "outer").start();
    set_enabled(false);
    let refused = async { Err::<ChatCompletionResponseStream, _>(OpenAIError::InvalidArgument("no".into())) };
    let opened = measured::open(probe.chat("openai", "inner"), refused);
    let error = outer.in_scope(|| block_on(opened)).err().unwrap();
    assert!(matches!(error, OpenAIError::InvalidArgument(_)), "the error passes through: {error}");
    set_enabled(true);
    assert_eq!(outer.finish().outcome, Some(Outcome::Complete));
    assert_eq!(probe.tree(), "chat outer\n");
}

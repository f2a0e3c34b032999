//! Usage: what is reported apart is added, what is provisional is not told.

use super::*;

fn start(usage: &str) -> String {
    format!(r#"{{"type":"message_start","message":{{"id":"m","usage":{usage}}}}}"#)
}

fn end(usage: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}"#)
}

/// The usage of each of these events of one stream.
fn usage<const N: usize>(events: [String; N]) -> [Option<Usage>; N] {
    let frames = events.map(|event| format!("data: {event}\n\n"));
    let (said, counts) = stream(MESSAGES, &frames.concat());
    assert_eq!(counts.unknown, 0);
    said.into_iter().map(|said| said.usage).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn input_is_the_sum_of_what_is_reported_apart() {
    let json = start(
        r#"{"input_tokens":10,"cache_read_input_tokens":200,"cache_creation_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":3000},"output_tokens":1}"#,
    );
    for json in [sorted(&json), reversed(&json), json] {
        let [told] = usage([json]);
        let told = told.unwrap();
        assert_eq!((told.input, told.cache_read, told.cache_write), (Some(3_210), Some(200), Some(3_000)));
    }
}

#[test]
fn the_output_of_the_start_is_a_guess_that_is_not_told() {
    let [told] =
        usage([start(r#"{"input_tokens":10,"output_tokens":4,"output_tokens_details":{"thinking_tokens":1}}"#)]);
    assert_eq!((told.unwrap().input, told.unwrap().output, told.unwrap().reasoning), (Some(10), None, None));
    let [told] = usage([start(r#"{"output_tokens":4}"#)]);
    assert_eq!(told, None);
}

#[test]
fn the_delta_has_the_output_so_far_and_its_reasoning() {
    let [told] = usage([end(r#"{"output_tokens":113,"output_tokens_details":{"thinking_tokens":40}}"#)]);
    assert_eq!((told.unwrap().output, told.unwrap().reasoning), (Some(113), Some(40)));
    assert_eq!((told.unwrap().input, told.unwrap().cache_read), (None, None));
}

#[test]
fn a_report_that_leaves_parts_out_does_not_take_them_back() {
    let cached = r#"{"input_tokens":10,"cache_read_input_tokens":200,"cache_creation_input_tokens":0}"#;
    let [_, told] = usage([start(cached), end(r#"{"input_tokens":12,"output_tokens":5}"#)]);
    assert_eq!((told.unwrap().input, told.unwrap().cache_read), (Some(212), None));
    let [_, told] = usage([start(cached), end(r#"{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}"#)]);
    assert_eq!((told.unwrap().input, told.unwrap().cache_read), (Some(210), Some(200)));
    let [first, told] =
        usage([start(r#"{"input_tokens":0}"#), end(r#"{"input_tokens":18,"cache_read_input_tokens":7}"#)]);
    assert_eq!((first.unwrap().input, told.unwrap().input), (Some(0), Some(25)));
}

#[test]
fn what_is_cached_alone_is_no_input() {
    let [told] = usage([start(r#"{"cache_read_input_tokens":200}"#)]);
    assert_eq!((told.unwrap().input, told.unwrap().cache_read), (None, Some(200)));
}

#[test]
fn a_figure_of_the_wrong_type_is_absent() {
    let odd = r#"{"input_tokens":"9","cache_read_input_tokens":null,"output_tokens":-1,"output_tokens_details":3}"#;
    let [first, told] = usage([start(odd), end(odd)]);
    assert_eq!((first, told), (None, None));
    for none in ["null", "{}", "[]", "7"] {
        assert_eq!(usage([start(none), end(none)]), [None, None], "{none}");
    }
    let [told] = usage([start(r#"{"input_tokens":99999999999,"cache_read_input_tokens":99999999999}"#)]);
    assert_eq!(told.unwrap().input, Some(2 * u64::from(u32::MAX)));
}

#[test]
fn the_tier_comes_with_the_usage() {
    let json = start(r#"{"input_tokens":1,"service_tier":"priority"}"#);
    assert_eq!(event(MESSAGES, &json).service_tier.as_deref(), Some("priority"));
}

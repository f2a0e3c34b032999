//! Usage reports.

use super::*;

fn usage(json: &str) -> Usage {
    payload(&format!(r#"{{"candidates":[],"usageMetadata":{json}}}"#), |chunk| chunk.usage.unwrap())
}

/// Input, output and reasoning.
fn figures(json: &str) -> (Option<u64>, Option<u64>, Option<u64>) {
    let Usage { input, output, reasoning, .. } = usage(json);
    (input, output, reasoning)
}

#[test]
fn thoughts_stand_outside_the_candidates_and_are_added() {
    let json = r#"{"promptTokenCount":10,"candidatesTokenCount":20,"thoughtsTokenCount":300,"totalTokenCount":330}"#;
    assert_eq!(figures(json), (Some(10), Some(320), Some(300)));
    let without_total = r#"{"thoughtsTokenCount":300,"candidatesTokenCount":20}"#;
    assert_eq!(figures(without_total), (None, Some(320), Some(300)));
}

#[test]
fn thoughts_that_the_total_shows_inside_the_candidates_are_not_added_again() {
    let json = r#"{"promptTokenCount":10,"candidatesTokenCount":320,"thoughtsTokenCount":300,"totalTokenCount":330}"#;
    assert_eq!(figures(json), (Some(10), Some(320), Some(300)));
}

#[test]
fn early_reports_lack_what_has_not_begun() {
    let prompt = r#"{"promptTokenCount":10,"totalTokenCount":10}"#;
    assert_eq!(figures(prompt), (Some(10), None, None));
    let thoughts = r#"{"promptTokenCount":10,"thoughtsTokenCount":30,"totalTokenCount":40}"#;
    assert_eq!(figures(thoughts), (Some(10), Some(30), Some(30)));
    let answer = r#"{"promptTokenCount":10,"candidatesTokenCount":7,"totalTokenCount":17}"#;
    assert_eq!(figures(answer), (Some(10), Some(7), None));
}

#[test]
fn what_a_later_report_leaves_out_or_has_no_more_of_stays_in_the_sums() {
    let reports = [
        r#"{"promptTokenCount":80,"toolUsePromptTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":130}"#,
        r#"{"promptTokenCount":81,"candidatesTokenCount":7,"totalTokenCount":138}"#,
        r#"{"candidatesTokenCount":9,"thoughtsTokenCount":0}"#,
        r#"{"trafficType":"ON_DEMAND","totalTokenCount":140}"#,
    ];
    let stream = reports.map(|json| format!("data: {{\"candidates\":[],\"usageMetadata\":{json}}}\n\n")).concat();
    let mut told = Vec::new();
    decode(Dialect::Gemini, stream, |chunk| told.push(chunk.usage.map(|usage| (usage.input, usage.output))));
    let figures = |input, output| Some((input, output));
    assert_eq!(told, [figures(Some(100), Some(30)), figures(Some(101), Some(37)), figures(None, Some(39)), None]);
}

#[test]
fn what_the_providers_own_tools_gave_back_is_input() {
    let json = r#"{"promptTokenCount":80,"toolUsePromptTokenCount":237,"candidatesTokenCount":173,"thoughtsTokenCount":60,"totalTokenCount":550}"#;
    assert_eq!(figures(json), (Some(317), Some(233), Some(60)));
}

#[test]
fn cached_and_audio_tokens_are_their_own_figures() {
    let json = r#"{"promptTokenCount":100,"cachedContentTokenCount":64,"candidatesTokenCount":9,"promptTokensDetails":[{"modality":"TEXT","tokenCount":60},{"tokenCount":40,"modality":"AUDIO"}],"candidatesTokensDetails":[{"modality":4,"tokenCount":9}],"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":1}]}"#;
    let Usage { input, cache_read, audio_input, audio_output, cache_write, .. } = usage(json);
    assert_eq!((input, cache_read, cache_write), (Some(100), Some(64), None));
    assert_eq!((audio_input, audio_output), (Some(40), Some(9)));
}

#[test]
fn a_report_without_figures_is_none() {
    for json in ["null", "{}", r#"{"trafficType":"ON_DEMAND"}"#, r#"{"promptTokenCount":"3"}"#] {
        let json = format!(r#"{{"candidates":[],"usageMetadata":{json}}}"#);
        assert!(payload(&json, |chunk| chunk.usage.is_none()), "{json}");
    }
}

#[test]
fn sums_that_no_number_holds_are_absent() {
    let json = r#"{"promptTokenCount":18446744073709551615,"toolUsePromptTokenCount":1,"candidatesTokenCount":3}"#;
    assert_eq!(figures(json), (None, Some(3), None));
}

#[test]
fn what_a_prompt_was_made_of_is_told_of_each_event_whether_it_is_repeated_or_not() {
    let audio = r#"[{"modality":"AUDIO","tokenCount":40}]"#;
    let text = r#"[{"modality":"TEXT","tokenCount":40}]"#;
    let both = r#"[{"modality":"TEXT","tokenCount":1},{"modality":"AUDIO","tokenCount":4}]"#;
    let long = format!("[{}]", [r#"{"modality":"AUDIO","tokenCount":7}"#; 20].join(","));
    let long_text = format!("[{}]", [r#"{"modality":"TEXT","tokenCount":7}"#; 20].join(","));
    let spaced = r#" [ {"modality": "AUDIO", "tokenCount": 40} ]"#;
    let sent = [
        audio, audio, spaced, spaced, text, audio, "null", "null", both, both, text, &long, &long, &long_text, "[]",
        "[]", audio, "7",
    ];
    let frame = |details| {
        format!("data: {{\"usageMetadata\":{{\"promptTokenCount\":40,\"promptTokensDetails\":{details}}}}}\n\n")
    };
    let mut told = Vec::new();
    let counts = decode(Dialect::Gemini, sent.map(frame).concat(), |chunk| told.push(chunk.usage.unwrap().audio_input));
    let forty = Some(40);
    let expected = [
        forty,
        forty,
        forty,
        forty,
        None,
        forty,
        None,
        None,
        Some(4),
        Some(4),
        None,
        Some(7),
        Some(7),
        None,
        None,
        None,
        forty,
        None,
    ];
    assert_eq!((told.as_slice(), counts), (&expected[..], Counts::default()));
}

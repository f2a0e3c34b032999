//! Why a choice ends.

use super::*;

fn finishes(chunk: &Chunk<'_>) -> Vec<(u32, String, FinishKind)> {
    chunk.finishes().map(|finish| (finish.choice, finish.reason.to_string(), finish.kind)).collect()
}

fn finish(reason: &str) -> Vec<(u32, String, FinishKind)> {
    payload(&format!(r#"{{"candidates":[{{"index":1,"finishReason":{reason}}}]}}"#), finishes)
}

fn block(reason: &str) -> Vec<(u32, String, FinishKind)> {
    payload(&format!(r#"{{"promptFeedback":{{"safetyRatings":[],"blockReason":{reason}}}}}"#), finishes)
}

#[test]
fn finish_reasons_keep_the_providers_word_and_have_a_kind() {
    for (word, kind) in [
        ("STOP", FinishKind::Stop),
        ("MAX_TOKENS", FinishKind::Length),
        ("SAFETY", FinishKind::ContentFilter),
        ("RECITATION", FinishKind::ContentFilter),
        ("LANGUAGE", FinishKind::ContentFilter),
        ("BLOCKLIST", FinishKind::ContentFilter),
        ("PROHIBITED_CONTENT", FinishKind::ContentFilter),
        ("SPII", FinishKind::ContentFilter),
        ("MODEL_ARMOR", FinishKind::ContentFilter),
        ("IMAGE_SAFETY", FinishKind::ContentFilter),
        ("IMAGE_RECITATION", FinishKind::ContentFilter),
        ("IMAGE_PROHIBITED_CONTENT", FinishKind::ContentFilter),
        ("MALFORMED_FUNCTION_CALL", FinishKind::Error),
        ("MALFORMED_RESPONSE", FinishKind::Error),
        ("UNEXPECTED_TOOL_CALL", FinishKind::Error),
        ("TOO_MANY_TOOL_CALLS", FinishKind::Error),
        ("MISSING_THOUGHT_SIGNATURE", FinishKind::Error),
        ("OTHER", FinishKind::Other),
        ("NO_IMAGE", FinishKind::Other),
        ("SOMETHING_NEW", FinishKind::Other),
    ] {
        assert_eq!(finish(&format!("\"{word}\"")), [(1, word.to_owned(), kind)]);
    }
}

#[test]
fn reasons_may_be_numbers_and_are_named_where_both_apis_mean_the_same() {
    for (number, word, kind) in [
        (1, "STOP", FinishKind::Stop),
        (2, "MAX_TOKENS", FinishKind::Length),
        (3, "SAFETY", FinishKind::ContentFilter),
        (4, "RECITATION", FinishKind::ContentFilter),
        (5, "OTHER", FinishKind::Other),
        (6, "6", FinishKind::Other),
        (99, "99", FinishKind::Other),
    ] {
        assert_eq!(finish(&number.to_string()), [(1, word.to_owned(), kind)]);
    }
    for (number, word) in [(1, "SAFETY"), (2, "OTHER"), (3, "BLOCKLIST"), (4, "PROHIBITED_CONTENT"), (5, "5")] {
        assert_eq!(block(&number.to_string()), [(0, word.to_owned(), FinishKind::ContentFilter)]);
    }
}

#[test]
fn an_unspecified_reason_says_nothing() {
    for reason in ["0", "null", "\"\"", "\"FINISH_REASON_UNSPECIFIED\"", "{}"] {
        assert_eq!(finish(reason), [], "{reason}");
    }
    for reason in ["0", "null", "\"BLOCKED_REASON_UNSPECIFIED\"", "\"BLOCK_REASON_UNSPECIFIED\""] {
        assert_eq!(block(reason), [], "{reason}");
    }
}

#[test]
fn a_blocked_prompt_ends_the_first_choice_without_output() {
    for word in ["SAFETY", "OTHER", "PROHIBITED_CONTENT", "JAILBREAK"] {
        assert_eq!(block(&format!("\"{word}\"")), [(0, word.to_owned(), FinishKind::ContentFilter)]);
    }
    let with_usage = r#"{"promptFeedback":{"blockReason":"SAFETY"},"candidates":[],"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}"#;
    payload(with_usage, |chunk| {
        assert_eq!((chunk.outputs().count(), chunk.finishes().count()), (0, 1));
        assert_eq!(chunk.usage.unwrap().input, Some(4));
    });
}

#[test]
fn beside_candidates_their_own_reasons_stand() {
    let json = r#"{"candidates":[{"finishReason":"STOP"}],"promptFeedback":{"blockReason":"SAFETY"}}"#;
    assert_eq!(payload(json, finishes), [(0, "STOP".to_owned(), FinishKind::Stop)]);
    let json = r#"{"promptFeedback":{"safetyRatings":[]},"candidates":[{"index":0}]}"#;
    assert_eq!(payload(json, finishes), []);
}

#[test]
fn older_models_say_it_in_every_event_beside_their_output() {
    let json = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}"#;
    assert_eq!(
        payload(json, |chunk| (chunk.outputs().count(), chunk.finishes().count(), chunk.terminal)),
        (1, 1, false)
    );
}

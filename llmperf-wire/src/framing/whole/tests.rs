//! What is kept is JSON still and says the same, wherever the bytes are cut.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DROPPED, ELEMENTS, Frame, LONGEST_NUMBERS, LONGEST_STRING, Whole};

/// What is given for these reads, in words, with the most that was held.
fn condensed<'r>(limit: usize, reads: impl IntoIterator<Item = &'r [u8]>) -> (Vec<String>, usize) {
    let mut whole = Whole::new().limit(limit);
    let mut given = Vec::new();
    let mut most = 0;
    let mut take = |frame: Frame<'_>| {
        given.push(match frame {
            Frame::Event { data, unterminated: false, .. } => String::from_utf8_lossy(data).into_owned(),
            other => format!("{other:?}"),
        });
    };
    for read in reads {
        whole.push(read, &mut take);
        most = most.max(whole.held());
    }
    whole.finish(&mut take);
    (given, most)
}

fn of_text(text: &str) -> Vec<String> {
    condensed(1 << 20, [text.as_bytes()]).0
}

#[test]
fn bulk_is_dropped_and_structure_kept() {
    let numbers = vec!["-1.25e-3"; 200].join(", ");
    for (text, kept) in [
        (format!(r#"{{"a":[{numbers}],"b":1}}"#), r#"{"a":[],"b":1}"#),
        (format!(r#"{{"a":[ {numbers} ]}}"#), r#"{"a":[ ]}"#),
        (format!(r#"{{"a":[{numbers}, null, 7]}}"#), r#"{"a":[null, 7]}"#),
        (format!(r#"{{"a":[[{numbers}],[{numbers}]]}}"#), r#"{"a":[[],[]]}"#),
        (r#"{"a":[1,2,3],"b":[]}"#.to_owned(), r#"{"a":[1,2,3],"b":[]}"#),
        (r#"{"data":[{"x":"]}\"","y":[[1]]}],"model":"m"}"#.to_owned(), r#"{"data":null,"model":"m"}"#),
        (
            r#"{"embedding":"AAAA" , "embeddings":{"float":[[1]]},"texts":["a"]}"#.to_owned(),
            r#"{"embedding":null, "embeddings":null,"texts":null}"#,
        ),
        (r#"{"data": 7}"#.to_owned(), r#"{"data": null}"#),
        (r#"{"a":{"data":[1]},"b":"data"}"#.to_owned(), r#"{"a":{"data":[1]},"b":"data"}"#),
        (r#"[{"i":1},2,3,4,5,6,7,8,{"data":9},"]"]"#.to_owned(), r#"[{"i":1},2,3,4,5,6,7,8]"#),
    ] {
        assert_eq!(of_text(&text), [kept], "{text}");
    }
}

#[test]
fn each_value_at_the_top_is_given_at_its_end() {
    let mut whole = Whole::new();
    let mut given = 0;
    whole.push(b"\xEF\xBB\xBF\r\n {\"a\":1}", |_| given += 1);
    assert_eq!(given, 1);
    assert_eq!(of_text("{\"a\":1}\n{\"b\":2} []"), [r#"{"a":1}"#, r#"{"b":2}"#, "[]"]);
}

#[test]
fn what_is_no_object_or_array_is_given_at_the_end() {
    assert_eq!(of_text("upstream failed: {}"), ["upstream failed: {}"]);
    assert_eq!(of_text("}"), ["}"]);
    assert_eq!(of_text("  \n"), Vec::<String>::new());
}

#[test]
fn a_value_that_was_cut_says_so() {
    let given = of_text(r#"{"a":[1,2"#);
    assert!(matches!(given.as_slice(), [cut] if cut.contains("unterminated: true")), "{given:?}");
}

#[test]
fn a_long_string_keeps_its_beginning_and_its_quotes() {
    for unit in ["x", "é", r"\n", r"\u00e9"] {
        let long = unit.repeat(LONGEST_STRING);
        let text = format!(r#"{{"a":"{long}","b":"c"}}"#);
        let given = of_text(&text);
        assert!(given[0].starts_with(r#"{"a":""#) && given[0].ends_with(r#"","b":"c"}"#), "{unit}");
        assert!(given[0].len() < LONGEST_STRING + 32);
        let bytewise = condensed(1 << 20, text.as_bytes().chunks(1)).0;
        assert_eq!(bytewise, given);
    }
}

#[test]
fn any_number_of_vectors_is_held_in_a_few_hundred_bytes() {
    let vector = vec!["-0.0123456789"; 3_072].join(",");
    let text = vec!["AbC/"; 4_096].concat();
    for one in [format!("[{vector}]"), format!("\"{text}\"")] {
        let mut whole = Whole::new();
        let mut most = 0;
        let mut given = Vec::new();
        let mut push = |whole: &mut Whole, text: &str| {
            whole.push(text.as_bytes(), |frame| {
                if let Frame::Event { data, .. } = frame {
                    given.push(String::from_utf8_lossy(data).into_owned());
                }
            });
            most = most.max(whole.held());
        };
        push(&mut whole, r#"{"object":"list","data":["#);
        for index in 0..500 {
            push(&mut whole, &format!(r#"{{"object":"embedding","index":{index},"embedding":{one}}},"#));
        }
        push(&mut whole, r#"{}],"model":"m","usage":{"prompt_tokens":8}}"#);
        assert_eq!(given, [r#"{"object":"list","data":null,"model":"m","usage":{"prompt_tokens":8}}"#]);
        assert!(most < 200, "{most} bytes");
    }
}

#[test]
fn what_passes_the_limit_is_dropped_and_the_next_value_read() {
    let text = format!(r#"{{"a":"{}"}} {{"b":1}}"#, "x".repeat(100));
    for length in [1, 7, 200] {
        let (given, most) = condensed(64, text.as_bytes().chunks(length));
        assert_eq!(given, ["Oversized", r#"{"b":1}"#]);
        assert!(most <= 64);
    }
}

/// Values of any shape, arrays of numbers long and short among them.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        vec(any::<i32>(), 0..120).prop_map(|numbers| json!(numbers)),
    ];
    let name =
        prop_oneof![prop::sample::select(vec!["data", "results", "usage", "a"]).prop_map(str::to_owned), ".{0,4}"];
    leaf.prop_recursive(4, 30, 12, move |inner| {
        let fields = prop::collection::btree_map(name.clone(), inner.clone(), 0..5);
        prop_oneof![vec(inner, 0..12).prop_map(Value::from), fields.prop_map(|fields| fields.into_iter().collect())]
    })
}

/// What is to be kept of a value at the top.
fn expected(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let dropped = DROPPED.contains(&name.as_bytes());
                (name, if dropped { Value::Null } else { without_numbers(value) })
            })
            .collect(),
        Value::Array(mut elements) if !is_long(&elements) => {
            elements.truncate(if elements.first().is_some_and(Value::is_number) { elements.len() } else { ELEMENTS });
            elements.into_iter().map(without_numbers).collect()
        }
        other => without_numbers(other),
    }
}

fn without_numbers(value: Value) -> Value {
    match value {
        Value::Array(elements) if is_long(&elements) => Value::Array(Vec::new()),
        Value::Array(elements) => elements.into_iter().map(without_numbers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, without_numbers(value))).collect(),
        other => other,
    }
}

fn is_long(elements: &[Value]) -> bool {
    let all = !elements.is_empty() && elements.iter().all(Value::is_number);
    all && elements.iter().map(|number| number.to_string().len() + 1).sum::<usize>() - 1 > LONGEST_NUMBERS
}

/// An array that begins with numbers and goes on otherwise is beyond the simple oracle.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(elements) => {
            let numbers = elements.iter().filter(|element| element.is_number()).count();
            (numbers == 0 || numbers == elements.len()) && elements.iter().all(is_plain)
        }
        Value::Object(fields) => fields.values().all(is_plain),
        _ => true,
    }
}

proptest! {
    #[test]
    fn what_is_kept_is_the_value_without_its_bulk(value in value(), lengths in vec(1usize..40, 1..6)) {
        prop_assume!((value.is_object() || value.is_array()) && is_plain(&value));
        let compact = value.to_string();
        for text in [&compact, &serde_json::to_string_pretty(&value).unwrap()] {
            let whole = of_text(text);
            prop_assert_eq!(whole.len(), 1);
            if *text == compact {
                prop_assert_eq!(serde_json::from_str::<Value>(&whole[0]).unwrap(), expected(value.clone()));
            }
            prop_assert!(serde_json::from_str::<Value>(&whole[0]).is_ok(), "{}", whole[0]);
            let mut reads = Vec::new();
            let mut rest = text.as_bytes();
            for &length in lengths.iter().cycle() {
                if rest.is_empty() { break; }
                let (read, behind) = rest.split_at(length.min(rest.len()));
                reads.push(read);
                rest = behind;
            }
            prop_assert_eq!(condensed(1 << 20, reads).0, whole);
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_pass_the_limit(
        parts in vec(prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"", "\\", "\"data\":", "1", "-2,", " ", "x", "é", "\0"]), 0..80),
        length in 1usize..9,
    ) {
        let text = parts.concat();
        let (whole, _) = condensed(24, [text.as_bytes()]);
        let (cut, most) = condensed(24, text.as_bytes().chunks(length));
        prop_assert_eq!(cut, whole);
        prop_assert!(most <= 24);
    }
}

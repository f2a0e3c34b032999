//! What the parser takes, and what it says of anything else.

use syn::parse::Parser as _;

use super::*;

fn parsed(sort: Sort, text: &str) -> Result<Args> {
    (|input: ParseStream<'_>| Args::parse(sort, input)).parse_str(text)
}

fn message(sort: Sort, text: &str) -> String {
    parsed(sort, text).err().expect(text).to_string()
}

#[test]
fn nothing_is_needed() {
    let args = parsed(Sort::Tool, "").unwrap();
    assert!(args.name.is_none() && args.setters.is_empty());
}

#[test]
fn all_kinds_are_taken_in_any_order_and_a_comma_may_trail() {
    let text = r#"top_k = k + 1, store = "qdrant", deadline = LIMIT, relevant = &ids, labels("tenant" = t),
        attributes("a.b" = 1, "c" = -1.5,), crate = perf::rag, stream = boxed,"#;
    let args = parsed(Sort::Retrieval, text).unwrap();
    let names: Vec<_> = args.setters.iter().map(|setter| setter.name.to_string()).collect();
    assert_eq!(names, ["top_k", "store", "deadline", "relevant", "labels", "attributes"]);
    assert!(args.crate_path.is_some() && args.stream == Some(Stream::Boxed));
}

#[test]
fn every_argument_of_every_attribute_is_refused_the_second_time() {
    use Sort::{Agent, Embedding, Generation, Pipeline, Rerank, Retrieval, Step, Tool, Workflow};
    for sort in [Retrieval, Rerank, Embedding, Generation, Pipeline, Agent, Step, Tool, Workflow] {
        for (name, kind) in sort.arguments() {
            let once = match kind {
                Kind::Values | Kind::Labels => format!("{name}(\"a\" = b)"),
                Kind::Stream => format!("{name} = boxed"),
                _ => format!("{name} = value"),
            };
            let model = if name == "reads" { "model = m, " } else { "" };
            assert!(parsed(sort, &format!("{model}{once}")).is_ok(), "{sort:?} {once}");
            assert_eq!(message(sort, &format!("{once}, {once}")), format!("`{name}` is given twice"));
        }
    }
}

#[test]
fn literals_of_the_wrong_kind_are_refused() {
    assert!(message(Sort::Retrieval, "top_k = \"8\"").starts_with("`top_k` is a number of things"));
    assert!(message(Sort::Retrieval, "top_k = -8").starts_with("`top_k` is a number of things"));
    assert!(message(Sort::Retrieval, "store = 8").starts_with("`store` is a text"));
    assert!(message(Sort::Retrieval, "store = || \"a\"").starts_with("`store` is a text"));
    assert!(message(Sort::Tool, "deadline = 5").starts_with("`deadline` is a `Duration`"));
    assert!(message(Sort::Agent, "goal = true").starts_with("`goal` is a closure"));
    assert!(message(Sort::Tool, "attributes(\"a\" = b'x')").starts_with("the values of `attributes` are"));
    assert!(message(Sort::Tool, "labels(\"a\" = 1)").starts_with("the values of `labels` are texts"));
    assert!(message(Sort::Tool, "crate = \"perf\"").starts_with("`crate` is a path"));
    assert!(message(Sort::Tool, "stream = true").starts_with("`stream` is `boxed`"));
}

#[test]
fn what_is_missing_is_said() {
    assert_eq!(message(Sort::Retrieval, "store"), "`store` needs a value: `store = \"…\"`");
    assert_eq!(message(Sort::Retrieval, "top_k ="), "`top_k` needs a value: `top_k = 8`");
    assert_eq!(
        message(Sort::Tool, "attributes = 1").split(':').next(),
        Some("`attributes` takes pairs in parentheses")
    );
    assert_eq!(message(Sort::Tool, "attributes(\"a\")"), "`a` needs a value: `\"a\" = …`");
    assert_eq!(message(Sort::Tool, "attributes(a = 1)"), "a key is a text: `\"tenant.id\"`");
    assert_eq!(message(Sort::Tool, "\"weather\""), "arguments have names: `name = \"weather\"`");
    assert!(message(Sort::Tool, "name = \"a\" kind = \"b\"").contains("expected `,`"));
}

#[test]
fn pairs_are_checked() {
    assert_eq!(message(Sort::Tool, "attributes(\"a\" = 1, \"a\" = 2)"), "`a` is given twice");
    assert_eq!(message(Sort::Tool, "attributes(\"\" = 1)"), "a key is not empty");
    let many = "labels(\"a\" = x, \"b\" = x, \"c\" = x)";
    assert_eq!(message(Sort::Tool, many), "metrics take at most 2 labels of your own");
}

#[test]
fn an_argument_of_another_attribute_is_unknown() {
    let said = message(Sort::Tool, "store = \"qdrant\"");
    assert!(said.starts_with("`tool` takes no `store`; it takes `kind`, `call_id`,"), "{said}");
}

#[test]
fn reading_answers_needs_a_model() {
    assert!(message(Sort::Generation, "reads = |answer| read(answer)").contains("`provider` or `model`"));
    assert!(parsed(Sort::Generation, "model = \"m\", reads = |answer| read(answer)").is_ok());
}

//! Tokens in, tokens out. That the code compiles and measures is for the tests of the workspace.

use super::*;

fn written(sort: Sort, from: From, args: &str, item: &str) -> String {
    bare(&expand(sort, from, args.parse().unwrap(), &item.parse().unwrap()).to_string())
}

/// How blanks are set between tokens is the printer's affair.
fn bare(code: &str) -> String {
    code.split_whitespace().collect()
}

#[test]
fn a_plain_function_runs_in_scope() {
    let code = written(Sort::Step, From::Part, "", "pub fn plan(n: u8) -> Result<u8, E> { Ok(n) }");
    assert_eq!(
        code,
        bare(
            "pub fn plan(n: u8) -> Result<u8, E> {
            let __llmperf_work = ::llmperf_agent::step(\"plan\");
            ::llmperf_agent::__private::Work::in_scope(
                __llmperf_work,
                move || -> Result<u8, E> { Ok(n) },
                move |__llmperf_guard, __llmperf_value| {
                    let mut __llmperf_guard = __llmperf_guard;
                    let __llmperf_lasting = {
                        use ::llmperf_agent::__private::lasting::*;
                        (&&&&::llmperf_agent::__private::Given(&__llmperf_value)).lasting()
                    };
                    ::llmperf_agent::__private::over(&__llmperf_lasting);
                    let __llmperf_verdict = {
                        use ::llmperf_agent::__private::judging::*;
                        (&&&&&::llmperf_agent::__private::Judged(&__llmperf_value)).judge_step(&mut __llmperf_guard)
                    };
                    __llmperf_guard.end(__llmperf_verdict);
                    __llmperf_value
                },
            )
        }"
        )
    );
}

#[test]
fn arguments_become_setters_in_their_order() {
    let args = r#"store = "qdrant", top_k = k + 1, k = 8, query = q, relevant = (a, b), deadline = LIMIT,
        attributes("tenant.id" = tenant, "n" = 1), labels("tenant" = tenant.name()), provider = PROVIDER"#;
    let code = written(Sort::Retrieval, From::Part, args, "fn search() {}");
    let expected = bare(
        "let __llmperf_work = ::llmperf_rag::retrieval()
            .store(\"qdrant\")
            .top_k(::llmperf_rag::__private::count(&(k + 1)))
            .k(8u64)
            .query(::std::string::ToString::to_string(&q))
            .relevant(&(&a, &b,))
            .deadline(::llmperf_rag::__private::limit(&LIMIT))
            .attribute(\"tenant.id\", ::llmperf_rag::__private::value(&tenant))
            .attribute(\"n\", ::llmperf_rag::__private::value(&1i64))
            .label(\"tenant\", ::std::string::ToString::to_string(&tenant.name()))
            .provider(::std::string::ToString::to_string(&PROVIDER));",
    );
    assert!(code.contains(&expected), "{code}");
}

#[test]
fn the_crate_is_where_the_attribute_came_from_or_where_it_is_said_to_be() {
    for (from, args, path) in [
        (From::Part, "", "::llmperf_agent::tool(\"f\")"),
        (From::Facade, "", "::llmperf::agent::tool(\"f\")"),
        (From::Part, "crate = a::b", "a::b::tool(\"f\")"),
        (From::Facade, "crate = crate::a", "crate::a::agent::tool(\"f\")"),
    ] {
        let code = written(Sort::Tool, from, args, "fn r#f() {}");
        assert!(code.contains(&bare(path)), "{code}");
    }
}

#[test]
fn a_mistake_leaves_the_function_as_it_was() {
    let function = "#[inline] pub async fn f(n: u8) -> u8 { n ? + }";
    for args in ["nonsense = 1", "name = 1", "name"] {
        let code = written(Sort::Tool, From::Part, args, function);
        assert!(code.ends_with(&bare(function)), "{code}");
        assert_eq!(code.matches("compile_error").count(), 1, "{code}");
    }
}

#[test]
fn what_is_no_function_is_told_where_the_attribute_belongs() {
    for (item, said) in [
        ("struct S;", "belongs on a function"),
        ("impl S { fn f() {} }", "each method of the implementation"),
        ("unsafe impl Send for S {}", "each method of the implementation"),
        ("pub trait T {}", "where it has a body"),
        ("mod m {}", "each function of the module"),
        ("const N: u8 = 1;", "belongs on a function"),
        ("extern \"C\" { fn f(); }", "belongs on a function"),
        ("extern crate core;", "belongs on a function"),
        ("const fn f() {}", "`const fn` cannot be measured"),
        ("unsafe extern \"C\" fn f(n: u8, ...) {}", "variable arguments"),
        ("fn f(&self);", "has no body"),
        ("async fn main() {}", "`main` sets the telemetry up"),
        ("async fn f() -> impl Future<Output = u8> { g() }", "gives a future"),
    ] {
        let code = written(Sort::Tool, From::Part, "", item);
        assert!(code.contains(&bare(said)), "{item}: {code}");
        assert!(code.ends_with(&bare(item)), "{item}: {code}");
    }
}

#[test]
fn everything_around_the_body_stays() {
    let head = "#[doc = \"d\"] #[cfg(all())] pub(crate) unsafe extern \"C\" fn f<'a, T: A, const N: usize>(mut a: &'a T, \
                (b, _): (u8, u8)) -> &'a T where T: B";
    let code = written(Sort::Tool, From::Part, "", &format!("{head} {{ #![allow(unused)] a }}"));
    assert!(code.starts_with(&bare(&format!("{head} {{ #![allow(unused)] let __llmperf_work"))), "{code}");
}

#[test]
fn closures_need_what_they_look_at() {
    let code = written(Sort::Agent, From::Part, "goal = |a| ok(a)", "fn f() -> BoxStream<'static, u8> { s() }");
    assert!(code.contains(&bare("a goal is judged by a whole answer")), "{code}");
    let code = written(Sort::Pipeline, From::Part, "first_output = |a| ok(a)", "fn f() -> u8 { 1 }");
    assert!(code.contains(&bare("looks at the items of a stream")), "{code}");
}

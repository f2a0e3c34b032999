//! The functions that are measured: one empty body, under every attribute.

use std::hint::black_box;

/// The body: nothing, that the compiler cannot leave out.
#[inline(always)]
fn nothing(n: u32) -> Result<u32, std::fmt::Error> {
    Ok(black_box(n))
}

/// The bare function.
#[inline(never)]
pub(crate) fn bare(n: u32) -> Result<u32, std::fmt::Error> {
    nothing(n)
}

/// What the `tracing` world writes for it.
#[inline(never)]
#[tracing::instrument(skip_all)]
pub(crate) fn instrumented(n: u32) -> Result<u32, std::fmt::Error> {
    nothing(n)
}

macro_rules! functions {
    ($($attribute:ident),*) => {
        $(
            #[inline(never)]
            #[llmperf::$attribute]
            fn $attribute(n: u32) -> Result<u32, std::fmt::Error> {
                nothing(n)
            }
        )*

        /// Each attribute's function, by its name.
        pub(crate) const ALL: &[(&str, fn(u32) -> Result<u32, std::fmt::Error>)] =
            &[$((stringify!($attribute), $attribute)),*];
    };
}

functions!(retrieval, rerank, embedding, generation, pipeline, agent, step, tool, workflow);

/// What `#[llmperf::tool]` stands for.
#[inline(never)]
pub(crate) fn built(n: u32) -> Result<u32, std::fmt::Error> {
    use llmperf::{Verdict, Work as _, agent::ToolFailure};

    llmperf::agent::tool("built").in_scope(
        move || nothing(n),
        |guard, value| {
            guard.end(match &value {
                Ok(_) => Verdict::Complete,
                Err(error) => ToolFailure::of(error).into(),
            });
            value
        },
    )
}

/// An async function, polled once: `tool` as most have it.
#[inline(never)]
#[llmperf::tool]
pub(crate) async fn asynchronous(n: u32) -> Result<u32, std::fmt::Error> {
    nothing(n)
}

/// The bare async function.
#[inline(never)]
pub(crate) async fn bare_asynchronous(n: u32) -> Result<u32, std::fmt::Error> {
    nothing(n)
}

//! How a value, an error or an item is judged, by the most that is known of its type.
//!
//! The attributes write `(&&&&&Judged(&value)).judge_tool(&mut guard)`. All the traits below have a method of that name; of
//! those that fit the type, method resolution takes the one that is reached first: by the number of references, then
//! through `Deref`. So every type compiles, and one that knows how it came out is asked.
//!
//! | reached by | fits |
//! |---|---|
//! | `&&&&&` | what knows; `Result` of what knows and an I/O error |
//! | `&&&&&`, referenced once more | `Result` whose error knows, or of what knows and a typed error |
//! | `&&&&` | `Result` of what knows and a held error |
//! | `&&&` | `Result` of what knows; `Result` of an I/O error |
//! | `&&` | `Result` of a typed error |
//! | `&` | `Result` of a held error |
//! | `Deref` | `Result` |
//! | `Deref`, once more | anything |

use std::{error::Error, io};

use llmperf_core::part::{Guard, Verdict};

use super::{
    AsError, AsItem, AsValue, Failing, Judging, Last, Rest,
    verdicts::{
        complete, complete_value, failed, failed_item, output, output_value, run_aware, run_aware_item, run_item,
        run_told, silent, silent_item, tool_aware, tool_aware_item, tool_failed, tool_failed_item, tool_item,
        tool_plain, tool_told,
    },
};
use crate::{AgentOutcome, Run, Step, Tool, ToolOutcome, Workflow};

type Held = dyn Error + Send + Sync + 'static;

/// What nobody implements: steps and workflows have no values that know.
trait Nothing {}

/// One level: a trait of its own, with one method and one implementation.
macro_rules! level {
    ($level:ident, $method:ident, $guard:ty, $returns:ty; [$($generic:tt)*] $for:ty, $this:ident, $with:ident => $judge:expr) => {
        /// A level of judging.
        pub trait $level {
            /// Judges it.
            fn $method(&self, guard: &mut $guard) -> $returns;
        }
        impl<$($generic)*> $level for $for {
            fn $method(&self, $with: &mut $guard) -> $returns {
                let $this = self;
                $judge
            }
        }
    };
}

/// All levels of one method on a value or an item. `known` is asked of a value that knows, `plain` of one that does not,
/// `aware` of an error that knows, `failed` of any other.
macro_rules! values {
    ($module:ident: $as:ident . $method:ident(&mut $guard:ty) -> $returns:ty, of $knows:ident;
     $known:path, $plain:path, $aware:path, $failed:path) => {
        mod $module {
            use super::*;
            level!(Known, $method, $guard, $returns;
                ['a, T: $knows] &&&&Judging<'a, T, $as>, this, guard => $known(guard, this.judged()));
            level!(KnownOrIo, $method, $guard, $returns;
                ['a, T: $knows] &&&&Judging<'a, Result<T, io::Error>, $as>, this, guard => match this.judged() {
                    Ok(value) => $known(guard, value),
                    Err(error) => $failed(guard, &Failing::io(error)),
                });
            level!(KnownOrTyped, $method, $guard, $returns;
                ['a, T: $knows, E: Error] &&&&&Judging<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(value) => $known(guard, value),
                    Err(error) => $failed(guard, &Failing::typed(error)),
                });
            level!(Aware, $method, $guard, $returns;
                ['a, T, E: $knows] &&&&&Judging<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(_) => $plain(guard),
                    Err(error) => $aware(guard, error),
                });
            level!(KnownOrHeld, $method, $guard, $returns;
                ['a, T: $knows, E: AsRef<Held>] &&&Judging<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(value) => $known(guard, value),
                    Err(error) => $failed(guard, &Failing::held(error.as_ref())),
                });
            level!(KnownOrNot, $method, $guard, $returns;
                ['a, T: $knows, E] &&Judging<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(value) => $known(guard, value),
                    Err(_) => $failed(guard, &Failing::unknown()),
                });
            level!(Io, $method, $guard, $returns;
                ['a, T] &&Judging<'a, Result<T, io::Error>, $as>, this, guard => match this.judged() {
                    Ok(_) => $plain(guard),
                    Err(error) => $failed(guard, &Failing::io(error)),
                });
            level!(Typed, $method, $guard, $returns;
                ['a, T, E: Error] &Judging<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(_) => $plain(guard),
                    Err(error) => $failed(guard, &Failing::typed(error)),
                });
            level!(Holding, $method, $guard, $returns;
                ['a, T, E: AsRef<Held>] Judging<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(_) => $plain(guard),
                    Err(error) => $failed(guard, &Failing::held(error.as_ref())),
                });
            level!(Any, $method, $guard, $returns;
                ['a, T, E] Rest<'a, Result<T, E>, $as>, this, guard => match this.judged() {
                    Ok(_) => $plain(guard),
                    Err(_) => $failed(guard, &Failing::unknown()),
                });
            level!(Plain, $method, $guard, $returns;
                ['a, T] Last<'a, T, $as>, _this, guard => $plain(guard));
        }
        pub use $module::{
            Any as _, Aware as _, Holding as _, Io as _, Known as _, KnownOrHeld as _, KnownOrIo as _, KnownOrNot as _,
            KnownOrTyped as _, Plain as _, Typed as _,
        };
    };
}

/// All levels of one method on an error.
macro_rules! errors {
    ($module:ident: $method:ident(&mut $guard:ty), of $knows:ident; $aware:path, $failed:path) => {
        mod $module {
            use super::*;
            level!(Aware, $method, $guard, Verdict;
                ['a, E: $knows] &&&&Judging<'a, E, AsError>, this, guard => $aware(guard, this.judged()));
            level!(Io, $method, $guard, Verdict;
                ['a] &&&&Judging<'a, io::Error, AsError>, this, guard => $failed(guard, &Failing::io(this.judged())));
            level!(Typed, $method, $guard, Verdict;
                ['a, E: Error] &&&Judging<'a, E, AsError>, this, guard => $failed(guard, &Failing::typed(this.judged())));
            level!(Holding, $method, $guard, Verdict;
                ['a, E: AsRef<Held>] &&Judging<'a, E, AsError>, this, guard => $failed(guard, &Failing::held(this.judged().as_ref())));
            level!(Any, $method, $guard, Verdict;
                ['a, E] &Judging<'a, E, AsError>, _this, guard => $failed(guard, &Failing::unknown()));
        }
        pub use $module::{Any as _, Aware as _, Holding as _, Io as _, Typed as _};
    };
}

values!(agent_values: AsValue.judge_agent(&mut Guard<Run>) -> Verdict, of AgentOutcome;
    run_told, complete, run_aware, failed);
values!(agent_items: AsItem.judge_agent(&mut Guard<Run>) -> (), of AgentOutcome;
    run_item, output, run_aware_item, failed_item);
errors!(agent_errors: judge_agent(&mut Guard<Run>), of AgentOutcome; run_aware, failed);

values!(tool_values: AsValue.judge_tool(&mut Guard<Tool>) -> Verdict, of ToolOutcome;
    tool_told, tool_plain, tool_aware, tool_failed);
values!(tool_items: AsItem.judge_tool(&mut Guard<Tool>) -> (), of ToolOutcome;
    tool_item, output, tool_aware_item, tool_failed_item);
errors!(tool_errors: judge_tool(&mut Guard<Tool>), of ToolOutcome; tool_aware, tool_failed);

values!(step_values: AsValue.judge_step(&mut Guard<Step>) -> Verdict, of Nothing;
    complete_value, complete, silent, failed);
values!(step_items: AsItem.judge_step(&mut Guard<Step>) -> (), of Nothing;
    output_value, output, silent_item, failed_item);
errors!(step_errors: judge_step(&mut Guard<Step>), of Nothing; silent, failed);

values!(workflow_values: AsValue.judge_workflow(&mut Guard<Workflow>) -> Verdict, of Nothing;
    complete_value, complete, silent, failed);
values!(workflow_items: AsItem.judge_workflow(&mut Guard<Workflow>) -> (), of Nothing;
    output_value, output, silent_item, failed_item);
errors!(workflow_errors: judge_workflow(&mut Guard<Workflow>), of Nothing; silent, failed);

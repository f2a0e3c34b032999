//! Loops: the same tool called with the same arguments, again and again.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::LazyLock,
};

use llmperf_core::part::Text;
use rustc_hash::FxBuildHasher;

/// The call from which on a repetition counts: two may be a retry, three are a habit.
pub(crate) const FROM: u64 = 3;

/// Most pairs of tool and arguments of a run that are told apart.
const MOST: usize = 1_024;

/// Keys of this process: nobody can tell arguments from their hash, or compare hashes of two processes.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The hash of arguments, all that is kept of them.
pub(crate) fn hash_of<A: Hash + ?Sized>(arguments: &A) -> u64 {
    KEYS.hash_one(arguments)
}

/// The calls of one run whose arguments were given.
#[derive(Debug, Default)]
pub(crate) struct Repeats(HashMap<(Text, u64), u64, FxBuildHasher>);

impl Repeats {
    /// Notes a call; gives how many such there were, it included. 1 for what there is no room for.
    pub(crate) fn note(&mut self, tool: &Text, arguments: u64) -> u64 {
        let room = self.0.len() < MOST;
        let key = (tool.clone(), arguments);
        if !room && !self.0.contains_key(&key) {
            return 1;
        }
        let times = self.0.entry(key).or_default();
        *times += 1;
        *times
    }

    /// The tool that was repeated most, and how often it was called alike.
    pub(crate) fn most(&self) -> Option<(Text, u64)> {
        let most = self.0.iter().filter(|(_, times)| **times >= FROM);
        most.max_by_key(|((tool, _), times)| (**times, tool.as_str())).map(|((tool, _), times)| (tool.clone(), *times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_tool_with_other_arguments_is_no_repetition() {
        let mut repeats = Repeats::default();
        let times: Vec<u64> = (0..9).map(|city| repeats.note(&"weather".into(), hash_of(&city))).collect();
        assert_eq!(times, [1; 9]);
        assert_eq!(repeats.most(), None);
    }

    #[test]
    fn another_tool_with_the_same_arguments_is_no_repetition() {
        let mut repeats = Repeats::default();
        for tool in ["weather", "news", "weather", "news"] {
            repeats.note(&tool.into(), hash_of("Lisbon"));
        }
        assert_eq!(repeats.most(), None);
    }

    #[test]
    fn the_tool_that_was_repeated_most_is_named() {
        let mut repeats = Repeats::default();
        (0..4).for_each(|_| assert!(repeats.note(&"weather".into(), hash_of("Lisbon")) > 0));
        (0..3).for_each(|_| assert!(repeats.note(&"news".into(), hash_of("Lisbon")) > 0));
        assert_eq!(repeats.most(), Some(("weather".into(), 4)));
    }

    #[test]
    fn what_is_kept_of_a_run_without_end_is_bounded() {
        let mut repeats = Repeats::default();
        (0..10_000).for_each(|arguments| assert_eq!(repeats.note(&"weather".into(), arguments), 1));
        assert_eq!(repeats.0.len(), MOST);
        assert_eq!(repeats.note(&"weather".into(), 1), 2, "those it knows go on");
    }
}

//! The cap on names: so many of each kind, then `_other`.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{semconv::OTHER_NAME, text::Text};

/// A kind of name that a user or a provider gives. Each has a cap of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameKind {
    Operation,
    Provider,
    Model,
    Address,
    Scenario,
    ErrorType,
}

const KINDS: usize = NameKind::ErrorType as usize + 1;

/// Longest name on a metric, in bytes: it is kept for ever, and stands on every page of `/metrics`.
const LONGEST: usize = 1_024;

/// The names seen so far, by kind.
#[derive(Debug)]
pub(crate) struct Names {
    cap: usize,
    seen: [RwLock<HashSet<Text>>; KINDS],
    /// Values of the user's own labels, by key: whichever place a label has in a call.
    labels: RwLock<HashMap<&'static str, HashSet<Text>>>,
    folded: AtomicBool,
}

impl Names {
    pub(crate) fn new(cap: usize) -> Self {
        let seen = std::array::from_fn(|_| RwLock::default());
        Self { cap, seen, labels: RwLock::default(), folded: AtomicBool::new(false) }
    }

    /// The name itself while its kind has room, then `_other`.
    pub(crate) fn capped(&self, kind: NameKind, name: &Text) -> Text {
        let seen = &self.seen[kind as usize];
        if let Some(capped) = self.known(&seen.read().unwrap_or_else(PoisonError::into_inner), name) {
            return capped;
        }
        self.admitted(&mut seen.write().unwrap_or_else(PoisonError::into_inner), name)
    }

    /// The same for the value of a label of the user's own: its key is its kind.
    pub(crate) fn capped_label(&self, key: &'static str, value: &Text) -> Text {
        let labels = self.labels.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(capped) = labels.get(key).and_then(|seen| self.known(seen, value)) {
            return capped;
        }
        drop(labels);
        let mut labels = self.labels.write().unwrap_or_else(PoisonError::into_inner);
        self.admitted(labels.entry(key).or_default(), value)
    }

    /// What becomes of a name that is known, or that comes too late; decided without keeping others from looking.
    fn known(&self, seen: &HashSet<Text>, name: &Text) -> Option<Text> {
        if seen.contains(name) {
            return Some(name.clone());
        }
        (seen.len() >= self.cap || name.as_str().len() > LONGEST).then(|| {
            self.folded.store(true, Ordering::Relaxed);
            Text::Static(OTHER_NAME)
        })
    }

    fn admitted(&self, seen: &mut HashSet<Text>, name: &Text) -> Text {
        self.known(seen, name).unwrap_or_else(|| {
            seen.insert(name.clone());
            name.clone()
        })
    }

    pub(crate) fn take_folded(&self) -> bool {
        self.folded.load(Ordering::Relaxed) && self.folded.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_names_leave_the_cap_and_one() {
        let names = Names::new(100);
        let capped: HashSet<Text> =
            (0..10_000).map(|n| names.capped(NameKind::Model, &format!("model-{n}").into())).collect();
        assert_eq!(capped.len(), 101);
        assert!(names.take_folded() && !names.take_folded());
    }

    #[test]
    fn a_name_without_end_is_let_in_nowhere() {
        let names = Names::new(100);
        let endless = Text::from("m".repeat(1 << 20));
        assert_eq!(names.capped(NameKind::Model, &endless).as_str(), OTHER_NAME);
        assert_eq!(names.capped_label("tenant", &endless).as_str(), OTHER_NAME);
        assert!(names.take_folded());
    }

    #[test]
    fn a_name_that_was_let_in_stays() {
        let names = Names::new(1);
        assert_eq!(names.capped(NameKind::Model, &"a".into()).as_str(), "a");
        assert_eq!(names.capped(NameKind::Model, &"b".into()).as_str(), OTHER_NAME);
        assert_eq!(names.capped(NameKind::Model, &"a".into()).as_str(), "a");
        assert_eq!(names.capped(NameKind::Provider, &"b".into()).as_str(), "b");
    }
}

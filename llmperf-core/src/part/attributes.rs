//! Attribute sets of a part's metrics: made once per key, capped, folded before the SDK's own limit.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash},
    sync::{Mutex, PoisonError},
};

use opentelemetry::KeyValue;
use rustc_hash::FxBuildHasher;

use super::CappedNames;
use crate::{Instrumentation, kept::Kept, labels::MOST_SETS};

/// What tells apart the attribute sets of instruments that share a shape: names, and values of closed lists.
pub trait SetKey: Clone + Eq + Hash + Send + Sync {
    /// The attributes, with the names as they are in the key.
    fn attributes(&self) -> Vec<KeyValue>;

    /// The key with its names capped.
    #[must_use]
    fn capped(&self, names: &CappedNames<'_>) -> Self;

    /// What a key becomes that there is no room for: `_other` for each name, and as few values as tell what it is.
    #[must_use]
    fn folded(&self) -> Self;
}

/// The attribute sets of one shape, each made on first use.
pub struct Attributes<K> {
    made: Kept<(K, Box<[KeyValue]>)>,
    making: Mutex<()>,
}

impl<K: SetKey> Attributes<K> {
    /// Gives the attributes of a key to `record`.
    pub fn with<R>(&self, instrumentation: &Instrumentation, key: &K, record: impl FnOnce(&[KeyValue]) -> R) -> R {
        record(self.known(key).unwrap_or_else(|| self.made(instrumentation, key)))
    }

    fn known(&self, key: &K) -> Option<&[KeyValue]> {
        self.made.find(FxBuildHasher.hash_one(key), |made| set_of(made, key))
    }

    #[cold]
    fn made(&self, instrumentation: &Instrumentation, key: &K) -> &[KeyValue] {
        // Only capped keys stay: the table does not grow with names that came too late.
        let capped = key.capped(&CappedNames(instrumentation.labels()));
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known(&capped) {
            return known;
        }
        let key = if self.made.count() < MOST_SETS {
            capped
        } else {
            instrumentation.labels().note_folded();
            capped.folded()
        };
        let make = || (key.clone(), ordered(key.attributes()));
        self.made.find_or_make(FxBuildHasher.hash_one(&key), |made| set_of(made, &key), make)
    }
}

fn set_of<'a, K: Eq>((of, set): &'a (K, Box<[KeyValue]>), key: &K) -> Option<&'a [KeyValue]> {
    (of == key).then_some(set)
}

/// In the order of their keys: the SDK looks sets up by the order given. Of one key the first stands: a label of the
/// user's takes the place of none of ours.
fn ordered(mut attributes: Vec<KeyValue>) -> Box<[KeyValue]> {
    attributes.sort_by(|a, b| a.key.as_str().cmp(b.key.as_str()));
    attributes.dedup_by(|a, b| a.key == b.key);
    attributes.into()
}

impl<K> Default for Attributes<K> {
    fn default() -> Self {
        Self { made: Kept::default(), making: Mutex::default() }
    }
}

impl<K> fmt::Debug for Attributes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attributes").field("made", &self.made.count()).finish()
    }
}

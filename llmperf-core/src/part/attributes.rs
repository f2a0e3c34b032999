//! Attribute sets of a part's metrics: made once per key, capped, folded before the SDK's own limit.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, PoisonError, RwLock},
};

use opentelemetry::KeyValue;
use rustc_hash::FxBuildHasher;

use super::CappedNames;
use crate::{Instrumentation, labels::MOST_SETS};

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
pub struct Attributes<K>(RwLock<HashMap<K, Arc<[KeyValue]>, FxBuildHasher>>);

impl<K: SetKey> Attributes<K> {
    /// Gives the attributes of a key to `record`.
    pub fn with<R>(&self, instrumentation: &Instrumentation, key: &K, record: impl FnOnce(&[KeyValue]) -> R) -> R {
        let known = self.known(key);
        record(&known.unwrap_or_else(|| self.made(instrumentation, key)))
    }

    fn known(&self, key: &K) -> Option<Arc<[KeyValue]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    #[cold]
    fn made(&self, instrumentation: &Instrumentation, key: &K) -> Arc<[KeyValue]> {
        // Only capped keys stay: the table does not grow with names that came too late.
        let capped = key.capped(&CappedNames(instrumentation.labels()));
        let mut made = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let room = made.len() < MOST_SETS || made.contains_key(&capped);
        let key = if room {
            capped
        } else {
            instrumentation.labels().note_folded();
            capped.folded()
        };
        Arc::clone(made.entry(key).or_insert_with_key(|key| ordered(key.attributes())))
    }
}

/// In the order of their keys: the SDK looks sets up by the order given. Of one key the first stands: a label of the
/// user's takes the place of none of ours.
fn ordered(mut attributes: Vec<KeyValue>) -> Arc<[KeyValue]> {
    attributes.sort_by(|a, b| a.key.as_str().cmp(b.key.as_str()));
    attributes.dedup_by(|a, b| a.key == b.key);
    attributes.into()
}

impl<K> Default for Attributes<K> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K> fmt::Debug for Attributes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.0.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Attributes").field("made", &made).finish()
    }
}

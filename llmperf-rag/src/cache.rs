//! The application's caches: how often what is asked for is there.

use std::future::Future;

use llmperf_core::{Instrumentation, is_enabled, part::Text};

use crate::{
    key::Key,
    metrics::Metric,
    stage::{self, from_cache},
    telemetry::Telemetry,
};

/// A cache of the application's: of vectors, of answers to like questions, of answers. Each lookup counts
/// (`llmperf.rag.cache.lookups`: cache, hit or miss), and the span of the stage around it says how the last one went.
///
/// ```
/// use std::collections::HashMap;
/// use llmperf_rag::Cache;
///
/// let vectors = HashMap::from([("fog", [0.1, 0.9])]);
/// let cache = Cache::new("vectors");
/// let hit = cache.lookup(|| vectors.get("fog"));
/// let miss = cache.lookup(|| vectors.get("sun"));
/// assert!(hit.is_some() && miss.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    name: Text,
    stands_in: bool,
}

impl Cache {
    /// A cache; its name is capped on metrics.
    pub fn new(name: impl Into<Text>) -> Self {
        Self { name: name.into(), stands_in: false }
    }

    /// A hit is what the stage around the lookup (an embedding, a generation; outside of any, the pipeline) would have given:
    /// it does what [`from_cache`] does.
    #[must_use = "this returns the cache"]
    pub fn stands_in(self) -> Self {
        Self { stands_in: true, ..self }
    }

    /// Looks something up: `Some` is a hit.
    pub fn lookup<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        self.told(look())
    }

    /// The same for a cache that has to be awaited.
    pub async fn lookup_in<T>(&self, look: impl Future<Output = Option<T>>) -> Option<T> {
        self.told(look.await)
    }

    /// The same for a cache that may fail. A failure is a miss: the application has to do without.
    pub async fn try_lookup_in<T, E>(&self, look: impl Future<Output = Result<Option<T>, E>>) -> Result<Option<T>, E> {
        let found = look.await;
        match &found {
            Ok(Some(_)) => self.hit(),
            _ => self.miss(),
        }
        found
    }

    /// A lookup found something.
    pub fn hit(&self) {
        self.count("hit");
        if self.stands_in {
            from_cache();
        }
    }

    /// A lookup found nothing.
    pub fn miss(&self) {
        self.count("miss");
    }

    fn told<T>(&self, found: Option<T>) -> Option<T> {
        if found.is_some() {
            self.hit();
        } else {
            self.miss();
        }
        found
    }

    fn count(&self, result: &'static str) {
        if !is_enabled() {
            return;
        }
        if let (Some(stage), _) = stage::here() {
            stage.looked_up(&self.name, result);
        }
        let from = Instrumentation::current();
        from.guarded(|| {
            let key = Key { cache: self.name.clone(), result, ..Key::default() };
            Telemetry::of(&from).count(Metric::CacheLookups, 1, &key);
        });
    }
}

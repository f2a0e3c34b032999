//! A table that only grows: looking something up takes no lock, and writes to nothing that processors share.

use std::{
    fmt, iter,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// So many chains: most tables have a handful of values, none has more than some two thousand.
const CHAINS: usize = 64;

/// Values that are found by a hash, and by what they are. What was added stays where it is.
pub(crate) struct Kept<V> {
    chains: [Place<V>; CHAINS],
    count: AtomicUsize,
}

type Place<V> = OnceLock<Box<Link<V>>>;

struct Link<V> {
    hash: u64,
    value: V,
    next: Place<V>,
}

impl<V> Kept<V> {
    /// What `look` sees in a value with this hash.
    pub(crate) fn find<'a, R>(&'a self, hash: u64, look: impl Fn(&'a V) -> Option<R>) -> Option<R> {
        links(self.chain(hash)).filter(|link| link.hash == hash).find_map(|link| look(&link.value))
    }

    /// What `look` sees in a value with this hash; where it sees nothing yet, what it sees in the one that is made.
    pub(crate) fn find_or_make<'a, R>(
        &'a self,
        hash: u64,
        look: impl Fn(&'a V) -> Option<R>,
        mut make: impl FnMut() -> V,
    ) -> R {
        let mut place = self.chain(hash);
        loop {
            let link = place.get_or_init(|| {
                self.count.fetch_add(1, Ordering::Relaxed);
                Box::new(Link { hash, value: make(), next: OnceLock::new() })
            });
            if link.hash == hash
                && let Some(seen) = look(&link.value)
            {
                return seen;
            }
            place = &link.next;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        self.chains.iter().flat_map(links).map(|link| &link.value)
    }

    fn chain(&self, hash: u64) -> &Place<V> {
        &self.chains[hash as usize % CHAINS]
    }
}

fn links<V>(first: &Place<V>) -> impl Iterator<Item = &Link<V>> {
    iter::successors(first.get(), |link| link.next.get()).map(|link| &**link)
}

impl<V> Default for Kept<V> {
    fn default() -> Self {
        Self { chains: [const { OnceLock::new() }; CHAINS], count: AtomicUsize::new(0) }
    }
}

impl<V> fmt::Debug for Kept<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("count", &self.count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn number(kept: &Kept<u64>, hash: u64, number: u64) -> &u64 {
        kept.find_or_make(hash, |value| (*value == number).then_some(value), || number)
    }

    #[test]
    fn values_are_told_apart_in_one_chain_and_under_one_hash() {
        let kept = Kept::default();
        let all: Vec<&u64> = (0..500).map(|n| number(&kept, n % 3, n)).collect();
        assert_eq!(kept.count(), 500);
        for (n, first) in (0..).zip(all) {
            assert!(std::ptr::eq(number(&kept, n % 3, n), first), "it stays where it is");
            assert_eq!(kept.find(n % 3, |value| (*value == n).then_some(*value)), Some(n));
        }
        assert_eq!(kept.find(4, |value| (*value == 4).then_some(())), None, "another hash");
        assert_eq!(kept.iter().sum::<u64>(), (0..500).sum::<u64>());
    }

    #[test]
    fn threads_that_add_the_same_get_the_same() {
        let kept = Kept::default();
        let places = thread::scope(|scope| {
            let all = || (0..200).map(|n| std::ptr::from_ref(number(&kept, n % 7, n)).addr()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(places.iter().all(|of_thread| *of_thread == places[0]));
        assert_eq!(kept.count(), 200);
    }
}

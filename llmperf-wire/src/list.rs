//! A short list that lives in place: only what passes its capacity goes to the heap.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

/// Up to `N` items in place, any more in a vector.
#[derive(Debug)]
pub(crate) struct List<T, const N: usize> {
    inline: [Option<T>; N],
    rest: Vec<T>,
}

impl<T, const N: usize> List<T, N> {
    pub(crate) fn new() -> Self {
        Self {
            inline: [const { None }; N],
            rest: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, item: T) {
        match self.inline.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(item),
            None => self.rest.push(item),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.inline.iter().flatten().chain(&self.rest)
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for List<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

struct Items<T, const N: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Items<T, N> {
    type Value = List<T, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T, N>, A::Error> {
        let mut list = List::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(list)
    }
}

//! A short list that lives in place: only what passes its capacity goes to the heap.

/// Up to `N` items in place, any more in a vector.
#[derive(Debug)]
pub(crate) struct List<T, const N: usize> {
    inline: [Option<T>; N],
    rest: Vec<T>,
    len: usize,
}

impl<T, const N: usize> List<T, N> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { inline: [const { None }; N], rest: Vec::new(), len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        match self.inline.get_mut(self.len) {
            Some(place) => *place = Some(item),
            None => self.rest.push(item),
        }
        self.len += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.inline.iter().flatten().chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.inline.iter_mut().flatten().chain(&mut self.rest)
    }
}

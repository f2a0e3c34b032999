//! A JSON reader that goes once over a payload and takes only what is asked for.
//!
//! It checks the structure, so that a payload that was cut is found out, and is lenient with the rest: a value of another
//! type than asked for is skipped and absent, and bytes in strings are nobody's business until a text is decoded. That,
//! and never copying, makes it several times faster than filling structs; the dialects live on it.

use std::time::Duration;

use memchr::memchr2;

use crate::text::Text;

/// How deep values may be nested: what is deeper is no payload of a provider.
const MAX_DEPTH: u32 = 128;

/// The payload is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type Parsed<T> = Result<T, Malformed>;

/// A place in a JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl<'a> Json<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, depth: 0 }
    }

    /// Gives each field of a text that must be one object and nothing else to `field`.
    #[inline]
    pub(crate) fn only_object(text: &'a [u8], field: impl FnMut(&mut Self, &'a [u8]) -> Parsed<()>) -> Parsed<()> {
        let mut json = Self::new(text);
        if json.peek() != Some(b'{') {
            return Err(Malformed);
        }
        json.object(field)?;
        json.end()
    }

    /// How many bytes are still ahead.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// What is still ahead.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing but white space is left.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Malformed),
        }
    }

    /// The first byte of the value ahead, which tells its type.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.rest {
            [first, ..] if *first > b' ' => Some(*first),
            _ => self.peek_past_blanks(),
        }
    }

    #[cold]
    fn peek_past_blanks(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Gives each field of the object ahead to `field`, which must take its value; any other value is skipped.
    #[inline]
    pub(crate) fn object(&mut self, field: impl FnMut(&mut Self, &'a [u8]) -> Parsed<()>) -> Parsed<()> {
        if self.peek() != Some(b'{') {
            return self.skip();
        }
        self.enter()?;
        if self.peek() == Some(b'}') {
            return self.leave();
        }
        self.fields(field)
    }

    #[inline]
    fn fields(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Parsed<()>) -> Parsed<()> {
        loop {
            self.expect(b'"')?;
            let (name, _) = self.string()?;
            match self.rest {
                [b':', b' ', rest @ ..] | [b':', rest @ ..] => self.rest = rest,
                _ => self.expect(b':')?,
            }
            field(self, name)?;
            if !self.more(b'}')? {
                return Ok(());
            }
        }
    }

    /// Gives each element of the array ahead to `element`, which must take it; any other value is skipped.
    #[inline]
    pub(crate) fn array(&mut self, element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.peek() != Some(b'[') {
            return self.skip();
        }
        self.enter()?;
        if self.peek() == Some(b']') {
            return self.leave();
        }
        self.elements(element)
    }

    #[inline]
    fn elements(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        loop {
            element(self)?;
            if !self.more(b']')? {
                return Ok(());
            }
        }
    }

    /// True if a comma follows, false if `close` does, which ends the object or array.
    #[inline]
    fn more(&mut self, close: u8) -> Parsed<bool> {
        match self.peek() {
            Some(b',') => {
                self.advance();
                Ok(true)
            }
            Some(byte) if byte == close => self.leave().map(|()| false),
            _ => Err(Malformed),
        }
    }

    /// The string ahead, unless it is empty.
    #[inline]
    pub(crate) fn text(&mut self) -> Parsed<Option<Text<'a>>> {
        if self.peek() != Some(b'"') {
            self.skip()?;
            return Ok(None);
        }
        self.advance();
        let (raw, escaped) = self.string()?;
        Ok((!raw.is_empty()).then(|| Text::quoted(raw, escaped)))
    }

    /// The string ahead as a name of the protocol, which is never written with escapes.
    #[inline]
    pub(crate) fn name(&mut self) -> Parsed<Option<&'a [u8]>> {
        Ok(self.text()?.and_then(|text| text.word()))
    }

    /// The value ahead as it is written, if it is an object; else the string ahead, unless it is empty.
    pub(crate) fn text_or_object(&mut self) -> Parsed<Option<Text<'a>>> {
        if self.peek() != Some(b'{') {
            return self.text();
        }
        let start = self.rest;
        self.skip()?;
        let (object, _) = start.split_at(start.len() - self.rest.len());
        Ok(Some(Text::plain(object)))
    }

    /// The string ahead, unless it is empty, or the number ahead as it is written.
    pub(crate) fn text_or_number(&mut self) -> Parsed<Option<Text<'a>>> {
        if self.peek() == Some(b'"') {
            return self.text();
        }
        Ok(self.number()?.map(|number| Text::plain(number.as_bytes())))
    }

    /// The whole number ahead; some servers write it as `14.0`.
    // Figures come rarely: a dialect's loop over all fields stays small without this in it.
    #[inline(never)]
    pub(crate) fn count(&mut self) -> Parsed<Option<u64>> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            self.skip()?;
            return Ok(None);
        }
        let start = self.rest;
        let mut count = Some(0_u64);
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest {
            count = count.and_then(|count| count.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
            self.rest = rest;
        }
        if matches!(self.rest, [b'.' | b'e' | b'E' | b'+' | b'-', ..]) {
            self.rest = start;
            return self.count_with_fraction();
        }
        Ok(count)
    }

    #[cold]
    fn count_with_fraction(&mut self) -> Parsed<Option<u64>> {
        let Some(number) = self.number()? else {
            return Ok(None);
        };
        let whole = number.strip_suffix(".0").unwrap_or(number);
        Ok(whole.parse().ok())
    }

    /// The number ahead, if it is one that can be told: `1e999` is JSON, but infinite.
    pub(crate) fn decimal(&mut self) -> Parsed<Option<f64>> {
        Ok(self.number()?.and_then(|number| number.parse().ok()).filter(|number: &f64| number.is_finite()))
    }

    /// The number ahead as a time in seconds.
    pub(crate) fn seconds(&mut self) -> Parsed<Option<Duration>> {
        self.duration(1.0)
    }

    /// The number ahead as a time in milliseconds.
    pub(crate) fn milliseconds(&mut self) -> Parsed<Option<Duration>> {
        self.duration(1e3)
    }

    /// The whole number ahead as a time in nanoseconds.
    pub(crate) fn nanoseconds(&mut self) -> Parsed<Option<Duration>> {
        Ok(self.count()?.map(Duration::from_nanos))
    }

    /// The truth value ahead.
    pub(crate) fn flag(&mut self) -> Parsed<Option<bool>> {
        let first = self.peek();
        self.skip()?;
        Ok(match first {
            Some(b't') => Some(true),
            Some(b'f') => Some(false),
            _ => None,
        })
    }

    fn duration(&mut self, units_per_second: f64) -> Parsed<Option<Duration>> {
        let number = self.number()?.and_then(|number| number.parse::<f64>().ok());
        Ok(number.and_then(|number| Duration::try_from_secs_f64(number / units_per_second).ok()))
    }

    fn number(&mut self) -> Parsed<Option<&'a str>> {
        let start = self.rest;
        let numeric = matches!(self.peek(), Some(b'-' | b'0'..=b'9'));
        self.skip()?;
        if !numeric {
            return Ok(None);
        }
        let (number, _) = start.split_at(start.len() - self.rest.len());
        Ok(str::from_utf8(number.trim_ascii_start()).ok())
    }

    /// Passes over the value ahead, whatever it is.
    pub(crate) fn skip(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(b'"') => {
                self.advance();
                self.string()?;
                Ok(())
            }
            Some(b'{') => self.object(|json, _| json.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b'n') => self.word(b"null"),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'-' | b'0'..=b'9') => {
                while let [b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E', rest @ ..] = self.rest {
                    self.rest = rest;
                }
                Ok(())
            }
            _ => Err(Malformed),
        }
    }

    #[inline]
    fn word<const N: usize>(&mut self, word: &[u8; N]) -> Parsed<()> {
        match self.rest.split_first_chunk() {
            Some((first, rest)) if first == word => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(Malformed),
        }
    }

    /// What stands between the quote that has just been taken and the next, and whether it holds escapes.
    #[inline]
    fn string(&mut self) -> Parsed<(&'a [u8], bool)> {
        let start = self.rest;
        let end = quote_or_escape(start).ok_or(Malformed)?;
        let (raw, rest) = start.split_at(end);
        match rest {
            [b'"', rest @ ..] => {
                self.rest = rest;
                Ok((raw, false))
            }
            _ => self.string_with_escapes(end),
        }
    }

    /// The same for a string that has a backslash at `escape`.
    #[cold]
    fn string_with_escapes(&mut self, escape: usize) -> Parsed<(&'a [u8], bool)> {
        let start = self.rest;
        let mut end = escape;
        loop {
            let (raw, rest) = start.split_at_checked(end).ok_or(Malformed)?;
            match rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok((raw, true));
                }
                // The byte after a backslash ends nothing.
                [_, _, rest @ ..] => end += 2 + quote_or_escape(rest).ok_or(Malformed)?,
                _ => return Err(Malformed),
            }
        }
    }

    #[inline]
    fn enter(&mut self) -> Parsed<()> {
        self.advance();
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Malformed) } else { Ok(()) }
    }

    #[inline]
    fn leave(&mut self) -> Parsed<()> {
        self.advance();
        self.depth -= 1;
        Ok(())
    }

    /// Passes over a byte that has been looked at.
    #[inline]
    fn advance(&mut self) {
        if let [_, rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.peek() != Some(byte) {
            return Err(Malformed);
        }
        self.advance();
        Ok(())
    }
}

/// Where the next quote or backslash is: most strings are so short that a call to `memchr` costs more than they do.
#[inline(always)]
pub(crate) fn quote_or_escape(text: &[u8]) -> Option<usize> {
    const NEAR: usize = 32;
    let mut far = text;
    let mut passed = 0;
    while passed < NEAR
        && let Some((word, rest)) = far.split_first_chunk()
    {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ splat(b'"')) | zero_bytes(word ^ splat(b'\\'));
        if found != 0 {
            return Some(passed + found.trailing_zeros() as usize / 8);
        }
        far = rest;
        passed += size_of::<u64>();
    }
    memchr2(b'"', b'\\', far).map(|found| passed + found)
}

const fn splat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the top bit of each byte that is zero; above the lowest of them it may set others.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(splat(0x01)) & !word & splat(0x80)
}

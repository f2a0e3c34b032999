//! A JSON reader that goes once over a payload and takes only what is asked for.
//!
//! It checks the structure, so that a payload that was cut is found out, and is lenient with the rest: a value of another
//! type than asked for is skipped and absent, and bytes in strings are nobody's business until a text is decoded. That,
//! and never copying, makes it several times faster than filling structs; the chat dialect lives on it.

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
        Self {
            rest: text,
            depth: 0,
        }
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
        loop {
            match self.rest {
                [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] => self.rest = rest,
                [first, ..] => return Some(*first),
                [] => return None,
            }
        }
    }

    /// Gives each field of the object ahead to `field`, which must take its value; any other value is skipped.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a [u8]) -> Parsed<()>,
    ) -> Parsed<()> {
        if self.peek() != Some(b'{') {
            return self.skip();
        }
        self.enter()?;
        if !self.take(b'}') {
            loop {
                self.expect(b'"')?;
                let (name, _) = self.string()?;
                self.expect(b':')?;
                field(self, name)?;
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b'}')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Gives each element of the array ahead to `element`, which must take it; any other value is skipped.
    #[inline]
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.peek() != Some(b'[') {
            return self.skip();
        }
        self.enter()?;
        if !self.take(b']') {
            loop {
                element(self)?;
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b']')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The string ahead, unless it is empty.
    #[inline]
    pub(crate) fn text(&mut self) -> Parsed<Option<Text<'a>>> {
        if !self.take(b'"') {
            self.skip()?;
            return Ok(None);
        }
        let (raw, escaped) = self.string()?;
        Ok((!raw.is_empty()).then(|| Text::quoted(raw, escaped)))
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

    /// The whole number ahead; some servers write it as `14.0`.
    pub(crate) fn count(&mut self) -> Parsed<Option<u64>> {
        let Some(number) = self.number()? else {
            return Ok(None);
        };
        let whole = number.strip_suffix(".0").unwrap_or(number);
        Ok(whole.parse().ok())
    }

    /// The number ahead as a time in seconds.
    pub(crate) fn seconds(&mut self) -> Parsed<Option<Duration>> {
        self.duration(1.0)
    }

    /// The number ahead as a time in milliseconds.
    pub(crate) fn milliseconds(&mut self) -> Parsed<Option<Duration>> {
        self.duration(1e3)
    }

    fn duration(&mut self, units_per_second: f64) -> Parsed<Option<Duration>> {
        let number = self.number()?.and_then(|number| number.parse::<f64>().ok());
        Ok(number.and_then(|number| Duration::try_from_secs_f64(number / units_per_second).ok()))
    }

    fn number(&mut self) -> Parsed<Option<&'a str>> {
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            self.skip()?;
            return Ok(None);
        }
        let length = self
            .rest
            .iter()
            .take_while(|byte| is_numeric(**byte))
            .count();
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(str::from_utf8(number).ok())
    }

    /// Passes over the value ahead, whatever it is.
    pub(crate) fn skip(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(b'"') => {
                self.take(b'"');
                self.string()?;
            }
            Some(b'{') => self.object(|json, _| json.skip())?,
            Some(b'[') => self.array(Self::skip)?,
            Some(b'n') => self.word(b"null")?,
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
            }
            _ => return Err(Malformed),
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Parsed<()> {
        self.rest = self.rest.strip_prefix(word).ok_or(Malformed)?;
        Ok(())
    }

    /// What stands between the quote that has just been taken and the next, and whether it holds escapes.
    #[inline]
    fn string(&mut self) -> Parsed<(&'a [u8], bool)> {
        let start = self.rest;
        let mut length = 0;
        let mut escaped = false;
        loop {
            let (_, ahead) = start.split_at_checked(length).ok_or(Malformed)?;
            length += quote_or_escape(ahead).ok_or(Malformed)?;
            match start.get(length) {
                Some(b'"') => break,
                // The byte after a backslash ends nothing.
                _ => length += 2,
            }
            escaped = true;
        }
        let (raw, rest) = start.split_at(length);
        self.rest = rest.get(1..).unwrap_or_default();
        Ok((raw, escaped))
    }

    fn enter(&mut self) -> Parsed<()> {
        self.rest = self.rest.get(1..).unwrap_or_default();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(Malformed)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        found
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}

fn is_numeric(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Where the next quote or backslash is: most strings are so short that a call to `memchr` costs more than they do.
#[inline]
fn quote_or_escape(text: &[u8]) -> Option<usize> {
    let (words, _) = text.as_chunks::<8>();
    let near = words.len().min(3);
    for (n, word) in words.iter().take(near).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ splat(b'"')) | zero_bytes(word ^ splat(b'\\'));
        if found != 0 {
            return Some(n * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let (_, far) = text.split_at(near * 8);
    memchr2(b'"', b'\\', far).map(|found| near * 8 + found)
}

const fn splat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the top bit of each byte that is zero; above the lowest of them it may set others.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(splat(0x01)) & !word & splat(0x80)
}

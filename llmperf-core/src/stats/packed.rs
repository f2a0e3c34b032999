//! A histogram that is closed: the counts of HDR's V2 form, in a few hundred bytes, merged without being unpacked.
//!
//! The form is a sequence of zigzag varints: a count for each bucket from the lowest up, a negative number for a run of
//! that many empty ones. Ranges and precision are the same everywhere, so the header is written only when a histogram
//! leaves the process.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer as _, V2Serializer},
};
use serde::{Deserialize, Serialize};

use super::figure::LARGEST;

/// Significant decimal digits of every histogram: an error of at most 1 %.
pub(super) const DIGITS: u8 = 2;
const COOKIE: u32 = 0x1c84_9313;
const HEADER: usize = 40;

/// The counts of a histogram from 1 to [`LARGEST`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    /// Packs with a serializer that may be used again; absent if that fails, which no histogram of ours makes it do.
    pub(super) fn of(histogram: &Histogram<u32>, serializer: &mut V2Serializer) -> Option<Self> {
        let mut bytes = Vec::new();
        serializer.serialize(histogram, &mut bytes).ok()?;
        Some(Self(bytes.get(HEADER..)?.into()))
    }

    /// The sum of both, without loss.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let mut payload = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut ours, mut theirs) = (self.counts(), other.counts());
        let (mut our, mut their) = (ours.next(), theirs.next());
        let mut end = 0;
        while let Some((bucket, _)) = lower(our, their) {
            let mut count = 0_u64;
            for (next, counts) in [(&mut our, &mut ours), (&mut their, &mut theirs)] {
                if let Some((_, more)) = next.filter(|(at, _)| *at == bucket) {
                    count = count.saturating_add(more);
                    *next = counts.next();
                }
            }
            match bucket - end {
                0 => {}
                1 => write(0, &mut payload),
                empty => write(-i64::from(empty), &mut payload),
            }
            write(i64::try_from(count).unwrap_or(i64::MAX), &mut payload);
            end = bucket + 1;
        }
        Self(payload.into())
    }

    /// Unpacks, to ask for quantiles.
    pub(super) fn histogram(&self) -> Option<Histogram<u64>> {
        Deserializer::new().deserialize(&mut self.v2().as_slice()).ok()
    }

    /// The histogram in HDR's V2 form.
    pub(super) fn v2(&self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEADER + self.0.len());
        for word in [COOKIE, length, 0, DIGITS.into()] {
            bytes.extend(word.to_be_bytes());
        }
        for word in [1, LARGEST, 1_f64.to_bits()] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(&self.0);
        bytes
    }

    /// A histogram in V2 form, if it is one of our range and precision and has anything in it.
    pub(super) fn from_v2(bytes: &[u8]) -> Option<Self> {
        let packed = Self(bytes.get(HEADER..)?.into());
        let total = packed.counts().try_fold(0_u64, |total, (_, count)| total.checked_add(count))?;
        let sound = total > 0 && packed.v2() == bytes && packed.merged(&Self([].into())) == packed;
        (sound && packed.histogram()?.len() == total).then_some(packed)
    }

    fn counts(&self) -> Counts<'_> {
        Counts { payload: &self.0, bucket: 0 }
    }
}

impl From<Packed> for String {
    fn from(packed: Packed) -> Self {
        BASE64.encode(packed.v2())
    }
}

impl TryFrom<String> for Packed {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = BASE64.decode(text).ok();
        bytes.and_then(|bytes| Self::from_v2(&bytes)).ok_or("not an HDR V2 histogram of two digits from 1 to 3.6e9")
    }
}

/// The buckets that are not empty, each with its count, from the lowest up.
struct Counts<'a> {
    payload: &'a [u8],
    bucket: u32,
}

impl Iterator for Counts<'_> {
    type Item = (u32, u64);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let number = read(&mut self.payload)?;
            let bucket = self.bucket;
            let Ok(count) = u64::try_from(number) else {
                self.bucket = bucket.checked_add(u32::try_from(number.unsigned_abs()).ok()?)?;
                continue;
            };
            self.bucket = bucket.checked_add(1)?;
            if count > 0 {
                return Some((bucket, count));
            }
        }
    }
}

/// The one whose bucket is lower.
fn lower(one: Option<(u32, u64)>, other: Option<(u32, u64)>) -> Option<(u32, u64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.0 <= other.0 { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// Reads a zigzag varint; the ninth byte of a long one counts whole.
#[inline]
fn read(from: &mut &[u8]) -> Option<i64> {
    let mut zigzag = 0;
    for shift in (0..=56).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        if byte < 0x80 || shift == 56 {
            zigzag |= u64::from(byte) << shift;
            break;
        }
        zigzag |= u64::from(byte & 0x7f) << shift;
    }
    Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
}

/// Writes a zigzag varint, of nine bytes at most.
fn write(number: i64, to: &mut Vec<u8>) {
    let mut zigzag = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        let [low, ..] = zigzag.to_le_bytes();
        zigzag >>= 7;
        if zigzag == 0 {
            return to.push(low);
        }
        to.push(low | 0x80);
    }
    to.push(zigzag.to_le_bytes()[0]);
}

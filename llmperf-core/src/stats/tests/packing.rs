//! The packed form against the HDR crate's own.

use hdrhistogram::{
    Histogram,
    serialization::{Serializer as _, V2Serializer},
};
use proptest::prelude::*;

use super::super::{
    figure::LARGEST,
    packed::{DIGITS, Packed},
};

/// Values and how often each came, of every size.
fn counts() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let value = (0_f64..32.0).prop_map(|exponent| (exponent.exp2() as u64).min(LARGEST));
    let times = prop_oneof![4 => 1..4_u32, 1 => 1..=u32::MAX];
    prop::collection::vec((value, times), 1..300)
}

/// Grown to its largest value, as those of slices are.
fn grown(counts: &[(u64, u32)]) -> Histogram<u32> {
    let mut histogram = Histogram::new(DIGITS).unwrap();
    counts.iter().for_each(|(value, times)| histogram.record_n(*value, *times).unwrap());
    histogram
}

/// Of the whole range, as those that leave the process are.
fn whole(counts: impl IntoIterator<Item = (u64, u32)>) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LARGEST, DIGITS).unwrap();
    for (value, times) in counts {
        histogram.record_n(value, times.into()).unwrap();
    }
    histogram
}

fn v2(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    bytes
}

fn pack(histogram: &Histogram<u32>) -> Packed {
    Packed::of(histogram, &mut V2Serializer::new()).unwrap()
}

proptest! {
    #[test]
    fn packed_is_the_v2_form_and_merges_like_the_histograms(one in counts(), two in counts()) {
        // A bucket of a slice counts to u32::MAX and no further; whole ones do not see that.
        let (small, times) = (&grown(&one), |value: u64, of: &Histogram<u32>| of.count_at(value));
        prop_assume!(one.iter().all(|(value, _)| times(*value, small) < u32::MAX));
        prop_assume!(two.iter().all(|(value, _)| times(*value, &grown(&two)) < u32::MAX));
        let (ours, theirs) = (pack(small), pack(&grown(&two)));
        prop_assert_eq!(ours.v2(), v2(&whole(one.clone())));
        let both = v2(&whole(one.into_iter().chain(two)));
        prop_assert_eq!(ours.merged(&theirs).v2(), &both[..]);
        prop_assert_eq!(theirs.merged(&ours), Packed::from_v2(&both).unwrap());
    }

    #[test]
    fn bytes_from_elsewhere_are_a_histogram_or_refused(
        one in counts(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut bytes = v2(&whole(one));
        let place = at.index(bytes.len());
        if cut { bytes.truncate(place) } else { bytes[place] = byte }
        if let Some(packed) = Packed::from_v2(&bytes) {
            prop_assert_eq!(packed.v2(), bytes);
            let histogram = packed.histogram().unwrap();
            prop_assert!(!histogram.is_empty());
            histogram.value_at_quantile(0.999);
            histogram.stdev();
        }
    }
}

#[test]
fn hostile_bytes_are_refused() {
    let header = &v2(&whole([(1, 1)]))[..40];
    let with = |payload: &[u8]| {
        let mut bytes = [header, payload].concat();
        bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        Packed::from_v2(&bytes)
    };
    assert!(with(&[0, 2]).is_some(), "the control: one value of 1");
    assert!(with(&[]).is_none(), "empty");
    assert!(with(&[0, 0]).is_none(), "a trailing count of nothing");
    assert!(with(&[0xff; 9]).is_none(), "a run of 2^63 empty buckets");
    assert!(with(&[&[0xfe; 8][..], &[0xff], &[0xfe; 8], &[0xff], &[0xfe; 8], &[0xff]].concat()).is_none(), "too many");
    assert!(with(&[0xff, 0xff, 0x7f, 2]).is_none(), "a bucket beyond the range");
    assert!(with(&[0, 0x82]).is_none(), "cut inside a number");
    assert!(Packed::try_from("AAAA".to_owned()).is_err() && Packed::try_from("not base64".to_owned()).is_err());
}

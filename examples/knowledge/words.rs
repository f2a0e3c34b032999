//! What a word is, for everything here that compares texts.

/// The words of a text in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// A word without the endings of its plural and of some verbs: far less than a real stemmer does.
pub(super) fn stem(word: &str) -> &str {
    ["ings", "ing", "es", "s"]
        .into_iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|stem| stem.len() > 3)
        .unwrap_or(word)
}

/// What a model would count: a token is a word.
pub(super) fn tokens(text: &str) -> usize {
    words(text).count()
}

/// 64-bit FNV-1a with a final mix: the same on every platform and in every release, unlike the standard library's.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

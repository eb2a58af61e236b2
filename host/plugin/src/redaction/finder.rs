//! Searches text for many strings at the same time.
//!
//! The strings are sorted. The longest string that begins at a position in the text is either the
//! greatest string that is less than or equal to the rest of the text, or a prefix of that string.
//! Therefore, adding a string between two searches costs only one insertion, and the memory is
//! proportional to the size of the strings.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};

use super::MAX_SENSITIVE_LENGTH;

/// Minimum number of bytes of a string that is searched for.
pub(super) const MIN_LENGTH: usize = 4;
/// Maximum total number of bytes of all strings.
const MAX_TOTAL_LENGTH: usize = 16 << 20;

/// The strings to search for.
#[derive(Default)]
pub(super) struct Finder {
    texts: BTreeSet<Box<[u8]>>,
    /// One bit for each byte; the bit is set if one of the strings begins with the byte.
    beginnings: [u64; 4],
    longest: usize,
    bytes: usize,
    is_full: bool,
}

impl Finder {
    /// Adds a string if it is neither too short nor too long.
    pub(super) fn add(&mut self, text: &str) {
        let Some(&first) = text.as_bytes().first() else { return };
        let is_length_right = (MIN_LENGTH..=MAX_SENSITIVE_LENGTH).contains(&text.len());
        if !is_length_right || self.is_full || self.texts.contains(text.as_bytes()) {
            return;
        }
        self.bytes += text.len();
        if self.bytes > MAX_TOTAL_LENGTH {
            *self = Self { is_full: true, ..Self::default() };
            return;
        }
        self.longest = self.longest.max(text.len());
        if let Some(bits) = self.beginnings.get_mut(usize::from(first / 64)) {
            *bits |= 1 << (first % 64);
        }
        self.texts.insert(text.as_bytes().into());
    }

    /// Whether there were more strings than can be searched for.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the length of the longest string.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Adds the positions of all matches, including overlapping ones.
    pub(super) fn find(&self, said: &[u8], places: &mut Vec<Range<usize>>) {
        if self.texts.is_empty() {
            return;
        }
        for (start, &first) in said.iter().enumerate() {
            let bits = self.beginnings.get(usize::from(first / 64)).copied().unwrap_or_default();
            if bits & (1 << (first % 64)) == 0 {
                continue;
            }
            let rest = said.get(start..).unwrap_or_default();
            if let Some(length) = self.longest_at_start(rest) {
                places.push(start..start + length);
            }
        }
    }

    fn longest_at_start(&self, said: &[u8]) -> Option<usize> {
        let mut reach = said.len().min(self.longest);
        while reach >= MIN_LENGTH {
            let part = said.get(..reach)?;
            let near = self.texts.range::<[u8], _>((Bound::Unbounded, Bound::Included(part))).next_back()?;
            let common = near.iter().zip(part).take_while(|(one, other)| one == other).count();
            if common == near.len() {
                return Some(common);
            }
            reach = common;
        }
        None
    }
}

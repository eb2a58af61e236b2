//! Finding many texts in one.
//!
//! Texts are sorted. The longest one that begins at a place is the greatest that is not
//! above what stands there, or one of those that this one begins with. So what is added
//! between two searches costs no more than its place in the order, and many texts cost
//! their own size.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};

use super::MAX_SENSITIVE_LENGTH;

/// The shortest text that is looked for, in bytes.
pub(super) const MIN_LENGTH: usize = 4;
/// All texts together, in bytes.
const MAX_TOTAL_LENGTH: usize = 16 << 20;

/// Texts to be found.
#[derive(Default)]
pub(super) struct Finder {
    texts: BTreeSet<Box<[u8]>>,
    /// A bit for each byte that one of them begins with.
    beginnings: [u64; 4],
    longest: usize,
    bytes: usize,
    is_full: bool,
}

impl Finder {
    /// Adds a text, if it is neither too short nor too long.
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

    /// Whether there was too much to be looked for.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The length of the longest text.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Adds the places of all texts, those that overlap as well.
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

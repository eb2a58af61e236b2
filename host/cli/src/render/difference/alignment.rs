//! Matches the elements of two lists.
//!
//! Lists of the same length are compared index by index, unless every element of the old list
//! occurs in the new list: in that case, the elements were reordered. Otherwise, the longest common
//! subsequence remains in place, and all elements around it are removed or added. The choice
//! between several longest subsequences, and between several positions, is the same as in
//! Terraform.
//!
//! The cost of computing the longest common subsequence is proportional to the product of the two
//! lengths. If the cost is too high, common prefixes and suffixes are removed first; if the rest is
//! still too long, only elements that occur exactly once on each side are matched.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use wardian_value::{Value, View};

/// Indices on both sides; `None` on the side that does not contain the element.
pub(in crate::render) type Pair = (Option<usize>, Option<usize>);

/// Returns hashes of values, which ignore marks. (Different values can have the same hash, so
/// callers must still compare the values.)
pub(super) fn identities(values: &[Value]) -> Vec<u64> {
    let mut unknowns = 0;
    values.iter().map(|value| identity(value, &mut unknowns)).collect()
}

fn identity(value: &Value, unknowns: &mut u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(value, unknowns, &mut hasher);
    hasher.finish()
}

fn feed(value: &Value, unknowns: &mut u64, hasher: &mut DefaultHasher) {
    match value.view() {
        View::Null => 0u8.hash(hasher),
        View::Unknown => {
            // An unknown value is not equal to any other value.
            *unknowns += 1;
            (1u8, *unknowns).hash(hasher);
        }
        View::Bool(value) => (2u8, value).hash(hasher),
        View::Number(number) => (3u8, number).hash(hasher),
        View::String(text) => (4u8, text).hash(hasher),
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            (5u8, elements.len()).hash(hasher);
            for element in elements {
                feed(element, unknowns, hasher);
            }
        }
        View::Map(elements) | View::Object(elements) => {
            (6u8, elements.len()).hash(hasher);
            for (key, element) in elements {
                key.hash(hasher);
                feed(element, unknowns, hasher);
            }
        }
    }
}

/// Returns numbers that identify the lines of a text.
pub(in crate::render) fn line_identities(lines: &[&str]) -> Vec<u64> {
    lines
        .iter()
        .map(|line| {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            hasher.finish()
        })
        .collect()
}

/// Returns pairs in display order. `alike` returns whether two different elements are shown as a
/// single changed element.
pub(in crate::render) fn align(
    before: &[u64],
    after: &[u64],
    alike: impl Fn(usize, usize) -> bool,
) -> Vec<Pair> {
    if before.len() == after.len() && !is_reordered(before, after) {
        return (0..before.len()).map(|place| (Some(place), Some(place))).collect();
    }
    let mut pairs = Vec::with_capacity(before.len().max(after.len()));
    let (mut i, mut j) = (0, 0);
    let end = [(before.len(), after.len())];
    for (common_i, common_j) in leftmost(before, after, &common(before, after)).into_iter().chain(end) {
        while i < common_i {
            if j < common_j && alike(i, j) {
                pairs.push((Some(i), Some(j)));
                j += 1;
            } else {
                pairs.push((Some(i), None));
            }
            i += 1;
        }
        pairs.extend((j..common_j).map(|j| (None, Some(j))));
        if common_i < before.len() {
            pairs.push((Some(common_i), Some(common_j)));
        }
        (i, j) = (common_i + 1, common_j + 1);
    }
    pairs
}

/// Returns pairs of set elements: first the elements of the old set in their order, each paired
/// with the equal element of the new set if there is one, then the remaining elements of the new
/// set.
pub(super) fn match_sets(before: &[Value], after: &[Value]) -> Vec<Pair> {
    let mut unknowns = 0;
    let mut found: HashMap<u64, Vec<usize>> = HashMap::with_capacity(after.len());
    for (j, value) in after.iter().enumerate().rev() {
        found.entry(identity(value, &mut unknowns)).or_default().push(j);
    }
    let mut taken = vec![false; after.len()];
    let mut pairs: Vec<Pair> = Vec::with_capacity(before.len().max(after.len()));
    for (i, value) in before.iter().enumerate() {
        let j = found.get_mut(&identity(value, &mut unknowns)).and_then(Vec::pop);
        if let Some(taken) = j.and_then(|j| taken.get_mut(j)) {
            *taken = true;
        }
        pairs.push((Some(i), j));
    }
    pairs.extend(taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(j, _)| (None, Some(j))));
    pairs
}

fn is_reordered(before: &[u64], after: &[u64]) -> bool {
    if before == after {
        return false;
    }
    let after: HashSet<u64> = after.iter().copied().collect();
    before.iter().all(|element| after.contains(element))
}

/// Moves the common elements as close to the start as possible.
fn leftmost(before: &[u64], after: &[u64], common: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let (mut i, mut j) = (0, 0);
    let place = |side: &[u64], from: &mut usize, last: usize, element: u64| {
        let range = side.get(*from..last).unwrap_or_default();
        let at = range.iter().position(|other| *other == element).map_or(last, |ahead| *from + ahead);
        *from = at + 1;
        at
    };
    let moved = common.iter().map(|(old, new)| {
        let element = before[*old];
        (place(before, &mut i, *old, element), place(after, &mut j, *new, element))
    });
    moved.collect()
}

/// Returns the indices of common elements, in increasing order on both sides.
fn common(before: &[u64], after: &[u64]) -> Vec<(usize, usize)> {
    if is_affordable(before.len(), after.len()) {
        return longest(before, after);
    }
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (middle_before, middle_after) = (&before[start..], &after[start..]);
    let end = middle_before.iter().rev().zip(middle_after.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle_before = &middle_before[..middle_before.len() - end];
    let middle_after = &middle_after[..middle_after.len() - end];
    let middle = if is_affordable(middle_before.len(), middle_after.len()) {
        longest(middle_before, middle_after)
    } else {
        anchors(middle_before, middle_after)
    };
    let ends = (0..end).rev().map(|back| (before.len() - 1 - back, after.len() - 1 - back));
    (0..start)
        .map(|place| (place, place))
        .chain(middle.into_iter().map(|(i, j)| (i + start, j + start)))
        .chain(ends)
        .collect()
}

/// Returns whether the product of the lengths is small enough for the quadratic algorithm.
fn is_affordable(before: usize, after: usize) -> bool {
    before.saturating_mul(after) <= (1 << 16) + 256 * (before + after)
}

fn longest(before: &[u64], after: &[u64]) -> Vec<(usize, usize)> {
    let width = after.len() + 1;
    // The entry at row i and column j is the length of the longest common subsequence of the first
    // i and j elements.
    let mut lengths = vec![0u32; (before.len() + 1) * width];
    for (i, old) in before.iter().enumerate() {
        for (j, new) in after.iter().enumerate() {
            lengths[(i + 1) * width + j + 1] = if old == new {
                lengths[i * width + j] + 1
            } else {
                lengths[i * width + j + 1].max(lengths[(i + 1) * width + j])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (before.len(), after.len());
    while i > 0 && j > 0 {
        if before[i - 1] == after[j - 1] {
            (i, j) = (i - 1, j - 1);
            pairs.push((i, j));
        } else if lengths[(i - 1) * width + j] > lengths[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    pairs.reverse();
    pairs
}

/// Returns the longest increasing sequence of elements that occur once on each side.
fn anchors(before: &[u64], after: &[u64]) -> Vec<(usize, usize)> {
    let unique = |side: &[u64]| {
        let mut places: HashMap<u64, Option<usize>> = HashMap::with_capacity(side.len());
        for (place, element) in side.iter().enumerate() {
            places.entry(*element).and_modify(|seen| *seen = None).or_insert(Some(place));
        }
        places
    };
    let (old, new) = (unique(before), unique(after));
    let candidates: Vec<(usize, usize)> =
        before.iter().filter_map(|element| Some(((*old.get(element)?)?, (*new.get(element)?)?))).collect();
    // The piles of patience sorting: for each length, the last candidate of a subsequence.
    let mut piles: Vec<usize> = Vec::new();
    let mut previous = vec![None; candidates.len()];
    for (at, (_, j)) in candidates.iter().enumerate() {
        let pile = piles.partition_point(|top| candidates[*top].1 < *j);
        previous[at] = pile.checked_sub(1).map(|below| piles[below]);
        if pile == piles.len() {
            piles.push(at);
        } else {
            piles[pile] = at;
        }
    }
    let mut run = Vec::with_capacity(piles.len());
    let mut next = piles.last().copied();
    while let Some(at) = next {
        run.push(candidates[at]);
        next = previous[at];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(before: &[u64], after: &[u64]) -> String {
        let shown = |(i, j): Pair| match (i, j) {
            (Some(i), Some(j)) if before[i] == after[j] => format!("{}", before[i]),
            (Some(i), Some(j)) => format!("{}>{}", before[i], after[j]),
            (Some(i), None) => format!("-{}", before[i]),
            (None, Some(j)) => format!("+{}", after[j]),
            (None, None) => "?".into(),
        };
        align(before, after, |_, _| false).into_iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// The expected result is the output of Terraform 1.11.4.
    #[test]
    fn common_elements_stay_in_place() {
        assert_eq!(aligned(&[1, 2, 3, 4], &[2, 3, 9, 4, 5]), "-1 2 3 +9 4 +5");
        assert_eq!(aligned(&[1, 2, 3], &[1, 3, 4]), "1 2>3 3>4");
        assert_eq!(aligned(&[1, 2, 3, 4], &[2, 3, 4, 1]), "-1 2 3 4 +1");
        assert_eq!(aligned(&[1, 2, 3, 4], &[4, 3, 2, 1]), "-1 -2 -3 4 +3 +2 +1");
        assert_eq!(aligned(&[1, 1, 2], &[1, 2, 2]), "1 -1 2 +2");
        assert_eq!(aligned(&[1, 1, 3], &[1, 2, 3]), "1 -1 +2 3");
        assert_eq!(aligned(&[1, 2, 3], &[1, 1, 3]), "1 2>1 3");
        assert_eq!(aligned(&[2, 1, 1], &[1, 2, 2]), "-2 1 -1 +2 +2");
        assert_eq!(aligned(&[2, 1, 1], &[1, 3, 2]), "-2 1 -1 +3 +2");
        assert_eq!(aligned(&[1, 2, 3, 1, 2], &[2, 1, 3]), "-1 2 -3 1 -2 +3");
        assert_eq!(aligned(&[7, 1, 8, 2], &[1, 7, 2, 8, 9]), "-7 1 -8 +7 2 +8 +9");
        assert_eq!(aligned(&[1, 2], &[]), "-1 -2");
        assert_eq!(aligned(&[], &[]), "");
    }

    #[test]
    fn long_lists_are_aligned_by_common_elements() {
        let before: Vec<u64> = (0..20_000).collect();
        let mut after = before.clone();
        after.remove(10_000);
        assert_eq!(align(&before, &after, |_, _| false).iter().filter(|(_, j)| j.is_none()).count(), 1);
        after.rotate_left(500);
        after.insert(0, 99_999);
        after.push(99_998);
        let pairs = align(&before, &after, |_, _| false);
        assert_eq!(pairs.iter().filter(|(i, j)| i.is_some() && j.is_some()).count(), 19_499);
        assert_eq!(pairs.iter().filter_map(|(i, _)| *i).collect::<Vec<_>>(), (0..20_000).collect::<Vec<_>>());
        assert_eq!(pairs.iter().filter_map(|(_, j)| *j).count(), after.len());
    }
}

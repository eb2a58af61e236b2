//! Numbers that depend on a seed, equal to those of the official provider.
//!
//! With a `seed`, the same configuration gives the same result, so this provider must produce
//! the same result as the official one. That provider reduces the seed's text to 64 bits by
//! CRC-64 (ISO) and starts the additive generator of Go's `math/rand` with it:
//! `x[n] = x[n-607] + x[n-273]` modulo 2^64. The first 607 words come from a small multiplicative generator,
//! combined with a fixed table ([`crate::seed_table`]). Bounded numbers and permutations are
//! drawn in the order of version 1 of that package, which never changes.

use crate::seed_table::{START, WORDS};

/// The distance between the two words that are added.
const TAP: usize = 273;

/// The modulus of the multiplicative generator that expands a seed to all words.
const SPREAD_MODULUS: i64 = 0x7fff_ffff;

/// Replaces the seed zero, which would only generate zeros.
const SEED_FOR_ZERO: u64 = 89_482_311;

/// The stream of numbers for a seed.
pub(crate) struct SeededNumbers {
    tap: usize,
    feed: usize,
    words: [u64; WORDS],
}

impl SeededNumbers {
    /// Creates the stream for a configured, non-empty seed.
    pub(crate) fn from_text(seed: &str) -> Self {
        Self::from_number(checksum(seed.as_bytes()).cast_signed())
    }

    fn from_number(seed: i64) -> Self {
        let mut spread = seed.rem_euclid(SPREAD_MODULUS).cast_unsigned();
        if spread == 0 {
            spread = SEED_FOR_ZERO;
        }
        for _ in 0..20 {
            spread = next_spread(spread);
        }
        let words = std::array::from_fn(|index| {
            let mut drawn = 0;
            for shift in [40, 20, 0] {
                spread = next_spread(spread);
                drawn ^= spread << shift;
            }
            drawn ^ START[index]
        });
        Self { tap: 0, feed: WORDS - TAP, words }
    }

    fn next_word(&mut self) -> u64 {
        self.tap = (self.tap + WORDS - 1) % WORDS;
        self.feed = (self.feed + WORDS - 1) % WORDS;
        let word = self.words[self.feed].wrapping_add(self.words[self.tap]);
        self.words[self.feed] = word;
        word
    }

    /// Returns a number below `bound`, which must be above zero. As in the original, bounds that
    /// fit into 31 bits use only the upper bits.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        const NARROW: u32 = 31;
        const WIDE: u32 = 63;
        let bits = if bound < 1 << NARROW { NARROW } else { WIDE };
        let mut draw = || (self.next_word() & (u64::MAX >> 1)) >> (WIDE - bits);
        if bound.is_power_of_two() {
            return draw() & (bound - 1);
        }
        let range = 1_u64 << bits;
        let last_even = range - 1 - range % bound;
        loop {
            let drawn = draw();
            if drawn <= last_even {
                return drawn % bound;
            }
        }
    }

    /// Returns the numbers below `count` in a random order.
    pub(crate) fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order = Vec::with_capacity(count);
        for position in 0..count {
            let bound = position as u64 + 1;
            let other = usize::try_from(self.below(bound)).unwrap_or(position);
            order.push(position);
            order.swap(position, other);
        }
        order
    }
}

fn next_spread(value: u64) -> u64 {
    value * 48_271 % SPREAD_MODULUS.cast_unsigned()
}

/// Returns the CRC-64 with the ISO 3309 polynomial, bits reflected.
fn checksum(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0xd800_0000_0000_0000;
    let remainder = bytes.iter().fold(u64::MAX, |remainder, byte| {
        (0..8).fold(remainder ^ u64::from(*byte), |remainder, _| {
            (remainder >> 1) ^ (POLYNOMIAL * (remainder & 1))
        })
    });
    !remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_matches_catalogue_value() {
        assert_eq!(checksum(b"123456789"), 0xb909_56c7_75a4_1001);
    }

    #[test]
    fn numbers_match_official_provider() {
        let drawn = |seed: &str| 1 + SeededNumbers::from_text(seed).below(3);
        assert_eq!(drawn("12345"), 3);
        assert_eq!(drawn("123456"), 2);
    }

    #[test]
    fn first_numbers_of_seed_one_match() {
        let mut numbers = SeededNumbers::from_number(1);
        assert_eq!(numbers.next_word() & (u64::MAX >> 1), 5_577_006_791_947_779_410);
        let mut numbers = SeededNumbers::from_number(1);
        let drawn: Vec<u64> = (0..5).map(|_| numbers.below(100)).collect();
        assert_eq!(drawn, [81, 87, 47, 59, 81]);
    }

    #[test]
    fn permutations_match_official_provider() {
        let mut numbers = SeededNumbers::from_text("-");
        assert_eq!(numbers.permutation(5), [0, 2, 1, 4, 3]);
        assert_eq!(numbers.permutation(5), [0, 4, 3, 2, 1]);
        assert_eq!(numbers.permutation(5)[..2], [0, 1]);
    }

    #[test]
    fn permutation_contains_every_number() {
        let mut order = SeededNumbers::from_text("x").permutation(1000);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }

    /// The table is the generator's state after 7.8e12 steps. The recurrence is linear, so that
    /// many steps are one power of its step polynomial.
    #[test]
    fn start_table_matches_generator() {
        const STEPS: u64 = 7_800_000_000_000;
        let mut spread = 1;
        for _ in 0..20 {
            spread = next_spread(spread);
        }
        let first: Vec<u64> = (0..WORDS)
            .map(|_| {
                [20, 10, 0].iter().fold(0, |word, shift| {
                    spread = next_spread(spread);
                    word ^ (spread << shift)
                })
            })
            .collect();
        let place = |step: u64| {
            let words = WORDS as u64;
            usize::try_from(((words - TAP as u64) + words - step % words) % words).unwrap()
        };
        let mut history: Vec<u64> = (1..=WORDS as u64).map(|step| first[place(step)]).collect();
        for index in 0..WORDS {
            history.push(history[index].wrapping_add(history[index + WORDS - TAP]));
        }

        let power = step_power(STEPS);
        for offset in 0..WORDS {
            let word = power
                .iter()
                .zip(&history[offset..])
                .fold(0_u64, |sum, (factor, word)| sum.wrapping_add(factor.wrapping_mul(*word)));
            assert_eq!(START[place(STEPS + 1 + offset as u64)], word);
        }
    }

    /// Returns `x^exponent` modulo `x^607 - x^334 - 1`.
    fn step_power(exponent: u64) -> Vec<u64> {
        let mut power = vec![0; WORDS];
        power[0] = 1;
        for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = reduced_square(&power);
            if exponent >> bit & 1 == 1 {
                let top = power.pop().unwrap();
                power.insert(0, top);
                power[WORDS - TAP] = power[WORDS - TAP].wrapping_add(top);
            }
        }
        power
    }

    fn reduced_square(factor: &[u64]) -> Vec<u64> {
        let mut product = vec![0_u64; 2 * WORDS];
        for (left_index, left) in factor.iter().enumerate() {
            for (right, sum) in factor.iter().zip(&mut product[left_index..]) {
                *sum = sum.wrapping_add(left.wrapping_mul(*right));
            }
        }
        for index in (WORDS..product.len()).rev() {
            let carried = product[index];
            product[index - WORDS] = product[index - WORDS].wrapping_add(carried);
            product[index - TAP] = product[index - TAP].wrapping_add(carried);
        }
        product.truncate(WORDS);
        product
    }
}

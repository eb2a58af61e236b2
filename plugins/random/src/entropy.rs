//! Provides the host's secure randomness, and random choices.
//!
//! These values are not reproducible. [`crate::seeded`] generates numbers from a seed.

/// The host did not return random bytes.
#[derive(Debug, thiserror::Error)]
#[error("failed to obtain randomness")]
pub(crate) struct EntropyError(#[from] getrandom::Error);

pub(crate) fn random_bytes(count: usize) -> Result<Vec<u8>, EntropyError> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns a uniformly distributed number less than `bound`, which must be greater than zero.
pub(crate) fn random_below(bound: u64) -> Result<u64, EntropyError> {
    // The last few of the 2^64 numbers would favour small remainders, so they are discarded.
    let last_even = u64::MAX - (u64::MAX % bound + 1) % bound;
    loop {
        let drawn = getrandom::u64()?;
        if drawn <= last_even {
            return Ok(drawn % bound);
        }
    }
}

/// Returns a random index less than `length`, which must be greater than zero.
pub(crate) fn random_index(length: usize) -> Result<usize, EntropyError> {
    let drawn = random_below(length as u64)?;
    Ok(usize::try_from(drawn).unwrap_or(0))
}

/// Shuffles the items with uniform distribution.
pub(crate) fn shuffle<T>(items: &mut [T]) -> Result<(), EntropyError> {
    for position in (1..items.len()).rev() {
        items.swap(position, random_index(position + 1)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_below_covers_its_range() {
        for bound in [1, 2, 3, 10, 1 << 32, u64::MAX] {
            assert!((0..100).all(|_| random_below(bound).unwrap() < bound));
        }
        let mut seen = [false; 6];
        for _ in 0..500 {
            seen[random_index(6).unwrap()] = true;
        }
        assert_eq!(seen, [true; 6]);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..200).collect();
        shuffle(&mut items).unwrap();
        assert_ne!(items, (0..200).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..200).collect::<Vec<_>>());
    }
}

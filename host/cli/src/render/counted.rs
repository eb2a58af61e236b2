//! A number with its noun in the singular or plural.

use std::fmt;

/// Displays "1 page" or "2 pages". The plural of the noun must end with "s".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    count: usize,
    noun: &'static str,
}

pub(crate) fn counted(count: usize, noun: &'static str) -> Counted {
    Counted { count, noun }
}

impl fmt::Display for Counted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.count == 1 { "" } else { "s" };
        write!(formatter, "{} {}{suffix}", self.count, self.noun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let texts = [0, 1, 2].map(|count| counted(count, "run block").to_string());
        assert_eq!(texts, ["0 run blocks", "1 run block", "2 run blocks"]);
    }
}

//! Parses decimal numbers, and integers in other bases.

use num_bigint::{BigInt, BigUint};
use num_traits::Zero;

use super::{MAX_EXPONENT, Number, NumberError, TEXT_PRECISION, nearest};

/// Maximum number of digits. The limit ensures that the time for parsing is bounded.
const MAX_DIGITS: usize = 20_000;

/// Precision of powers of five during parsing. It is the same as Terraform's, because it affects
/// the result for exponents outside of ±248.
const POWER_PRECISION: u32 = TEXT_PRECISION + 64;

impl Number {
    /// Parses decimal text with a precision of 512 bits: digits with an optional sign, an optional
    /// decimal point, and an optional exponent of ten (`e`) or two (`p`); or `Inf` or `inf`, with
    /// an optional sign.
    ///
    /// # Errors
    /// Returns [`NumberError::NotANumber`] for other text, or [`NumberError::OutOfRange`] for an
    /// unsupported magnitude or more than 20,000 digits.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        if let Some(small) = small_integer(text.as_bytes()) {
            return Ok(Self::small(small, TEXT_PRECISION));
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if matches!(unsigned, "Inf" | "inf") {
            return Ok(if negative { Self::NEGATIVE_INFINITY } else { Self::INFINITY });
        }
        let (mantissa, exponent, base) = match unsigned.find(['e', 'E', 'p', 'P']) {
            None => (unsigned, 0, 10),
            Some(at) => {
                let base = if unsigned.as_bytes()[at].eq_ignore_ascii_case(&b'p') { 2 } else { 10 };
                (&unsigned[..at], exponent(&unsigned[at + 1..])?, base)
            }
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(NumberError::NotANumber);
        }
        if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
            return Err(NumberError::NotANumber);
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() + fraction.len() > MAX_DIGITS {
            return Err(NumberError::OutOfRange);
        }
        let digits = BigUint::parse_bytes([whole, fraction].concat().as_bytes(), 10).unwrap_or_default();
        if digits.is_zero() {
            return Ok(Self::zero(negative, TEXT_PRECISION));
        }
        let point = -i64::try_from(fraction.len()).map_err(|_| NumberError::OutOfRange)?;
        let (power_of_ten, power_of_two) =
            if base == 2 { (point, exponent) } else { (point.saturating_add(exponent), 0) };
        // The total exponent of two: each power of ten contributes the same power of two.
        let shift = power_of_ten.saturating_add(power_of_two);
        // The text has at most 20,000 digits, so no number in the range is rejected.
        if power_of_ten.unsigned_abs() > MAX_EXPONENT.unsigned_abs()
            || shift.unsigned_abs() > 4 * MAX_EXPONENT.unsigned_abs()
        {
            return Err(NumberError::OutOfRange);
        }
        if power_of_ten == 0 {
            return Self::rounded(negative, digits, shift, false, TEXT_PRECISION);
        }
        let (power, power_exponent) = power_of_five(power_of_ten.unsigned_abs());
        if power_of_ten > 0 {
            Self::rounded(negative, digits * power, shift + power_exponent, false, TEXT_PRECISION)
        } else {
            Self::divided(negative, digits, &power, shift - power_exponent, TEXT_PRECISION)
        }
    }

    /// Parses an integer in a base from 2 to 62, exactly: digits, then lower-case and upper-case
    /// letters, which are equivalent up to base 36.
    ///
    /// # Errors
    /// Returns [`NumberError::NotANumber`] for other text or an unsupported base, or
    /// [`NumberError::OutOfRange`] for more than 20,000 digits.
    pub fn parse_integer(text: &str, base: u32) -> Result<Self, NumberError> {
        if !(2..=62).contains(&base) {
            return Err(NumberError::NotANumber);
        }
        let (negative, digits) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if digits.is_empty() {
            return Err(NumberError::NotANumber);
        }
        if digits.len() > MAX_DIGITS {
            return Err(NumberError::OutOfRange);
        }
        let values = digits
            .iter()
            .map(|&digit| {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'z' => digit - b'a' + 10,
                    b'A'..=b'Z' if base <= 36 => digit - b'A' + 10,
                    b'A'..=b'Z' => digit - b'A' + 36,
                    _ => return Err(NumberError::NotANumber),
                };
                if u32::from(value) < base { Ok(value) } else { Err(NumberError::NotANumber) }
            })
            .collect::<Result<Vec<u8>, _>>()?;
        let magnitude = BigUint::from_radix_be(&values, base).unwrap_or_default();
        let integer = BigInt::from(magnitude);
        Self::from_integer(&if negative { -integer } else { integer })
    }
}

/// Parses the most common numbers, which have up to 18 digits, without allocation. `-0` is not parsed.
fn small_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    match (negative, value) {
        (true, 0) => None,
        (true, value) => Some(-value),
        (false, value) => Some(value),
    }
}

fn exponent(text: &str) -> Result<i64, NumberError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::NotANumber);
    }
    // Parsing can fail only because of an overflow.
    text.parse().map_err(|_| NumberError::OutOfRange)
}

/// Returns `5^power` as a mantissa and a power of two. The result is computed by repeated squaring,
/// starting from the largest power that fits in a machine word, and rounded as in big.Float's
/// decimal parser.
fn power_of_five(power: u64) -> (BigUint, i64) {
    const MAX_POWER_IN_WORD: u64 = 27;
    // Up to this power, all steps of the loop are exact.
    if power <= 248 {
        return (BigUint::from(5u8).pow(u32::try_from(power).unwrap_or(0)), 0);
    }
    let mut result = (BigUint::from(5u8).pow(27), 0);
    let mut factor = (BigUint::from(5u8), 0);
    let mut rest = power - MAX_POWER_IN_WORD;
    while rest > 0 {
        if rest & 1 == 1 {
            let product = &result.0 * &factor.0;
            result = nearest(product, result.1 + factor.1, POWER_PRECISION);
        }
        let square = &factor.0 * &factor.0;
        factor = nearest(square, factor.1 * 2, POWER_PRECISION + 64);
        rest >>= 1;
    }
    result
}

//! Exact numbers: binary floating-point numbers, each with its own precision. They are computed and
//! printed as in Terraform.
//!
//! A number is `mantissa * 2^exponent` with a precision in bits. The precision determines how
//! results computed from the number are rounded (to nearest, ties to even) and how many decimal
//! digits distinguish it from its neighbours:
//!
//! | created from | precision |
//! |---|---|
//! | decimal text | 512 |
//! | machine integer | 64 |
//! | `f64` | 53 |
//! | integer in another base | its number of bits, at least 64 |
//! | sum, difference, quotient | the larger of the operands' precisions |
//! | product | the larger of the operands' precisions, or the number of bits of the exact product, up to 512 |
//!
//! Integers of at most 64 bits are stored in a machine word; all other numbers are shared big
//! numbers. Numbers outside of `2^±MAX_EXPONENT` are rejected ([`NumberError::OutOfRange`]).
//! Terraform's limit is `2^(2^31)`, but printing such a number takes hundreds of megabytes.

mod arithmetic;
mod format;
mod parse;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

/// Precision in bits of numbers parsed from text.
pub(crate) const TEXT_PRECISION: u32 = 512;
const INTEGER_PRECISION: u32 = 64;
const FLOAT_PRECISION: u32 = 53;

/// Maximum absolute binary exponent: about 19,700 decimal digits, which take about ten milliseconds
/// to print.
pub(crate) const MAX_EXPONENT: i64 = 1 << 16;

/// A number value.
///
/// Equality, order and hash are based on the decimal text. As in Terraform, 0.1 from an `f64`
/// therefore equals 0.1 from text. `-0` equals `0`.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    Small { value: i64, precision: u32 },
    Wide(Arc<Float>),
    Infinity { negative: bool },
}

/// A number that is not a machine integer: a fraction, a big integer or `-0`. The mantissa is
/// odd, or zero for `-0`; integers that fit `i64` are never stored here.
#[derive(Clone, Debug)]
struct Float {
    negative: bool,
    mantissa: BigUint,
    exponent: i64,
    precision: u32,
}

/// The reason why an operation on numbers has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a number.
    #[error("a number is required")]
    NotANumber,
    /// Zero divided by zero, infinity divided by infinity, or infinity minus infinity.
    #[error("can't divide zero by zero or infinity by infinity")]
    Undefined,
    /// The magnitude is outside the supported range.
    #[error("the number is too large or too close to zero to be represented")]
    OutOfRange,
}

impl Number {
    /// Zero.
    pub const ZERO: Self = Self(Repr::Small { value: 0, precision: INTEGER_PRECISION });
    /// One.
    pub const ONE: Self = Self(Repr::Small { value: 1, precision: INTEGER_PRECISION });
    /// Positive infinity.
    pub const INFINITY: Self = Self(Repr::Infinity { negative: false });
    /// Negative infinity.
    pub const NEGATIVE_INFINITY: Self = Self(Repr::Infinity { negative: true });

    fn small(value: i64, precision: u32) -> Self {
        Self(Repr::Small { value, precision })
    }

    /// Returns the number nearest to `± mantissa * 2^exponent` with a precision. If `sticky` is
    /// set, the exact mantissa is greater, by less than one.
    fn rounded(
        negative: bool,
        mut mantissa: BigUint,
        mut exponent: i64,
        sticky: bool,
        precision: u32,
    ) -> Result<Self, NumberError> {
        if sticky {
            // One extra low bit represents the omitted fraction.
            mantissa = (mantissa << 1u8) + 1u8;
            exponent = exponent.saturating_sub(1);
        }
        (mantissa, exponent) = nearest(mantissa, exponent, precision);
        let Some(zeros) = mantissa.trailing_zeros() else {
            return Ok(Self::zero(negative, precision));
        };
        if zeros > 0 {
            mantissa >>= zeros;
            exponent = exponent.saturating_add(i64::try_from(zeros).unwrap_or(i64::MAX));
        }
        let top = exponent.saturating_add(i64::try_from(mantissa.bits()).unwrap_or(i64::MAX));
        if !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&top) {
            return Err(NumberError::OutOfRange);
        }
        if (0..63).contains(&exponent)
            && top <= 63
            && let Some(magnitude) = mantissa.to_i64()
        {
            let magnitude = magnitude << exponent;
            return Ok(Self::small(if negative { -magnitude } else { magnitude }, precision));
        }
        if negative && exponent == 63 && top == 64 {
            return Ok(Self::small(i64::MIN, precision));
        }
        Ok(Self(Repr::Wide(Arc::new(Float { negative, mantissa, exponent, precision }))))
    }

    /// Returns the size of the number in bytes beyond a machine word.
    pub(crate) fn byte_length(&self) -> usize {
        match &self.0 {
            Repr::Small { .. } | Repr::Infinity { .. } => 0,
            Repr::Wide(float) => usize::try_from(float.mantissa.bits() / 8).unwrap_or(usize::MAX),
        }
    }

    fn zero(negative: bool, precision: u32) -> Self {
        if negative {
            let mantissa = BigUint::zero();
            Self(Repr::Wide(Arc::new(Float { negative, mantissa, exponent: 0, precision })))
        } else {
            Self::small(0, precision)
        }
    }

    /// Creates a number from a double. NaN is rejected, since Terraform does not support it.
    pub fn from_f64(value: f64) -> Result<Self, NumberError> {
        if value.is_nan() {
            return Err(NumberError::NotANumber);
        }
        if value.is_infinite() {
            return Ok(Self(Repr::Infinity { negative: value < 0.0 }));
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52) & 0x7ff {
            0 => (fraction, -1074),
            biased => (fraction | (1 << 52), i64::try_from(biased).unwrap_or(0) - 1075),
        };
        Self::rounded(value.is_sign_negative(), mantissa.into(), exponent, false, FLOAT_PRECISION)
    }

    /// Creates a number from an integer of any size, exactly.
    pub fn from_integer(value: &BigInt) -> Result<Self, NumberError> {
        let precision = u32::try_from(value.bits()).map_err(|_| NumberError::OutOfRange)?;
        Self::rounded(
            value.sign() == Sign::Minus,
            value.magnitude().clone(),
            0,
            false,
            precision.max(INTEGER_PRECISION),
        )
    }

    /// Returns the number as an integer, or `None` for fractions and infinities.
    pub fn to_integer(&self) -> Option<BigInt> {
        match &self.0 {
            Repr::Small { value, .. } => Some(BigInt::from(*value)),
            Repr::Wide(float) if float.is_integer() => {
                let magnitude = &float.mantissa << u64::try_from(float.exponent).ok()?;
                Some(BigInt::from_biguint(float.sign(), magnitude))
            }
            _ => None,
        }
    }

    /// Returns the nearest double, or an infinity if the number is outside of the range of doubles.
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is requested")]
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small { value, .. } => *value as f64,
            Repr::Infinity { negative } => {
                if *negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }
            Repr::Wide(float) => float.to_f64(),
        }
    }

    /// Returns true if a double can represent the number exactly.
    pub fn is_f64(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => {
                let zeros = if *value == 0 { 0 } else { value.trailing_zeros() };
                value.unsigned_abs() >> zeros < 1 << 53
            }
            Repr::Infinity { .. } => true,
            Repr::Wide(float) => {
                float.mantissa.bits() <= 53
                    && float.top() <= 1024
                    && (float.exponent >= -1074 || float.mantissa.is_zero())
            }
        }
    }

    /// Returns the number as a machine integer, or `None` if a machine integer cannot represent it.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small { value, .. } => Some(*value),
            Repr::Wide(float) if float.mantissa.is_zero() => Some(0),
            _ => None,
        }
    }

    /// Returns the number as an unsigned machine integer, or `None` if an unsigned machine integer
    /// cannot represent it.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Small { value, .. } => u64::try_from(*value).ok(),
            Repr::Wide(float) if float.mantissa.is_zero() => Some(0),
            Repr::Wide(float) if !float.negative && (0..64).contains(&float.exponent) => {
                (float.top() <= 64).then(|| float.mantissa.to_u64().map(|m| m << float.exponent))?
            }
            _ => None,
        }
    }

    /// Returns the number as an index or length, or `None` if it is not a valid index.
    pub fn as_usize(&self) -> Option<usize> {
        self.as_u64().and_then(|value| usize::try_from(value).ok())
    }

    /// Returns true if the number has no fractional part. Infinities are not integers.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Small { .. } => true,
            Repr::Wide(float) => float.is_integer(),
            Repr::Infinity { .. } => false,
        }
    }

    /// Returns true for positive infinity and negative infinity.
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinity { .. })
    }

    /// Returns true for zero of either sign.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value == 0,
            Repr::Wide(float) => float.mantissa.is_zero(),
            Repr::Infinity { .. } => false,
        }
    }

    /// Returns true if the number is less than zero, or is `-0`.
    pub fn is_sign_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value < 0,
            Repr::Wide(float) => float.negative,
            Repr::Infinity { negative } => *negative,
        }
    }

    /// Returns -1, 0 or 1.
    pub fn signum(&self) -> i64 {
        match (self.is_zero(), self.is_sign_negative()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Returns the minimum precision in bits of results that are computed from this number.
    pub fn precision(&self) -> u32 {
        match &self.0 {
            Repr::Small { precision, .. } => *precision,
            Repr::Wide(float) => float.precision,
            Repr::Infinity { .. } => 0,
        }
    }

    /// Returns the sign, the mantissa and the exponent; `None` for infinities.
    fn parts(&self) -> Option<(bool, BigUint, i64)> {
        match &self.0 {
            Repr::Small { value, .. } => Some((*value < 0, BigUint::from(value.unsigned_abs()), 0)),
            Repr::Wide(float) => Some((float.negative, float.mantissa.clone(), float.exponent)),
            Repr::Infinity { .. } => None,
        }
    }

    /// Compares the exact numbers, not their printed forms.
    fn compare_exact(&self, other: &Self) -> Ordering {
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0) {
            return a.cmp(b);
        }
        let sign = self.signum();
        match sign.cmp(&other.signum()) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
        let magnitudes = match (self.parts(), other.parts()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some((_, a, a_exponent)), Some((_, b, b_exponent))) => {
                compare_magnitudes(&a, a_exponent, &b, b_exponent)
            }
        };
        if sign < 0 { magnitudes.reverse() } else { magnitudes }
    }
}

/// Rounds a mantissa to `precision` bits, ties to even.
fn nearest(mantissa: BigUint, exponent: i64, precision: u32) -> (BigUint, i64) {
    let bits = mantissa.bits();
    if bits <= u64::from(precision) {
        return (mantissa, exponent);
    }
    let excess = bits - u64::from(precision);
    let half = mantissa.bit(excess - 1);
    let below = mantissa.trailing_zeros().is_some_and(|zeros| zeros < excess - 1);
    let mut kept = mantissa >> excess;
    if half && (below || kept.bit(0)) {
        kept += 1u8;
    }
    (kept, exponent.saturating_add(i64::try_from(excess).unwrap_or(i64::MAX)))
}

fn compare_magnitudes(a: &BigUint, a_exponent: i64, b: &BigUint, b_exponent: i64) -> Ordering {
    let top = |mantissa: &BigUint, exponent: i64| {
        exponent.saturating_add(i64::try_from(mantissa.bits()).unwrap_or(i64::MAX))
    };
    match (a.is_zero(), b.is_zero()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    top(a, a_exponent).cmp(&top(b, b_exponent)).then_with(|| {
        // The highest bits are at the same position, so the exponents differ by at most the number
        // of mantissa bits.
        let shift = a_exponent.abs_diff(b_exponent);
        if a_exponent >= b_exponent { (a << shift).cmp(b) } else { a.cmp(&(b << shift)) }
    })
}

impl Float {
    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    fn sign(&self) -> Sign {
        match (self.mantissa.is_zero(), self.negative) {
            (true, _) => Sign::NoSign,
            (false, true) => Sign::Minus,
            (false, false) => Sign::Plus,
        }
    }

    /// Returns the position of the highest bit, plus one.
    fn top(&self) -> i64 {
        self.exponent + i64::try_from(self.mantissa.bits()).unwrap_or(i64::MAX / 2)
    }

    fn to_f64(&self) -> f64 {
        let sign = u64::from(self.negative) << 63;
        let top = self.top();
        // Subnormal numbers have one bit of precision less for each decrease of the exponent.
        let keep = 53 - (-1021 - top).max(0);
        if self.mantissa.is_zero() || keep < 0 {
            return f64::from_bits(sign);
        }
        if top > 1024 {
            return f64::from_bits(sign | (0x7ff << 52));
        }
        let bits = i64::try_from(self.mantissa.bits()).unwrap_or(i64::MAX / 2);
        let (mut significand, shift) = if bits > keep {
            let excess = (bits - keep).unsigned_abs();
            let kept: BigUint = &self.mantissa >> excess;
            let half = self.mantissa.bit(excess - 1);
            let below = self.mantissa.trailing_zeros().is_some_and(|zeros| zeros < excess - 1);
            let up = half && (below || kept.bit(0));
            (kept.to_u64().unwrap_or(0) + u64::from(up), bits - keep)
        } else {
            (self.mantissa.to_u64().unwrap_or(0) << (keep - bits), bits - keep)
        };
        let mut exponent = self.exponent + shift;
        if significand >> 53 != 0 {
            significand >>= 1;
            exponent += 1;
        }
        // A subnormal that rounds up to the lowest normal number needs no special case, because
        // its carry flows into the exponent field.
        let biased = if significand >> 52 == 0 { 0 } else { exponent + 1075 };
        if biased >= 0x7ff {
            return f64::from_bits(sign | (0x7ff << 52));
        }
        let field = u64::try_from(biased).unwrap_or(0) << 52;
        f64::from_bits(sign | field | (significand & ((1 << 52) - 1)))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Wide(a), Repr::Wide(b))
                if a.precision != b.precision
                    && a.negative == b.negative
                    && !a.is_integer()
                    && !b.is_integer() =>
            {
                let order = format::compare_digits(&a.shortest_digits(), &b.shortest_digits());
                if a.negative { order.reverse() } else { order }
            }
            _ => self.compare_exact(other),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Small { value, .. } => value.hash(state),
            Repr::Infinity { negative } => negative.hash(state),
            Repr::Wide(float) if float.mantissa.is_zero() => 0i64.hash(state),
            Repr::Wide(float) if float.is_integer() => {
                (float.negative, &float.mantissa, float.exponent).hash(state);
            }
            // Different mantissas can have the same decimal text.
            Repr::Wide(float) => (float.negative, float.shortest_digits()).hash(state),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::small(value, INTEGER_PRECISION)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::from(i64::from(value))
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::from(i64::from(value))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self::from(value),
            Err(_) => {
                let zeros = value.trailing_zeros();
                Self(Repr::Wide(Arc::new(Float {
                    negative: false,
                    mantissa: BigUint::from(value >> zeros),
                    exponent: i64::from(zeros),
                    precision: INTEGER_PRECISION,
                })))
            }
        }
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

#[cfg(test)]
mod tests;

//! Computes with numbers as Terraform does.

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::Zero;

use super::{INTEGER_PRECISION, Number, NumberError, Repr, TEXT_PRECISION, nearest};

impl Number {
    /// Returns the sum, with the larger of the two precisions.
    ///
    /// # Errors
    /// Returns [`NumberError::Undefined`] for infinities of opposite sign, or
    /// [`NumberError::OutOfRange`].
    pub fn add(&self, other: &Self) -> Result<Self, NumberError> {
        self.add_at(other, self.precision().max(other.precision()))
    }

    fn add_at(&self, other: &Self, precision: u32) -> Result<Self, NumberError> {
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && precision >= INTEGER_PRECISION
            && let Some(sum) = a.checked_add(*b)
        {
            return Ok(Self::small(sum, precision));
        }
        match (self.parts(), other.parts()) {
            (None, None) if self.is_sign_negative() != other.is_sign_negative() => {
                Err(NumberError::Undefined)
            }
            (None, _) => Ok(self.clone()),
            (_, None) => Ok(other.clone()),
            (Some((a_negative, a, a_exponent)), Some((b_negative, b, b_exponent))) => {
                if a.is_zero() && b.is_zero() {
                    return Ok(Self::zero(a_negative && b_negative, precision));
                }
                let exponent = if a.is_zero() {
                    b_exponent
                } else if b.is_zero() {
                    a_exponent
                } else {
                    a_exponent.min(b_exponent)
                };
                let align = |mantissa: BigUint, from: i64| {
                    if mantissa.is_zero() { mantissa } else { mantissa << from.abs_diff(exponent) }
                };
                let (a, b) = (align(a, a_exponent), align(b, b_exponent));
                let (negative, sum) = if a_negative == b_negative {
                    (a_negative, a + b)
                } else if a > b {
                    (a_negative, a - b)
                } else if a < b {
                    (b_negative, b - a)
                } else {
                    return Ok(Self::zero(false, precision));
                };
                Self::rounded(negative, sum, exponent, false, precision)
            }
        }
    }

    /// Returns the difference, with the larger of the two precisions.
    ///
    /// # Errors
    /// Returns the same errors as [`Number::add`].
    pub fn sub(&self, other: &Self) -> Result<Self, NumberError> {
        self.add(&other.neg())
    }

    /// Returns the product. It is exact up to 512 bits.
    ///
    /// # Errors
    /// Returns [`NumberError::Undefined`] for zero times infinity, or [`NumberError::OutOfRange`].
    pub fn mul(&self, other: &Self) -> Result<Self, NumberError> {
        let precision = self.precision().max(other.precision());
        let negative = self.is_sign_negative() != other.is_sign_negative();
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && precision >= INTEGER_PRECISION
            && let Some(product) = a.checked_mul(*b)
            && !(product == 0 && negative)
        {
            return Ok(Self::small(product, precision));
        }
        let (Some((_, a, a_exponent)), Some((_, b, b_exponent))) = (self.parts(), other.parts()) else {
            return if self.is_zero() || other.is_zero() {
                Err(NumberError::Undefined)
            } else {
                Ok(Self(Repr::Infinity { negative }))
            };
        };
        let product = Self::rounded(negative, a * b, a_exponent + b_exponent, false, TEXT_PRECISION)?;
        let needed = product
            .parts()
            .map_or(0, |(_, mantissa, _)| mantissa.bits() - mantissa.trailing_zeros().unwrap_or(0));
        let needed = u32::try_from(needed).unwrap_or(TEXT_PRECISION);
        Ok(product.with_precision(precision.max(needed)))
    }

    /// Returns the quotient, with the larger of the two precisions. A nonzero number divided by
    /// zero is infinity.
    ///
    /// # Errors
    /// Returns [`NumberError::Undefined`] for zero divided by zero or infinity divided by infinity,
    /// or [`NumberError::OutOfRange`].
    pub fn div(&self, other: &Self) -> Result<Self, NumberError> {
        let precision = self.precision().max(other.precision());
        let negative = self.is_sign_negative() != other.is_sign_negative();
        match (self.parts(), other.parts()) {
            (None, None) => Err(NumberError::Undefined),
            (None, Some(_)) => Ok(Self(Repr::Infinity { negative })),
            (Some(_), None) => Ok(Self::zero(negative, precision)),
            (Some((_, a, a_exponent)), Some((_, b, b_exponent))) => match (a.is_zero(), b.is_zero()) {
                (true, true) => Err(NumberError::Undefined),
                (false, true) => Ok(Self(Repr::Infinity { negative })),
                (true, false) => Ok(Self::zero(negative, precision)),
                (false, false) => Self::divided(negative, a, &b, a_exponent - b_exponent, precision),
            },
        }
    }

    /// Returns `± a / b * 2^exponent`, correctly rounded.
    pub(super) fn divided(
        negative: bool,
        a: BigUint,
        b: &BigUint,
        exponent: i64,
        precision: u32,
    ) -> Result<Self, NumberError> {
        let wanted = u64::from(precision) + 2 + b.bits();
        let shift = wanted.saturating_sub(a.bits());
        let (quotient, remainder) = (a << shift).div_rem(b);
        let exponent = exponent.saturating_sub(i64::try_from(shift).unwrap_or(i64::MAX));
        Self::rounded(negative, quotient, exponent, !remainder.is_zero(), precision)
    }

    /// Returns the remainder of division with truncation towards zero; it has the sign of `self`.
    /// The remainder of a division by zero is `self`. If one operand is an infinity, the result is
    /// the product.
    ///
    /// # Errors
    /// Returns [`NumberError::Undefined`] for zero and infinity, or [`NumberError::OutOfRange`].
    pub fn rem(&self, other: &Self) -> Result<Self, NumberError> {
        if self.is_infinite() || other.is_infinite() {
            return self.mul(other);
        }
        if other.is_zero() {
            return Ok(self.clone());
        }
        let precision = self.precision();
        // If the precision leaves spare bits for the quotient's fraction, the quotient cannot round
        // to an integer, and the remainder equals the remainder of integer division.
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && precision >= INTEGER_PRECISION
            && precision.max(other.precision()) >= 2 * INTEGER_PRECISION
        {
            return Ok(Self::small(a.checked_rem(*b).unwrap_or(0), precision));
        }
        // Terraform computes the remainder in these steps. Each step is rounded to the precision of
        // the dividend; the rounding determines the last digits of the result.
        let (Some((q_negative, q, q_exponent)), Some((o_negative, o, o_exponent))) =
            (self.div(other)?.truncate().parts(), other.parts())
        else {
            return Err(NumberError::Undefined);
        };
        let (q, q_exponent) = nearest(q, q_exponent, precision);
        let negative = q_negative != o_negative;
        let whole = Self::rounded(negative, q * o, q_exponent + o_exponent, false, precision)?;
        self.add_at(&whole.neg(), precision)
    }

    /// Returns the number with the opposite sign; zero becomes `-0`.
    #[must_use]
    pub fn neg(&self) -> Self {
        match &self.0 {
            Repr::Small { value: 0, precision } => Self::zero(true, *precision),
            Repr::Small { value, precision } => match value.checked_neg() {
                Some(value) => Self::small(value, *precision),
                None => Self::from(value.unsigned_abs()).with_precision(*precision),
            },
            Repr::Infinity { negative } => Self(Repr::Infinity { negative: !negative }),
            Repr::Wide(float) => {
                Self::rounded(!float.negative, float.mantissa.clone(), float.exponent, false, u32::MAX)
                    .map_or_else(|_| self.clone(), |negated| negated.with_precision(float.precision))
            }
        }
    }

    /// Returns the absolute value.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_sign_negative() { self.neg() } else { self.clone() }
    }

    /// Returns the integer part, rounded towards zero. Infinities are returned unchanged.
    #[must_use]
    pub fn truncate(&self) -> Self {
        match &self.0 {
            Repr::Wide(float) if !float.is_integer() => {
                let whole = &float.mantissa >> float.exponent.unsigned_abs();
                Self::rounded(float.negative && !whole.is_zero(), whole, 0, false, float.precision)
                    .unwrap_or(Self::ZERO)
            }
            _ => self.clone(),
        }
    }

    /// Returns the largest integer less than or equal to this number. Infinities are returned
    /// unchanged.
    #[must_use]
    pub fn floor(&self) -> Self {
        self.towards(true)
    }

    /// Returns the smallest integer greater than or equal to this number. Infinities are returned
    /// unchanged.
    #[must_use]
    pub fn ceil(&self) -> Self {
        self.towards(false)
    }

    fn towards(&self, down: bool) -> Self {
        let whole = self.truncate();
        if self.is_integer() || self.is_infinite() || self.is_sign_negative() != down {
            return whole;
        }
        let step = BigInt::from(if down { -1 } else { 1 });
        whole
            .to_integer()
            .and_then(|integer| Self::from_integer(&(integer + step)).ok())
            .map_or(whole, |moved| moved.with_precision(self.precision()))
    }

    /// Returns the same value with a different precision for subsequent results.
    pub(super) fn with_precision(self, precision: u32) -> Self {
        match self.0 {
            Repr::Small { value, .. } => Self::small(value, precision),
            Repr::Infinity { .. } => self,
            Repr::Wide(mut float) => {
                if float.precision != precision {
                    std::sync::Arc::make_mut(&mut float).precision = precision;
                }
                Self(Repr::Wide(float))
            }
        }
    }
}

impl std::ops::Neg for &Number {
    type Output = Number;
    fn neg(self) -> Number {
        Number::neg(self)
    }
}

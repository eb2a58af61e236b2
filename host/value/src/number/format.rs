//! Converts numbers to text.

use std::cmp::Ordering;
use std::fmt;
use std::fmt::Write as _;

use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::{Float, Number, Repr};

/// Decimal digits in ASCII without leading or trailing zeros, and the position of the decimal
/// point: `0.digits * 10^point`. Zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digits {
    digits: Vec<u8>,
    point: i64,
}

pub(super) fn compare_digits(a: &Digits, b: &Digits) -> Ordering {
    match (a.digits.is_empty(), b.digits.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.point.cmp(&b.point).then_with(|| a.digits.cmp(&b.digits)),
    }
}

impl Digits {
    fn new(mut digits: Vec<u8>, mut point: i64) -> Self {
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        point -= i64::try_from(leading).unwrap_or(0);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            point = 0;
        }
        Self { digits, point }
    }

    /// Returns all digits of `mantissa * 2^exponent`.
    fn exact(mantissa: &BigUint, exponent: i64) -> Self {
        let shift = exponent.unsigned_abs();
        let (integer, places) = if exponent >= 0 {
            (mantissa << shift, 0)
        } else {
            let power = u32::try_from(shift).unwrap_or(u32::MAX);
            (mantissa * BigUint::from(5u8).pow(power), exponent)
        };
        let digits = integer.to_str_radix(10).into_bytes();
        let point = i64::try_from(digits.len()).unwrap_or(i64::MAX / 2) + places;
        Self::new(digits, point)
    }

    fn at(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(b'0')
    }

    fn rounded_down(&self, count: usize) -> Self {
        Self::new(self.digits[..count.min(self.digits.len())].to_vec(), self.point)
    }

    fn rounded_up(&self, count: usize) -> Self {
        if count >= self.digits.len() {
            return self.clone();
        }
        let mut digits = self.digits[..count].to_vec();
        while let Some(last) = digits.pop() {
            if last < b'9' {
                digits.push(last + 1);
                return Self::new(digits, self.point);
            }
        }
        Self { digits: vec![b'1'], point: self.point + 1 }
    }

    /// Returns the nearest number with `count` digits; ties are rounded to an even last digit.
    fn rounded(&self, count: i64) -> Self {
        let Ok(count) = usize::try_from(count) else {
            return Self { digits: Vec::new(), point: 0 };
        };
        let Some(next) = self.digits.get(count) else {
            return self.clone();
        };
        let tie = *next == b'5' && count + 1 == self.digits.len();
        let up = if tie { count > 0 && (self.digits[count - 1] - b'0') % 2 == 1 } else { *next >= b'5' };
        if up { self.rounded_up(count) } else { self.rounded_down(count) }
    }

    /// Writes the number without an exponent, with `places` digits after the decimal point.
    fn write_fixed(&self, places: usize, out: &mut String) {
        let digit = |index: i64| usize::try_from(index).map_or(b'0', |index| self.at(index));
        if self.point > 0 {
            out.extend((0..self.point).map(|index| char::from(digit(index))));
        } else {
            out.push('0');
        }
        if places > 0 {
            out.push('.');
            let places = i64::try_from(places).unwrap_or(i64::MAX / 2);
            out.extend((self.point..self.point + places).map(|index| char::from(digit(index))));
        }
    }

    /// Writes the number with an exponent, with `places` digits after the decimal point.
    fn write_exponent(&self, places: usize, out: &mut String) {
        out.push(char::from(self.at(0)));
        if places > 0 {
            out.push('.');
            out.extend((1..=places).map(|index| char::from(self.at(index))));
        }
        let exponent = if self.digits.is_empty() { 0 } else { self.point - 1 };
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    }

    /// Returns the number of digits after the decimal point.
    fn places(&self) -> usize {
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX / 2);
        usize::try_from(length - self.point).unwrap_or(0)
    }
}

impl Float {
    /// Returns the shortest digits that, when parsed with this number's precision, yield this
    /// number.
    pub(super) fn shortest_digits(&self) -> Digits {
        if self.mantissa.is_zero() {
            return Digits { digits: Vec::new(), point: 0 };
        }
        if self.is_integer() && self.top() <= i64::from(self.precision) {
            return Digits::exact(&self.mantissa, self.exponent);
        }
        self.short_decimal().unwrap_or_else(|| self.shortest_digits_by_interval())
    }

    /// Returns the shortest digits if there are few digits, as for most fractions in
    /// configurations. The number is rounded once, to the maximum number of digits at which only
    /// one decimal is between the number's neighbours. If the rounded decimal differs from the
    /// number by less than half a unit in the last place, it is the result.
    pub(super) fn short_decimal(&self) -> Option<Digits> {
        if self.exponent >= 0 || self.exponent < -2048 {
            return None;
        }
        // floor(log10(2^n)) for the relevant sizes.
        let decimal = |bits: i64| bits * 30103 / 100_000;
        let count = decimal(i64::from(self.precision) - 1).min(40);
        let places = count - decimal(self.top());
        let places = u32::try_from(places).ok()?;
        let scale = BigUint::from(10u8).pow(places);
        let scaled = &self.mantissa * &scale;
        let shift = self.exponent.unsigned_abs();
        let nearest: BigUint = (&scaled + (BigUint::one() << (shift - 1))) >> shift;
        let back = &nearest << shift;
        let distance = if back > scaled { back - &scaled } else { scaled - back };
        // Half a unit is 2^(bits - precision - 1) in the mantissa's units.
        let spare = u64::from(self.precision) + 1 - self.mantissa.bits();
        if distance << spare >= scale {
            return None;
        }
        let digits = nearest.to_str_radix(10).into_bytes();
        // With more digits, other decimals could be rounded to the same number.
        if i64::try_from(digits.len()).ok()? > count {
            return None;
        }
        let point = i64::try_from(digits.len()).ok()? - i64::from(places);
        Some(Digits::new(digits, point))
    }

    /// Compares the digits with the digits of the midpoints to both neighbours until they differ.
    /// For a power of two, the distance to the upper neighbour is also used for the lower neighbour,
    /// as in Go's big.Float.
    pub(super) fn shortest_digits_by_interval(&self) -> Digits {
        let exact = Digits::exact(&self.mantissa, self.exponent);
        let spare = u64::from(self.precision) + 1 - self.mantissa.bits();
        let scaled = &self.mantissa << spare;
        let exponent = self.exponent - i64::try_from(spare).unwrap_or(0);
        let lower = Digits::exact(&(&scaled - 1u8), exponent);
        let upper = Digits::exact(&(&scaled + 1u8), exponent);
        // The midpoints are rounded to an even mantissa.
        let inclusive = !scaled.bit(1);
        for (index, digit) in exact.digits.iter().enumerate() {
            let (low, high) = (lower.at(index), upper.at(index));
            let down = low != *digit || (inclusive && index + 1 == lower.digits.len());
            let up = high != *digit && (inclusive || digit + 1 < high || index + 1 < upper.digits.len());
            let count = index + 1;
            match (down, up) {
                (true, true) => return exact.rounded(i64::try_from(count).unwrap_or(i64::MAX)),
                (true, false) => return exact.rounded_down(count),
                (false, true) => return exact.rounded_up(count),
                (false, false) => {}
            }
        }
        exact
    }
}

impl Number {
    fn exact_digits(&self) -> Digits {
        match self.parts() {
            Some((_, mantissa, exponent)) => Digits::exact(&mantissa, exponent),
            None => Digits { digits: Vec::new(), point: 0 },
        }
    }

    fn shortest_digits(&self) -> Digits {
        match &self.0 {
            Repr::Wide(float) => float.shortest_digits(),
            Repr::Small { value, precision } => {
                let zeros = if *value == 0 { 0 } else { value.trailing_zeros() };
                let (negative, precision) = (*value < 0, *precision);
                let mantissa = BigUint::from(value.unsigned_abs() >> zeros);
                Float { negative, mantissa, exponent: i64::from(zeros), precision }.shortest_digits()
            }
            Repr::Infinity { .. } => Digits { digits: Vec::new(), point: 0 },
        }
    }

    fn write_sign(&self, out: &mut String) -> bool {
        if self.is_sign_negative() {
            out.push('-');
        }
        if self.is_infinite() {
            out.push_str(if self.is_sign_negative() { "Inf" } else { "+Inf" });
        }
        self.is_infinite()
    }

    /// Returns the text with `places` digits after the decimal point, rounded from the exact value,
    /// like `%.*f` of `printf`.
    pub fn to_fixed(&self, places: usize) -> String {
        let mut out = String::new();
        if !self.write_sign(&mut out) {
            let digits = self.exact_digits();
            let count = digits.point.saturating_add(i64::try_from(places).unwrap_or(i64::MAX));
            digits.rounded(count).write_fixed(places, &mut out);
        }
        out
    }

    /// Returns the text with an exponent and `places` digits after the decimal point, like `%.*e`
    /// of `printf`.
    pub fn to_exponent(&self, places: usize) -> String {
        let mut out = String::new();
        if !self.write_sign(&mut out) {
            let count = i64::try_from(places).unwrap_or(i64::MAX).saturating_add(1);
            self.exact_digits().rounded(count).write_exponent(places, &mut out);
        }
        out
    }

    /// Returns the shorter of the two notations, with `digits` significant digits, or with the
    /// shortest digits that identify the number, like `%.*g` in `printf` and `%g` in Go.
    pub fn to_general(&self, digits: Option<usize>) -> String {
        let mut out = String::new();
        if self.write_sign(&mut out) {
            return out;
        }
        let (rounded, wanted) = match digits {
            Some(count) => {
                let count = count.max(1);
                let rounded = self.exact_digits().rounded(i64::try_from(count).unwrap_or(i64::MAX));
                (rounded, count)
            }
            None => {
                let shortest = self.shortest_digits();
                let count = shortest.digits.len();
                (shortest, count)
            }
        };
        let length = rounded.digits.len();
        let signed_length = i64::try_from(length).unwrap_or(i64::MAX);
        let threshold = match digits {
            None => 6,
            Some(_) if wanted > length && signed_length >= rounded.point => signed_length,
            Some(_) => i64::try_from(wanted).unwrap_or(i64::MAX),
        };
        let exponent = rounded.point - 1;
        if exponent < -4 || exponent >= threshold {
            rounded.write_exponent(wanted.min(length).saturating_sub(1), &mut out);
        } else {
            rounded.write_fixed(rounded.places(), &mut out);
        }
        out
    }
}

/// Writes, without an exponent, the shortest decimal digits that yield the number when they are
/// parsed with the number's precision: `0.5`, `-0`, `1000000000000000000000`, `+Inf`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small { value, precision } if value.unsigned_abs().leading_zeros() + precision >= 64 => {
                write!(f, "{value}")
            }
            Repr::Infinity { negative: true } => f.write_str("-Inf"),
            Repr::Infinity { negative: false } => f.write_str("+Inf"),
            Repr::Small { .. } | Repr::Wide(_) => {
                let digits = self.shortest_digits();
                let mut text = String::new();
                if self.is_sign_negative() {
                    text.push('-');
                }
                digits.write_fixed(digits.places(), &mut text);
                f.write_str(&text)
            }
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

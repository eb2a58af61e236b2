//! Logarithm and power of machine floats. The results are identical to Terraform's in every digit:
//! they are displayed in full, so different rounding would appear as a change.

#![allow(clippy::float_cmp, reason = "the compared values are exact")]

use std::f64::consts::FRAC_1_SQRT_2;

/// Splits a number into a fraction between 0.5 and 1 and an exponent. The number is the fraction
/// times two to the power of the exponent.
fn split(value: f64) -> (f64, i32) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    // Subnormal numbers are scaled into the normal range first.
    let (value, shift) =
        if value.abs() < f64::MIN_POSITIVE { (value * 2_f64.powi(52), -52) } else { (value, 0) };
    let bits = value.to_bits();
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent + shift)
}

/// Reverses [`split`].
fn scaled(value: f64, exponent: i32) -> f64 {
    let (fraction, own) = split(value);
    let exponent = exponent.saturating_add(own);
    match exponent {
        ..=-1075 => 0.0_f64.copysign(value),
        // The power of two alone may overflow or underflow, so it is applied in two steps.
        -1074..=1024 => fraction * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2),
        1025.. => f64::INFINITY.copysign(value),
    }
}

/// Computes the natural logarithm with the series of FreeBSD's C library.
pub(super) fn natural_logarithm(value: f64) -> f64 {
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SERIES: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    if !value.is_finite() || value <= 0.0 {
        return value.ln();
    }
    let (mut fraction, mut exponent) = split(value);
    if fraction < FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1;
    }
    let rest = fraction - 1.0;
    let exponent = f64::from(exponent);
    let quotient = rest / (2.0 + rest);
    let square = quotient * quotient;
    let fourth = square * square;
    let odd = square * (SERIES[0] + fourth * (SERIES[2] + fourth * (SERIES[4] + fourth * SERIES[6])));
    let even = fourth * (SERIES[1] + fourth * (SERIES[3] + fourth * SERIES[5]));
    let half = 0.5 * rest * rest;
    exponent * LN_2_HIGH - ((half - (quotient * (half + (odd + even)) + exponent * LN_2_LOW)) - rest)
}

/// Computes a power: the integer part of the exponent by repeated squaring, and the fractional part
/// by logarithms.
pub(super) fn power(base: f64, exponent: f64) -> f64 {
    let usual = base.is_finite() && exponent.is_finite() && base != 0.0;
    if !usual || exponent.abs() >= 9.0e18 || (base < 0.0 && exponent.fract() != 0.0) {
        return base.powf(exponent);
    }
    if exponent.abs() == 0.5 {
        let root = base.sqrt();
        return if exponent < 0.0 { 1.0 / root } else { root };
    }
    let (mut whole, mut fraction) = (exponent.abs().trunc(), exponent.abs().fract());
    let mut result = 1.0;
    if fraction != 0.0 {
        if fraction > 0.5 {
            fraction -= 1.0;
            whole += 1.0;
        }
        result = (fraction * natural_logarithm(base)).exp();
    }
    let (mut square, mut square_exponent) = split(base);
    let mut result_exponent = 0_i32;
    while whole >= 1.0 {
        // The result already overflows or underflows.
        if square_exponent.abs() > 1 << 12 {
            result_exponent = result_exponent.saturating_add(square_exponent);
            break;
        }
        if whole % 2.0 == 1.0 {
            result *= square;
            result_exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        whole = (whole / 2.0).trunc();
    }
    if exponent < 0.0 { scaled(1.0 / result, -result_exponent) } else { scaled(result, result_exponent) }
}

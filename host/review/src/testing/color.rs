//! The contrast of colors (WCAG 2.2), and their distance for readers with color vision deficiencies.

/// The minimum contrast of text and its background, as WCAG's level AA requires.
pub const MIN_CONTRAST: f64 = 4.5;
/// The minimum distance of two colors with different meanings. A distance of 1 is just noticeable; small
/// marks that are not next to each other need at least ten times as much.
pub const MIN_COLOR_DISTANCE: f64 = 15.0;

/// A color of the sRGB color space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub [u8; 3]);

/// The color vision of a reader. A dichromat lacks one of the three kinds of cones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vision {
    Normal,
    Protanopia,
    Deuteranopia,
    Tritanopia,
}

impl Vision {
    pub const ALL: [Self; 4] = [Self::Normal, Self::Protanopia, Self::Deuteranopia, Self::Tritanopia];

    /// Returns the matrix for linear RGB of Machado, Oliveira and Fernandes (2009), severity 1.
    fn matrix(self) -> [[f64; 3]; 3] {
        match self {
            Self::Normal => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Self::Protanopia => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Self::Deuteranopia => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            Self::Tritanopia => [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        }
    }
}

impl Rgb {
    /// Parses `#rgb` or `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        let level = |at: usize| match digits.len() {
            3 => u8::from_str_radix(digits.get(at..=at)?, 16).ok().map(|digit| digit * 17),
            6 => u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok(),
            _ => None,
        };
        Some(Self([level(0)?, level(1)?, level(2)?]))
    }

    fn linear(self) -> [f64; 3] {
        self.0.map(|level| {
            let level = f64::from(level) / 255.0;
            if level <= 0.040_45 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance(self) -> f64 {
        product([0.2126, 0.7152, 0.0722], self.linear())
    }

    /// Returns the contrast of two colors: from 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// Returns the distance of two colors as a reader perceives them (CIEDE2000).
    pub fn distance(self, other: Self, vision: Vision) -> f64 {
        ciede2000(self.lab(vision), other.lab(vision))
    }

    fn lab(self, vision: Vision) -> [f64; 3] {
        let linear = self.linear();
        let seen = vision.matrix().map(|row| product(row, linear).clamp(0.0, 1.0));
        let [x, y, z] = [
            product([0.412_456_4, 0.357_576_1, 0.180_437_5], seen) / 0.950_47,
            product([0.212_672_9, 0.715_152_2, 0.072_175], seen),
            product([0.019_333_9, 0.119_192, 0.950_304_1], seen) / 1.088_83,
        ]
        .map(|value: f64| {
            if value > 216.0 / 24_389.0 { value.cbrt() } else { (24_389.0 / 27.0 * value + 16.0) / 116.0 }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }
}

fn product(one: [f64; 3], other: [f64; 3]) -> f64 {
    one.into_iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Returns the distance of two colors in L*a*b*: Sharma, Wu and Dalal (2005).
fn ciede2000([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let share = |chroma: f64| {
        let power = chroma.powi(7);
        (power / (power + 25.0_f64.powi(7))).sqrt()
    };
    let stretch = 1.0 + 0.5 * (1.0 - share(f64::midpoint(a1.hypot(b1), a2.hypot(b2))));
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let is_gray = c1 * c2 == 0.0;
    let turn = match h2 - h1 {
        _ if is_gray => 0.0,
        turn if turn > 180.0 => turn - 360.0,
        turn if turn < -180.0 => turn + 360.0,
        turn => turn,
    };
    let mean_hue = match h1 + h2 {
        sum if is_gray => sum,
        sum if (h1 - h2).abs() <= 180.0 => sum / 2.0,
        sum if sum < 360.0 => f64::midpoint(sum, 360.0),
        sum => (sum - 360.0) / 2.0,
    };
    let (mean_l, mean_c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let cosine = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cosine(mean_hue - 30.0)
        + 0.24 * cosine(2.0 * mean_hue)
        + 0.32 * cosine(3.0 * mean_hue + 6.0)
        - 0.20 * cosine(4.0 * mean_hue - 63.0);
    let from_50 = (mean_l - 50.0).powi(2);
    let lightness = (l2 - l1) / (1.0 + 0.015 * from_50 / (20.0 + from_50).sqrt());
    let chroma = (c2 - c1) / (1.0 + 0.045 * mean_c);
    let tint = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * mean_c * t);
    let rotation = 30.0 * (-((mean_hue - 275.0) / 25.0).powi(2)).exp();
    let blue = -(2.0 * rotation).to_radians().sin() * 2.0 * share(mean_c);
    (lightness.powi(2) + chroma.powi(2) + tint.powi(2) + blue * chroma * tint).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        let [black, white, gray] = ["#000", "#ffffff", "#767676"].map(|text| Rgb::parse(text).unwrap());
        assert!((black.contrast(white) - 21.0).abs() < 1e-9);
        assert!((gray.contrast(white) - 4.54).abs() < 0.01);
        assert_eq!(Rgb::parse("#12"), None);
        assert_eq!(Rgb::parse("#ggg"), None);
    }

    #[test]
    fn distance_is_that_of_the_published_test_data() {
        for (one, other, expected) in [
            ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
            ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
            ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
            ([90.8027, -2.0831, 1.4410], [91.1528, -1.6435, 0.0447], 1.4441),
        ] {
            let distance = ciede2000(one, other);
            assert!((distance - expected).abs() < 1e-4, "{distance} {expected}");
        }
    }

    #[test]
    fn red_and_green_are_close_for_dichromats_only() {
        let [red, green] = ["#a05a2c", "#6a7a2c"].map(|text| Rgb::parse(text).unwrap());
        assert!(red.distance(green, Vision::Normal) > 25.0);
        assert!(red.distance(green, Vision::Deuteranopia) < 12.0);
    }
}

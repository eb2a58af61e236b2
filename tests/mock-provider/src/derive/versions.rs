//! Selects a version of a mock provider that all version constraints accept.

use wardian_address::{ConstraintDialect, Constraints, Version};

/// The default version, which is newer than the versions of public providers.
const DEFAULT: (u64, u64, u64) = (99, 0, 0);

pub(crate) fn accept(constraints: &[String], version: &str) -> bool {
    let Ok(version) = version.parse::<Version>() else { return false };
    constraints.iter().all(|text| {
        Constraints::parse(text, ConstraintDialect::Provider)
            .is_ok_and(|constraints| constraints.accepts(&version))
    })
}

/// Returns the highest accepted version among the versions in the constraints and their neighbours.
/// If no version is accepted, returns the default version. Both programs then report the
/// contradiction.
pub(crate) fn choose(constraints: &[String]) -> String {
    let mut candidates = vec![DEFAULT];
    for text in constraints {
        let Ok(parsed) = Constraints::parse(text, ConstraintDialect::Provider) else { continue };
        for constraint in parsed.iter() {
            let version = constraint.version();
            let (major, minor, patch) = (version.major, version.minor, version.patch);
            candidates.extend([
                (major, minor, patch),
                (major, minor, patch + 1),
                (major, minor + 1, 0),
                (major, minor, 99),
                (major, 99, 0),
                (major + 1, 0, 0),
            ]);
            // Versions that are just below an upper bound.
            candidates.extend(major.checked_sub(1).map(|major| (major, 99, 0)));
            candidates.extend(minor.checked_sub(1).map(|minor| (major, minor, 99)));
            candidates.extend(patch.checked_sub(1).map(|patch| (major, minor, patch)));
        }
    }
    let text = |(major, minor, patch): (u64, u64, u64)| format!("{major}.{minor}.{patch}");
    let accepted = candidates.into_iter().filter(|candidate| accept(constraints, &text(*candidate)));
    text(accepted.max().unwrap_or(DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_accepted_version_is_chosen() {
        for (constraints, chosen) in [
            (&[][..], "99.0.0"),
            (&[">= 3.2"], "99.0.0"),
            (&[">= 3.2, < 5.0"], "4.99.0"),
            (&["~> 4.1"], "4.99.0"),
            (&["~> 4.1.2"], "4.1.99"),
            (&["= 1.2.3"], "1.2.3"),
            (&[">= 4.0", "< 4.5.0"], "4.4.99"),
            (&["< 1.0", "> 2.0"], "99.0.0"),
        ] {
            let constraints: Vec<String> = constraints.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(choose(&constraints), chosen, "{constraints:?}");
        }
    }
}

//! Versions in responses of registries.

use wardian_address::Version;

/// The reason why text is not a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionTextError {
    #[error("a version must not begin with \"v\"")]
    LeadingV,
    #[error("it contains a space")]
    Space,
    #[error("a version has at most three numbers")]
    TooManyParts,
    #[error("one of its numbers is missing, too large or not a number")]
    Number,
    #[error("its prerelease or build metadata is malformed")]
    Suffix,
}

/// Parses a version like Terraform: missing numbers are zero, and numbers may have leading zeros.
pub(crate) fn parse_version(text: &str) -> Result<Version, VersionTextError> {
    if text.starts_with(['v', 'V']) {
        return Err(VersionTextError::LeadingV);
    }
    if text.contains(char::is_whitespace) {
        return Err(VersionTextError::Space);
    }
    let (rest, build) = text.split_once('+').unwrap_or((text, ""));
    let (numbers, prerelease) = rest.split_once('-').unwrap_or((rest, ""));
    let mut parts = [0; 3];
    for (index, number) in numbers.split('.').enumerate() {
        let part = parts.get_mut(index).ok_or(VersionTextError::TooManyParts)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(VersionTextError::Number);
        }
        *part = number.parse().map_err(|_| VersionTextError::Number)?;
    }
    let [major, minor, patch] = parts;
    // The parser of the canonical text validates the suffixes.
    let mut canonical = format!("{major}.{minor}.{patch}");
    for (separator, suffix) in [('-', prerelease), ('+', build)] {
        if !suffix.is_empty() {
            canonical.push(separator);
            canonical.push_str(suffix);
        }
    }
    Version::parse(&canonical).map_err(|_| VersionTextError::Suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_as_in_terraform() {
        for (text, expected) in [
            ("1.2.3", "1.2.3"),
            ("1.2", "1.2.0"),
            ("1", "1.0.0"),
            ("01.0.0", "1.0.0"),
            ("1.0.0-", "1.0.0"),
            ("1.0.0-rc.1+b.2", "1.0.0-rc.1+b.2"),
            ("1.0.0-a-b", "1.0.0-a-b"),
        ] {
            assert_eq!(parse_version(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn invalid_versions_are_rejected() {
        for (text, error) in [
            ("", VersionTextError::Number),
            ("x", VersionTextError::Number),
            ("1.x", VersionTextError::Number),
            ("1..2", VersionTextError::Number),
            ("1.+2", VersionTextError::Number),
            ("v1.0.0", VersionTextError::LeadingV),
            (" 1.0.0", VersionTextError::Space),
            ("1.0.0.0", VersionTextError::TooManyParts),
            ("99999999999999999999.0.0", VersionTextError::Number),
            ("1.0.0-a_b", VersionTextError::Suffix),
            ("1.0.0-a/../b", VersionTextError::Suffix),
        ] {
            assert_eq!(parse_version(text), Err(error), "{text}");
        }
    }
}

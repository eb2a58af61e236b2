//! Validates the names of archive entries.

use crate::error::{ArchiveError, shown_name};
use crate::limits::ArchiveLimits;

/// The name of an entry: path components separated by `/`. No component is empty, `.` or `..`, or
/// contains a separator or a control character.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryName(String);

impl EntryName {
    /// Parses the name of an entry as the archive contains it. Returns `None` for the root
    /// directory itself.
    pub(crate) fn parse(raw: &[u8], limits: &ArchiveLimits) -> Result<Option<Self>, ArchiveError> {
        let unsafe_name = || ArchiveError::UnsafeName { name: shown_name(raw) };
        if raw.len() > limits.max_name_bytes {
            return Err(ArchiveError::LongName { name: shown_name(raw), limit: limits.max_name_bytes });
        }
        let text = std::str::from_utf8(raw).map_err(|_| unsafe_name())?;
        if text.starts_with('/') || has_drive(text) {
            return Err(unsafe_name());
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        let mut parts = Vec::new();
        for part in text.split('/') {
            if matches!(part, "" | ".") && !limits.requires_plain_names {
                continue;
            }
            if !is_plain_part(part) || (part.contains(':') && (limits.requires_plain_names || cfg!(windows)))
            {
                return Err(unsafe_name());
            }
            parts.push(part);
        }
        if parts.len() > limits.max_depth {
            return Err(ArchiveError::DeepName { name: shown_name(raw), limit: limits.max_depth });
        }
        Ok((!parts.is_empty()).then(|| Self(parts.join("/"))))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

fn is_plain_part(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains('\\') && !part.chars().any(char::is_control)
}

/// Whether a name begins with a drive letter, such as `C:`.
fn has_drive(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && characters.next() == Some(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(limits: &ArchiveLimits, name: &str) -> Result<Option<String>, ArchiveError> {
        EntryName::parse(name.as_bytes(), limits).map(|name| name.map(EntryName::into_string))
    }

    #[test]
    fn unsafe_names_are_rejected() {
        for limits in [ArchiveLimits::for_provider_package(), ArchiveLimits::for_module_package()] {
            for good in ["a", "a/b", "LICENSE.txt", "a..b/.c", "é/ü", "a/b/", "..."] {
                let name = good.strip_suffix('/').unwrap_or(good);
                assert_eq!(parse(&limits, good).unwrap().as_deref(), Some(name));
            }
            for bad in [
                "/",
                "/etc/passwd",
                "//a",
                "..",
                "../a",
                "a/..",
                "a/../../b",
                "./../a",
                "a\\b",
                "..\\a",
                "\\\\server\\share",
                "C:/a",
                "C:a",
                "c:",
                "a\0b",
                "a\nb",
                "a\u{1b}[0m",
                "a/\u{85}",
            ] {
                let error = parse(&limits, bad).unwrap_err();
                assert!(matches!(error, ArchiveError::UnsafeName { .. }), "{bad:?}: {error}");
            }
            let error = EntryName::parse(b"a\xff", &limits).unwrap_err();
            assert!(matches!(error, ArchiveError::UnsafeName { .. }), "{error}");
        }
    }

    #[test]
    fn module_entry_names_may_have_redundant_components() {
        let modules = ArchiveLimits::for_module_package();
        let providers = ArchiveLimits::for_provider_package();
        for (name, expected) in [
            ("./", None),
            (".", None),
            ("", None),
            ("./a", Some("a")),
            ("a//b", Some("a/b")),
            ("a/./b/", Some("a/b")),
        ] {
            assert_eq!(parse(&modules, name).unwrap().as_deref(), expected, "{name}");
            assert!(parse(&providers, name).is_err(), "{name}");
        }
        assert!(parse(&providers, "a/b:c").is_err());
        assert_eq!(parse(&modules, "a/b:c").is_ok(), cfg!(not(windows)));
    }

    #[test]
    fn length_and_depth_are_limited() {
        let limits = ArchiveLimits::for_module_package();
        assert!(parse(&limits, &"a".repeat(1024)).is_ok());
        let error = parse(&limits, &"a".repeat(1025)).unwrap_err();
        assert!(matches!(&error, ArchiveError::LongName { name, .. } if name.len() < 300), "{error}");
        assert!(parse(&limits, &"a/".repeat(64)).is_ok());
        let error = parse(&limits, &"a/".repeat(65)).unwrap_err();
        assert!(matches!(error, ArchiveError::DeepName { limit: 64, .. }), "{error}");
    }
}

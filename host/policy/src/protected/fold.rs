//! The folded form of paths: equal for names that a file system could treat as equal.
//!
//! Some file systems ignore case, trailing dots and blanks, or invisible characters. The file
//! system that stores a file is not known here, so all of these are always ignored. A name may
//! therefore be protected unnecessarily, but is never left unprotected.

use std::ffi::OsStr;
use std::path::Path;

/// Returns the folded form of an absolute path.
pub(super) fn fold(path: &Path) -> Vec<u8> {
    fold_bytes(path.as_os_str().as_encoded_bytes())
}

/// Returns the folded form of a name.
pub(super) fn fold_name(name: &OsStr) -> Vec<u8> {
    fold_bytes(name.as_encoded_bytes())
}

fn fold_bytes(path: &[u8]) -> Vec<u8> {
    let lower = if path.is_ascii() {
        path.to_ascii_lowercase()
    } else {
        let mut lower = String::with_capacity(path.len());
        String::from_utf8_lossy(path).chars().for_each(|character| fold_character(character, &mut lower));
        lower.into_bytes()
    };
    let is_trimmed = |name: &[u8]| !matches!(name.last(), Some(b'.' | b' ' | b'/'));
    if lower.split(|byte| *byte == b'/').all(|name| name.is_empty() || is_trimmed(name)) {
        return lower;
    }
    let mut trimmed = Vec::with_capacity(lower.len());
    for (index, name) in lower.split(|byte| *byte == b'/').enumerate() {
        if index > 0 {
            trimmed.push(b'/');
        }
        let end = name.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
        trimmed.extend_from_slice(name.get(..end).unwrap_or(name));
    }
    trimmed
}

fn fold_character(character: char, folded: &mut String) {
    match character {
        // Characters that some file systems ignore in names.
        '\u{ad}'
        | '\u{34f}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' => {}
        // Characters whose case folding differs from their lower case.
        '\u{17f}' => folded.push('s'),
        '\u{df}' | '\u{1e9e}' => folded.push_str("ss"),
        '\u{fb00}' => folded.push_str("ff"),
        '\u{fb01}' => folded.push_str("fi"),
        '\u{fb02}' => folded.push_str("fl"),
        '\u{fb03}' => folded.push_str("ffi"),
        '\u{fb04}' => folded.push_str("ffl"),
        '\u{fb05}' | '\u{fb06}' => folded.push_str("st"),
        _ => folded.extend(character.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_names_fold_equally() {
        for name in [
            "/a/MAIN.TF",
            "/A/main.tf.",
            "/a/main.tf .",
            "/a/ma\u{200c}in.tf",
            "/a/main.t\u{feff}f",
            "/a./main.tf",
        ] {
            assert_eq!(fold(Path::new(name)), b"/a/main.tf", "{name:?}");
        }
        assert_eq!(fold(Path::new("/x.tf\u{fb06}ate")), b"/x.tfstate");
        assert_eq!(fold(Path::new("/x.tf\u{17f}tate")), b"/x.tfstate");
        assert_eq!(fold(Path::new("/bac\u{212a}up")), b"/backup");
        assert_ne!(fold(Path::new("/a/b")), fold(Path::new("/a b")));
    }
}

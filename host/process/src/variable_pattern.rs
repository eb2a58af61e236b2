//! Patterns for the names of environment variables that a program receives.

/// Returns whether a pattern is the name of a variable, or a prefix of the name if the pattern ends
/// with `*`.
pub fn variable_matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_a_name_or_a_prefix() {
        assert!(variable_matches("LC_*", "LC_ALL") && variable_matches("LC_*", "LC_"));
        assert!(variable_matches("PATH", "PATH") && variable_matches("*", "PATH"));
        assert!(!variable_matches("PATH", "PATH_INFO") && !variable_matches("LC_*", "XLC_ALL"));
    }
}

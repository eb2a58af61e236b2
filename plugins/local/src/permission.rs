//! Parses permission strings such as `"0640"`.

use wardian_sdk::validate::{self, Validator};

/// The reason why a permission string is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PermissionError {
    #[error("a permission has three or four digits, but this one has {0} characters")]
    Length(usize),
    #[error("a permission consists of octal digits and is at most 0777")]
    Octal,
}

/// Requires a permission of three or four octal digits.
pub(crate) fn is_permission() -> Validator {
    validate::typed(|text: &String| {
        parse(text).map(drop).map_err(|error| format!("must be a permission: {error}"))
    })
}

/// Parses a permission of three or four octal digits.
pub(crate) fn parse(text: &str) -> Result<u32, PermissionError> {
    if !(3..=4).contains(&text.len()) {
        return Err(PermissionError::Length(text.len()));
    }
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 && !text.starts_with('+') => Ok(mode),
        _ => Err(PermissionError::Octal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_have_three_or_four_octal_digits() {
        assert_eq!(parse("0777"), Ok(0o777));
        assert_eq!(parse("644"), Ok(0o644));
        assert_eq!(parse("0000"), Ok(0));
        assert_eq!(parse("77"), Err(PermissionError::Length(2)));
        assert_eq!(parse("07777"), Err(PermissionError::Length(5)));
        assert_eq!(parse("1777"), Err(PermissionError::Octal));
        assert_eq!(parse("0888"), Err(PermissionError::Octal));
        assert_eq!(parse("+644"), Err(PermissionError::Octal));
        assert_eq!(parse("-644"), Err(PermissionError::Octal));
        assert_eq!(parse("rw-r"), Err(PermissionError::Octal));
    }
}

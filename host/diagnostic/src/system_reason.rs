//! Formats operating system errors for messages.

use std::io;

/// Returns the reason for an error without the system's error number, which users do not need.
pub fn system_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
    match number.and_then(|number| text.strip_suffix(&number).map(str::to_owned)) {
        Some(reason) => reason,
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_error_reason_omits_error_number() {
        let missing = io::Error::from_raw_os_error(2);
        assert!(missing.to_string().contains("os error"), "{missing}");
        assert!(!system_reason(&missing).contains("os error"), "{}", system_reason(&missing));
        assert!(!system_reason(&missing).is_empty());
        assert_eq!(system_reason(&io::Error::other("it is odd")), "it is odd");
    }
}

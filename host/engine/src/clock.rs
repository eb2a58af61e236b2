//! Returns the current time as text.

/// Returns the current time as RFC 3339 in UTC, in whole seconds.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

//! Terraform's options that are not available yet. They are recognized by name, and the error
//! message therefore does not describe them as unknown.

/// Options by command, whether or not they take a value.
const OPTIONS: [(&str, &[&str]); 2] = [("plan", &["allow-deferral"]), ("apply", &["allow-deferral"])];

/// Returns whether a command's option is not available yet.
pub(super) fn has_option(command: &str, option: &str) -> bool {
    OPTIONS.iter().any(|(of, options)| *of == command && options.contains(&option))
}

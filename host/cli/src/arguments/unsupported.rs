//! Commands and options of Terraform that are not here yet: known by name, so
//! that people learn that rather than "no such option".

/// Commands, with their parents.
const COMMANDS: [&str; 5] = ["login", "logout", "providers lock", "providers mirror", "test"];

/// Options by command; whether they take a value does not matter any more.
const OPTIONS: [(&str, &[&str]); 5] = [
    ("", &["install-autocomplete", "uninstall-autocomplete"]),
    ("init", &["from-module", "json", "plugin-dir", "test-directory", "verify-plugins"]),
    ("plan", &["allow-deferral"]),
    ("apply", &["allow-deferral"]),
    ("state show", &["json"]),
];

/// Whether a command will be there.
pub(super) fn has_command(command: &str) -> bool {
    COMMANDS.contains(&command)
}

/// Whether a command's option will be there.
pub(super) fn has_option(command: &str, option: &str) -> bool {
    OPTIONS.iter().any(|(of, options)| *of == command && options.contains(&option))
}

//! Determines the kind of an option's or argument's values from its definition for clap.

use clap::Arg;

/// The kind of values that complete an option or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// One of these values, each with a description.
    Listed(Vec<(String, String)>),
    /// The name of a root module variable, and `=`.
    Variable,
    VariableFile,
    Plan,
    File,
    Directory,
    /// An instance, a resource or a module in the state.
    StateAddress,
    /// An instance of a managed resource in the state.
    ManagedInstance,
    /// A module, a resource or an instance in the configuration or in the state.
    Target,
    /// A resource in the configuration.
    ConfiguredResource,
    /// An action in the configuration.
    ConfiguredAction,
    Workspace,
    Output,
    Provider,
    /// The address of a provider, or the file of a plugin.
    Plugin,
    /// A value that only the user knows.
    Free,
}

impl ValueKind {
    /// Returns the kind of values of an argument of a command.
    pub(super) fn for_argument(path: &[&str], argument: &Arg) -> Self {
        let listed: Vec<(String, String)> = argument
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                (value.get_name().to_owned(), help)
            })
            .collect();
        if !listed.is_empty() {
            return Self::Listed(listed);
        }
        let names = argument.get_value_names().unwrap_or_default();
        let name = names.first().map_or("", |name| name.as_str());
        match (path, argument.get_long().unwrap_or_default(), name) {
            (_, "var", _) => Self::Variable,
            (_, "var-file", _) => Self::VariableFile,
            (_, "plan", "PATH") | (_, _, "PLAN") => Self::Plan,
            (["init"], "from-module", _) | (_, _, "DIR") => Self::Directory,
            (_, _, "PATH" | "FILE" | "TARGET" | "DIR|FILE" | "CORE.wasm") => Self::File,
            (_, "invoke", _) => Self::ConfiguredAction,
            (_, _, "PLUGIN" | "FURTHER" | "FILE|ADDRESS" | "ADDRESS|FILE") => Self::Plugin,
            (["taint" | "untaint"], ..) | (_, "replace", _) => Self::ManagedInstance,
            (["state", ..], _, "ADDRESS" | "SOURCE" | "DESTINATION") => Self::StateAddress,
            (["import"], "", "ADDRESS") => Self::ConfiguredResource,
            (_, "target" | "exclude", _) => Self::Target,
            (_, _, "ADDRESS" | "PROVIDER" | "FROM" | "TO") => Self::Provider,
            (["workspace", "select" | "delete"], "", "NAME") => Self::Workspace,
            (["output"], "", "NAME") => Self::Output,
            _ => Self::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::root_command;

    /// The values that only the user knows.
    const FREE: [&str; 30] = [
        "ACCESS",
        "ARGUMENT",
        "BOOL",
        "CAPABILITY",
        "COMMAND",
        "DURATION",
        "HOST",
        "HOSTNAME",
        "ID",
        "LANGUAGE",
        "LICENSE",
        "LIST",
        "LOCK_ID",
        "METHOD",
        "N",
        "NAME",
        "NUMBER",
        "OS_ARCH",
        "OS_ARCH=FILE",
        "PORT",
        "PROGRAM",
        "SCHEME",
        "SERIAL",
        "SIZE",
        "TEXT",
        "URL",
        "VERSION",
        "WORLD",
        "cleanup",
        "oci://HOST/REPOSITORY",
    ];

    #[test]
    fn every_value_has_a_kind() {
        fn check(command: &clap::Command, path: &[&str]) {
            for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
                if !argument.get_action().takes_values()
                    || ValueKind::for_argument(path, argument) != ValueKind::Free
                {
                    continue;
                }
                let names = argument.get_value_names().unwrap_or_default();
                let name = names.first().map_or("", |name| name.as_str());
                assert!(FREE.contains(&name), "{path:?}: {name}");
            }
            for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
                let path: Vec<&str> = path.iter().copied().chain([one.get_name()]).collect();
                check(one, &path);
            }
        }
        check(&root_command(), &[]);
    }
}

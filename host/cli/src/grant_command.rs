//! Suggests a `policy grant` command that allows a denied access.
//!
//! The command is derived from the rule that would allow the access, with two differences: the
//! command preserves all other grants of the plugin, and it grants access to the directory that
//! contains the file. If the call changes a resource, it grants both reading and writing. For a
//! socket, the command grants only connections to it.

use std::collections::BTreeSet;
use std::path::Path;

use wardian_access::FileOperation;
use wardian_diagnostic::SourceFile;
use wardian_lang::{Block, EmptyScope, Expression, parse_body};
use wardian_monitor::DeniedUse;
use wardian_policy::Remedy;

/// A call that changes a resource. It reads a file before it writes the file.
const CHANGING_CALL: &str = "apply-resource-change";

/// A `policy grant` command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GrantCommand {
    plugin: String,
    capability: String,
    /// The options except `-directories`.
    options: Vec<(String, Vec<String>)>,
    directories: BTreeSet<String>,
}

impl GrantCommand {
    /// Returns the command for a denied access, if there is a rule for the access that can be
    /// expressed in options.
    pub(crate) fn for_denied_use(denied: &DeniedUse) -> Option<Self> {
        let Some(Remedy::Rule(rule)) = &denied.remedy else { return None };
        let mut command = Self::from_rule(rule)?;
        if command.capability != "filesystem" || command.is_for_socket() {
            return Some(command);
        }
        let changes = denied.record.call == CHANGING_CALL;
        let paths = std::mem::take(&mut command.directories);
        command.directories = paths
            .into_iter()
            .map(|path| if changes || Path::new(&path).is_file() { directory_of(&path) } else { path })
            .collect();
        if changes {
            for (_, words) in command.options.iter_mut().filter(|(name, _)| name == "access") {
                *words = vec!["read".to_owned(), "write".to_owned()];
            }
        }
        Some(command)
    }

    fn is_for_socket(&self) -> bool {
        let access = self.options.iter().find(|(name, _)| name == "access");
        access.is_some_and(|(_, words)| *words == [FileOperation::Connect.word()])
    }

    /// Parses a policy that consists of one rule.
    fn from_rule(rule: &str) -> Option<Self> {
        let (body, problems) = parse_body(&SourceFile::new("", rule));
        if problems.has_errors() {
            return None;
        }
        let [plugin] = &*body.blocks else { return None };
        let [rule] = &*plugin.body.blocks else { return None };
        let mut command = Self {
            plugin: label(plugin)?,
            capability: label(rule)?,
            options: Vec::new(),
            directories: BTreeSet::new(),
        };
        for attribute in &rule.body.attributes {
            let values = option_values(&attribute.expression)?;
            match &*attribute.name {
                "directories" => command.directories.extend(values),
                name => command.options.push((name.to_owned(), values)),
            }
        }
        Some(command)
    }

    /// Returns the command line, with words quoted for a shell.
    pub(crate) fn line(&self, program: &str) -> String {
        let mut words = vec![
            program.to_owned(),
            "policy".to_owned(),
            "grant".to_owned(),
            self.plugin.clone(),
            self.capability.clone(),
        ];
        if !self.directories.is_empty() {
            let directories: Vec<&str> = self.directories.iter().map(String::as_str).collect();
            words.push(format!("-directories={}", directories.join(",")));
        }
        words.extend(self.options.iter().map(|(name, values)| format!("-{name}={}", values.join(","))));
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Combines commands that differ only in their directories.
pub(crate) fn combined(commands: impl IntoIterator<Item = GrantCommand>) -> Vec<GrantCommand> {
    let mut all: Vec<GrantCommand> = commands.into_iter().collect();
    all.sort_unstable();
    let mut combined: Vec<GrantCommand> = Vec::new();
    for command in all {
        let same = combined.iter_mut().find(|known| {
            !command.directories.is_empty()
                && (&known.plugin, &known.capability, &known.options)
                    == (&command.plugin, &command.capability, &command.options)
        });
        match same {
            Some(known) => known.directories.extend(command.directories),
            None => combined.push(command),
        }
    }
    combined.dedup();
    combined
}

fn label(block: &Block) -> Option<String> {
    block.labels.first().map(|label| label.text.to_string())
}

/// Returns the elements of a list, or a single string; `None` if an element contains a comma,
/// because options cannot express it.
fn option_values(expression: &Expression) -> Option<Vec<String>> {
    let value = expression.evaluate(&EmptyScope).ok()?;
    let text = |value: &wardian_value::Value| {
        let text = value.as_str().map(str::to_owned).or_else(|| Some(value.as_number()?.to_string()));
        text.filter(|text| !text.contains(','))
    };
    match value.as_elements() {
        Some(elements) => elements.iter().map(text).collect(),
        None => Some(vec![text(&value)?]),
    }
}

/// Returns the directory of a file. The root directory is never granted as a whole.
fn directory_of(file: &str) -> String {
    let parent = Path::new(file).parent().filter(|parent| parent.parent().is_some());
    parent.and_then(Path::to_str).unwrap_or(file).to_owned()
}

/// Quotes a word if a POSIX shell requires it.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(rule: &str) -> GrantCommand {
        GrantCommand::from_rule(&format!("plugin \"hashicorp/local\" {{\n  allow {rule}\n}}\n")).unwrap()
    }

    #[test]
    fn grant_command_has_an_option_for_each_rule_argument() {
        let network =
            command("network {\n hosts = [\"a.example\"]\n ports = [8443]\n methods = [\"GET\"]\n}");
        assert_eq!(
            network.line("wardian"),
            "wardian policy grant hashicorp/local network -hosts=a.example -ports=8443 -methods=GET"
        );
        let process = command("process {\n program = \"/bin/my tool\"\n arguments = []\n}");
        assert_eq!(
            process.line("wardian"),
            "wardian policy grant hashicorp/local process '-program=/bin/my tool' -arguments="
        );
        let comma = "plugin \"a/b\" {\n allow process {\n arguments = [\"x,y\"]\n}\n}\n";
        assert_eq!(GrantCommand::from_rule(comma), None);
    }

    #[test]
    fn grant_command_for_socket_names_only_the_socket() {
        let rule = command("filesystem {\n directories = [\"/run/a.sock\"]\n access = [\"connect\"]\n}");
        assert!(rule.is_for_socket());
        assert_eq!(
            rule.line("wardian"),
            "wardian policy grant hashicorp/local filesystem -directories=/run/a.sock -access=connect"
        );
    }

    #[test]
    fn commands_for_several_directories_are_combined() {
        let read = |directory: &str| {
            command(&format!("filesystem {{\n directories = [\"{directory}\"]\n access = [\"read\"]\n}}"))
        };
        let write = command("filesystem {\n directories = [\"/c\"]\n access = [\"write\"]\n}");
        let lines: Vec<String> = combined([read("/b"), write, read("/a"), read("/b")])
            .iter()
            .map(|command| command.line("wardian"))
            .collect();
        assert_eq!(
            lines,
            [
                "wardian policy grant hashicorp/local filesystem -directories=/a,/b -access=read",
                "wardian policy grant hashicorp/local filesystem -directories=/c -access=write"
            ]
        );
    }

    #[test]
    fn suggested_grant_names_parent_directory_unless_it_is_the_root() {
        assert_eq!(directory_of("/srv/app/x.txt"), "/srv/app");
        assert_eq!(directory_of("/x.txt"), "/x.txt");
        assert_eq!(directory_of("/"), "/");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("-directories=/a/b"), "-directories=/a/b");
        assert_eq!(quoted("/it's"), "'/it'\\''s'");
        assert_eq!(quoted("$(x)"), "'$(x)'");
        assert_eq!(quoted(""), "''");
    }
}

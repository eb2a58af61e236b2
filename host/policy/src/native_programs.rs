//! The programs that a confined native plugin may start.
//!
//! The plugin finds a program by its name in a directory that the host fills, so the names must be
//! known before the plugin starts.

use std::collections::BTreeSet;

use crate::policy::PluginPolicy;
use crate::rule::{Conditions, Effect};

impl PluginPolicy {
    /// Returns the programs that rules of any file allow by name or by absolute path, sorted. Patterns
    /// are omitted, because they name no particular program. A rule can still deny a start.
    pub fn programs_for_native_code(&self) -> Vec<String> {
        let rules = self.files.iter().flat_map(|file| &file.rules);
        let named = rules.filter(|rule| rule.effect == Effect::Allow).filter_map(|rule| {
            let Conditions::Process(process) = &rule.conditions else { return None };
            let program = process.program.as_str();
            (!program.contains(['*', '?'])).then(|| program.to_owned())
        });
        named.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;

    use crate::level::Level;
    use crate::policy::{Policy, PolicyFile};

    #[test]
    fn named_programs_are_listed_once() {
        let text = r#"plugin "acme/dns" {
  allow process {
    program   = "aws"
    arguments = ["eks", "get-token", "..."]
  }
  allow process {
    program   = "aws"
    arguments = ["sts", "..."]
  }
  allow process {
    program   = "/opt/acme/token"
    arguments = []
  }
  deny process {
    program = "curl"
  }
}
"#;
        let root = Path::new("/srv/project");
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", text), root).unwrap();
        let policy = Policy::new(root, [file], []).for_plugin(&ProviderAddress::parse("acme/dns").unwrap());
        assert_eq!(policy.programs_for_native_code(), ["/opt/acme/token", "aws"]);
    }
}

//! What the host grants the plugins that it carries, where no policy says otherwise.

use std::path::Path;

use wardian_lang::SourceFile;

use crate::policy::{Level, PolicyFile};

/// The resources of the first two are files of the configuration's directory, or stand in
/// some there. The provisioner runs what the configuration tells it to, as people who write
/// configurations expect of it.
const TEXT: &str = r#"otherwise = "defer"

plugin "hashicorp/local" {
  allow filesystem {
    directories = ["."]
    access      = ["read", "write"]
    reason      = "reads and writes files of the configuration"
  }
}

plugin "hashicorp/tfcoremock" {
  allow filesystem {
    directories = ["."]
    access      = ["read", "write"]
    reason      = "its resources are files beside the configuration"
  }
}

plugin "terraform.io/builtin/local-exec" {
  allow process {
    program   = "**"
    arguments = ["..."]
    reason    = "runs what the configuration says"
  }
  allow environment {
    names  = ["*"]
    reason = "what it runs finds what a shell would"
  }
}
"#;

/// The host's own policy.
pub(crate) fn of_host(root_module: &Path) -> Option<PolicyFile> {
    PolicyFile::parse(Level::Host, &SourceFile::new("Wardian's defaults", TEXT), root_module).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_a_policy() {
        assert_eq!(of_host(Path::new("/srv")).map(|file| file.rule_count()), Some(4));
    }
}

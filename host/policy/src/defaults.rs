//! The default grants for the plugins that are shipped with Wardian. Policies can override them.

use std::path::Path;

use wardian_diagnostic::SourceFile;

use crate::level::Level;
use crate::policy::PolicyFile;

/// The resources of the first two providers are files in the configuration's directory. The first
/// provider's resources may be configuration files or the repository's hooks. As in Terraform, the
/// provisioners run the commands, and copy the files to the machines, that the configuration
/// specifies.
const TEXT: &str = r#"otherwise = "defer"

plugin "hashicorp/local" {
  allow filesystem {
    directories = ["."]
    access      = ["read", "write"]
    protected   = ["configuration", "variables", "tests", "version-control"]
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
    program     = "**"
    arguments   = ["..."]
    environment = ["**"]
    reason      = "runs the configured commands"
  }
  allow filesystem {
    directories = [".", "/"]
    reason      = "runs them in the configured directory"
  }
  allow environment {
    names  = ["*"]
    reason = "the commands receive the environment of a shell"
  }
}

plugin "terraform.io/builtin/file" {
  allow communicator {
    hosts     = ["**", "0.0.0.0/0", "::/0"]
    addresses = ["public", "private", "loopback", "link-local"]
    reason    = "copies to the machine that the configuration names"
  }
  allow filesystem {
    directories = [".", "/"]
    protected   = ["states", "plans"]
    reason      = "copies the files that the configuration names"
  }
}

plugin "terraform.io/builtin/remote-exec" {
  allow communicator {
    hosts     = ["**", "0.0.0.0/0", "::/0"]
    addresses = ["public", "private", "loopback", "link-local"]
    reason    = "runs the configured commands on the machine that the configuration names"
  }
  allow filesystem {
    directories = [".", "/"]
    reason      = "reads the scripts that the configuration names"
  }
}
"#;

/// Returns the host's own policy.
pub(crate) fn host_policy(root_module: &Path) -> Option<PolicyFile> {
    PolicyFile::parse(Level::Host, &SourceFile::new("Wardian's defaults", TEXT), root_module).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_policy_is_valid() {
        assert_eq!(host_policy(Path::new("/srv")).map(|file| file.rule_count()), Some(9));
    }
}

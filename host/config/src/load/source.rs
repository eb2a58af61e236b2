//! Resolves the source addresses of modules.

use std::path::{Path, PathBuf};

use wardian_diagnostic::{Diagnostic, Diagnostics};

use crate::blocks::ModuleCall;
use crate::path::lexically_normalize;

/// Returns the directory of a module whose source is a local path, and rejects other sources.
pub(super) fn local_directory(
    from: &Path,
    call: &ModuleCall,
    problems: &mut Diagnostics,
) -> Result<PathBuf, Diagnostic> {
    let source = call.source.replace('\\', "/");
    let refuse = |summary: &str, detail: String| {
        Diagnostic::error(summary, detail)
            .at(call.source_span.clone())
            .in_block(format!("module \"{}\"", call.name))
    };
    let is_local = source.starts_with("./") || source.starts_with("../");
    if !is_local {
        let address = remote_address(&source);
        let is_absolute = Path::new(&source).is_absolute();
        let summary = if may_be_remote(&source) {
            "Unsupported module source"
        } else {
            "Invalid module source address"
        };
        let detail = if let Some(kind) = address {
            format!(
                "\"{source}\" is {kind}. Such modules are not supported yet, only those in local directories. \
                 Download the module into a directory of this configuration, and write its path, such as \
                 \"./modules/{}\".",
                call.name
            )
        } else if is_absolute {
            format!(
                "\"{source}\" is an absolute path. Write a path that begins with \"./\" or \"../\" instead."
            )
        } else if source.is_empty() {
            "The source is empty. Write a path that begins with \"./\" or \"../\".".to_owned()
        } else {
            format!(
                "\"{source}\" is neither a path of a directory, which begins with \"./\" or \"../\", nor another \
                 address of a module. If it is a directory, write \"./{source}\"."
            )
        };
        return Err(refuse(summary, detail));
    }
    if call.version.is_some() {
        let detail = "Only modules from a registry have versions; a module in a local directory has none. \
            Remove the argument version.";
        problems.push(refuse("Invalid registry module source address", detail.to_owned()));
    }
    Ok(lexically_normalize(&from.join(source)))
}

/// Whether a source can be an absolute path, a URL, an address in a registry, or a path on a host.
fn may_be_remote(source: &str) -> bool {
    let segments: Vec<&str> = source.split('/').collect();
    let has_host = segments.first().is_some_and(|first| {
        first.starts_with(|character: char| character.is_alphanumeric()) && first.contains('.')
    });
    source.contains(':') || source.starts_with('/') || segments.len() > 2 || (segments.len() > 1 && has_host)
}

/// Describes a source that is not on this machine; `None` if the source can only be a path.
fn remote_address(source: &str) -> Option<&'static str> {
    let host = source.split('/').next().unwrap_or_default();
    let is_host = host.contains('.') && !host.starts_with('.') && source.contains('/');
    if source.contains("::") || source.contains("://") {
        return Some(if source.starts_with("git::") {
            "the address of a Git repository"
        } else {
            "the address of a module on a server"
        });
    }
    if source.starts_with("git@") || source.contains(".git//") || source.strip_suffix(".git").is_some() {
        return Some("the address of a Git repository");
    }
    if matches!(host, "github.com" | "bitbucket.org") {
        return Some("the address of a repository");
    }
    let parts = source.split("//").next().unwrap_or_default().split('/');
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let names = parts.clone().skip(usize::from(is_host));
    let is_registry = names.clone().count() == 3 && names.into_iter().all(is_name);
    is_registry.then_some("the address of a module in a registry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_addresses_are_told_from_paths() {
        for remote in [
            "terraform-aws-modules/vpc/aws",
            "app.example.com/org/vpc/aws",
            "terraform-aws-modules/iam/aws//modules/user",
            "git::https://example.com/vpc.git?ref=v1.2.0",
            "https://example.com/vpc.zip",
            "s3::https://s3.example.com/bucket/vpc.zip",
            "git@example.com:org/vpc.git",
            "github.com/org/vpc",
            "github.com/org/vpc//modules/a?ref=v1",
        ] {
            assert!(remote_address(remote).is_some(), "{remote}");
        }
        for path in ["modules/vpc", "vpc", "vpc.d/a", "a/b/c/d", "/srv/modules/vpc", ""] {
            assert_eq!(remote_address(path), None, "{path}");
        }
    }
}

//! The names of protected files and directories, at any depth. Everything below a protected
//! directory is protected.

use std::collections::HashMap;
use std::sync::LazyLock;

use wardian_access::{ProtectedClass, ProtectedClasses};

/// Patterns of names, in lower case; `*` matches any characters. `docs/policy.md` also contains
/// them.
pub(crate) const NAME_PATTERNS: [(ProtectedClass, &[&str]); 10] = [
    (
        ProtectedClass::Configuration,
        &[
            "*.tf",
            "*.tf.json",
            "*.tofu",
            "*.tofu.json",
            "*.tfquery.hcl",
            "*.tfquery.json",
            "*.tfstack.hcl",
            "*.tfstack.json",
            "*.tfcomponent.hcl",
            "*.tfcomponent.json",
            "*.tfdeploy.hcl",
            "*.tfdeploy.json",
        ],
    ),
    (ProtectedClass::Variables, &["*.tfvars", "*.tfvars.json"]),
    (
        ProtectedClass::Tests,
        &[
            "*.tftest.hcl",
            "*.tftest.json",
            "*.tfmock.hcl",
            "*.tfmock.json",
            "*.tofutest.hcl",
            "*.tofutest.json",
        ],
    ),
    (
        ProtectedClass::VersionControl,
        &[
            ".git",
            "git~1",
            ".gitmodules",
            ".gitattributes",
            ".gitconfig",
            ".hg",
            ".hgrc",
            ".svn",
            ".bzr",
            ".jj",
        ],
    ),
    (
        ProtectedClass::Plugins,
        &[
            ".terraform.lock.hcl",
            "terraform.d",
            ".terraform.d",
            "terraform-provider-*",
            "terraform-provisioner-*",
        ],
    ),
    (ProtectedClass::Data, &[".terraform"]),
    (ProtectedClass::States, &["*.tfstate", "*.tfstate.*", ".*.journal", ".*.lock.info"]),
    (ProtectedClass::Plans, &["tfplan", "*.tfplan"]),
    (ProtectedClass::Policies, &["wardian.policy.hcl", ".wardian.lock.hcl"]),
    (ProtectedClass::Credentials, &["credentials.tfrc.json"]),
];

pub(crate) const CLI_CONFIGURATION_PATTERNS: &[&str] =
    &[".terraformrc", "terraform.rc", ".tofurc", "tofu.rc", "*.tfrc", "*.tfrc.json"];

/// Returns every pattern with its class.
pub(crate) fn patterns() -> impl Iterator<Item = (ProtectedClass, &'static str)> {
    let settings = (ProtectedClass::CliConfiguration, CLI_CONFIGURATION_PATTERNS);
    let all = NAME_PATTERNS.into_iter().chain([settings]);
    all.flat_map(|(class, patterns)| patterns.iter().map(move |pattern| (class, *pattern)))
}

/// The patterns, indexed by characters that a name must contain. The index limits the comparison of
/// a name to a few patterns.
#[derive(Default)]
struct PatternIndex {
    exact: HashMap<&'static [u8], ProtectedClass>,
    by_extension: HashMap<&'static [u8], Vec<(&'static [u8], ProtectedClass)>>,
    open_ended: Vec<(&'static [u8], ProtectedClass)>,
}

static INDEX: LazyLock<PatternIndex> = LazyLock::new(|| {
    let mut index = PatternIndex::default();
    for (class, pattern) in patterns() {
        let bytes = pattern.as_bytes();
        match (pattern.contains('*'), pattern.ends_with('*'), extension(bytes)) {
            (false, ..) => {
                index.exact.insert(bytes, class);
            }
            (true, false, Some(extension)) => {
                index.by_extension.entry(extension).or_default().push((bytes, class));
            }
            _ => index.open_ended.push((bytes, class)),
        }
    }
    index
});

/// Returns the classes of a folded name.
pub(super) fn classes_of_name(name: &[u8]) -> ProtectedClasses {
    let mut classes = classes_of_plain_name(name);
    if let Some(replaced) = without_temporary_suffix(name) {
        classes = classes.union(classes_of_plain_name(replaced));
        classes = classes.union(classes_of_plain_name(replaced.strip_prefix(b".").unwrap_or(replaced)));
    }
    // A file system with alternate streams treats the name before a colon as the name of the file.
    if let Some(colon) = name.iter().position(|byte| *byte == b':') {
        classes = classes.union(classes_of_plain_name(name.get(..colon).unwrap_or(name)));
    }
    classes
}

fn classes_of_plain_name(name: &[u8]) -> ProtectedClasses {
    let index = &*INDEX;
    let mut classes: ProtectedClasses = index.exact.get(name).copied().into_iter().collect();
    let by_extension = extension(name).and_then(|extension| index.by_extension.get(extension));
    for (pattern, class) in by_extension.into_iter().flatten().chain(&index.open_ended) {
        if matches(pattern, name) {
            classes.insert(*class);
        }
    }
    classes
}

fn extension(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    name.get(dot + 1..)
}

/// Returns the name, with a leading dot, of the file that will be replaced by a temporary file of
/// an atomic write. The temporary file is named `.NAME.0123456789abcdef.tmp`.
pub(super) fn without_temporary_suffix(name: &[u8]) -> Option<&[u8]> {
    const DIGITS: usize = 16;
    let rest = name.strip_suffix(b".tmp").filter(|rest| rest.starts_with(b"."))?;
    let (replaced, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS + 1)?)?;
    let is_random = digits.strip_prefix(b".")?.iter().all(u8::is_ascii_hexdigit);
    is_random.then_some(replaced)
}

/// Whether a name matches a pattern, linear in the name's length for each star.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let found = (0..rest.len()).find(|at| rest.get(*at..).is_some_and(|rest| rest.starts_with(part)));
        let Some(after) = found.and_then(|at| rest.get(at + part.len()..)) else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(name: &str) -> String {
        classes_of_name(name.as_bytes()).to_string()
    }

    #[test]
    fn file_names_determine_classes() {
        for (name, expected) in [
            ("main.tf", "configuration"),
            ("a_override.tf", "configuration"),
            ("a.tf.json", "configuration"),
            ("x.auto.tfvars.json", "variables"),
            ("terraform.tfvars", "variables"),
            ("a.tftest.hcl", "tests"),
            (".git", "version-control"),
            (".gitmodules", "version-control"),
            ("terraform.d", "plugins"),
            ("terraform-provider-x_v1.0.0", "plugins"),
            (".terraform", "data"),
            ("terraform.tfstate", "states"),
            ("terraform.tfstate.1700000000.backup", "states"),
            ("terraform.tfstate.d", "states"),
            ("errored.tfstate", "states"),
            (".terraform.tfstate.journal", "states"),
            (".terraform.tfstate.lock.info", "states"),
            (".prod.journal", "states"),
            ("release.tfplan", "plans"),
            ("tfplan", "plans"),
            ("wardian.policy.hcl", "policies"),
            (".wardian.policy.hcl.00112233aabbccdd.tmp", "policies"),
            (".main.tf.00112233aabbccdd.tmp", "configuration"),
            (".wardian.lock.hcl.00112233aabbccdd.tmp", "policies"),
            ("credentials.tfrc.json", "credentials, cli-configuration"),
            (".terraformrc", "cli-configuration"),
            ("main.tf::$data", "configuration"),
            ("tf", ""),
            ("main.tf~", ""),
            ("main.tfx", ""),
            ("tfstate", ""),
            ("readme.md", ""),
            (".gitignore", ""),
            ("journal", ""),
            ("a.journal", ""),
            ("a.json", ""),
            ("a.hcl", ""),
            (".x.tmp", ""),
        ] {
            assert_eq!(classes(name), expected, "{name}");
        }
    }

    #[test]
    fn file_name_patterns_are_lower_case_and_match_their_class() {
        for (class, pattern) in patterns() {
            assert_eq!(pattern, pattern.to_lowercase());
            let name = pattern.replace('*', "x");
            assert!(classes_of_name(name.as_bytes()).contains(class), "{pattern}");
        }
    }
}

//! Lists the part of a directory that a policy lets a native plugin read.
//!
//! Only directories that contain a denied path are listed, so the cost is proportional to the number of
//! entries beside denied ones.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use wardian_access::{AccessRequest, FileAccess, FileOperation};
use wardian_legacy_grpc_bridge::{DirectoryView, ViewEntry};
use wardian_policy::PluginPolicy;

/// Maximum number of entries of a view. Each is a mount.
const MAX_ENTRIES: usize = 10_000;

/// Returns the entries of a directory that a policy lets a plugin read.
///
/// # Errors
/// Returns an error if a directory cannot be listed, or if there are too many entries.
pub(crate) fn readable_part(policy: &PluginPolicy, directory: &Path) -> io::Result<DirectoryView> {
    let mut listing = Listing { policy, remaining: MAX_ENTRIES };
    Ok(DirectoryView { directory: directory.to_owned(), entries: listing.entries(directory)? })
}

struct Listing<'a> {
    policy: &'a PluginPolicy,
    remaining: usize,
}

impl Listing<'_> {
    fn entries(&mut self, directory: &Path) -> io::Result<BTreeMap<OsString, ViewEntry>> {
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("{} cannot be listed: {error}", directory.display()))
        };
        let mut entries = BTreeMap::new();
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_directory = entry.file_type().map_err(failed)?.is_dir();
            if let Some(visible) = self.entry(&entry.path(), is_directory)? {
                entries.insert(entry.file_name(), visible);
            }
        }
        Ok(entries)
    }

    /// Returns the visible part of an entry; `None` if the policy denies all of it.
    fn entry(&mut self, path: &Path, is_directory: bool) -> io::Result<Option<ViewEntry>> {
        self.remaining = self.remaining.checked_sub(1).ok_or_else(|| {
            io::Error::other(format!(
                "directories with denied files contain more than {MAX_ENTRIES} files in total (reached at \
                {}): grant smaller directories",
                path.display()
            ))
        })?;
        let file = FileAccess::from_normalized(path.to_owned(), FileOperation::Read);
        if !is_directory {
            let is_allowed = self.policy.decide(&AccessRequest::File(file)).is_allowed();
            return Ok(is_allowed.then_some(ViewEntry::Whole));
        }
        if self.policy.decide(&AccessRequest::File(file.with_descendants())).is_allowed() {
            return Ok(Some(ViewEntry::Whole));
        }
        let entries = match self.entries(path) {
            // A directory that cannot be listed is not visible.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            entries => entries?,
        };
        Ok((!entries.is_empty()).then_some(ViewEntry::Partial(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;
    use wardian_policy::{Level, Policy, PolicyFile};

    #[test]
    fn denied_and_protected_files_are_not_visible() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in
            ["data/a", "data/secret/key", "data/open/b", "terraform.tfstate", "main.tf", "keys/only.pem"]
        {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        let text = r#"
plugin "acme/dns" {
  native = "confine"
  allow filesystem {
    directories = ["."]
    access      = ["read"]
  }
  deny filesystem {
    directories = ["data/secret", "keys"]
    access      = ["read"]
  }
}"#;
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", text), &root).unwrap();
        let policy = Policy::new(&root, [file], []);
        let policy = policy.for_plugin(&ProviderAddress::parse("acme/dns").unwrap());
        let partly = policy.native_confinement().unwrap().partly_readable;
        assert_eq!(partly.iter().map(|(directory, _)| directory).collect::<Vec<_>>(), [&root]);
        let data = BTreeMap::from([("a".into(), ViewEntry::Whole), ("open".into(), ViewEntry::Whole)]);
        let expected =
            BTreeMap::from([("data".into(), ViewEntry::Partial(data)), ("main.tf".into(), ViewEntry::Whole)]);
        assert_eq!(
            readable_part(&policy, &root).unwrap(),
            DirectoryView { directory: root, entries: expected }
        );
    }
}

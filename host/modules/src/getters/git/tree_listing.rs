//! The files of a commit, which are checked before any of them is written.

use wardian_module_source::CommitId;

use super::GitError;
use super::repository::GitRepository;
use crate::package_error::PackageError;
use crate::tree::MAX_PATH_BYTES;

/// Maximum number of files of a commit.
const MAX_FILES: usize = 100_000;
/// Maximum number of directories above a file.
const MAX_DEPTH: usize = 64;

/// The files of a commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TreeListing {
    /// The size of all files.
    pub(super) bytes: u64,
    /// The paths and commits of submodules.
    pub(super) submodules: Vec<(String, CommitId)>,
}

impl TreeListing {
    pub(super) async fn read(
        repository: &GitRepository<'_>,
        commit: &CommitId,
    ) -> Result<Self, PackageError> {
        let arguments = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit.as_str()];
        let output = repository.run(&arguments, Vec::new()).await?;
        Ok(Self::parse(&output)?)
    }

    /// Parses entries of the form `MODE TYPE ID SIZE<tab>PATH<nul>`.
    fn parse(output: &[u8]) -> Result<Self, GitError> {
        let mut listing = Self::default();
        let mut count = 0;
        for entry in output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            count += 1;
            if count > MAX_FILES {
                return Err(GitError::TooLarge { subject: "files", limit: MAX_FILES as u64 });
            }
            let shown = || String::from_utf8_lossy(entry).chars().take(200).collect::<String>();
            let text = std::str::from_utf8(entry).map_err(|_| GitError::UnsafeName { name: shown() })?;
            let (description, path) =
                text.split_once('\t').ok_or_else(|| GitError::Listing { reason: shown() })?;
            check_path(path)?;
            let mut words = description.split_whitespace();
            match (words.next(), words.next(), words.next(), words.next()) {
                (Some("160000"), Some("commit"), Some(id), _) => {
                    let commit = CommitId::parse(id).ok_or_else(|| GitError::Listing { reason: shown() })?;
                    listing.submodules.push((path.to_owned(), commit));
                }
                (Some("100644" | "100755" | "100664" | "120000"), Some("blob"), Some(_), Some(size)) => {
                    let size: u64 = size.parse().map_err(|_| GitError::Listing { reason: shown() })?;
                    listing.bytes = listing.bytes.saturating_add(size);
                }
                _ => return Err(GitError::Listing { reason: shown() }),
            }
        }
        Ok(listing)
    }
}

fn check_path(path: &str) -> Result<(), GitError> {
    let is_unsafe_name = |name: &str| matches!(name, "" | "." | "..") || name.eq_ignore_ascii_case(".git");
    let is_unsafe = path.len() > MAX_PATH_BYTES
        || path.chars().any(char::is_control)
        || path.split('/').count() > MAX_DEPTH
        || path.split('/').any(is_unsafe_name);
    if is_unsafe { Err(GitError::UnsafeName { name: path.chars().take(200).collect() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn listing_contains_total_size_and_submodules() {
        let output = format!(
            "100644 blob {ID}      12\tmain.tf\0100755 blob {ID}     100\ta b/run.sh\0120000 blob {ID}       3\tlink\0\
             160000 commit {ID}       -\tvendor/x\0"
        );
        let listing = TreeListing::parse(output.as_bytes()).unwrap();
        assert_eq!(listing.bytes, 115);
        assert_eq!(listing.submodules, [("vendor/x".to_owned(), CommitId::parse(ID).unwrap())]);
        assert_eq!(TreeListing::parse(b"").unwrap(), TreeListing::default());
    }

    #[test]
    fn unsafe_names_are_rejected() {
        let long = "x/".repeat(MAX_DEPTH + 1);
        for path in
            ["../x", "a/../b", "/x", "a//b", ".git/config", "a/.GIT/hooks", "a\nb", &long, &"x".repeat(2_000)]
        {
            let output = format!("100644 blob {ID} 1\t{path}\0");
            let error = TreeListing::parse(output.as_bytes()).unwrap_err();
            assert!(matches!(error, GitError::UnsafeName { .. }), "{path}: {error}");
        }
        assert!(TreeListing::parse(format!("100644 blob {ID} 1\t").as_bytes()).is_err());
        let invalid = [format!("100644 blob {ID} 1\t").as_bytes(), b"\xff\0"].concat();
        assert!(matches!(TreeListing::parse(&invalid).unwrap_err(), GitError::UnsafeName { .. }));
        for bad in ["", "100644 blob", "100644 blob x y\tz", "040000 tree x -\tz", "160000 commit zz -\tz"] {
            let output = format!("{bad}\0");
            assert_eq!(TreeListing::parse(output.as_bytes()).is_ok(), bad.is_empty(), "{bad}");
        }
    }

    #[test]
    fn number_of_files_is_limited() {
        let output = format!("100644 blob {ID} 1\tx\0").repeat(MAX_FILES + 1);
        assert!(matches!(TreeListing::parse(output.as_bytes()).unwrap_err(), GitError::TooLarge { .. }));
    }
}

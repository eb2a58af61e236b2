//! Packages in Git repositories.
//!
//! The objects of a repository are stored in the cache, and fetched with the smallest history that
//! the server can send: one commit by its reference name or ID. If the server does not support
//! that, or the reference is an expression such as `main~1`, the complete history is fetched. Then,
//! the files of the commit are written to a directory, and the files of its submodules below that
//! directory. The result contains no `.git`, so the settings and hooks of a repository are never
//! used.
//!
//! Terraform runs `git clone` and `git checkout`, which result in the same files.

mod repository;
mod submodules;
mod tree_listing;

use std::ffi::OsString;
use std::path::Path;

use wardian_module_source::{CommitId, GitLocation, SshKey};

use self::repository::{GitRepository, RemoteUrl};
use self::submodules::Submodule;
use self::tree_listing::TreeListing;
use crate::cache::{ModuleCache, PackageKey, PackageRecord, TemporaryDirectory};
use crate::package_error::PackageError;
use crate::programs::ProgramRunner;
use crate::tree::MAX_PACKAGE_BYTES;

/// Maximum nesting depth of submodules.
const MAX_SUBMODULE_DEPTH: usize = 8;
/// Maximum number of submodules of a package.
const MAX_SUBMODULES: usize = 256;
/// Maximum size of the objects of a repository in the cache.
const MAX_REPOSITORY_BYTES: u64 = 4 << 30;

/// A failure to fetch a package with Git.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    #[error("the repository has no branch, tag or commit \"{reference}\"")]
    UnknownReference { reference: String },
    #[error(
        "the repository does not contain the commit {commit}, which is pinned; it may have been removed by \
         a force push. Run `wardian init -upgrade` to pin the current commit"
    )]
    PinnedCommitMissing { commit: CommitId },
    #[error("the files of the commit cannot be listed: {reason}")]
    Listing { reason: String },
    #[error("the commit contains {subject}, which is more than the limit of {limit}")]
    TooLarge { subject: &'static str, limit: u64 },
    #[error("the commit contains the unsafe file name {name:?}")]
    UnsafeName { name: String },
    #[error("the submodule \"{path}\" cannot be fetched: {reason}")]
    Submodule { path: String, reason: String },
}

/// The settings of the getters for Git and Mercurial repositories.
#[derive(Clone, Copy)]
pub(crate) struct GitGetter<'a> {
    pub cache: &'a ModuleCache,
    /// `None` if programs must not be run.
    pub runner: Option<&'a ProgramRunner>,
    pub is_offline: bool,
}

/// The commit that is fetched.
enum Wanted<'a> {
    /// A commit from a pin, or from a reference that is a full commit ID.
    Commit {
        commit: CommitId,
        is_pinned: bool,
    },
    /// A branch, a tag, or an expression.
    Reference(&'a str),
    DefaultBranch,
}

impl GitGetter<'_> {
    /// Fetches a package. A pinned commit is fetched instead of the current commit.
    pub(crate) async fn fetch(
        &self,
        location: &GitLocation,
        pinned: Option<&CommitId>,
    ) -> Result<PackageRecord, PackageError> {
        let remote = RemoteUrl::from_location(location);
        let wanted = match (pinned, location.reference.as_deref()) {
            (Some(commit), _) => Wanted::Commit { commit: commit.clone(), is_pinned: true },
            (None, None) => Wanted::DefaultBranch,
            (None, Some(reference)) => match CommitId::parse(reference) {
                Some(commit) => Wanted::Commit { commit, is_pinned: false },
                None => Wanted::Reference(reference),
            },
        };
        if let Wanted::Commit { commit, .. } = &wanted
            && let Some(record) = self.cache.record(&key(&remote, commit))
        {
            return Ok(record);
        }
        let runner = self.runner.ok_or(PackageError::ProgramsNotAllowed)?;
        self.check_online(&remote)?;
        let temporary = self.cache.temporary_directory()?;
        let ssh_command = ssh_command(location.ssh_key.as_ref(), runner, &temporary)?;
        let path = self.cache.repository(remote.without_secrets());
        let _lock = self.cache.lock_repository(&path).await?;
        let repository =
            GitRepository::open(runner, path, &remote, ssh_command.as_ref(), MAX_REPOSITORY_BYTES)?;
        let commit = match wanted {
            Wanted::Commit { commit, is_pinned } => {
                repository.fetch_commit(&commit, is_pinned).await?;
                commit
            }
            Wanted::Reference(reference) => repository.fetch_reference(reference).await?,
            Wanted::DefaultBranch => repository.fetch_reference("HEAD").await?,
        };
        let key = key(&remote, &commit);
        if let Some(record) = self.cache.record(&key) {
            return Ok(record);
        }
        let tree = temporary.path().join("tree");
        let mut checkout = Checkout {
            getter: *self,
            runner,
            temporary: &temporary,
            ssh_command: ssh_command.as_ref(),
            submodules: 0,
            bytes: 0,
        };
        checkout.write(&repository, &commit, &tree, 0).await?;
        let hash = self.cache.store(&tree)?;
        let record = PackageRecord { hash, commit: Some(commit), subdirectory: String::new() };
        self.cache.write_record(&key, &record)?;
        Ok(record)
    }
}

impl GitGetter<'_> {
    /// Rejects a repository on a server in offline mode.
    fn check_online(&self, remote: &RemoteUrl) -> Result<(), PackageError> {
        if self.is_offline && !remote.full().starts_with("file:") {
            return Err(PackageError::Offline { address: remote.printable() });
        }
        Ok(())
    }
}

fn key(remote: &RemoteUrl, commit: &CommitId) -> PackageKey {
    PackageKey::new("git", remote.without_secrets(), commit.as_str())
}

/// Returns the SSH command that git uses to connect to servers, if a key was given. The key is
/// written to a file in the temporary directory, which only this user can read.
fn ssh_command(
    key: Option<&SshKey>,
    runner: &ProgramRunner,
    temporary: &TemporaryDirectory,
) -> Result<Option<OsString>, PackageError> {
    use std::io::Write as _;
    let Some(key) = key else { return Ok(None) };
    let path = temporary.path().join("key");
    let written = wardian_cache::create_private(&path).and_then(|mut file| file.write_all(key.as_bytes()));
    written.map_err(|error| crate::cache::ModuleCacheError::new(&path, error))?;
    let mut command = runner.ssh_command().cloned().unwrap_or_else(|| "ssh".into());
    command.push(" -i '");
    command.push(path.display().to_string().replace('\'', "'\\''"));
    command.push("'");
    Ok(Some(command))
}

/// Writes the files of commits.
struct Checkout<'a> {
    getter: GitGetter<'a>,
    runner: &'a ProgramRunner,
    temporary: &'a TemporaryDirectory,
    ssh_command: Option<&'a OsString>,
    /// The number of submodules that were found.
    submodules: usize,
    /// The size of the files that were found.
    bytes: u64,
}

impl Checkout<'_> {
    async fn write(
        &mut self,
        repository: &GitRepository<'_>,
        commit: &CommitId,
        directory: &Path,
        depth: usize,
    ) -> Result<(), PackageError> {
        let listing = TreeListing::read(repository, commit).await?;
        self.bytes = self.bytes.saturating_add(listing.bytes);
        if self.bytes > MAX_PACKAGE_BYTES {
            return Err(GitError::TooLarge { subject: "files", limit: MAX_PACKAGE_BYTES }.into());
        }
        std::fs::create_dir_all(directory)
            .map_err(|error| crate::cache::ModuleCacheError::new(directory, error))?;
        let index = self.temporary.path().join(format!("index-{}", self.submodules));
        repository.write_files(commit, directory, &index).await?;
        if listing.submodules.is_empty() {
            return Ok(());
        }
        if depth >= MAX_SUBMODULE_DEPTH {
            let limit = MAX_SUBMODULE_DEPTH as u64;
            return Err(GitError::TooLarge { subject: "submodules in submodules", limit }.into());
        }
        for submodule in submodules::read(repository, commit, listing.submodules).await? {
            self.submodules += 1;
            if self.submodules > MAX_SUBMODULES {
                let limit = MAX_SUBMODULES as u64;
                return Err(GitError::TooLarge { subject: "submodules", limit }.into());
            }
            Box::pin(self.write_submodule(&submodule, directory, depth + 1)).await?;
        }
        Ok(())
    }

    async fn write_submodule(
        &mut self,
        submodule: &Submodule,
        directory: &Path,
        depth: usize,
    ) -> Result<(), PackageError> {
        let target = directory.join(&submodule.path);
        // Git has created the directory, unless the commit contains a link in its place.
        if !std::fs::symlink_metadata(&target).is_ok_and(|metadata| metadata.is_dir()) {
            let reason = "there is no directory for it".to_owned();
            return Err(GitError::Submodule { path: submodule.path.clone(), reason }.into());
        }
        self.getter.check_online(&submodule.url)?;
        let path = self.getter.cache.repository(submodule.url.without_secrets());
        let _lock = self.getter.cache.lock_repository(&path).await?;
        let repository =
            GitRepository::open(self.runner, path, &submodule.url, self.ssh_command, MAX_REPOSITORY_BYTES)?;
        let failed = |error: PackageError| match error {
            PackageError::Program(error) => PackageError::from(GitError::Submodule {
                path: submodule.path.clone(),
                reason: error.to_string(),
            }),
            error => error,
        };
        repository.fetch_commit(&submodule.commit, false).await.map_err(failed)?;
        self.write(&repository, &submodule.commit, &target, depth).await
    }
}

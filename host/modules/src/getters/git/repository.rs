//! The objects of one repository in the cache, and the commands that fetch and write them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wardian_digest::Sha256Digest;
use wardian_module_source::{CommitId, GitLocation, printable_address};

use super::GitError;
use crate::cache::{ModuleCacheError, mark_as_used};
use crate::package_error::PackageError;
use crate::programs::{ModuleProgram, ProgramError, ProgramRun, ProgramRunner};

/// The settings of every command. Hooks are never run; the transports `ext` and `fd`, which run
/// programs, are never used; the files do not depend on the user's line ending settings; and git
/// starts no programs that continue to run after git exits.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.symlinks=true",
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// Messages with which servers and git report that a partial history cannot be fetched.
const NEEDS_HISTORY: [&str; 6] = [
    "couldn't find remote ref",
    "not our ref",
    "unadvertised object",
    "does not support shallow",
    "Server does not support",
    "dumb http transport does not support",
];

const MAX_OUTPUT_BYTES: usize = 64 << 20;

/// The files of an empty repository.
const INITIAL_FILES: [(&str, &str); 2] = [
    ("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
    ("HEAD", "ref: refs/heads/none\n"),
];

/// The URL of a repository.
#[derive(Clone)]
pub(super) struct RemoteUrl {
    full: String,
    without_secrets: String,
    secrets: Vec<String>,
}

impl RemoteUrl {
    pub(super) fn from_location(location: &GitLocation) -> Self {
        Self::from_url(location.url.clone())
    }

    pub(super) fn from_url(url: url::Url) -> Self {
        let mut secrets = Vec::new();
        let mut plain = url.clone();
        if let Some(password) = url.password() {
            secrets.push(format!("{}:{password}", url.username()));
            secrets.push(password.to_owned());
        }
        if url.scheme().starts_with("http") {
            secrets.push(url.username().to_owned());
            let _ = plain.set_username("");
        }
        // These calls fail only for URLs without a host, which have no credentials.
        let _ = plain.set_password(None);
        Self { full: url.into(), without_secrets: plain.into(), secrets }
    }

    /// Creates a URL of the form `USER@HOST:PATH`, which contains no secrets.
    pub(super) fn from_scp_notation(text: &str) -> Self {
        Self { full: text.to_owned(), without_secrets: text.to_owned(), secrets: Vec::new() }
    }

    pub(super) fn without_secrets(&self) -> &str {
        &self.without_secrets
    }

    pub(super) fn full(&self) -> &str {
        &self.full
    }

    pub(super) fn printable(&self) -> String {
        printable_address(&self.full)
    }
}

/// A locked repository in the cache.
pub(super) struct GitRepository<'a> {
    runner: &'a ProgramRunner,
    path: PathBuf,
    remote: &'a RemoteUrl,
    ssh_command: Option<&'a OsString>,
    max_bytes: u64,
}

impl<'a> GitRepository<'a> {
    /// Opens a repository, and creates it if necessary.
    pub(super) fn open(
        runner: &'a ProgramRunner,
        path: PathBuf,
        remote: &'a RemoteUrl,
        ssh_command: Option<&'a OsString>,
        max_bytes: u64,
    ) -> Result<Self, PackageError> {
        create(&path).map_err(|error| ModuleCacheError::new(&path, error))?;
        mark_as_used(&path);
        Ok(Self { runner, path, remote, ssh_command, max_bytes })
    }

    pub(super) fn remote(&self) -> &RemoteUrl {
        self.remote
    }

    /// Fetches a commit by its ID, unless the repository contains it.
    pub(super) async fn fetch_commit(&self, commit: &CommitId, is_pinned: bool) -> Result<(), PackageError> {
        if self.has_commit(commit).await {
            return Ok(());
        }
        match self.fetch_shallow(commit.as_str()).await {
            Ok(()) if self.has_commit(commit).await => return Ok(()),
            Ok(()) => {}
            Err(error) if needs_history(&error) => {}
            Err(error) => return Err(error.into()),
        }
        self.fetch_history().await?;
        if self.has_commit(commit).await {
            return Ok(());
        }
        Err(if is_pinned {
            GitError::PinnedCommitMissing { commit: commit.clone() }.into()
        } else {
            GitError::UnknownReference { reference: commit.to_string() }.into()
        })
    }

    /// Fetches a branch, a tag, or any commit that an expression selects. Returns the commit.
    pub(super) async fn fetch_reference(&self, reference: &str) -> Result<CommitId, PackageError> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._/@+-".contains(&byte);
        if reference.bytes().all(is_name) && !reference.starts_with('+') {
            match self.fetch_shallow(reference).await {
                Ok(()) => return self.resolve(&[local_name(reference)], reference).await,
                Err(error) if needs_history(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.fetch_history().await?;
        let candidates = [reference.to_owned(), format!("refs/remotes/origin/{reference}")];
        self.resolve(&candidates, reference).await
    }

    async fn resolve(&self, candidates: &[String], reference: &str) -> Result<CommitId, PackageError> {
        for candidate in candidates {
            let arguments = ["rev-parse", "--verify", "--quiet", &format!("{candidate}^{{commit}}")];
            match self.run(&arguments, Vec::new()).await {
                Ok(output) => {
                    if let Some(commit) = CommitId::parse(String::from_utf8_lossy(&output).trim()) {
                        return Ok(commit);
                    }
                }
                Err(ProgramError::Failed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GitError::UnknownReference { reference: reference.to_owned() }.into())
    }

    async fn has_commit(&self, commit: &CommitId) -> bool {
        let arguments = ["cat-file", "-e", &format!("{commit}^{{commit}}")];
        self.run(&arguments, Vec::new()).await.is_ok()
    }

    /// Fetches one commit without its history.
    async fn fetch_shallow(&self, reference: &str) -> Result<(), ProgramError> {
        let refspec = format!("+{reference}:{}", local_name(reference));
        self.fetch(&["--depth=1", "--no-tags"], &[&refspec]).await
    }

    /// Fetches all branches and tags with their history.
    async fn fetch_history(&self) -> Result<(), ProgramError> {
        let mut options = vec!["--no-tags", "--prune", "--force"];
        if self.path.join("shallow").exists() {
            options.push("--unshallow");
        }
        self.fetch(&options, &["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]).await
    }

    async fn fetch(&self, options: &[&str], refspecs: &[&str]) -> Result<(), ProgramError> {
        remove_stale_locks(&self.path);
        let allowed = self.allowed_protocol().await?;
        let mut arguments: Vec<&str> = allowed.iter().flat_map(|setting| ["-c", setting.as_str()]).collect();
        arguments.extend([
            "fetch",
            "--quiet",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
        ]);
        arguments.extend(options);
        arguments.extend(["--", "origin"]);
        arguments.extend(refspecs);
        self.run(&arguments, Vec::new()).await.map(drop)
    }

    /// Returns settings that prevent redirects from https to an unencrypted connection. The user's
    /// settings may replace the URL with another URL.
    async fn allowed_protocol(&self) -> Result<Vec<String>, ProgramError> {
        if !self.remote.full().starts_with("https:") {
            return Ok(Vec::new());
        }
        let output = self.run(&["ls-remote", "--get-url", "origin"], Vec::new()).await?;
        let is_encrypted = output.starts_with(b"https:");
        Ok(if is_encrypted { vec!["protocol.http.allow=never".to_owned()] } else { Vec::new() })
    }

    /// Writes the files of a commit to an empty directory.
    pub(super) async fn write_files(
        &self,
        commit: &CommitId,
        directory: &Path,
        index: &Path,
    ) -> Result<(), ProgramError> {
        let variables = vec![
            ("GIT_WORK_TREE", directory.as_os_str().to_owned()),
            ("GIT_INDEX_FILE", index.as_os_str().to_owned()),
        ];
        self.run(&["read-tree", "--reset", "-u", commit.as_str()], variables).await.map(drop)
    }

    /// Runs git in this repository.
    pub(super) async fn run(
        &self,
        arguments: &[&str],
        mut variables: Vec<(&'static str, OsString)>,
    ) -> Result<Vec<u8>, ProgramError> {
        variables.push(("GIT_DIR", self.path.as_os_str().to_owned()));
        if let Some(command) = self.ssh_command {
            variables.push(("GIT_SSH_COMMAND", command.clone()));
        }
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let arguments = settings.chain(arguments.iter().copied()).map(str::to_owned).collect();
        let run = ProgramRun {
            program: ModuleProgram::Git,
            arguments,
            directory: &self.path,
            variables,
            git_settings: vec![("remote.origin.url".to_owned(), self.remote.full.clone())],
            secrets: &self.remote.secrets,
            max_output: MAX_OUTPUT_BYTES,
            growing: Some((&self.path, self.max_bytes)),
        };
        self.runner.run(run).await
    }
}

/// Returns the name under which a fetched reference is stored. The next fetch then transfers only
/// changes.
fn local_name(reference: &str) -> String {
    format!("refs/wardian/{}", Sha256Digest::hash(reference.as_bytes()))
}

fn needs_history(error: &ProgramError) -> bool {
    match error {
        ProgramError::Failed { message, .. } => NEEDS_HISTORY.iter().any(|text| message.contains(text)),
        _ => false,
    }
}

/// Creates an empty repository, as `git init --bare` does, or completes a repository that a killed
/// process has partially created. The caller has locked the repository.
fn create(path: &Path) -> io::Result<()> {
    // Git does not create the directory for packs itself if the server is a plain web server.
    fs::create_dir_all(path.join("objects").join("pack"))?;
    fs::create_dir_all(path.join("refs"))?;
    for (name, text) in INITIAL_FILES {
        let path = path.join(name);
        // Git never shortens these files.
        let is_complete = fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= text.len() as u64);
        if !is_complete {
            fs::write(&path, text)?;
        }
    }
    Ok(())
}

/// Removes the locks and partial packs that a killed process has left. This process holds the lock
/// of the repository, so no other process uses these files.
fn remove_stale_locks(path: &Path) {
    for name in ["shallow.lock", "packed-refs.lock", "config.lock", "HEAD.lock"] {
        let _ = fs::remove_file(path.join(name));
    }
    remove_files(&path.join("objects").join("pack"), is_partial_pack);
    let mut directories = vec![path.join("refs")];
    while let Some(directory) = directories.pop() {
        directories.extend(remove_files(&directory, is_lock));
    }
}

/// Removes the files in a directory whose names are accepted. Returns the directories in it.
fn remove_files(directory: &Path, is_removed: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            directories.push(entry.path());
        } else if entry.file_name().to_str().is_some_and(is_removed) {
            let _ = fs::remove_file(entry.path());
        }
    }
    directories
}

fn is_partial_pack(name: &str) -> bool {
    name.starts_with("tmp_")
}

/// No branch or tag can have such a name.
fn is_lock(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "lock")
}

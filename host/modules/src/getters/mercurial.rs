//! Packages in Mercurial repositories.
//!
//! Terraform runs `hg clone`, `hg pull` and `hg update`; the commands that Wardian runs produce the
//! same files. The complete repository is cloned each time, because Mercurial does not support
//! shallow clones.

use wardian_module_source::{CommitId, MercurialLocation, printable_address};

use crate::cache::{ModuleCache, PackageKey, PackageRecord};
use crate::package_error::PackageError;
use crate::programs::{ModuleProgram, ProgramRun, ProgramRunner};

/// The settings of every command: no prompts, and no subrepositories of other version control systems.
const SETTINGS: [&str; 4] =
    ["ui.interactive=no", "subrepos.git:allowed=no", "subrepos.svn:allowed=no", "phases.publish=no"];
const MAX_OUTPUT_BYTES: usize = 1 << 20;
const MAX_REPOSITORY_BYTES: u64 = 4 << 30;

/// The values that the getter needs.
#[derive(Clone, Copy)]
pub(crate) struct MercurialGetter<'a> {
    pub cache: &'a ModuleCache,
    /// `None` if programs must not be run.
    pub runner: Option<&'a ProgramRunner>,
    pub is_offline: bool,
}

impl MercurialGetter<'_> {
    pub(crate) async fn fetch(
        &self,
        location: &MercurialLocation,
        pinned: Option<&CommitId>,
    ) -> Result<PackageRecord, PackageError> {
        let mut plain = location.url.clone();
        if plain.scheme() != "ssh" {
            // These calls fail only for URLs without a host, which have no credentials.
            let _ = plain.set_username("");
        }
        let _ = plain.set_password(None);
        let key = |commit: &CommitId| PackageKey::new("hg", plain.as_str(), commit.as_str());
        let named = location.revision.as_deref().and_then(CommitId::parse);
        let wanted = pinned.cloned().or(named);
        if let Some(record) = wanted.as_ref().and_then(|commit| self.cache.record(&key(commit))) {
            return Ok(record);
        }
        let runner = self.runner.ok_or(PackageError::ProgramsNotAllowed)?;
        if self.is_offline && location.url.scheme() != "file" {
            return Err(PackageError::Offline { address: printable_address(location.url.as_str()) });
        }
        let temporary = self.cache.temporary_directory()?;
        let tree = temporary.path().join("tree");
        let target = tree.to_str().ok_or_else(|| crate::programs::ProgramError::Path(tree.clone()))?;
        let run = async |directory, arguments: &[&str]| {
            let settings = SETTINGS.iter().flat_map(|setting| ["--config", setting]);
            let password = location.url.password().unwrap_or_default().to_owned();
            let secrets = [format!("{}:{password}", location.url.username()), password];
            runner
                .run(ProgramRun {
                    program: ModuleProgram::Mercurial,
                    arguments: settings.chain(arguments.iter().copied()).map(str::to_owned).collect(),
                    directory,
                    variables: Vec::new(),
                    git_settings: Vec::new(),
                    secrets: if location.url.password().is_some() { &secrets } else { &[] },
                    max_output: MAX_OUTPUT_BYTES,
                    growing: Some((temporary.path(), MAX_REPOSITORY_BYTES)),
                })
                .await
        };
        run(temporary.path(), &["clone", "--noupdate", "--", location.url.as_str(), target]).await?;
        let revision = wanted.as_ref().map(CommitId::as_str).or(location.revision.as_deref());
        let update = ["update", "--check", "--"];
        let update: Vec<&str> = update.into_iter().chain(revision).collect();
        run(&tree, &update).await?;
        let output = run(&tree, &["log", "--rev", ".", "--template", "{node}"]).await?;
        let commit = CommitId::parse(String::from_utf8_lossy(&output).trim());
        let cache = self.cache.clone();
        let hash = super::archive::blocking(move || Ok(cache.store(&tree)?)).await?;
        let record = PackageRecord { hash, commit, subdirectory: String::new() };
        if let Some(commit) = &record.commit {
            self.cache.write_record(&key(commit), &record)?;
        }
        Ok(record)
    }
}

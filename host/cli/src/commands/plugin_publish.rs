//! `wardian plugin publish`: builds a release of a provider, and writes or pushes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use wardian_app::sentence;
use wardian_cache::temporary_path;
use wardian_diagnostic::system_reason;
use wardian_download::NetworkAccess;
use wardian_oci::OciPlatform;
use wardian_printable::printable;
use wardian_publish::{
    NativeSource, OciPublishOptions, PublishError, PublishEvent, PublishObserver, Release, ReleaseMetadata,
    ReleaseSources, SourceDate, publish_directory, publish_oci, publish_repository,
};

use crate::arguments::PluginPublishArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, Shell, ViewOptions};

/// 1980-01-01, the earliest time that a zip file can contain.
const DEFAULT_DATE: &str = "315532800";

#[async_trait(?Send)]
impl CommandSpec for PluginPublishArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.dir.is_none() && self.repository.is_none() {
            return Err(InvalidOptions::new(
                "Destination required",
                "Specify the directory of the release with -dir, or a repository such as \
                 oci://ghcr.io/acme/provider-dns, or both.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// A directory that is removed when it is dropped.
struct WorkDirectory(PathBuf);

impl WorkDirectory {
    fn create(parent: &Path) -> std::io::Result<Self> {
        let path = temporary_path(&parent.join("wardian-publish"))?;
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // If the directory cannot be removed, it is harmless.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn run(context: &CommandContext, arguments: &PluginPublishArguments) -> Outcome {
    let date = context.app.environment.source_date().unwrap_or(DEFAULT_DATE);
    let sources = ReleaseSources {
        address: arguments.address.clone(),
        version: arguments.release_version.clone(),
        protocols: arguments
            .protocol
            .iter()
            .map(|protocol| protocol.parse())
            .collect::<Result<_, _>>()
            .map_err(|error| failure(&error))?,
        date: SourceDate::parse(date).map_err(|error| failure(&error))?,
        component: arguments.component.clone(),
        natives: arguments.native.iter().map(|given| native(given)).collect::<Outcome<_>>()?,
        documents: arguments.document.clone(),
        pack_component: arguments.component_zip,
        metadata: ReleaseMetadata {
            description: arguments.description.clone(),
            authors: None,
            licenses: arguments.license.clone(),
            source: arguments.source.clone(),
            url: None,
        },
    };
    let parent = context.app.environment.temporary_directory();
    let work = WorkDirectory::create(&parent).map_err(|error| {
        let detail = format!(
            "A directory for the packages cannot be created in {}: {}.",
            parent.display(),
            system_reason(&error)
        );
        Failure::error("Release cannot be built", detail)
    })?;
    let progress = PublishProgress { shell: Arc::clone(&context.shell) };
    let release = Release::build(sources, &work.0, &progress).map_err(|error| failure(&error))?;
    if let Some(directory) = &arguments.dir {
        let sums = publish_directory(&release, directory, &progress).map_err(|error| failure(&error))?;
        let sums = sums.display();
        context.shell.say(context.shell.wrapped(&printable!(
            "\nA registry also requires the signature of the checksums. Create it with:"
        )));
        context.shell.say(printable!("  gpg --detach-sign {sums}"));
    }
    if let Some(repository) = &arguments.repository {
        let repository =
            publish_repository(repository, release.version()).map_err(|error| failure(&error))?;
        let client = context.app.network(NetworkAccess::Online)?.oci;
        let options = OciPublishOptions { replace: arguments.replace };
        let published = publish_oci(&release, &client, &repository, options, &progress)
            .await
            .map_err(|error| failure(&error))?;
        context.shell.say(printable!(
            "\nPublished {} (sha256:{})\nComponent: {}",
            published.reference,
            published.digest,
            published.component
        ));
    }
    Ok(Status::Success)
}

/// Parses `OS_ARCH=FILE`.
fn native(given: &str) -> Outcome<(OciPlatform, NativeSource)> {
    let invalid = || {
        let detail =
            format!("\"{given}\" does not have the form PLATFORM=FILE, such as linux_amd64=target/provider.");
        Failure::error("Invalid native package", detail)
    };
    let (platform, file) = given.split_once('=').ok_or_else(invalid)?;
    let platform = OciPlatform::parse(platform).ok_or_else(invalid)?;
    let path = PathBuf::from(file);
    let is_archive = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    Ok((platform, if is_archive { NativeSource::Archive(path) } else { NativeSource::Executable(path) }))
}

struct PublishProgress {
    shell: Arc<Shell>,
}

impl PublishObserver for PublishProgress {
    fn report(&self, event: PublishEvent<'_>) {
        self.shell.say(match event {
            PublishEvent::PackingStarted { name } => printable!("- Packing {name}..."),
            PublishEvent::FileWritten { path, size } => {
                printable!("- Wrote {} ({size} bytes)", path.display())
            }
            PublishEvent::FileUnchanged { path } => printable!("- {} is unchanged", path.display()),
            PublishEvent::UploadStarted { name, size } => {
                printable!("- Uploading {name} ({size} bytes)...")
            }
            PublishEvent::UploadSkipped { name } => {
                printable!("- {name} is already in the repository")
            }
            PublishEvent::TagPushed { reference, digest } => {
                printable!("- Pushed {reference} (sha256:{digest})")
            }
            PublishEvent::AlreadyPublished { reference, digest } => {
                printable!("- {reference} is already published (sha256:{digest})")
            }
            _ => return,
        });
    }
}

fn failure(error: &PublishError) -> Failure {
    Failure::error("Release cannot be published", sentence(&error.to_string()))
}

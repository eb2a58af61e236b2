//! Writes the files of a release to a directory, from which the publisher uploads them as release assets.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wardian_digest::Sha256Digest;
use wardian_files::open_regular;

use crate::archive::copy_and_hash;
use crate::error::PublishError;
use crate::progress::{PublishEvent, PublishObserver};
use crate::release::Release;

/// Writes the files of a release to a directory, which is created. Files that exist with the same
/// content are left unchanged. The list of digests is written last, so a directory with that list is
/// complete. Returns the path of the list, which the publisher signs.
///
/// # Errors
/// Returns an error if a file exists with different content, or cannot be written.
pub fn publish_directory(
    release: &Release,
    directory: &Path,
    observer: &dyn PublishObserver,
) -> Result<PathBuf, PublishError> {
    fs::create_dir_all(directory)
        .map_err(|source| PublishError::Write { path: directory.to_owned(), source })?;
    let output = Output { directory, observer };
    let mut sums = Vec::new();
    for file in release.packages() {
        let read_failed = |source| PublishError::Read { path: file.path.clone(), source };
        let source = open_regular(&file.path).map_err(read_failed)?;
        output.write(&file.name, file.digest, source, &file.path)?;
        sums.push((file.name.clone(), file.digest));
    }
    let manifest = manifest(release);
    let name = format!("{}_manifest.json", release.prefix());
    let digest = Sha256Digest::hash(&manifest);
    output.write(&name, digest, &*manifest, &directory.join(&name))?;
    sums.push((name, digest));
    sums.sort();
    let mut text = String::new();
    for (name, digest) in &sums {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{digest}  {name}");
    }
    let name = format!("{}_SHA256SUMS", release.prefix());
    let path = directory.join(&name);
    output.write(&name, Sha256Digest::hash(text.as_bytes()), text.as_bytes(), &path)?;
    Ok(path)
}

/// Returns the manifest, from which registries read the protocol versions.
fn manifest(release: &Release) -> Vec<u8> {
    #[derive(Serialize)]
    struct Manifest {
        version: u8,
        metadata: Metadata,
    }
    #[derive(Serialize)]
    struct Metadata {
        protocol_versions: Vec<String>,
    }
    let protocol_versions = release.protocols.iter().map(ToString::to_string).collect();
    let manifest = Manifest { version: 1, metadata: Metadata { protocol_versions } };
    // All keys are strings, so serialization cannot fail.
    let mut bytes = serde_json::to_vec_pretty(&manifest).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

struct Output<'a> {
    directory: &'a Path,
    observer: &'a dyn PublishObserver,
}

impl Output<'_> {
    /// Writes a file whose content must have a known digest. If the digest differs, the error
    /// contains `origin`.
    fn write(
        &self,
        name: &str,
        digest: Sha256Digest,
        source: impl io::Read,
        origin: &Path,
    ) -> Result<(), PublishError> {
        let path = self.directory.join(name);
        if exists_with(&path, digest)? {
            self.observer.report(PublishEvent::FileUnchanged { path: &path });
            return Ok(());
        }
        let partial = self.directory.join(format!(".{name}.partial"));
        let write_failed = |source| PublishError::Write { path: path.clone(), source };
        let read_failed = |source| PublishError::Read { path: origin.to_owned(), source };
        let file = File::create(&partial).map_err(write_failed)?;
        let copied = copy_and_hash(source, &file, read_failed, write_failed);
        let copied = copied.and_then(|(found, size)| {
            if found != digest {
                return Err(PublishError::Changed { path: origin.to_owned() });
            }
            file.sync_all().map_err(write_failed)?;
            fs::rename(&partial, &path).map_err(write_failed)?;
            Ok(size)
        });
        match copied {
            Ok(size) => {
                self.observer.report(PublishEvent::FileWritten { path: &path, size });
                Ok(())
            }
            Err(error) => {
                // The returned error is more important than an error during the removal.
                let _ = fs::remove_file(&partial);
                Err(error)
            }
        }
    }
}

/// Returns whether a file exists with this content.
fn exists_with(path: &Path, digest: Sha256Digest) -> Result<bool, PublishError> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => return Err(PublishError::Exists { path: path.to_owned() }),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(PublishError::Read { path: path.to_owned(), source }),
    }
    let failed = |source| PublishError::Read { path: path.to_owned(), source };
    let file = open_regular(path).map_err(failed)?;
    let found = Sha256Digest::hash_reader(file).map_err(failed)?;
    if found == digest { Ok(true) } else { Err(PublishError::Exists { path: path.to_owned() }) }
}

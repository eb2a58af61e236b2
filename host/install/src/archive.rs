//! Reads packages in zip files.
//!
//! An archive is checked completely before any entry is used; see [`wardian_archive`] for the
//! rules. An archive that violates a rule is rejected with an error that contains the entry's name.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use wardian_archive::{ArchiveError, ArchiveLimits, CheckedZip};
use wardian_digest::Sha256Hasher;
use zip::result::ZipError;

use crate::file_digests::FileDigests;
use crate::hash::{OMITTED_FILES_NAME, PackageFiles, Sha256Digest, UnhashablePath};
use crate::package::PackageError;

/// Maximum total size of the files in a component's package. The component itself may have half of
/// this size.
const MAX_COMPONENT_PACKAGE_BYTES: u64 = 512 * 1024 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// An archive whose entries were checked.
pub(crate) struct PackageArchive {
    archive: CheckedZip,
    path: PathBuf,
}

impl PackageArchive {
    /// Opens an archive and checks the entries.
    pub(crate) fn open(path: &Path, file: File) -> Result<Self, PackageError> {
        let limits = ArchiveLimits::for_provider_package();
        let archive = CheckedZip::open(file, &limits).map_err(|error| package_error(path, error))?;
        let is_reserved = |name: &&str| name.split('/').next() == Some(OMITTED_FILES_NAME);
        if let Some(name) = archive.names().find(is_reserved).map(str::to_owned) {
            return Err(PackageError::UnsafeName { path: path.to_owned(), name });
        }
        Ok(Self { archive, path: path.to_owned() })
    }

    /// Checks the total size for the package of a component.
    pub(crate) fn check_component_package(&self) -> Result<(), PackageError> {
        if self.archive.unpacked_bytes() > MAX_COMPONENT_PACKAGE_BYTES {
            let limit = MAX_COMPONENT_PACKAGE_BYTES >> 20;
            return Err(PackageError::ArchiveTooLarge { path: self.path.clone(), limit });
        }
        Ok(())
    }

    /// Returns the names of the files in the root of the archive.
    pub(crate) fn names_in_root(&self) -> Vec<String> {
        self.archive.file_names().filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// Hashes the files, except one.
    pub(crate) fn hash_files(&mut self, except: &str) -> Result<PackageFiles, PackageError> {
        let path = self.path.clone();
        let mut files = PackageFiles::default();
        self.archive
            .for_each_file(|name, _, content| {
                if name != except {
                    let digest = Sha256Digest::hash_reader(content)?;
                    files.add(name, digest).map_err(io::Error::other)?;
                }
                Ok(())
            })
            .map_err(|source| read_error(&path, source))?;
        Ok(files)
    }

    /// Writes all files to a new directory, and hashes them at the same time. A native plugin may
    /// need all files of its package.
    pub(crate) fn unpack(
        &mut self,
        target: &Path,
        digests: &FileDigests,
    ) -> Result<PackageFiles, UnpackError> {
        let mut files = PackageFiles::default();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut not_written = None;
        fs::create_dir(target).map_err(UnpackError::Write)?;
        let unpacked = self.archive.for_each_file(|name, mode, content| {
            let mut write = |error: io::Error| {
                let stopped = io::Error::from(error.kind());
                not_written = Some(error);
                stopped
            };
            let mut file = create_file(&target.join(name), mode).map_err(&mut write)?;
            let mut hasher = Sha256Hasher::default();
            loop {
                let count = content.read(&mut buffer)?;
                let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
                hasher.update(bytes);
                file.write_all(bytes).map_err(&mut write)?;
            }
            let digest = hasher.finish();
            digests.add_written(file, digest);
            files.add(name, digest).map_err(|UnhashablePath| io::Error::other(UnhashablePath))
        });
        match (unpacked, not_written) {
            (_, Some(error)) => Err(UnpackError::Write(error)),
            (Err(error), None) => Err(UnpackError::Package(read_error(&self.path, error))),
            (Ok(()), None) => Ok(files),
        }
    }

    pub(crate) fn file(&mut self, name: &str) -> Result<impl Read + use<'_>, PackageError> {
        let path = self.path.clone();
        let file = self.archive.file(name).map_err(|error| package_error(&path, error))?;
        file.ok_or(PackageError::Archive { path, source: ZipError::FileNotFound })
    }
}

/// A package that could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    /// The archive is damaged or cannot be read.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The files cannot be written.
    #[error(transparent)]
    Write(io::Error),
}

fn create_file(path: &Path, mode: Option<u32>) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let file = File::create_new(path)?;
    set_executable(&file, mode)?;
    Ok(file)
}

#[cfg(unix)]
fn set_executable(file: &File, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let executable = mode.is_some_and(|mode| mode & 0o111 != 0);
    if executable { file.set_permissions(fs::Permissions::from_mode(0o755)) } else { Ok(()) }
}

#[cfg(not(unix))]
fn set_executable(_file: &File, _mode: Option<u32>) -> io::Result<()> {
    Ok(())
}

fn package_error(path: &Path, error: ArchiveError) -> PackageError {
    let path = path.to_owned();
    match error {
        ArchiveError::Zip(source) => PackageError::Archive { path, source },
        ArchiveError::UnsafeName { name } => PackageError::UnsafeName { path, name },
        ArchiveError::RepeatedName { name } => PackageError::RepeatedName { path, name },
        ArchiveError::SpecialEntry { name } => PackageError::SpecialEntry { path, name },
        ArchiveError::UnpackedTooLarge { limit } => {
            PackageError::ArchiveTooLarge { path, limit: limit >> 20 }
        }
        ArchiveError::Read(source) => PackageError::Read { path, source },
        other => PackageError::Read { path, source: io::Error::other(other) },
    }
}

fn read_error(path: &Path, source: io::Error) -> PackageError {
    PackageError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn open(entries: &[(&str, &[u8])]) -> Result<PackageArchive, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        for (name, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap();
        PackageArchive::open(&path, File::open(&path).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn archive_with_an_unsafe_name_is_rejected() {
        for name in ["/etc/x", "../x", "a/../../x", "a\\x", "C:x", OMITTED_FILES_NAME] {
            let problem = open(&[("good", b""), (name, b"")]).map(drop).unwrap_err();
            assert!(problem.contains(&format!("{name:?}")), "{problem}");
        }
        assert!(open(&[("good", b""), ("sub/good", b"")]).is_ok());
    }

    #[test]
    fn archive_with_duplicate_names_is_rejected() {
        for (one, two) in [("a.txt", "A.TXT"), ("a", "a/b"), ("A/b", "a")] {
            let problem = open(&[(one, b""), (two, b"")]).map(drop).unwrap_err();
            assert!(problem.to_lowercase().contains(&one.to_lowercase()[..1]), "{problem}");
        }
    }

    #[test]
    fn duplicate_name_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        for name in ["one.txt", "two.txt"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
        }
        writer.finish().unwrap();
        // The zip writer rejects duplicate names, so the name is changed afterwards.
        let bytes = std::fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            if bytes[at..].starts_with(b"two.txt") {
                changed[at..at + 7].copy_from_slice(b"one.txt");
            }
        }
        std::fs::write(&path, changed).unwrap();
        let problem = PackageArchive::open(&path, File::open(&path).unwrap()).map(drop).unwrap_err();
        assert!(problem.to_string().contains("\"one.txt\""), "{problem}");
    }

    #[test]
    fn special_entries_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        writer.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        writer.finish().unwrap();
        let problem = PackageArchive::open(&path, File::open(&path).unwrap()).map(drop).unwrap_err();
        assert!(problem.to_string().contains("\"link\""), "{problem}");
    }

    #[test]
    fn package_size_is_limited() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package.zip");
        let with_stated_size = |size: u32| {
            let mut writer = ZipWriter::new(File::create(&path).unwrap());
            let options = SimpleFileOptions::default();
            writer.start_file("a.wasm", options).unwrap();
            writer.write_all(b"four").unwrap();
            writer.finish().unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            let entry = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
            bytes[entry + 24..entry + 28].copy_from_slice(&size.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
            PackageArchive::open(&path, File::open(&path).unwrap())
        };
        assert!(with_stated_size(4).unwrap().check_component_package().is_ok());
        let limit = u32::try_from(MAX_COMPONENT_PACKAGE_BYTES).unwrap();
        assert!(with_stated_size(limit).unwrap().check_component_package().is_ok());
        let problem = with_stated_size(limit + 1).map(drop).unwrap_err().to_string();
        assert!(problem.contains("larger than 512 MiB"), "{problem}");
        for wrong in [0, 3, 5] {
            assert!(with_stated_size(wrong).unwrap().hash_files("").is_err(), "{wrong}");
        }
        assert!(with_stated_size(4).unwrap().hash_files("").is_ok());
    }

    #[test]
    fn overlapping_entries_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        for name in ["one", "two"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(&[7; 1000]).unwrap();
        }
        writer.finish().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
        bytes[entry + 42..entry + 46].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let problem = PackageArchive::open(&path, File::open(&path).unwrap()).map(drop).unwrap_err();
        assert!(problem.to_string().contains("its entries overlap"), "{problem}");
    }
}

//! Reads packages in zip files.
//!
//! An archive is checked completely before any entry is used. The name of each entry must be a
//! unique, plain relative path that means the same on every system; only files and directories are
//! allowed; and the total size is limited. Otherwise, the archive is rejected with an error that
//! contains the entry's name.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;

use crate::hash::{OMITTED_FILES_NAME, PackageFiles, Sha256Digest};
use crate::package::PackageError;

/// Maximum size of an unpacked package.
const MAX_PACKAGE_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// Maximum total size of the files in a component's package. The component itself may have half of
/// this size.
const MAX_COMPONENT_PACKAGE_BYTES: u64 = 512 * 1024 * 1024;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 100_000;

/// The bits of a Unix mode that contain the file type, and the allowed types: file, directory and
/// none.
const FILE_TYPE_MASK: u32 = 0o170_000;
const ALLOWED_FILE_TYPES: [u32; 3] = [0, 0o100_000, 0o040_000];

/// An archive whose entries were checked.
pub(crate) struct PackageArchive {
    archive: ZipArchive<File>,
    path: PathBuf,
    /// The total size of the files, as recorded in the archive.
    size: u64,
    /// The number of bytes that were read.
    read: u64,
}

impl PackageArchive {
    /// Opens an archive and checks the entries.
    pub(crate) fn open(path: &Path, file: File) -> Result<Self, PackageError> {
        let archive_error = |source| PackageError::Archive { path: path.to_owned(), source };
        let second = file.try_clone().map_err(|source| read_error(path, source))?;
        let archive = ZipArchive::new(file).map_err(archive_error)?;
        if archive.len() > MAX_ENTRIES {
            return Err(read_error(
                path,
                io::Error::other(format!("it has more than {MAX_ENTRIES} entries")),
            ));
        }
        if archive.has_duplicate_names() {
            let name = repeated_name(second, archive.central_directory_start());
            let name = name.unwrap_or_default();
            return Err(PackageError::RepeatedName { path: path.to_owned(), name });
        }
        let mut checked = Self { archive, path: path.to_owned(), size: 0, read: 0 };
        checked.check()?;
        Ok(checked)
    }

    fn check(&mut self) -> Result<(), PackageError> {
        let (mut files, mut parents) = (HashSet::new(), HashSet::new());
        for index in 0..self.archive.len() {
            let path = || self.path.clone();
            let entry = self
                .archive
                .by_index_raw(index)
                .map_err(|source| PackageError::Archive { path: path(), source })?;
            let raw = String::from_utf8_lossy(entry.name_raw()).into_owned();
            let unsafe_name = || PackageError::UnsafeName { path: path(), name: raw.clone() };
            let name = entry.name().map_err(|_| unsafe_name())?.into_owned();
            let mode = entry.unix_mode().unwrap_or_default();
            if entry.is_symlink() || !ALLOWED_FILE_TYPES.contains(&(mode & FILE_TYPE_MASK)) {
                return Err(PackageError::SpecialEntry { path: path(), name: raw });
            }
            let is_directory = entry.is_dir();
            let plain = if is_directory { name.strip_suffix('/').unwrap_or(&name) } else { &name };
            if raw != name || !is_plain(plain) || plain == OMITTED_FILES_NAME {
                return Err(unsafe_name());
            }
            self.size = self.size.saturating_add(entry.size());
            // Some file systems ignore case.
            let folded = plain.to_lowercase();
            let above = folded.match_indices('/').filter_map(|(end, _)| folded.get(..end));
            parents.extend(above.map(str::to_owned));
            if is_directory {
                parents.insert(folded);
            } else if !files.insert(folded) {
                return Err(PackageError::RepeatedName { path: path(), name });
            }
        }
        if let Some(both) = files.intersection(&parents).next() {
            return Err(PackageError::RepeatedName { path: self.path.clone(), name: both.clone() });
        }
        self.check_size(MAX_PACKAGE_BYTES)
    }

    /// Checks the total size for the package of a component.
    pub(crate) fn check_component_package(&self) -> Result<(), PackageError> {
        self.check_size(MAX_COMPONENT_PACKAGE_BYTES)
    }

    fn check_size(&self, limit: u64) -> Result<(), PackageError> {
        if self.size > limit {
            return Err(PackageError::ArchiveTooLarge { path: self.path.clone(), limit: limit >> 20 });
        }
        Ok(())
    }

    /// Returns the names of the files in the root of the archive.
    pub(crate) fn names_in_root(&self) -> Vec<String> {
        let names = self.archive.file_names().filter_map(Result::ok);
        names.filter(|name| !name.contains('/')).map(std::borrow::Cow::into_owned).collect()
    }

    /// Hashes the files, except one.
    pub(crate) fn hash_files(&mut self, except: &str) -> Result<PackageFiles, PackageError> {
        let path = self.path.clone();
        let mut files = PackageFiles::default();
        self.for_each_file(|name, _, content| {
            if name != except {
                let digest = Sha256Digest::hash_reader(content)?;
                files.add(name, digest).map_err(io::Error::other)?;
            }
            Ok(())
        })
        .map_err(|source| read_error(&path, source))?;
        Ok(files)
    }

    /// Calls a function for the name, the Unix mode and the content of each file.
    pub(crate) fn for_each_file(
        &mut self,
        mut with: impl FnMut(&str, Option<u32>, &mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        for index in 0..self.archive.len() {
            let entry = self.archive.by_index(index)?;
            if entry.is_dir() {
                continue;
            }
            let (name, mode) = (entry.name()?.into_owned(), entry.unix_mode());
            with(
                &name,
                mode,
                &mut SizeLimitedReader { inner: entry, count: &mut self.read, limit: self.size },
            )?;
        }
        Ok(())
    }

    pub(crate) fn file(&mut self, name: &str) -> Result<ZipFile<'_, File>, PackageError> {
        let path = self.path.clone();
        self.archive.by_name(name).map_err(|source| PackageError::Archive { path, source })
    }
}

/// Whether a name is a relative path that means the same on all systems.
fn is_plain(name: &str) -> bool {
    let is_plain_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.contains(['\\', ':', '\0'])
            && !part.chars().any(char::is_control)
    };
    name.split('/').all(is_plain_part)
}

/// Returns the first name that occurs twice in the central directory of an archive.
fn repeated_name(mut file: File, start: u64) -> Option<String> {
    const SIGNATURE: [u8; 4] = *b"PK\x01\x02";
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut file = io::BufReader::new(file);
    let mut known = HashSet::new();
    loop {
        let mut header = [0; 46];
        file.read_exact(&mut header).ok()?;
        if !header.starts_with(&SIGNATURE) {
            return None;
        }
        let number = |at: usize| Some(u16::from_le_bytes([*header.get(at)?, *header.get(at + 1)?]));
        let mut name = vec![0; usize::from(number(28)?)];
        file.read_exact(&mut name).ok()?;
        let rest = u64::from(number(30)?) + u64::from(number(32)?);
        io::copy(&mut file.by_ref().take(rest), &mut io::sink()).ok()?;
        if known.contains(&name) {
            return Some(String::from_utf8_lossy(&name).into_owned());
        }
        known.insert(name);
    }
}

/// A reader that fails if it reads more bytes than the archive records, since a small archive can
/// expand to an enormous number of zeros.
struct SizeLimitedReader<'a, R> {
    inner: R,
    count: &'a mut u64,
    limit: u64,
}

impl<R: Read> Read for SizeLimitedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        *self.count += count as u64;
        if *self.count > self.limit {
            return Err(io::Error::other("the archive unpacks to more than it states"));
        }
        Ok(count)
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

    #[test]
    fn only_plain_names_are_accepted() {
        for good in ["a", "a/b", "LICENSE.txt", "a..b/.c", "é/ü"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "a//b",
            "./a",
            "a/.",
            "..",
            "../a",
            "a/../../b",
            "a\\b",
            "..\\a",
            "C:/a",
            "C:a",
            "a/C:b",
            "a\0b",
            "a\nb",
            "a\u{1b}[0m",
            "a/",
        ] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }

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
    fn archive_with_repeated_names_is_rejected() {
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
    fn size_of_component_packages_is_limited() {
        let mut archive = open(&[("a.wasm", b"x"), ("b", b"yy")]).unwrap();
        assert_eq!(archive.size, 3);
        assert!(archive.check_component_package().is_ok());
        archive.size = MAX_COMPONENT_PACKAGE_BYTES + 1;
        assert!(archive.check_component_package().is_err());
        archive.size = 2;
        assert!(archive.hash_files("").is_err(), "more than stated");
    }
}

//! Package hashes, in the format of the dependency lock file.
//!
//! | scheme | content |
//! |---|---|
//! | `h1:` | a package's contents: for every file the line `HEX  PATH\n` (sha256, two spaces, `/` in paths), the lines sorted by the bytes of their paths; then the base64-encoded sha256 of these lines |
//! | `zh:` | the package file itself, which is a zip file or a component: its sha256 in hexadecimal |
//!
//! Hashes of other schemes are preserved, but never match a computed hash.
//!
//! A component's hash is the `h1:` hash of a directory that contains one file,
//! `terraform-provider-TYPE_vVERSION.wasm`; see [`component_file_name`]. Therefore, an embedded
//! plugin, a bare `.wasm` file in a mirror and a package directory or archive that contains only
//! this file all have the same hash, and Terraform can read the entry.
//!
//! This module reads only the given files and directories, and writes nothing. Invariant: a
//! [`PackageHash`] can be quoted in HCL without escapes.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wardian_address::{ProviderAddress, Version};
pub use wardian_digest::Sha256Digest;
use wardian_digest::tree_hash;

use crate::file_digests::FileDigests;

/// A hash in its recorded form: `SCHEME:VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageHash(String);

impl PackageHash {
    /// Parses a recorded hash of any scheme.
    ///
    /// # Errors
    /// Returns an error if the text has no scheme, or contains a character that is invalid in hashes.
    pub fn parse(text: &str) -> Result<Self, HashSyntaxError> {
        let allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'$' | b'%');
        let has_scheme = text.split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty());
        if has_scheme && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(HashSyntaxError { text: text.to_owned() })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the scheme: the text before the colon.
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// Returns the `zh:` hash of a zip file, from the digest of its bytes.
    pub fn for_archive(digest: Sha256Digest) -> Self {
        Self(format!("zh:{digest}"))
    }

    /// Returns the `h1:` hash of a component, from the digest of its bytes.
    pub fn for_component(address: &ProviderAddress, version: &Version, digest: Sha256Digest) -> Self {
        let mut files = PackageFiles::default();
        files.0.insert(component_file_name(address, version), digest);
        files.hash()
    }

    /// Returns the `h1:` hash of a single-file program.
    pub fn for_program(address: &ProviderAddress, version: &Version, digest: Sha256Digest) -> Self {
        let mut files = PackageFiles::default();
        files.0.insert(program_file_name(address, version), digest);
        files.hash()
    }
}

impl fmt::Display for PackageHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A string that is not `SCHEME:VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a package hash: a hash is a scheme, a colon and a value, such as \"h1:…\"")]
pub struct HashSyntaxError {
    /// The invalid string.
    pub text: String,
}

/// Returns the name under which a single-file program is hashed and installed.
pub fn program_file_name(address: &ProviderAddress, version: &Version) -> String {
    format!("terraform-provider-{}_v{version}", address.type_name())
}

/// Returns the name under which the file of a component is hashed.
pub fn component_file_name(address: &ProviderAddress, version: &Version) -> String {
    format!("terraform-provider-{}_v{version}.wasm", address.type_name())
}

/// The files of a package with their digests, from which its `h1:` hash is computed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageFiles(BTreeMap<String, Sha256Digest>);

impl PackageFiles {
    /// Adds a file by its path below the package's root, with `/` separators.
    ///
    /// # Errors
    /// Returns an error if the path contains a line break, which would make the hash ambiguous.
    pub fn add(&mut self, path: &str, digest: Sha256Digest) -> Result<(), UnhashablePath> {
        if path.contains('\n') {
            return Err(UnhashablePath);
        }
        self.0.insert(path.to_owned(), digest);
        Ok(())
    }

    /// Computes the `h1:` hash of a package of these files.
    pub fn hash(&self) -> PackageHash {
        PackageHash(tree_hash(&self.0))
    }

    /// Returns the content of a file that lists these files with their digests.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (path, digest) in &self.0 {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{digest}  {path}");
        }
        text
    }

    /// Adds the files that are listed in a text by [`Self::to_text`].
    fn add_listed(&mut self, text: &str) -> Result<(), UnhashablePath> {
        for line in text.lines() {
            let (digest, path) = line.split_once("  ").ok_or(UnhashablePath)?;
            self.add(path, Sha256Digest::parse(digest).ok_or(UnhashablePath)?)?;
        }
        Ok(())
    }

    /// Hashes the files below a directory. The files listed in `OMITTED_FILES_NAME` are included in
    /// the hash; a wrong digest in that list results in a wrong hash. A file whose digest is
    /// already known is not read again.
    ///
    /// # Errors
    /// Returns an error if an entry cannot be read, is neither a file nor a directory, or has a
    /// name that cannot be hashed.
    pub fn from_directory(
        root: &Path,
        known: Option<(&str, Sha256Digest)>,
        digests: &FileDigests,
    ) -> Result<Self, DirectoryHashError> {
        let mut files = Self::default();
        let list = root.join(OMITTED_FILES_NAME);
        // The list exists only for a component, which is installed without the other files of its
        // package.
        match known.map(|_| fs::symlink_metadata(&list)) {
            Some(Ok(about)) if about.is_file() && about.len() <= MAX_OMITTED_FILES_BYTES => {
                let failed = |source| DirectoryHashError::Read { path: list.clone(), source };
                let text = fs::read_to_string(&list).map_err(failed)?;
                files.add_listed(&text).map_err(|_| DirectoryHashError::Name { path: list.clone() })?;
            }
            Some(Ok(_)) => return Err(DirectoryHashError::Name { path: list }),
            Some(Err(_)) | None => {}
        }
        files.add_directory(root, "", known, digests, 0)?;
        if known.is_some() {
            files.0.remove(OMITTED_FILES_NAME);
        }
        Ok(files)
    }

    fn add_directory(
        &mut self,
        directory: &Path,
        prefix: &str,
        known: Option<(&str, Sha256Digest)>,
        digests: &FileDigests,
        depth: usize,
    ) -> Result<(), DirectoryHashError> {
        let failed = |path: &Path, source| DirectoryHashError::Read { path: path.to_owned(), source };
        if depth > MAX_DEPTH {
            return Err(DirectoryHashError::TooDeep { path: directory.to_owned() });
        }
        for entry in fs::read_dir(directory).map_err(|source| failed(directory, source))? {
            let entry = entry.map_err(|source| failed(directory, source))?;
            let path = entry.path();
            let unnameable = || DirectoryHashError::Name { path: path.clone() };
            let name = entry.file_name().into_string().map_err(|_| unnameable())?;
            let relative = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            let kind = entry.file_type().map_err(|source| failed(&path, source))?;
            if kind.is_dir() {
                self.add_directory(&path, &relative, known, digests, depth + 1)?;
                continue;
            }
            let digest = match known {
                Some((known_name, digest)) if known_name == relative => digest,
                _ => digests.digest(&path).map_err(|source| failed(&path, source))?,
            };
            self.add(&relative, digest).map_err(|UnhashablePath| unnameable())?;
        }
        Ok(())
    }
}

const MAX_DEPTH: usize = 64;

/// The file in the directory of an installed component that lists the files of its package that
/// were not installed.
pub(crate) const OMITTED_FILES_NAME: &str = ".wardian-omitted-files";

const MAX_OMITTED_FILES_BYTES: u64 = 16 << 20;

/// A path in a package that contains a line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a file name in a package contains a line break")]
pub struct UnhashablePath;

/// A directory that cannot be hashed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryHashError {
    /// An entry could not be read.
    #[error("failed to read {} to compute its package's hash: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A name is not UTF-8 or contains a line break.
    #[error("the name of {} is not UTF-8 or contains a line break", path.display())]
    Name { path: PathBuf },
    /// The directories are nested too deeply.
    #[error("the package directory is nested too deeply at {}", path.display())]
    TooDeep {
        /// The first directory that was not read.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_hash_matches_recorded_values() {
        assert_eq!(
            PackageFiles::default().hash().as_str(),
            "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
        // Terraform 1.11.4 recorded this hash for a directory with this one file.
        let mut files = PackageFiles::default();
        files.add("terraform-provider-random_v3.7.0", Sha256Digest::hash(b"#!/bin/sh\n")).unwrap();
        assert_eq!(files.hash().as_str(), "h1:DBD3jwW+V36BybqzDaTEhKWRclYw0Qrojsri6lKeVgY=");
    }

    #[test]
    fn directory_hash_covers_its_files() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("sub")).unwrap();
        fs::write(directory.path().join("sub/b"), "two").unwrap();
        fs::write(directory.path().join("a"), "one").unwrap();
        let mut expected = PackageFiles::default();
        expected.add("a", Sha256Digest::hash(b"one")).unwrap();
        expected.add("sub/b", Sha256Digest::hash(b"two")).unwrap();
        assert_eq!(
            PackageFiles::from_directory(directory.path(), None, &FileDigests::default()).unwrap(),
            expected
        );
        let known = ("a", Sha256Digest::hash(b"other"));
        assert_ne!(
            PackageFiles::from_directory(directory.path(), Some(known), &FileDigests::default()).unwrap(),
            expected
        );
        assert!(
            PackageFiles::from_directory(&directory.path().join("none"), None, &FileDigests::default())
                .is_err()
        );
    }

    #[test]
    fn component_hash_equals_hash_of_single_file_directory() {
        let address = ProviderAddress::parse("acme/dns").unwrap();
        let version = Version::new(1, 2, 3);
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("terraform-provider-dns_v1.2.3.wasm"), "bytes").unwrap();
        assert_eq!(
            PackageHash::for_component(&address, &version, Sha256Digest::hash(b"bytes")),
            PackageFiles::from_directory(directory.path(), None, &FileDigests::default()).unwrap().hash()
        );
    }

    #[test]
    fn package_hash_rejects_invalid_syntax() {
        for good in ["h1:abc=", "zh:00", "x9:", "a:b:c"] {
            assert_eq!(PackageHash::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "h1", ":x", "h1:\"", "h1:${a}", "h1:a b", "h1:ä", "h1:\n"] {
            assert!(PackageHash::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(PackageHash::parse("zh:00").unwrap().scheme(), "zh");
    }
}

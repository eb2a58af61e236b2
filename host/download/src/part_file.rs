//! The partial file of a download.
//!
//! A download writes to `NAME.part` and renames it when it is complete and verified. The process
//! that writes the file holds an exclusive lock on it; a process that finds it locked writes to a
//! file with a random name instead. Therefore, two processes never write to the same file.
//!
//! If the digest of the complete file is known and the server sends a validator (a strong `ETag` or
//! `Last-Modified`), the partial file remains after an interruption, and `NAME.part.validator`
//! records the digest and the validator. A later process can then request the missing bytes.
//! Otherwise, the partial file is removed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use http::HeaderValue;
use http::header::{self, HeaderMap};
use wardian_cache::{AtomicWrite, sync_directory, temporary_path};
use wardian_digest::{Sha256Digest, Sha256Hasher};

const BUFFER_BYTES: usize = 128 * 1024;

/// Maximum length of a validator. A longer one is not used.
const MAX_VALIDATOR_BYTES: usize = 1024;

/// Maximum number of attempts to lock the partial file, which another process may replace at the
/// same time.
const MAX_LOCK_ATTEMPTS: usize = 8;

/// An open partial file. Dropping it removes it, unless it can be resumed.
pub(crate) struct PartFile {
    path: PathBuf,
    /// The path of the complete file.
    target: PathBuf,
    file: BufWriter<File>,
    hasher: Sha256Hasher,
    length: u64,
    /// Identifies the version of the server's file that the bytes belong to.
    validator: Option<HeaderValue>,
    expected: Option<Sha256Digest>,
    /// Whether the path is `NAME.part`, under which a later process finds the file.
    has_known_name: bool,
    /// Whether the bytes come from several responses.
    is_joined: bool,
    is_discarded: bool,
    is_finished: bool,
}

/// A failure, and the file in which it occurred.
#[derive(Debug)]
pub(crate) struct WriteError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl PartFile {
    /// Opens the partial file of a target. The bytes that an earlier process has received are
    /// hashed.
    pub(crate) fn open(target: &Path, expected: Option<Sha256Digest>) -> Result<Self, WriteError> {
        let path = with_suffix(target, ".part");
        if let Some(file) = open_locked(&path) {
            let mut part = Self::new(path, target, file, expected, true);
            part.read_existing().map_err(|source| part.error(source))?;
            return Ok(part);
        }
        let failed = |source| WriteError { path: target.to_owned(), source };
        let path = temporary_path(target).map_err(failed)?;
        let created = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = created.map_err(|source| WriteError { path: path.clone(), source })?;
        Ok(Self::new(path, target, file, expected, false))
    }

    fn new(
        path: PathBuf,
        target: &Path,
        file: File,
        expected: Option<Sha256Digest>,
        has_known_name: bool,
    ) -> Self {
        Self {
            path,
            target: target.to_owned(),
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            hasher: Sha256Hasher::default(),
            length: 0,
            validator: None,
            expected,
            has_known_name,
            is_joined: false,
            is_discarded: false,
            is_finished: false,
        }
    }

    /// Reads the bytes of an earlier process, or removes them if they cannot be resumed.
    fn read_existing(&mut self) -> io::Result<()> {
        let is_empty = self.file.get_ref().metadata()?.len() == 0;
        let recorded =
            self.expected.filter(|_| !is_empty).and_then(|digest| read_validator(&self.path, digest));
        let Some(validator) = recorded else { return self.restart() };
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = self.file.get_mut().read(&mut buffer)?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            self.hasher.update(bytes);
            self.length += count as u64;
        }
        self.validator = Some(validator);
        self.is_joined = true;
        Ok(())
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether the bytes come from several responses, which may belong to different versions of the file.
    pub(crate) fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// Returns the digest of the bytes so far.
    pub(crate) fn digest(&self) -> Sha256Digest {
        self.hasher.clone().finish()
    }

    /// Returns the headers that request the missing bytes; `None` if all bytes must be requested.
    pub(crate) fn resume_headers(&self) -> Option<HeaderMap> {
        let validator = self.validator.as_ref().filter(|_| self.length > 0)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_str(&format!("bytes={}-", self.length)).ok()?);
        headers.insert(header::IF_RANGE, validator.clone());
        Some(headers)
    }

    /// Whether the headers of a response have the same validator as the bytes so far. If the
    /// response contains no validator, the server has already made this comparison.
    pub(crate) fn is_continued_by(&self, headers: &HeaderMap) -> bool {
        validator(headers).is_none_or(|found| self.validator.as_ref() == Some(&found))
    }

    pub(crate) fn mark_joined(&mut self) {
        self.is_joined = true;
    }

    /// Starts to receive the whole file from a response with these headers.
    pub(crate) fn begin(&mut self, headers: &HeaderMap) -> io::Result<()> {
        self.restart()?;
        let (Some(expected), true) = (self.expected, self.has_known_name) else { return Ok(()) };
        if let Some(validator) = validator(headers) {
            let text = [format!("{expected}\n").as_bytes(), validator.as_bytes(), b"\n"].concat();
            AtomicWrite::new().without_sync().write(&validator_path(&self.path), &[&text])?;
            self.validator = Some(validator);
        }
        Ok(())
    }

    /// Removes all bytes.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.validator = None;
        self.is_joined = false;
        if self.has_known_name {
            remove_if_present(&validator_path(&self.path))?;
        }
        self.file.get_ref().set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = Sha256Hasher::default();
        self.length = 0;
        Ok(())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Removes the file when it is dropped, even if it could be resumed.
    pub(crate) fn discard(&mut self) {
        self.is_discarded = true;
    }

    pub(crate) fn error(&self, source: io::Error) -> WriteError {
        WriteError { path: self.path.clone(), source }
    }

    /// Flushes the file to the disk, and renames it to its final name.
    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        self.discard();
        let written = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        written.map_err(|source| self.error(source))?;
        let failed = |source| WriteError { path: self.target.clone(), source };
        fs::rename(&self.path, &self.target).map_err(failed)?;
        self.is_finished = true;
        if self.has_known_name {
            // A stale validator whose file no longer exists is ignored by later processes.
            let _ = fs::remove_file(validator_path(&self.path));
        }
        sync_directory(&self.target).map_err(failed)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        let can_be_resumed = !self.is_discarded && self.has_known_name && self.validator.is_some();
        if self.is_finished || (can_be_resumed && self.length > 0) {
            return;
        }
        // The original failure is reported, so an error during the removal is ignored. The file is
        // still locked.
        if self.has_known_name {
            let _ = fs::remove_file(validator_path(&self.path));
        }
        let _ = fs::remove_file(&self.path);
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}

fn validator_path(part: &Path) -> PathBuf {
    with_suffix(part, ".validator")
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the validator in the headers of a response. Weak entity tags are ignored, because they do not
/// identify the exact bytes.
fn validator(headers: &HeaderMap) -> Option<HeaderValue> {
    let usable = |value: &&HeaderValue| {
        value.len() <= MAX_VALIDATOR_BYTES && value.as_bytes().iter().all(|byte| matches!(byte, 0x20..0x7f))
    };
    let tag = headers.get(header::ETAG).filter(|tag| tag.as_bytes().starts_with(b"\"")).filter(usable);
    tag.or_else(|| headers.get(header::LAST_MODIFIED).filter(usable)).cloned()
}

/// Returns the recorded validator of a partial file, if the file belongs to this digest.
fn read_validator(part: &Path, expected: Sha256Digest) -> Option<HeaderValue> {
    let file = open_plain(OpenOptions::new().read(true), &validator_path(part)).ok()?;
    let mut text = String::new();
    file.take(2 * MAX_VALIDATOR_BYTES as u64).read_to_string(&mut text).ok()?;
    let (digest, validator) = text.strip_suffix('\n')?.split_once('\n')?;
    (Sha256Digest::parse(digest)? == expected).then(|| HeaderValue::from_str(validator).ok())?
}

/// Opens and locks a partial file. Returns `None` if another process holds the lock, or if the path
/// is not a regular file.
#[cfg(unix)]
fn open_locked(path: &Path) -> Option<File> {
    use std::os::unix::fs::MetadataExt as _;
    for _ in 0..MAX_LOCK_ATTEMPTS {
        let file = open_plain(OpenOptions::new().read(true).write(true).create(true), path).ok()?;
        file.try_lock().ok()?;
        // Until the lock was acquired, another process could rename or remove the file.
        let (opened, named) = (file.metadata().ok()?, fs::symlink_metadata(path));
        if named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Some(file);
        }
    }
    None
}

/// On other systems, an open file cannot be compared with a path, so each process writes to a
/// separate file.
#[cfg(not(unix))]
fn open_locked(_path: &Path) -> Option<File> {
    None
}

/// Opens a regular file, without following a symbolic link at the path.
fn open_plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"the whole content";

    struct Fixture {
        directory: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            Self { directory: tempfile::tempdir().unwrap() }
        }

        fn target(&self) -> PathBuf {
            self.directory.path().join("file.zip")
        }

        fn open(&self) -> PartFile {
            PartFile::open(&self.target(), Some(Sha256Digest::hash(CONTENT))).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.directory.path()).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    fn tagged(tag: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ETAG, HeaderValue::from_str(tag).unwrap())])
    }

    #[test]
    fn complete_file_replaces_partial_file() {
        let fixture = Fixture::new();
        let mut part = fixture.open();
        part.begin(&tagged("\"1\"")).unwrap();
        part.write(CONTENT).unwrap();
        assert_eq!(part.digest(), Sha256Digest::hash(CONTENT));
        assert_eq!(fixture.names(), ["file.zip.part", "file.zip.part.validator"]);
        part.finish().unwrap();
        assert_eq!(fixture.names(), ["file.zip"]);
        assert_eq!(fs::read(fixture.target()).unwrap(), CONTENT);
    }

    #[test]
    fn interrupted_file_is_resumed_by_the_next_process() {
        let fixture = Fixture::new();
        let mut part = fixture.open();
        part.begin(&tagged("\"1\"")).unwrap();
        part.write(&CONTENT[..5]).unwrap();
        drop(part);
        let mut part = fixture.open();
        let headers = part.resume_headers().unwrap();
        assert_eq!(
            (&headers[header::RANGE], &headers[header::IF_RANGE]),
            (&HeaderValue::from_static("bytes=5-"), &HeaderValue::from_static("\"1\""),)
        );
        assert!(part.is_joined() && part.is_continued_by(&tagged("\"1\"")));
        assert!(part.is_continued_by(&HeaderMap::new()) && !part.is_continued_by(&tagged("\"2\"")));
        part.write(&CONTENT[5..]).unwrap();
        assert_eq!((part.length(), part.digest()), (17, Sha256Digest::hash(CONTENT)));
        part.finish().unwrap();
        assert_eq!(fs::read(fixture.target()).unwrap(), CONTENT);
    }

    #[test]
    fn file_without_validator_or_digest_is_removed() {
        let fixture = Fixture::new();
        for (headers, expected) in [
            (HeaderMap::new(), Some(Sha256Digest::hash(CONTENT))),
            (tagged("W/\"1\""), Some(Sha256Digest::hash(CONTENT))),
            (tagged(&format!("\"{}\"", "x".repeat(MAX_VALIDATOR_BYTES))), Some(Sha256Digest::hash(CONTENT))),
            (tagged("\"1\""), None),
        ] {
            let mut part = PartFile::open(&fixture.target(), expected).unwrap();
            part.begin(&headers).unwrap();
            part.write(b"some").unwrap();
            assert!(part.resume_headers().is_none());
            drop(part);
            assert!(fixture.names().is_empty(), "{:?}", fixture.names());
        }
        let mut part = fixture.open();
        part.begin(&tagged("\"1\"")).unwrap();
        part.write(b"some").unwrap();
        part.discard();
        drop(part);
        assert!(fixture.names().is_empty());
    }

    #[test]
    fn partial_download_of_another_file_is_not_resumed() {
        let fixture = Fixture::new();
        for record in [
            format!("{}\n\"1\"\n", Sha256Digest::hash(b"another")),
            format!("{}\n\"1\"", Sha256Digest::hash(CONTENT)),
            format!("{}\n\u{1}\n", Sha256Digest::hash(CONTENT)),
            String::new(),
        ] {
            fs::write(fixture.directory.path().join("file.zip.part"), "stale").unwrap();
            fs::write(fixture.directory.path().join("file.zip.part.validator"), record).unwrap();
            let part = fixture.open();
            assert_eq!(part.length(), 0);
            assert!(part.resume_headers().is_none());
            drop(part);
            assert!(fixture.names().is_empty());
        }
    }

    #[test]
    fn locked_partial_file_is_not_used_by_another_process() {
        let fixture = Fixture::new();
        let mut one = fixture.open();
        let mut two = fixture.open();
        assert_ne!(one.path, two.path);
        for part in [&mut one, &mut two] {
            part.begin(&tagged("\"1\"")).unwrap();
            part.write(&CONTENT[..4]).unwrap();
        }
        one.write(&CONTENT[4..]).unwrap();
        one.finish().unwrap();
        two.write(&CONTENT[4..]).unwrap();
        two.finish().unwrap();
        assert_eq!(fixture.names(), ["file.zip"]);
        assert_eq!(fs::read(fixture.target()).unwrap(), CONTENT);
    }

    #[test]
    fn lock_of_a_renamed_file_is_not_used() {
        let fixture = Fixture::new();
        let mut one = fixture.open();
        one.begin(&tagged("\"1\"")).unwrap();
        one.write(CONTENT).unwrap();
        // The file is opened before it is renamed, and locked afterwards.
        let early = File::open(&one.path).unwrap();
        one.finish().unwrap();
        early.try_lock().unwrap();
        let two = fixture.open();
        assert_eq!(two.length(), 0);
        drop(two);
        assert_eq!(fs::read(fixture.target()).unwrap(), CONTENT);
    }

    #[test]
    fn link_at_the_path_is_not_followed() {
        let fixture = Fixture::new();
        let victim = fixture.directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink("victim", fixture.directory.path().join("file.zip.part")).unwrap();
        let mut part = fixture.open();
        part.begin(&tagged("\"1\"")).unwrap();
        part.write(CONTENT).unwrap();
        part.finish().unwrap();
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
        assert_eq!(fs::read(fixture.target()).unwrap(), CONTENT);
    }

    #[test]
    fn missing_directory_is_reported() {
        let error = PartFile::open(Path::new("/nonexistent/file"), None).err().unwrap();
        assert!(error.path.starts_with("/nonexistent"));
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    }
}

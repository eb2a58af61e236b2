//! Authenticated file caches for content that is expensive to compute.
//!
//! A program that can change a cached file could control Wardian, since Wardian executes cached
//! code, and a cached schema determines which values are sensitive. Two measures prevent this. The
//! directory must be writable only by this user. Each entry contains a MAC (keyed BLAKE3) of its
//! name and content. The random key is stored in another directory, in a file that only this user
//! can read. The MAC of an entry that was planted, changed, truncated, renamed or copied from
//! another machine does not verify, and the entry is treated as missing. Callers receive the
//! verified bytes from memory.
//!
//! | file | content |
//! |---|---|
//! | `DIRECTORY/NAME` | magic of the format, MAC, content |
//! | `KEY/code-cache.key` | 32 random bytes, for all formats |
//!
//! The magic of a format contains its version. Therefore, programs never read entries of another
//! version. If the cache grows too large, the least recently written entries are removed. Writers
//! rename a temporary file, and readers in other processes therefore see either a complete entry or
//! no entry.
//!
//! The crate does not depend on the content of entries, reads no environment variables, and
//! receives every path from its caller.
//!
//! Files outside the cache are replaced atomically and durably with [`AtomicWrite`].

mod atomic_write;
pub mod file_kind;
mod key;
mod private;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub use crate::atomic_write::{AtomicWrite, sync_directory, temporary_path};
pub use crate::private::{create_private, private_directory};

const MAGIC_LENGTH: usize = 16;
const HEADER: usize = MAGIC_LENGTH + blake3::OUT_LEN;

/// The format of the entries in a directory.
#[derive(Clone, Copy, Debug)]
pub struct CacheFormat {
    /// Identifies the format and its version.
    pub magic: &'static [u8; MAGIC_LENGTH],
    /// Maximum size of all entries together. If it is exceeded, old entries are removed.
    pub max_total_bytes: u64,
    /// Maximum size of an entry. A larger file is not an entry.
    pub max_entry_bytes: u64,
}

/// A cache that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Another user could write to the cache or read the key.
    #[error("{} {problem}", path.display())]
    Unsafe {
        /// The directory or file.
        path: PathBuf,
        /// The problem and its solution.
        problem: String,
    },
    /// A file or directory could not be read or created.
    #[error("could not use {}: {source}", path.display())]
    Unusable {
        /// The directory or file.
        path: PathBuf,
        source: io::Error,
    },
}

/// An open cache of one format.
pub struct Cache {
    directory: PathBuf,
    key: [u8; blake3::KEY_LEN],
    format: CacheFormat,
}

impl Cache {
    /// Opens a cache and creates missing directories. The key's directory must not be the directory
    /// of the entries, an ancestor of it, or a directory in it.
    ///
    /// # Errors
    /// Returns an error if other users can write to one of the directories or read the key, or if a
    /// file or directory cannot be used.
    pub fn open(directory: &Path, key_directory: &Path, format: CacheFormat) -> Result<Self, CacheError> {
        private_directory(directory)?;
        private_directory(key_directory)?;
        let key = key::read_or_create(key_directory)?;
        Ok(Self { directory: directory.to_owned(), key, format })
    }

    /// Returns the content of an entry, if the entry exists and is authentic.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.directory.join(name);
        let (header, content) = match self.read(&path) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a cache entry");
                return None;
            }
        };
        if self.is_authentic(name, &header, &content) {
            Some(content)
        } else {
            tracing::warn!(path = %path.display(), "a cache entry is not authentic and is ignored");
            None
        }
    }

    /// Writes an entry.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be written; the previous entry is then unchanged.
    pub fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.directory.join(name);
        let digest = self.digest(name, content);
        // The digest detects an entry that was truncated by a power failure.
        let replacement = AtomicWrite::new().private().without_sync();
        let result = replacement.write(&path, &[self.format.magic, digest.as_bytes(), content]);
        self.prune(name);
        result
    }

    fn read(&self, path: &Path) -> io::Result<([u8; HEADER], Vec<u8>)> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > self.format.max_entry_bytes {
            return Err(io::Error::other("it is not a cache entry"));
        }
        let mut header = [0; HEADER];
        if metadata.len() < HEADER as u64 {
            return Ok((header, Vec::new()));
        }
        file.read_exact(&mut header)?;
        let length = metadata.len() - HEADER as u64;
        let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
        file.take(self.format.max_entry_bytes).read_to_end(&mut content)?;
        Ok((header, content))
    }

    fn is_authentic(&self, name: &str, header: &[u8; HEADER], content: &[u8]) -> bool {
        let (magic, digest) = header.split_at(MAGIC_LENGTH);
        let Ok(digest) = <[u8; blake3::OUT_LEN]>::try_from(digest) else {
            return false;
        };
        // The comparison of `blake3::Hash` takes constant time.
        magic == self.format.magic && self.digest(name, content) == blake3::Hash::from_bytes(digest)
    }

    /// Computes the MAC. The length separates the name from the content.
    fn digest(&self, name: &str, content: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(self.format.magic);
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(content);
        hasher.finalize()
    }

    /// Removes the oldest entries, except the entry that was just written, until the total size is
    /// within the limit. Failures are ignored, since another process may be doing the same.
    fn prune(&self, keep: &str) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<_> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_str() != Some(keep))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        files.sort();
        for (_, length, path) in files {
            if total <= self.format.max_total_bytes {
                return;
            }
            if fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KEY_FILE;

    const FORMAT: CacheFormat =
        CacheFormat { magic: b"wardian test 1\r\n", max_total_bytes: 1 << 20, max_entry_bytes: 1 << 20 };

    struct Fixture {
        _root: tempfile::TempDir,
        entries: PathBuf,
        key: PathBuf,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let (entries, key) = (root.path().join("cache"), root.path().join("state"));
            Self { _root: root, entries, key }
        }

        fn try_open(&self) -> Result<Cache, CacheError> {
            Cache::open(&self.entries, &self.key, FORMAT)
        }

        fn open(&self) -> Cache {
            self.try_open().unwrap()
        }
    }

    const ONE: &str = "one.entry";
    const TWO: &str = "two.entry";

    #[test]
    fn entry_with_another_format_version_is_ignored() {
        let fixture = Fixture::new();
        fixture.open().put(ONE, b"kept").unwrap();
        let newer = CacheFormat { magic: b"wardian test 2\r\n", ..FORMAT };
        assert!(Cache::open(&fixture.entries, &fixture.key, newer).unwrap().get(ONE).is_none());
    }

    #[test]
    fn put_removes_oldest_entries_beyond_limit() {
        let fixture = Fixture::new();
        let small = CacheFormat { max_total_bytes: 100, ..FORMAT };
        let cache = Cache::open(&fixture.entries, &fixture.key, small).unwrap();
        cache.put(ONE, &[1; 200]).unwrap();
        cache.put(TWO, &[2; 200]).unwrap();
        assert!(cache.get(ONE).is_none());
        assert!(cache.get(TWO).is_some());
    }

    #[test]
    fn entry_is_found_by_the_next_process() {
        let fixture = Fixture::new();
        assert!(fixture.open().get(ONE).is_none());
        fixture.open().put(ONE, b"what is kept").unwrap();
        assert_eq!(fixture.open().get(ONE).unwrap(), b"what is kept");
        assert!(fixture.open().get(TWO).is_none());
        assert_eq!(fs::read_dir(&fixture.entries).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn modified_entry_is_rejected() {
        let fixture = Fixture::new();
        let cache = fixture.open();
        cache.put(ONE, b"what is kept").unwrap();
        let path = fixture.entries.join(ONE);
        let genuine = fs::read(&path).unwrap();
        for position in 0..genuine.len() {
            let mut changed = genuine.clone();
            changed[position] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(cache.get(ONE).is_none(), "byte {position}");
        }
        for length in 0..genuine.len() {
            fs::write(&path, &genuine[..length]).unwrap();
            assert!(cache.get(ONE).is_none(), "cut to {length}");
        }
        cache.put(ONE, b"what is kept").unwrap();
        assert!(cache.get(ONE).is_some(), "it is written over");
    }

    #[test]
    fn entry_with_another_name_or_key_is_rejected() {
        let fixture = Fixture::new();
        let cache = fixture.open();
        cache.put(ONE, b"what is kept").unwrap();
        fs::copy(fixture.entries.join(ONE), fixture.entries.join(TWO)).unwrap();
        assert!(cache.get(TWO).is_none());
        fs::remove_file(fixture.key.join(KEY_FILE)).unwrap();
        assert!(fixture.open().get(ONE).is_none());
    }

    #[test]
    fn directory_is_not_returned_as_cache_entry() {
        let fixture = Fixture::new();
        let cache = fixture.open();
        fs::create_dir(fixture.entries.join(ONE)).unwrap();
        assert!(cache.get(ONE).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn open_rejects_files_accessible_to_other_users() {
        use std::os::unix::fs::PermissionsExt as _;
        let refusal = |fixture: &Fixture| fixture.try_open().err().map(|error| error.to_string());
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let fixture = Fixture::new();
        assert_eq!(refusal(&fixture), None);
        let key = fixture.key.join(KEY_FILE);
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        for (path, wrong, right) in [
            (&fixture.entries, 0o777, 0o700),
            (&fixture.entries, 0o720, 0o755),
            (&fixture.key, 0o702, 0o700),
            (&key, 0o640, 0o600),
        ] {
            set(path, wrong);
            let message = refusal(&fixture).unwrap_or_default();
            assert!(message.contains("other users"), "{}: {message}", path.display());
            set(path, right);
            assert_eq!(refusal(&fixture), None, "{}", path.display());
        }
    }

    #[test]
    fn concurrent_opens_agree_on_one_key() {
        let fixture = Fixture::new();
        let start = std::sync::Barrier::new(8);
        let keys: Vec<_> = std::thread::scope(|scope| {
            let opening = || {
                start.wait();
                fixture.open().key
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(opening)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(&fixture.key).unwrap().count(), 1);
    }

    #[test]
    fn invalid_key_is_replaced() {
        let fixture = Fixture::new();
        fixture.open().put(ONE, b"what is kept").unwrap();
        let key = fixture.key.join(KEY_FILE);
        fs::write(&key, b"short").unwrap();
        assert!(fixture.open().get(ONE).is_none());
        fixture.open().put(ONE, b"what is kept").unwrap();
        assert!(fixture.open().get(ONE).is_some());
    }
}

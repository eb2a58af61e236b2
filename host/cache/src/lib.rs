//! Files that are kept between runs because what they hold costs time to make, and
//! that are used only where they are authentic.
//!
//! Who can change such a file may decide what this program does: compiled code is
//! run, and a schema says what is secret. Two walls stand before that. The directory
//! must be one that only this user can write. And each entry carries a keyed digest
//! (BLAKE3) over its name and content, under a random key that lies elsewhere, in a
//! file that only this user can read: an entry that was put there, changed, cut
//! short, renamed or brought from another machine is not authentic and is as if it
//! were absent. What a caller gets are the bytes that were checked, from memory.
//!
//! | file | content |
//! |---|---|
//! | `DIRECTORY/NAME` | magic of the format, keyed digest, content |
//! | `KEY/code-cache.key` | 32 random bytes, for all formats |
//!
//! A format's magic states its version: another one gets another magic, so that
//! neither reads what the other wrote. Entries that nobody wrote for a long time are
//! removed when there are too many. Writers put a file of their own beside and rename
//! it, so that readers of other processes see a whole entry or none.
//!
//! This crate knows nothing of what is kept, reads no environment variable and takes
//! every path from its caller.

mod atomic_write;
mod key;
mod private;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub use crate::atomic_write::{AtomicWrite, sync_directory, temporary_path};
use crate::private::private_directory;

const MAGIC_LENGTH: usize = 16;
const HEADER: usize = MAGIC_LENGTH + blake3::OUT_LEN;

/// What is kept in a directory.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// States the format and its version.
    pub magic: &'static [u8; MAGIC_LENGTH],
    /// What all entries together may take before old ones go.
    pub largest_cache: u64,
    /// An entry that is larger is not one that was put here.
    pub largest_entry: u64,
}

/// Why nothing is kept between runs.
#[derive(Debug, thiserror::Error)]
pub enum CacheRefusal {
    /// Somebody else could put something there.
    #[error("{} {problem}", path.display())]
    Unsafe {
        /// The directory or file.
        path: PathBuf,
        /// What is wrong with it, and what would put it right.
        problem: String,
    },
    /// It could not be read or made.
    #[error("could not use {}: {source}", path.display())]
    Unusable {
        /// The directory or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// An open cache of one format.
pub struct Cache {
    directory: PathBuf,
    key: [u8; blake3::KEY_LEN],
    format: Format,
}

impl Cache {
    /// Opens a cache, making what is not there yet. The key's directory must not be
    /// that of the entries, nor one above or below it.
    ///
    /// # Errors
    /// Where others can write one of the directories or read the key, or one cannot be
    /// used.
    pub fn open(directory: &Path, key_directory: &Path, format: Format) -> Result<Self, CacheRefusal> {
        private_directory(directory)?;
        private_directory(key_directory)?;
        let key = key::read_or_make(key_directory)?;
        Ok(Self { directory: directory.to_owned(), key, format })
    }

    /// The content of an entry, where there is an authentic one.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.directory.join(name);
        let (header, content) = match self.read(&path) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "what was kept cannot be read");
                return None;
            }
        };
        if self.is_authentic(name, &header, &content) {
            Some(content)
        } else {
            tracing::warn!(path = %path.display(), "what was kept is not ours; it is made anew");
            None
        }
    }

    /// Keeps an entry.
    ///
    /// # Errors
    /// Where it cannot be written; what was there before is still there.
    pub fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.directory.join(name);
        let digest = self.digest(name, content);
        // The digest detects an entry that a loss of power cut short.
        let replacement = AtomicWrite::new().private().without_sync();
        let result = replacement.write(&path, &[self.format.magic, digest.as_bytes(), content]);
        self.prune(name);
        result
    }

    fn read(&self, path: &Path) -> io::Result<([u8; HEADER], Vec<u8>)> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.len() > self.format.largest_entry {
            return Err(io::Error::other("it is no entry of the cache"));
        }
        let mut header = [0; HEADER];
        if about.len() < HEADER as u64 {
            return Ok((header, Vec::new()));
        }
        file.read_exact(&mut header)?;
        let length = about.len() - HEADER as u64;
        let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
        file.take(self.format.largest_entry).read_to_end(&mut content)?;
        Ok((header, content))
    }

    fn is_authentic(&self, name: &str, header: &[u8; HEADER], content: &[u8]) -> bool {
        let (magic, digest) = header.split_at(MAGIC_LENGTH);
        let Ok(digest) = <[u8; blake3::OUT_LEN]>::try_from(digest) else {
            return false;
        };
        // `Hash` compares in constant time.
        magic == self.format.magic && self.digest(name, content) == blake3::Hash::from_bytes(digest)
    }

    /// The length keeps a name's end and the content's beginning apart.
    fn digest(&self, name: &str, content: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(self.format.magic);
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(content);
        hasher.finalize()
    }

    /// Removes the oldest entries, but for the one just written, until the rest
    /// fits. Best effort: another process may be doing the same.
    fn prune(&self, keep: &str) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<_> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_str() != Some(keep))
            .filter_map(|entry| {
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        files.sort();
        for (_, length, path) in files {
            if total <= self.format.largest_cache {
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

    const FORMAT: Format =
        Format { magic: b"wardian test 1\r\n", largest_cache: 1 << 20, largest_entry: 1 << 20 };

    struct Place {
        _root: tempfile::TempDir,
        entries: PathBuf,
        key: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let (entries, key) = (root.path().join("cache"), root.path().join("state"));
            Self { _root: root, entries, key }
        }

        fn opened(&self) -> Result<Cache, CacheRefusal> {
            Cache::open(&self.entries, &self.key, FORMAT)
        }

        fn open(&self) -> Cache {
            self.opened().unwrap()
        }
    }

    const ONE: &str = "one.entry";
    const TWO: &str = "two.entry";

    #[test]
    fn another_version_of_a_format_is_not_read() {
        let place = Place::new();
        place.open().put(ONE, b"kept").unwrap();
        let newer = Format { magic: b"wardian test 2\r\n", ..FORMAT };
        assert!(Cache::open(&place.entries, &place.key, newer).unwrap().get(ONE).is_none());
    }

    #[test]
    fn old_entries_go_when_there_are_too_many() {
        let place = Place::new();
        let small = Format { largest_cache: 100, ..FORMAT };
        let cache = Cache::open(&place.entries, &place.key, small).unwrap();
        cache.put(ONE, &[1; 200]).unwrap();
        cache.put(TWO, &[2; 200]).unwrap();
        assert!(cache.get(ONE).is_none());
        assert!(cache.get(TWO).is_some());
    }

    #[test]
    fn what_was_put_is_found_by_the_next_process() {
        let place = Place::new();
        assert!(place.open().get(ONE).is_none());
        place.open().put(ONE, b"what is kept").unwrap();
        assert_eq!(place.open().get(ONE).unwrap(), b"what is kept");
        assert!(place.open().get(TWO).is_none());
        assert_eq!(fs::read_dir(&place.entries).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_changed_entry_is_not_used_wherever_it_was_changed() {
        let place = Place::new();
        let cache = place.open();
        cache.put(ONE, b"what is kept").unwrap();
        let path = place.entries.join(ONE);
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
    fn an_entry_of_another_name_or_key_is_not_used() {
        let place = Place::new();
        let cache = place.open();
        cache.put(ONE, b"what is kept").unwrap();
        fs::copy(place.entries.join(ONE), place.entries.join(TWO)).unwrap();
        assert!(cache.get(TWO).is_none());
        fs::remove_file(place.key.join(KEY_FILE)).unwrap();
        assert!(place.open().get(ONE).is_none());
    }

    #[test]
    fn a_directory_in_the_place_of_an_entry_is_not_an_entry() {
        let place = Place::new();
        let cache = place.open();
        fs::create_dir(place.entries.join(ONE)).unwrap();
        assert!(cache.get(ONE).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_or_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let refusal = |place: &Place| place.opened().err().map(|error| error.to_string());
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let place = Place::new();
        assert_eq!(refusal(&place), None);
        let key = place.key.join(KEY_FILE);
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        for (path, wrong, right) in [
            (&place.entries, 0o777, 0o700),
            (&place.entries, 0o720, 0o755),
            (&place.key, 0o702, 0o700),
            (&key, 0o640, 0o600),
        ] {
            set(path, wrong);
            let message = refusal(&place).unwrap_or_default();
            assert!(message.contains("other users"), "{}: {message}", path.display());
            set(path, right);
            assert_eq!(refusal(&place), None, "{}", path.display());
        }
    }

    #[test]
    fn all_that_start_at_once_agree_on_one_key() {
        let place = Place::new();
        let start = std::sync::Barrier::new(8);
        let keys: Vec<_> = std::thread::scope(|scope| {
            let opening = || {
                start.wait();
                place.open().key
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(opening)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(&place.key).unwrap().count(), 1);
    }

    #[test]
    fn a_key_that_is_none_is_replaced() {
        let place = Place::new();
        place.open().put(ONE, b"what is kept").unwrap();
        let key = place.key.join(KEY_FILE);
        fs::write(&key, b"short").unwrap();
        assert!(place.open().get(ONE).is_none());
        place.open().put(ONE, b"what is kept").unwrap();
        assert!(place.open().get(ONE).is_some());
    }
}

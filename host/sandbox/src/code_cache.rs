//! Compiled code, kept between runs.
//!
//! Compiled code is native code: whoever can change it runs with all rights of
//! the person. Two walls stand before it. The directory must be one that only
//! this user can write. And each entry carries a keyed digest (BLAKE3) over its
//! name and content, under a random key that lies elsewhere, in a file that only
//! this user can read: an entry that was put there, changed, cut short, renamed
//! or brought from another machine is not authentic, is compiled anew and
//! written over. What is run are the bytes that were checked, from memory.
//!
//! | file | content |
//! |---|---|
//! | `CODE/DIGEST-ENGINE.code` | magic, keyed digest, what wasmtime serialised |
//! | `KEY/code-cache.key` | 32 random bytes |
//!
//! `DIGEST` is the component's SHA-256, `ENGINE` the start of a digest of all
//! that compiled code depends on. A wardian of another version therefore uses
//! other entries; entries that nobody wrote for a long time are removed when
//! there are too many. Writers put a file of their own beside and rename it, so
//! that readers of other processes see a whole entry or none.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::Compatibility;
use crate::error::CacheRefusal;

/// States the format: another one gets another magic.
const MAGIC: &[u8; 16] = b"wardian code 1\r\n";
const HEADER: usize = MAGIC.len() + blake3::OUT_LEN;
const KEY_FILE: &str = "code-cache.key";
/// What the entries together may take before old ones go.
const LARGEST_CACHE: u64 = 1 << 30;
/// An entry that wasmtime could have made is never larger.
const LARGEST_ENTRY: u64 = 1 << 30;

/// Where compiled code and the key that authenticates it are kept.
#[derive(Clone, Debug)]
pub struct CacheDirectories {
    /// For compiled code: it can be removed at any time.
    pub code: PathBuf,
    /// For the key: not the same directory, nor one above or below it.
    pub key: PathBuf,
}

/// An open cache.
pub(crate) struct CodeCache {
    directory: PathBuf,
    key: [u8; blake3::KEY_LEN],
    engine: String,
}

/// An entry that was found authentic.
pub(crate) struct Entry(Vec<u8>);

impl Entry {
    /// What wasmtime serialised.
    pub(crate) fn code(&self) -> &[u8] {
        &self.0[HEADER..]
    }
}

impl CodeCache {
    /// Opens a cache, making what is not there yet.
    pub(crate) fn open(
        directories: &CacheDirectories,
        compatibility: Compatibility,
    ) -> Result<Self, CacheRefusal> {
        private_directory(&directories.code)?;
        private_directory(&directories.key)?;
        let key = read_or_make_key(&directories.key.join(KEY_FILE))?;
        let engine = hex::encode(&compatibility.as_bytes()[..16]);
        Ok(Self { directory: directories.code.clone(), key, engine })
    }

    /// The entry of a component, where there is an authentic one.
    pub(crate) fn get(&self, component: &[u8; 32]) -> Option<Entry> {
        let name = self.name(component);
        let path = self.directory.join(&name);
        let bytes = match read_bounded(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiled code cannot be read");
                return None;
            }
        };
        if self.is_authentic(&name, &bytes) {
            Some(Entry(bytes))
        } else {
            tracing::warn!(path = %path.display(), "compiled code is not ours; compiling anew");
            None
        }
    }

    /// Keeps a component's code.
    pub(crate) fn put(&self, component: &[u8; 32], code: &[u8]) -> io::Result<()> {
        let name = self.name(component);
        let temporary = beside(&self.directory.join(&name));
        let written = (|| {
            let mut file = create_private(&temporary)?;
            file.write_all(MAGIC)?;
            file.write_all(self.digest(&name, code).as_bytes())?;
            file.write_all(code)?;
            fs::rename(&temporary, self.directory.join(&name))
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        self.prune(&name);
        written
    }

    fn name(&self, component: &[u8; 32]) -> String {
        format!("{}-{}.code", hex::encode(component), self.engine)
    }

    fn is_authentic(&self, name: &str, bytes: &[u8]) -> bool {
        let Some((header, code)) = bytes.split_at_checked(HEADER) else {
            return false;
        };
        let (magic, digest) = header.split_at(MAGIC.len());
        let Ok(digest) = <[u8; blake3::OUT_LEN]>::try_from(digest) else {
            return false;
        };
        // `Hash` compares in constant time.
        magic == MAGIC && self.digest(name, code) == blake3::Hash::from_bytes(digest)
    }

    /// The length keeps a name's end and the code's beginning apart.
    fn digest(&self, name: &str, code: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(MAGIC);
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(code);
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
            if total <= LARGEST_CACHE {
                return;
            }
            if fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }
}

/// A name that nobody else writes to, whichever process or thread.
fn beside(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    path.with_added_extension(format!("{}-{count}.new", std::process::id()))
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > LARGEST_ENTRY {
        return Err(io::Error::other("it is no entry of the cache"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0) + 1);
    file.take(LARGEST_ENTRY).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Two processes that start at once agree on one key: it is written whole under
/// another name first, and the first link to the right one wins.
fn read_or_make_key(path: &Path) -> Result<[u8; blake3::KEY_LEN], CacheRefusal> {
    let unusable = |source| CacheRefusal::Unusable { path: path.to_path_buf(), source };
    if let Some(key) = read_key(path)? {
        return Ok(key);
    }
    let mut key = [0; blake3::KEY_LEN];
    getrandom::fill(&mut key).map_err(|error| unusable(io::Error::other(error.to_string())))?;
    let temporary = beside(path);
    let written = (|| {
        let mut file = create_private(&temporary)?;
        file.write_all(&key)?;
        file.sync_all()?;
        fs::hard_link(&temporary, path)
    })();
    let _ = fs::remove_file(&temporary);
    match written {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match read_key(path)? {
            Some(key) => Ok(key),
            None => Err(unusable(error)),
        },
        Err(error) => Err(unusable(error)),
    }
}

/// The key, if there is one. A file that is no key is in nobody's way: it is
/// removed, which makes all entries inauthentic.
fn read_key(path: &Path) -> Result<Option<[u8; blake3::KEY_LEN]>, CacheRefusal> {
    let unusable = |source| CacheRefusal::Unusable { path: path.to_path_buf(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(error)),
    };
    let about = file.metadata().map_err(unusable)?;
    check_private(path, &about, READABLE_BY_OTHERS)?;
    if about.is_file() && about.len() == blake3::KEY_LEN as u64 {
        let mut key = [0; blake3::KEY_LEN];
        file.read_exact(&mut key).map_err(unusable)?;
        return Ok(Some(key));
    }
    fs::remove_file(path).map_err(unusable)?;
    Ok(None)
}

const WRITABLE_BY_OTHERS: u32 = 0o022;
const READABLE_BY_OTHERS: u32 = 0o077;

/// Makes the directory if need be and refuses one that others can write.
fn private_directory(path: &Path) -> Result<(), CacheRefusal> {
    let unusable = |source| CacheRefusal::Unusable { path: path.to_path_buf(), source };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(unusable)?;
    let about = fs::metadata(path).map_err(unusable)?;
    check_private(path, &about, WRITABLE_BY_OTHERS)
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn check_private(path: &Path, about: &fs::Metadata, forbidden: u32) -> Result<(), CacheRefusal> {
    use std::os::unix::fs::MetadataExt as _;
    let unsafe_because = |problem: String| Err(CacheRefusal::Unsafe { path: path.into(), problem });
    if about.uid() != rustix::process::geteuid().as_raw() {
        return unsafe_because("belongs to another user".into());
    }
    if about.mode() & forbidden != 0 {
        let mode = if about.is_dir() { "700" } else { "600" };
        let what = if forbidden == READABLE_BY_OTHERS { "read" } else { "changed" };
        return unsafe_because(format!(
            "can be {what} by other users; `chmod {mode}` it to keep compiled plugins"
        ));
    }
    Ok(())
}

/// Elsewhere a user's own directories are private by inheritance.
#[cfg(not(unix))]
fn check_private(_path: &Path, _about: &fs::Metadata, _forbidden: u32) -> Result<(), CacheRefusal> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _root: tempfile::TempDir,
        directories: CacheDirectories,
    }

    fn place() -> Place {
        let root = tempfile::tempdir().unwrap();
        let directories =
            CacheDirectories { code: root.path().join("cache"), key: root.path().join("state") };
        Place { _root: root, directories }
    }

    fn open(place: &Place) -> CodeCache {
        let compatibility = Compatibility::of(&crate::engine::create().unwrap());
        CodeCache::open(&place.directories, compatibility).unwrap()
    }

    fn entry_path(place: &Place, cache: &CodeCache, component: &[u8; 32]) -> PathBuf {
        place.directories.code.join(cache.name(component))
    }

    const ONE: [u8; 32] = [1; 32];
    const TWO: [u8; 32] = [2; 32];

    #[test]
    fn what_was_put_is_found_by_the_next_process() {
        let place = place();
        assert!(open(&place).get(&ONE).is_none());
        open(&place).put(&ONE, b"native code").unwrap();
        assert_eq!(open(&place).get(&ONE).unwrap().code(), b"native code");
        assert!(open(&place).get(&TWO).is_none());
        assert_eq!(fs::read_dir(&place.directories.code).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_changed_entry_is_not_used_wherever_it_was_changed() {
        let place = place();
        let cache = open(&place);
        cache.put(&ONE, b"native code").unwrap();
        let path = entry_path(&place, &cache, &ONE);
        let genuine = fs::read(&path).unwrap();
        for position in 0..genuine.len() {
            let mut changed = genuine.clone();
            changed[position] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(cache.get(&ONE).is_none(), "byte {position}");
        }
        for length in 0..genuine.len() {
            fs::write(&path, &genuine[..length]).unwrap();
            assert!(cache.get(&ONE).is_none(), "cut to {length}");
        }
        cache.put(&ONE, b"native code").unwrap();
        assert!(cache.get(&ONE).is_some(), "it is written over");
    }

    #[test]
    fn an_entry_of_another_component_or_key_is_not_used() {
        let place = place();
        let cache = open(&place);
        cache.put(&ONE, b"native code").unwrap();
        fs::copy(entry_path(&place, &cache, &ONE), entry_path(&place, &cache, &TWO)).unwrap();
        assert!(cache.get(&TWO).is_none());
        fs::remove_file(place.directories.key.join(KEY_FILE)).unwrap();
        assert!(open(&place).get(&ONE).is_none());
    }

    #[test]
    fn a_directory_in_the_place_of_an_entry_is_not_an_entry() {
        let place = place();
        let cache = open(&place);
        fs::create_dir(entry_path(&place, &cache, &ONE)).unwrap();
        assert!(cache.get(&ONE).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_or_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let refusal = |place: &Place| {
            let compatibility = Compatibility::of(&crate::engine::create().unwrap());
            CodeCache::open(&place.directories, compatibility).err().map(|e| e.to_string())
        };
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let place = place();
        assert_eq!(refusal(&place), None);
        let key = place.directories.key.join(KEY_FILE);
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        for (path, wrong, right) in [
            (&place.directories.code, 0o777, 0o700),
            (&place.directories.code, 0o720, 0o755),
            (&place.directories.key, 0o702, 0o700),
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
        let place = place();
        let start = std::sync::Barrier::new(8);
        let keys: Vec<_> = std::thread::scope(|scope| {
            let opening = || {
                start.wait();
                open(&place).key
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(opening)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(&place.directories.key).unwrap().count(), 1);
    }

    #[test]
    fn a_key_that_is_none_is_replaced() {
        let place = place();
        open(&place).put(&ONE, b"native code").unwrap();
        let key = place.directories.key.join(KEY_FILE);
        fs::write(&key, b"short").unwrap();
        assert!(open(&place).get(&ONE).is_none());
        open(&place).put(&ONE, b"native code").unwrap();
        assert!(open(&place).get(&ONE).is_some());
    }
}

//! The digests of large files, remembered by which file it is.
//!
//! A native plugin of half a gigabyte takes seconds to hash, at each use, although it
//! hardly ever changes. A file is taken for the one that was hashed if device, inode,
//! size, and the times of its last change and of the last change of its inode are the
//! same. The last of these cannot be set: who writes to a file, replaces it, or sets its
//! times back, changes it, unless they can also set the machine's clock. A file that
//! changed just before it was hashed is not remembered, since it could change again
//! within one tick of the file system's clock.
//!
//! What is remembered lies in a cache whose entries are authenticated (see
//! `wardian-cache`), under one name: lines of `DEVICE INODE SIZE MTIME CTIME SHA256`.
//! Without a cache, every file is hashed each time.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_cache::{Cache, CacheRefusal, Format};

use crate::hash::Sha256Digest;

const FORMAT: Format = Format { magic: b"wardian digest1\n", largest_cache: 4 << 20, largest_entry: 1 << 20 };
const ENTRY: &str = "files.digests";
/// What is smaller is hashed sooner than looked up.
const SMALLEST: u64 = 1 << 20;
/// How many are remembered at most.
const MOST: usize = 1000;
/// How long a file must have been as it is.
const SETTLED: Duration = Duration::from_secs(3);

/// Digests of files.
#[derive(Default)]
pub struct FileDigests {
    memory: Option<Memory>,
}

struct Memory {
    cache: Cache,
    known: Mutex<BTreeMap<Identity, Sha256Digest>>,
}

/// Which file it is, and since when it is so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// In nanoseconds since 1970.
    modified: i128,
    changed: i128,
}

impl FileDigests {
    /// Remembers digests in a directory. `key` is where the key lies that authenticates
    /// them: not the same directory, nor one above or below it.
    ///
    /// # Errors
    /// Where others can write one of the directories or read the key, or one cannot be
    /// used.
    pub fn remembered(directory: &Path, key: &Path) -> Result<Self, CacheRefusal> {
        let cache = Cache::open(directory, key, FORMAT)?;
        let known = cache.get(ENTRY).map(|bytes| parse(&bytes)).unwrap_or_default();
        Ok(Self { memory: Some(Memory { cache, known: Mutex::new(known) }) })
    }

    /// The digest of a file.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn of(&self, path: &Path) -> io::Result<Sha256Digest> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        let memory = self.memory.as_ref().filter(|_| about.len() >= SMALLEST);
        let (Some(memory), Some(before)) = (memory, Identity::of(&about)) else {
            return Sha256Digest::of_reader(file);
        };
        if let Some(known) = memory.lock().get(&before) {
            return Ok(*known);
        }
        let begun = SystemTime::now();
        let digest = Sha256Digest::of_reader(&file)?;
        if before.had_settled(begun) && Identity::of(&file.metadata()?) == Some(before) {
            memory.remember(before, digest);
        }
        Ok(digest)
    }
}

impl std::fmt::Debug for FileDigests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileDigests").field("remembered", &self.memory.is_some()).finish()
    }
}

impl Memory {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Identity, Sha256Digest>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, identity: Identity, digest: Sha256Digest) {
        let mut known = self.lock();
        // What the same file was before is of no use any more.
        known.retain(|other, _| (other.device, other.inode) != (identity.device, identity.inode));
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(identity, digest);
        // A digest that is not remembered costs time and nothing else.
        let _ = self.cache.put(ENTRY, written(&known).as_bytes());
    }
}

impl Identity {
    #[cfg(unix)]
    #[allow(clippy::unnecessary_wraps, reason = "elsewhere files have no such identity")]
    fn of(about: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let moment =
            |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Some(Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.len(),
            modified: moment(about.mtime(), about.mtime_nsec()),
            changed: moment(about.ctime(), about.ctime_nsec()),
        })
    }

    #[cfg(not(unix))]
    fn of(_about: &Metadata) -> Option<Self> {
        None
    }

    fn had_settled(&self, at: SystemTime) -> bool {
        let Ok(now) = at.duration_since(UNIX_EPOCH) else { return false };
        let latest = self.modified.max(self.changed);
        u128::try_from(latest).is_ok_and(|latest| latest + SETTLED.as_nanos() <= now.as_nanos())
    }
}

fn written(known: &BTreeMap<Identity, Sha256Digest>) -> String {
    let line = |(file, digest): (&Identity, &Sha256Digest)| {
        let Identity { device, inode, size, modified, changed } = file;
        format!("{device} {inode} {size} {modified} {changed} {digest}\n")
    };
    known.iter().map(line).collect()
}

/// What is no such line is passed over.
fn parse(bytes: &[u8]) -> BTreeMap<Identity, Sha256Digest> {
    let line = |line: &str| {
        let mut parts = line.split(' ');
        let mut next = || parts.next();
        let identity = Identity {
            device: next()?.parse().ok()?,
            inode: next()?.parse().ok()?,
            size: next()?.parse().ok()?,
            modified: next()?.parse().ok()?,
            changed: next()?.parse().ok()?,
        };
        let digest: [u8; 32] = hex::decode(next()?).ok()?.try_into().ok()?;
        Some((identity, Sha256Digest::from_bytes(digest)))
    };
    String::from_utf8_lossy(bytes).lines().filter_map(line).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Place {
        root: tempfile::TempDir,
        file: PathBuf,
    }

    /// A file that was last changed a while ago, as far as its own times say.
    fn place() -> Place {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("plugin");
        fs::write(&file, vec![7; 2 << 20]).unwrap();
        Place { root, file }
    }

    impl Place {
        fn digests(&self) -> FileDigests {
            FileDigests::remembered(&self.root.path().join("cache"), &self.root.path().join("key")).unwrap()
        }

        fn identity(&self) -> Identity {
            Identity::of(&fs::metadata(&self.file).unwrap()).unwrap()
        }

        /// Remembers something false, so that it shows whether it is used.
        fn remember_something_false(&self) -> Sha256Digest {
            let falsehood = Sha256Digest::of(b"something else");
            self.digests().memory.unwrap().remember(self.identity(), falsehood);
            falsehood
        }
    }

    #[test]
    fn a_file_that_is_the_same_is_not_hashed_again() {
        let place = place();
        let falsehood = place.remember_something_false();
        assert_eq!(place.digests().of(&place.file).unwrap(), falsehood);
        let strict = FileDigests::default();
        assert_eq!(strict.of(&place.file).unwrap(), Sha256Digest::of(&vec![7; 2 << 20]));
    }

    #[test]
    fn a_file_that_was_changed_replaced_or_touched_is_hashed() {
        let content = vec![8; 2 << 20];
        let changes: [fn(&Path, &[u8]); 3] = [
            |file, content| fs::write(file, content).unwrap(),
            |file, content| {
                let other = file.with_extension("new");
                fs::write(&other, content).unwrap();
                fs::rename(other, file).unwrap();
            },
            |file, content| {
                let before = fs::metadata(file).unwrap().modified().unwrap();
                fs::write(file, content).unwrap();
                File::options().write(true).open(file).unwrap().set_modified(before).unwrap();
            },
        ];
        for change in changes {
            let place = place();
            place.remember_something_false();
            std::thread::sleep(Duration::from_millis(20));
            change(&place.file, &content);
            assert_eq!(place.digests().of(&place.file).unwrap(), Sha256Digest::of(&content));
        }
    }

    #[test]
    fn what_changed_just_now_is_not_remembered_yet() {
        let place = place();
        place.digests().of(&place.file).unwrap();
        assert!(place.digests().memory.unwrap().lock().is_empty());
        let identity = place.identity();
        let now = SystemTime::now();
        assert!(!identity.had_settled(now) && identity.had_settled(now + Duration::from_secs(4)));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_not_is_passed_over() {
        let identity = Identity { device: 1, inode: 2, size: 3, modified: -4, changed: 5 };
        let known = BTreeMap::from([(identity, Sha256Digest::of(b"x"))]);
        let text = format!("noise\n1 2 3\n{}1 2 3 4 5 zz\n", written(&known));
        assert!(parse(text.as_bytes()) == known);
    }
}

//! Caches digests of large files.
//!
//! Hashing a native plugin of half a gigabyte takes seconds in each run, although such a file
//! rarely changes. A file is considered unchanged if its device, inode, size, modification time and
//! inode change time are the same. Programs cannot set the inode change time, which changes when a
//! program writes to the file, replaces it or resets its modification time, unless they also change
//! the machine's clock. The digest of a file that changed just before it was hashed is not cached,
//! since it could change again within one tick of the file system's clock. The digests of files
//! that this process writes are computed during writing, and are cached after one tick.
//!
//! The digests are stored in one entry of an authenticated cache (see `wardian-cache`), as lines
//! of `DEVICE INODE SIZE MTIME CTIME SHA256`. Without a cache, every file is hashed each time.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_cache::{Cache, CacheError, CacheFormat};
use wardian_digest::Sha256Digest;
use wardian_files::open_regular;

const FORMAT: CacheFormat =
    CacheFormat { magic: b"wardian digest1\n", max_total_bytes: 4 << 20, max_entry_bytes: 1 << 20 };
const ENTRY: &str = "files.digests";
/// Minimum size of a file whose digest is cached. Hashing a smaller file takes less time than a
/// cache lookup.
const MIN_CACHED_SIZE: u64 = 1 << 20;
/// The maximum number of cached digests.
const MAX_ENTRIES: usize = 1000;
/// Minimum time since the last change of a file whose digest is cached. The interval exceeds the
/// timestamp resolution of every file system.
const MIN_AGE: Duration = Duration::from_secs(3);
/// The minimum time on local file systems whose timestamps come from the kernel's clock, which has
/// a tick of at most 10 ms.
const MIN_AGE_WITH_FINE_TIMES: Duration = Duration::from_millis(25);

/// Computes the digests of files, and caches the digests of large files.
#[derive(Default)]
pub struct FileDigests {
    cache: Option<DigestCache>,
}

struct DigestCache {
    cache: Cache,
    known: Mutex<BTreeMap<FileIdentity, Sha256Digest>>,
    written: Mutex<Vec<WrittenFile>>,
}

/// A file that this process wrote and hashed.
struct WrittenFile {
    file: File,
    identity: FileIdentity,
    digest: Sha256Digest,
}

/// Identifies a file and the time of its last change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    /// The modification time in nanoseconds since 1970.
    modified: i128,
    changed: i128,
}

impl FileDigests {
    /// Caches digests in a directory. `key` is the directory of the key that authenticates them. It
    /// must not be `directory`, an ancestor of it, or a directory in it.
    ///
    /// # Errors
    /// Returns an error if other users can write to one of the directories or read the key, or if a
    /// directory cannot be used.
    pub fn with_cache(directory: &Path, key: &Path) -> Result<Self, CacheError> {
        let cache = Cache::open(directory, key, FORMAT)?;
        let known = cache.get(ENTRY).map(|bytes| parse(&bytes)).unwrap_or_default();
        Ok(Self { cache: Some(DigestCache { cache, known: Mutex::new(known), written: Mutex::default() }) })
    }

    /// Returns the digest of a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn digest(&self, path: &Path) -> io::Result<Sha256Digest> {
        let file = open_regular(path)?;
        let metadata = file.metadata()?;
        let cache = self.cache.as_ref().filter(|_| metadata.len() >= MIN_CACHED_SIZE);
        let (Some(cache), Some(before)) = (cache, FileIdentity::from_metadata(&metadata)) else {
            return Sha256Digest::hash_reader(file);
        };
        if let Some(known) = cache.lock().get(&before) {
            return Ok(*known);
        }
        let start = SystemTime::now();
        let digest = Sha256Digest::hash_reader(&file)?;
        if before.is_old_enough(&file, start)
            && FileIdentity::from_metadata(&file.metadata()?) == Some(before)
        {
            cache.insert([(before, digest)]);
        }
        Ok(digest)
    }

    /// Adds the digest of a file that this process has written, for [`Self::save_written`].
    pub(crate) fn add_written(&self, file: File, digest: Sha256Digest) {
        let Some(cache) = &self.cache else { return };
        let metadata = file.metadata().ok().filter(|metadata| metadata.len() >= MIN_CACHED_SIZE);
        if let Some(identity) = metadata.as_ref().and_then(FileIdentity::from_metadata) {
            let mut written = cache.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.push(WrittenFile { file, identity, digest });
        }
    }

    /// Caches the digests of the files that this process has written and that have not changed
    /// since. If necessary, waits for the next tick of the clock that sets their timestamps. On
    /// file systems with coarse timestamps, nothing is cached.
    pub fn save_written(&self) {
        let Some(cache) = &self.cache else { return };
        let written = std::mem::take(&mut *cache.written.lock().unwrap_or_else(PoisonError::into_inner));
        let now = SystemTime::now();
        let waits = written.iter().filter_map(|WrittenFile { file, identity, .. }| {
            let min_age = identity.min_age(file);
            let wait = min_age.saturating_sub(identity.age(now)?);
            (min_age < MIN_AGE).then_some(wait)
        });
        let Some(wait) = waits.max() else { return };
        std::thread::sleep(wait);
        let now = SystemTime::now();
        cache.insert(written.into_iter().filter_map(|WrittenFile { file, identity, digest }| {
            let current = FileIdentity::from_metadata(&file.metadata().ok()?);
            (identity.is_old_enough(&file, now) && current == Some(identity)).then_some((identity, digest))
        }));
    }
}

impl std::fmt::Debug for FileDigests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileDigests").field("cached", &self.cache.is_some()).finish()
    }
}

impl DigestCache {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<FileIdentity, Sha256Digest>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, digests: impl IntoIterator<Item = (FileIdentity, Sha256Digest)>) {
        let mut known = self.lock();
        for (identity, digest) in digests {
            // Digests of earlier versions of the same file are no longer needed.
            known.retain(|other, _| (other.device, other.inode) != (identity.device, identity.inode));
            if known.len() >= MAX_ENTRIES {
                known.clear();
            }
            known.insert(identity, digest);
        }
        // If this fails, the file is only hashed again in the next run.
        let _ = self.cache.put(ENTRY, encode(&known).as_bytes());
    }
}

impl FileIdentity {
    #[cfg(unix)]
    #[allow(clippy::unnecessary_wraps, reason = "on other systems files have no such identity")]
    fn from_metadata(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let moment =
            |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: moment(metadata.mtime(), metadata.mtime_nsec()),
            changed: moment(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    #[cfg(not(unix))]
    fn from_metadata(_metadata: &Metadata) -> Option<Self> {
        None
    }

    /// Returns the time since the last change; [`None`] if the change is in the future.
    fn age(&self, at: SystemTime) -> Option<Duration> {
        let now = i128::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()?;
        let nanoseconds = now.checked_sub(self.modified.max(self.changed))?;
        Some(Duration::from_nanos(u64::try_from(nanoseconds).ok()?))
    }

    fn is_old_enough(&self, file: &File, at: SystemTime) -> bool {
        self.age(at).is_some_and(|age| age >= self.min_age(file))
    }

    fn min_age(&self, file: &File) -> Duration {
        let has_fine_times = self.changed % NANOSECONDS_PER_MILLISECOND != 0 && has_local_times(file);
        if has_fine_times { MIN_AGE_WITH_FINE_TIMES } else { MIN_AGE }
    }
}

const NANOSECONDS_PER_MILLISECOND: i128 = 1_000_000;

/// Returns whether this machine's clock sets the timestamps of a file. On network file systems, the
/// server's clock sets them.
#[cfg(target_os = "linux")]
fn has_local_times(file: &File) -> bool {
    /// The magic numbers of bcachefs, btrfs, ext4, F2FS, overlayfs, tmpfs, XFS and ZFS, in the
    /// `f_type` of statfs(2).
    const LOCAL: [u32; 8] =
        [0xca45_1a4e, 0x9123_683e, 0xef53, 0xf2f5_2010, 0x794c_7630, 0x0102_1994, 0x5846_5342, 0x2fc1_2fc1];
    rustix::fs::fstatfs(file)
        .is_ok_and(|about| u32::try_from(about.f_type).is_ok_and(|kind| LOCAL.contains(&kind)))
}

#[cfg(not(target_os = "linux"))]
fn has_local_times(_file: &File) -> bool {
    false
}

fn encode(known: &BTreeMap<FileIdentity, Sha256Digest>) -> String {
    let line = |(file, digest): (&FileIdentity, &Sha256Digest)| {
        let FileIdentity { device, inode, size, modified, changed } = file;
        format!("{device} {inode} {size} {modified} {changed} {digest}\n")
    };
    known.iter().map(line).collect()
}

/// Parses cached digests; malformed lines are ignored.
fn parse(bytes: &[u8]) -> BTreeMap<FileIdentity, Sha256Digest> {
    let line = |line: &str| {
        let mut parts = line.split(' ');
        let mut next = || parts.next();
        let identity = FileIdentity {
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

    struct Fixture {
        root: tempfile::TempDir,
        file: PathBuf,
    }

    /// Creates a file whose timestamps are in the past.
    fn fixture() -> Fixture {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("plugin");
        fs::write(&file, vec![7; 2 << 20]).unwrap();
        Fixture { root, file }
    }

    impl Fixture {
        fn digests(&self) -> FileDigests {
            FileDigests::with_cache(&self.root.path().join("cache"), &self.root.path().join("key")).unwrap()
        }

        fn identity(&self) -> FileIdentity {
            FileIdentity::from_metadata(&fs::metadata(&self.file).unwrap()).unwrap()
        }

        /// Caches a wrong digest, which lets a test detect whether the cache is used.
        fn insert_wrong_digest(&self) -> Sha256Digest {
            let wrong = Sha256Digest::hash(b"something else");
            self.digests().cache.unwrap().insert([(self.identity(), wrong)]);
            wrong
        }
    }

    #[test]
    fn unchanged_file_is_not_hashed_again() {
        let fixture = fixture();
        let wrong = fixture.insert_wrong_digest();
        assert_eq!(fixture.digests().digest(&fixture.file).unwrap(), wrong);
        let uncached = FileDigests::default();
        assert_eq!(uncached.digest(&fixture.file).unwrap(), Sha256Digest::hash(&vec![7; 2 << 20]));
    }

    #[test]
    fn modified_replaced_or_touched_file_is_hashed_again() {
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
            let fixture = fixture();
            fixture.insert_wrong_digest();
            std::thread::sleep(Duration::from_millis(20));
            change(&fixture.file, &content);
            assert_eq!(fixture.digests().digest(&fixture.file).unwrap(), Sha256Digest::hash(&content));
        }
    }

    #[test]
    fn recently_changed_file_is_not_cached() {
        let fixture = fixture();
        let future = SystemTime::now() + Duration::from_secs(1000);
        File::options().write(true).open(&fixture.file).unwrap().set_modified(future).unwrap();
        fixture.digests().digest(&fixture.file).unwrap();
        assert!(fixture.digests().cache.unwrap().lock().is_empty());
    }

    #[test]
    fn minimum_age_depends_on_timestamp_resolution() {
        let fixture = fixture();
        let file = File::open(&fixture.file).unwrap();
        let identity = |changed| FileIdentity { device: 1, inode: 2, size: 3, modified: 0, changed };
        assert_eq!(identity(1_000_000_000).min_age(&file), MIN_AGE);
        assert_eq!(identity(1_004_000_000).min_age(&file), MIN_AGE);
        let null = File::open("/proc/self/stat");
        assert!(null.is_err() || identity(1_000_000_123).min_age(&null.unwrap()) == MIN_AGE);
        let at = |nanoseconds| UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        assert_eq!(identity(500).age(at(700)), Some(Duration::from_nanos(200)));
        assert_eq!(identity(500).age(at(499)), None);
    }

    #[test]
    fn written_file_is_not_hashed_again() {
        let fixture = fixture();
        let digests = fixture.digests();
        let wrong = Sha256Digest::hash(b"something else");
        let file = File::open(&fixture.file).unwrap();
        let has_fine_times = fixture.identity().min_age(&file) < MIN_AGE;
        digests.add_written(file, wrong);
        assert_ne!(digests.digest(&fixture.file).unwrap(), wrong);
        digests.save_written();
        assert_eq!(fixture.digests().digest(&fixture.file).unwrap() == wrong, has_fine_times);
    }

    #[test]
    fn file_that_changed_after_it_was_written_is_hashed_again() {
        let fixture = fixture();
        let digests = fixture.digests();
        let wrong = Sha256Digest::hash(b"something else");
        digests.add_written(File::open(&fixture.file).unwrap(), wrong);
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&fixture.file, vec![8; 2 << 20]).unwrap();
        digests.save_written();
        assert_eq!(fixture.digests().digest(&fixture.file).unwrap(), Sha256Digest::hash(&vec![8; 2 << 20]));
    }

    #[test]
    fn encoded_digests_round_trip_and_malformed_lines_are_ignored() {
        let identity = FileIdentity { device: 1, inode: 2, size: 3, modified: -4, changed: 5 };
        let known = BTreeMap::from([(identity, Sha256Digest::hash(b"x"))]);
        let text = format!("noise\n1 2 3\n{}1 2 3 4 5 zz\n", encode(&known));
        assert!(parse(text.as_bytes()) == known);
    }
}

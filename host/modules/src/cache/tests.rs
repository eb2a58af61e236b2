use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use super::*;

struct Fixture {
    directory: tempfile::TempDir,
    cache: ModuleCache,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cache = ModuleCache::open(&directory.path().join("cache")).unwrap();
        Self { directory, cache }
    }

    /// Stores a tree with one file.
    fn store(&self, content: &str) -> TreeHash {
        let temporary = self.cache.temporary_directory().unwrap();
        let tree = temporary.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("main.tf"), content).unwrap();
        self.cache.store(&tree).unwrap()
    }

    fn target(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

#[test]
fn stored_trees_are_copied() {
    let fixture = Fixture::new();
    let hash = fixture.store("one");
    assert_eq!(fixture.store("one"), hash);
    assert_ne!(fixture.store("two"), hash);
    assert!(fixture.cache.has_tree(&hash));
    let target = fixture.target("copy");
    let copied = fixture.cache.copy_tree(&hash, &target).unwrap().unwrap();
    assert_eq!(copied.hash(), hash);
    assert_eq!(fs::read_to_string(target.join("main.tf")).unwrap(), "one");
    // A change to the copy does not affect the cache.
    fs::write(target.join("main.tf"), "edited").unwrap();
    assert!(fixture.cache.copy_tree(&hash, &fixture.target("other")).unwrap().is_some());
    let unknown = TreeHash::from_bytes([0; 32]);
    assert!(fixture.cache.copy_tree(&unknown, &fixture.target("unknown")).unwrap().is_none());
}

#[test]
fn changed_tree_is_removed() {
    let fixture = Fixture::new();
    let hash = fixture.store("one");
    fs::write(fixture.cache.tree(&hash).join("main.tf"), "planted").unwrap();
    let target = fixture.target("copy");
    assert!(fixture.cache.copy_tree(&hash, &target).unwrap().is_none());
    assert!(!target.exists() && !fixture.cache.has_tree(&hash));
    assert_eq!(fixture.store("one"), hash);
    assert!(fixture.cache.copy_tree(&hash, &target).unwrap().is_some());
}

#[test]
fn record_without_its_tree_is_ignored() {
    let fixture = Fixture::new();
    let key = PackageKey::new("git", "https://a.example/r", "0123");
    let record = PackageRecord {
        hash: fixture.store("one"),
        commit: CommitIdFor::any(),
        subdirectory: "modules/a".into(),
    };
    fixture.cache.write_record(&key, &record).unwrap();
    assert_eq!(fixture.cache.record(&key), Some(record.clone()));
    assert_eq!(fixture.cache.record(&PackageKey::new("git", "https://a.example/r", "4567")), None);
    fs::remove_dir_all(fixture.cache.tree(&record.hash)).unwrap();
    assert_eq!(fixture.cache.record(&key), None);
    fixture.store("one");
    let path = fs::read_dir(fixture.cache.root.join("packages")).unwrap().next().unwrap().unwrap().path();
    for bad in ["", "{}", "{\"format\":2}"] {
        fs::write(&path, bad).unwrap();
        assert_eq!(fixture.cache.record(&key), None, "{bad}");
    }
}

struct CommitIdFor;

impl CommitIdFor {
    fn any() -> Option<wardian_module_source::CommitId> {
        wardian_module_source::CommitId::parse(&"0a".repeat(20))
    }
}

#[test]
fn abandoned_directories_are_removed() {
    let fixture = Fixture::new();
    let used = fixture.cache.temporary_directory().unwrap();
    let abandoned = fixture.cache.temporary_directory().unwrap();
    let path = abandoned.path().to_owned();
    fs::write(path.join("half"), "x").unwrap();
    // A process that is killed does not remove its directory, but its lock is released.
    let lock_path = path.with_extension("lock");
    std::mem::forget(abandoned);
    fs::remove_file(&lock_path).unwrap();
    fs::write(&lock_path, "").unwrap();
    let again = ModuleCache::open(&fixture.target("cache")).unwrap();
    assert!(!path.exists() && !lock_path.exists());
    assert!(used.path().is_dir());
    let (path, lock_path) = (used.path().to_owned(), used.path().with_extension("lock"));
    drop(used);
    assert!(!path.exists() && !lock_path.exists());
    drop(again);
}

#[tokio::test]
async fn entry_lock_is_exclusive() {
    let fixture = Fixture::new();
    let lock = fixture.cache.lock("a", || {}).await.unwrap();
    assert!(fixture.cache.try_lock("a").is_none());
    assert!(fixture.cache.try_lock("b").is_some());
    let cache = fixture.cache.clone();
    let waiting = tokio::spawn(async move { cache.lock("a", || {}).await.map(drop) });
    drop(lock);
    tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap().unwrap().unwrap();
}

#[test]
fn oldest_entries_are_pruned() {
    let fixture = Fixture::new();
    let (old, new) = (fixture.store(&"o".repeat(1_000)), fixture.store(&"n".repeat(1_000)));
    let key = PackageKey::new("http", "https://a.example/a.zip", "x");
    let record = PackageRecord { hash: old, commit: None, subdirectory: String::new() };
    fixture.cache.write_record(&key, &record).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    fs::File::open(fixture.cache.tree(&old)).unwrap().set_modified(hour_ago).unwrap();
    let pruned = fixture.cache.prune(1_500);
    assert_eq!(pruned, PrunedModules { entries: 1, removed_bytes: 1_000, kept_bytes: 1_000 });
    assert!(!fixture.cache.has_tree(&old) && fixture.cache.has_tree(&new));
    assert_eq!(fs::read_dir(fixture.cache.root.join("packages")).unwrap().count(), 0);
    assert_eq!(fixture.cache.prune(1_500).entries, 0);
}

#[test]
fn cache_owned_by_another_user_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(ModuleCache::open(&path).is_err());
}

//! The cache of compiled code across two runs.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use wardian_sandbox::{CacheDirectories, Grants, LoadEvent, Sandbox, SandboxOptions};

use crate::guest::{assert_well, bytes};

struct Place {
    _root: tempfile::TempDir,
    cache: CacheDirectories,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let cache = CacheDirectories { code: root.path().join("cache/code"), key: root.path().join("state") };
        Self { _root: root, cache }
    }

    fn sandbox(&self) -> Sandbox {
        Sandbox::new(SandboxOptions { cache: Some(self.cache.clone()), ..SandboxOptions::default() }).unwrap()
    }

    /// Loads the hostile provider as a new process would, uses it, and returns whether it was
    /// compiled.
    async fn load_compiles(&self) -> bool {
        let compiled = Mutex::new(false);
        let tell = |event| {
            if matches!(event, LoadEvent::Compiled { .. }) {
                *compiled.lock().unwrap() = true;
            }
        };
        let plugin = self.sandbox().load("acme/hostile", &bytes("hostile"), None, None, &tell).unwrap();
        assert_well(&*plugin.provider(Grants::nothing())).await;
        compiled.into_inner().unwrap()
    }

    fn entry(&self) -> PathBuf {
        let mut entries = fs::read_dir(&self.cache.code).unwrap();
        let entry = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none());
        entry
    }
}

#[tokio::test]
async fn code_is_recompiled_only_after_tampering() {
    let place = Place::new();
    assert!(place.load_compiles().await);
    assert!(!place.load_compiles().await);

    let entry = place.entry();
    let mut code = fs::read(&entry).unwrap();
    let middle = code.len() / 2;
    code[middle] ^= 1;
    fs::write(&entry, &code).unwrap();
    assert!(place.load_compiles().await, "a changed entry was run");
    assert!(!place.load_compiles().await, "the entry was not written over");

    fs::write(&entry, &fs::read(&entry).unwrap()[..middle]).unwrap();
    assert!(place.load_compiles().await, "a truncated entry was run");

    // This entry is authenticated with another key, such as the key of another machine or user.
    let other = Place::new();
    assert!(other.load_compiles().await);
    fs::copy(other.entry(), &entry).unwrap();
    assert!(place.load_compiles().await, "a foreign entry was run");
}

#[cfg(unix)]
#[tokio::test]
async fn cache_writable_by_others_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    assert!(place.load_compiles().await);
    fs::set_permissions(&place.cache.code, fs::Permissions::from_mode(0o777)).unwrap();
    let refusal = place.sandbox().cache_refusal().unwrap().to_string();
    assert!(refusal.contains("can be changed by other users; run `chmod 700` on it"), "{refusal}");
    assert!(place.load_compiles().await);
}

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use wardian_plugin::{
    LockOutcome, PluginDiagnostic, SchemaTable, Severity, StateLockInfo, StateStoreSchemas, UnlockOutcome,
};
use wardian_state::{LockError, StateContent, StorageVersion};
use wardian_value::Value;

use super::*;

/// A state store in memory. The variables of a test select its faults.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Content>>);

#[derive(Default)]
struct Content {
    states: BTreeMap<String, Vec<u8>>,
    locks: BTreeMap<String, StateLockInfo>,
    configured: usize,
    has_no_locks: bool,
    fails: Option<String>,
}

impl Memory {
    fn content(&self) -> std::sync::MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), PluginDiagnostics> {
        match &self.content().fails {
            Some(detail) => Err(vec![PluginDiagnostic::error("Service failed", detail.clone())]),
            None => Ok(()),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the methods of the trait return results")]
fn answer<T>(value: T) -> StoreResult<T> {
    Ok(Reported { value, warnings: PluginDiagnostics::new() })
}

#[async_trait]
impl StateStorePlugin for Memory {
    async fn schemas(&self, _: &CallContext) -> Result<StateStoreSchemas, PluginDiagnostics> {
        Ok(StateStoreSchemas { provider: Arc::default(), stores: SchemaTable::default() })
    }

    async fn validate(&self, _: &CallContext, _: &StateStoreConfig) -> PluginDiagnostics {
        PluginDiagnostics::new()
    }

    async fn configure(
        &self,
        _: &CallContext,
        _: StateStoreConfig,
    ) -> Result<Reported<Arc<dyn StateStore>>, PluginDiagnostics> {
        self.content().configured += 1;
        let warning = PluginDiagnostic {
            severity: Severity::Warning,
            summary: "Deprecated".into(),
            detail: "hunter22 is old".into(),
            attribute: None,
        };
        Ok(Reported { value: Arc::new(self.clone()), warnings: vec![warning] })
    }
}

#[async_trait]
impl StateStore for Memory {
    async fn read(&self, _: &CallContext, id: &str) -> StoreResult<Vec<u8>> {
        self.check()?;
        answer(self.content().states.get(id).cloned().unwrap_or_default())
    }

    async fn write(&self, _: &CallContext, id: &str, parts: &[Bytes]) -> StoreResult<()> {
        self.check()?;
        self.content().states.insert(id.to_owned(), parts.concat());
        answer(())
    }

    async fn lock(&self, _: &CallContext, id: &str, request: StateLockInfo) -> StoreResult<LockOutcome> {
        let mut content = self.content();
        if content.has_no_locks {
            return answer(LockOutcome::Unsupported);
        }
        if let Some(holder) = content.locks.get(id) {
            return answer(LockOutcome::Held(Some(holder.clone())));
        }
        let lock_id = request.id.clone();
        content.locks.insert(id.to_owned(), request);
        answer(LockOutcome::Locked(lock_id))
    }

    async fn unlock(&self, _: &CallContext, id: &str, lock_id: &str) -> StoreResult<UnlockOutcome> {
        let mut content = self.content();
        match content.locks.get(id) {
            Some(holder) if holder.id == lock_id => {
                content.locks.remove(id);
                answer(UnlockOutcome::Unlocked)
            }
            other => answer(UnlockOutcome::OtherLock(other.cloned())),
        }
    }

    async fn states(&self, _: &CallContext) -> StoreResult<Vec<String>> {
        let mut names: Vec<String> = self.content().states.keys().cloned().collect();
        names.extend(names.clone());
        answer(names)
    }

    async fn delete(&self, _: &CallContext, id: &str) -> StoreResult<()> {
        self.content().states.remove(id);
        answer(())
    }

    async fn close(&self) {}
}

struct World {
    memory: Memory,
    backend: StateStoreBackend,
    warnings: Arc<Mutex<Vec<String>>>,
}

fn world() -> World {
    let memory = Memory::default();
    let context = CallContext::new("state store");
    context.sensitive_values().add_text("hunter22");
    let warnings = Arc::<Mutex<Vec<String>>>::default();
    let shown = Arc::clone(&warnings);
    let backend = StateStoreBackend::new(StateStoreOptions {
        plugin: Arc::new(memory.clone()),
        config: StateStoreConfig {
            terraform_version: "1.11.4".into(),
            provider: Value::empty_object(),
            type_name: "memory_store".into(),
            store: Value::empty_object(),
        },
        context,
        identity: "configuration 1".into(),
        warnings: Arc::new(move |reported| {
            shown.lock().unwrap().extend(reported.into_iter().map(|one| one.detail));
        }),
    });
    World { memory, backend, warnings }
}

fn request() -> LockRequest {
    LockRequest {
        operation: "apply".into(),
        info: String::new(),
        who: "ann@build".into(),
        version: "1".into(),
    }
}

fn content() -> StateContent {
    StateContent::new_state("1.11.4").unwrap()
}

#[tokio::test]
async fn plugin_is_configured_once_and_its_warnings_are_redacted() {
    let World { memory, backend, warnings } = world();
    assert_eq!(memory.content().configured, 0);
    let state = backend.state("default").unwrap();
    assert_eq!(state.read().await.unwrap().version, StorageVersion::Absent);
    state.write(&content(), &StorageVersion::Absent).await.unwrap();
    assert!(!state.read().await.unwrap().bytes.is_empty());
    assert_eq!(memory.content().configured, 1);
    let warnings = warnings.lock().unwrap();
    assert!(matches!(&warnings[..], [one] if !one.contains("hunter22")), "{warnings:?}");
}

#[tokio::test]
async fn holder_of_a_lock_is_reported_and_force_unlock_releases_it() {
    let World { backend, .. } = world();
    let (first, second) = (backend.state("default").unwrap(), backend.state("default").unwrap());
    let held = first.lock(&request()).await.unwrap();
    let error = second.lock(&request()).await.unwrap_err();
    let LockError::Held { holder: Some(holder), ends_with_process: false, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((&*holder.who, &holder.id), ("ann@build", &held.id));
    let other = second.force_unlock("1").await.unwrap_err();
    assert!(matches!(other, LockError::OtherLock { found: Some(_), .. }), "{other}");
    second.force_unlock(&held.id).await.unwrap();
    second.lock(&request()).await.unwrap();
    let lost = first.unlock().await.unwrap_err();
    assert!(matches!(lost, LockError::OtherLock { .. }), "{lost}");
    second.unlock().await.unwrap();
}

#[tokio::test]
async fn state_store_without_locks_is_compared_before_a_write() {
    let World { memory, backend, .. } = world();
    memory.content().has_no_locks = true;
    let state = backend.state("default").unwrap();
    assert!(state.has_locks());
    state.lock(&request()).await.unwrap();
    assert!(!state.has_locks());
    state.unlock().await.unwrap();
}

#[tokio::test]
async fn failed_write_names_the_reason_and_may_have_taken_effect() {
    let World { memory, backend, .. } = world();
    memory.content().fails = Some("hunter22 was rejected".into());
    let state = backend.state("default").unwrap();
    let error = state.write(&content(), &StorageVersion::Absent).await.unwrap_err();
    let wardian_state::StateProblem::Storage(problem) = &error.problem else { panic!("{error:?}") };
    assert_eq!(problem.effect, wardian_state::StorageEffect::Unknown);
    let text = error.to_string();
    assert!(text.contains("Service failed") && !text.contains("hunter22"), "{text}");
}

#[tokio::test]
async fn workspaces_are_listed_once_created_and_deleted() {
    let World { memory, backend, .. } = world();
    backend.create_workspace("b", Some(&request())).await.unwrap();
    backend.create_workspace("a", None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a", "b"]);
    assert!(memory.content().locks.is_empty());
    backend.delete_workspace("b").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a"]);
}

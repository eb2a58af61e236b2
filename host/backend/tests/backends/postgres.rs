//! The backend `postgres` with a PostgreSQL server.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wardian_backend::Backend;
use wardian_state::{
    ConflictReason, LockError, LockRequest, RowConflict, RowKey, RowLockError, RowLocks, State, StateManager,
    encode_state,
};
use wardian_state_server::Postgres;
use wardian_value::Value;

use crate::support::{configure, instance, manager, provider, request, text, with};

/// The server of all tests. Each test uses its own schema.
static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);

fn backend(postgres: &Postgres, schema: &str) -> Arc<dyn Backend> {
    let arguments = [
        ("conn_str", text(postgres.connection_string())),
        ("schema_name", text(schema)),
        ("lease_seconds", Value::number(2_u64)),
    ];
    configure("postgres", &arguments)
}

fn open(backend: &Arc<dyn Backend>, place: &Path) -> StateManager {
    manager(backend.state("default").unwrap(), place)
}

fn exclusive() -> LockRequest {
    LockRequest { operation: "state-mv".to_owned(), ..request() }
}

fn row(address: &str) -> RowKey {
    RowKey::for_instance(&address.parse().unwrap())
}

fn locks(write: &[&str], read: &[&str]) -> RowLocks {
    RowLocks {
        write: write.iter().map(|address| row(address)).collect(),
        read: read.iter().map(|resource| (*resource).to_owned()).collect(),
    }
}

fn conflicts(result: Result<(), RowLockError>) -> Vec<(String, ConflictReason)> {
    match result {
        Ok(()) => Vec::new(),
        Err(RowLockError::Conflicts { conflicts }) => {
            conflicts.into_iter().map(|RowConflict { key, reason, .. }| (key.to_string(), reason)).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

/// Applies the creation of an object as a run does, up to the final state.
async fn create(manager: &mut StateManager, address: &str, id: &str) -> Arc<State> {
    let base = manager.read().await.unwrap();
    manager.lock_rows(&locks(&[address], &[]), base.serial).await.unwrap();
    let mut journal = manager.begin().await.unwrap();
    let mut run = manager.row_run(&journal, &base).unwrap();
    let address = address.parse().unwrap();
    journal.record_intent(&address, "create");
    run.record_intent(&address, "create");
    journal.commit().unwrap();
    run.store().await.unwrap();
    journal.record(&address, &provider(), Some(&instance(id)));
    run.record(&address, &provider(), Some(&instance(id)));
    journal.commit().unwrap();
    run.store().await.unwrap();
    manager.set_row_run(run);
    let state = with(&base, &address.to_string(), id);
    manager.finish(journal, &base, &state).await.unwrap()
}

#[tokio::test]
async fn states_of_all_serials_are_preserved() {
    let Some(postgres) = &*POSTGRES else { return };
    let place = TempDir::new().unwrap();
    let backend = backend(postgres, "history \"x\"");
    let mut state = open(&backend, place.path());
    state.lock(&exclusive()).await.unwrap();
    assert!(!state.exists().await.unwrap());
    let mut files = Vec::new();
    let mut current = State::default();
    for step in 0..8_u32 {
        current =
            with(&current, &format!("random_id.a[{}]", step % 5), &format!("v{step} ü'\u{1f600}\\u0000"));
        if step == 6 {
            current.remove_instance(&"random_id.a[2]".parse().unwrap());
        }
        let stored = state.write(&current).await.unwrap();
        files.push((stored.serial, encode_state(&stored).unwrap()));
        current = (*stored).clone();
    }
    assert_eq!(files.iter().map(|(serial, _)| *serial).collect::<Vec<_>>(), (1..=8).collect::<Vec<u64>>());
    for (serial, file) in &files {
        let version = state.read_version(*serial).await.unwrap().unwrap();
        assert_eq!(&encode_state(&version).unwrap(), file, "serial {serial}");
    }
    assert!(state.read_version(9).await.unwrap().is_none());
    // A write without changes creates no version.
    assert_eq!(state.write(&current).await.unwrap().serial, 8);
    let versions = state.versions(3).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.serial).collect::<Vec<_>>(), [8, 7, 6]);
    assert_eq!((versions[1].set, versions[1].ended, &*versions[1].operation), (1, 2, "state-mv"));
    state.unlock().await.unwrap();
    let mut again = open(&backend, place.path());
    assert_eq!(encode_state(&again.read().await.unwrap()).unwrap(), files[7].1);
}

#[tokio::test]
async fn runs_with_different_objects_overlap() {
    let Some(postgres) = &*POSTGRES else { return };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let backend = backend(postgres, "disjoint");
    let (mut first, mut second) = (open(&backend, one.path()), open(&backend, two.path()));
    first.lock(&request()).await.unwrap();
    second.lock(&request()).await.unwrap();
    let base = first.read().await.unwrap();
    first.lock_rows(&locks(&["random_id.a"], &[]), base.serial).await.unwrap();
    // The second run begins and ends while the first one has its locks.
    create(&mut second, "random_id.b", "b").await;
    second.unlock().await.unwrap();
    let last = create(&mut first, "random_id.a", "a").await;
    first.unlock().await.unwrap();
    let merged = open(&backend, one.path()).read().await.unwrap();
    let addresses: Vec<String> = merged.instances().map(|(address, ..)| address.to_string()).collect();
    assert_eq!(addresses, ["random_id.a", "random_id.b"]);
    assert_eq!((merged.serial, &merged.lineage), (2, &last.lineage));
}

#[tokio::test]
async fn conflicts_name_rows_and_reasons() {
    let Some(postgres) = &*POSTGRES else { return };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let backend = backend(postgres, "conflicts");
    let (mut first, mut second) = (open(&backend, one.path()), open(&backend, two.path()));
    first.lock(&request()).await.unwrap();
    second.lock(&request()).await.unwrap();
    let base = first.read().await.unwrap();
    let attempt = async |write: &[&str], read: &[&str]| {
        conflicts(second.lock_rows(&locks(write, read), base.serial).await)
    };
    first.lock_rows(&locks(&["random_id.a[0]"], &["random_id.r"]), base.serial).await.unwrap();
    let locked = |name: &str| vec![(name.to_owned(), ConflictReason::Locked)];
    // The same row, a row of a resource that the other run reads, and a resource in which it writes.
    assert_eq!(attempt(&["random_id.a[0]", "random_id.c"], &[]).await, locked("random_id.a[0]"));
    assert_eq!(attempt(&["random_id.r[7]"], &[]).await, locked("random_id.r"));
    assert_eq!(attempt(&[], &["random_id.a"]).await, locked("random_id.a[0]"));
    // Both runs may read a resource, and other rows of the same resource are free.
    assert_eq!(attempt(&["random_id.a[1]"], &["random_id.r"]).await, []);
    second.unlock().await.unwrap();
    // After a failed attempt, nothing was locked.
    first.lock_rows(&locks(&["random_id.c"], &[]), base.serial).await.unwrap();
    create(&mut first, "random_id.a[0]", "new").await;
    first.unlock().await.unwrap();
    second.lock(&request()).await.unwrap();
    let changed = vec![("random_id.a[0]".to_owned(), ConflictReason::Changed)];
    let error = second.lock_rows(&locks(&["random_id.a[0]"], &[]), base.serial).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert_eq!(conflicts(Err(error)), changed);
    // A new object is also a change of what the run has read.
    assert_eq!(conflicts(second.lock_rows(&locks(&[], &["random_id.a"]), base.serial).await), changed);
    let now = second.read_again().await.unwrap();
    second.lock_rows(&locks(&["random_id.a[0]"], &[]), now.serial).await.unwrap();
    second.unlock().await.unwrap();
}

#[tokio::test]
async fn exclusive_run_excludes_others() {
    let Some(postgres) = &*POSTGRES else { return };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let backend = backend(postgres, "exclusive");
    let (mut first, mut second) = (open(&backend, one.path()), open(&backend, two.path()));
    for (held, wanted) in [(exclusive(), request()), (request(), exclusive())] {
        first.lock(&held).await.unwrap();
        let error = second.lock(&wanted).await.unwrap_err();
        let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
        assert_eq!((&holder.operation, &holder.who), (&held.operation, &held.who));
        first.unlock().await.unwrap();
        second.lock(&wanted).await.unwrap();
        second.unlock().await.unwrap();
    }
    first.lock(&exclusive()).await.unwrap();
    let error = second.storage().force_unlock("other").await.unwrap_err();
    let LockError::OtherLock { found: Some(found), .. } = error else { panic!("{error}") };
    second.storage().force_unlock(&found.id).await.unwrap();
    second.lock(&exclusive()).await.unwrap();
    second.unlock().await.unwrap();
}

/// Ends the leases of all runs, as the suspension of their processes does.
fn suspend(postgres: &Postgres, schema: &str) {
    postgres.execute(&format!(
        "UPDATE \"{schema}\".runs SET lease_until = clock_timestamp() WHERE status = 'active'"
    ));
}

#[tokio::test]
async fn run_without_lease_cannot_write() {
    let Some(postgres) = &*POSTGRES else { return };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let backend = backend(postgres, "fence");
    let (mut first, mut second) = (open(&backend, one.path()), open(&backend, two.path()));
    first.lock(&request()).await.unwrap();
    let base = first.read().await.unwrap();
    first.lock_rows(&locks(&["random_id.a", "random_id.b"], &[]), base.serial).await.unwrap();
    let mut journal = first.begin().await.unwrap();
    let mut run = first.row_run(&journal, &base).unwrap();
    let address = "random_id.a".parse().unwrap();
    journal.record_intent(&address, "create");
    run.record_intent(&address, "create");
    journal.commit().unwrap();
    run.store().await.unwrap();
    suspend(postgres, "fence");
    // Another run may use the row for which nothing was requested, but not the other one.
    second.lock(&request()).await.unwrap();
    let interrupted = vec![("random_id.a".to_owned(), ConflictReason::Interrupted)];
    assert_eq!(conflicts(second.lock_rows(&locks(&["random_id.a"], &[]), 0).await), interrupted);
    create(&mut second, "random_id.b", "second").await;
    // The first run has created its object, and cannot store it anymore.
    journal.record(&address, &provider(), Some(&instance("first")));
    run.record(&address, &provider(), Some(&instance("first")));
    journal.commit().unwrap();
    let error = run.store().await.unwrap_err().to_string();
    assert!(error.contains("did not renew its lease in time"), "{error}");
    drop((run, journal));
    first.unlock().await.unwrap();
    drop(first);
    // The next command on that machine stores what is in the journal.
    let mut next = open(&backend, one.path());
    next.lock(&request()).await.unwrap();
    let state = next.read().await.unwrap();
    assert!(next.recovery().is_some_and(|recovery| recovery.folded && recovery.changes == 1));
    assert_eq!(ids(&state), ["first", "second"]);
    next.unlock().await.unwrap();
    second.unlock().await.unwrap();
    let state = open(&backend, two.path()).read().await.unwrap();
    assert_eq!(ids(&state), ["first", "second"]);
    assert_eq!(std::fs::read_dir(one.path()).unwrap().count(), 0, "no journal is left");
    assert_eq!(postgres.execute("SELECT count(*) FROM fence.locks"), "0");
}

fn ids(state: &State) -> Vec<String> {
    let objects = state.instances().filter_map(|(_, _, instance)| instance.current.clone());
    objects
        .map(|object| match &object.attributes {
            wardian_state::Attributes::Json(json) => json.split('"').nth(3).unwrap_or_default().to_owned(),
            wardian_state::Attributes::Flat(_) => panic!("JSON"),
        })
        .collect()
}

#[tokio::test]
async fn lease_is_renewed_while_the_run_lasts() {
    let Some(postgres) = &*POSTGRES else { return };
    let place = TempDir::new().unwrap();
    let backend = backend(postgres, "renewal");
    let mut state = open(&backend, place.path());
    state.lock(&request()).await.unwrap();
    let first = postgres.execute("SELECT lease_until FROM renewal.runs");
    let deadline = Instant::now() + Duration::from_secs(30);
    while postgres.execute("SELECT lease_until FROM renewal.runs") == first {
        assert!(Instant::now() < deadline, "the lease is renewed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    create(&mut state, "random_id.a", "x").await;
    state.unlock().await.unwrap();
}

#[tokio::test]
async fn role_without_privileges_on_tables_can_use_functions() {
    let Some(postgres) = &*POSTGRES else { return };
    let place = TempDir::new().unwrap();
    let owner = backend(postgres, "least");
    assert_eq!(owner.workspaces().await.unwrap(), ["default"]);
    postgres.execute(
        "CREATE ROLE least LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA least TO least; GRANT SELECT ON ALL TABLES IN SCHEMA least TO least; \
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA least TO least",
    );
    let connection = postgres.connection_string_for("least", "secret");
    let arguments = [("conn_str", text(&connection)), ("schema_name", text("least"))];
    let backend = configure("postgres", &arguments);
    let mut state = open(&backend, place.path());
    state.lock(&request()).await.unwrap();
    create(&mut state, "random_id.a", "x").await;
    state.unlock().await.unwrap();
    for privilege in ["INSERT", "UPDATE", "DELETE"] {
        let sql = format!("SELECT has_table_privilege('least', 'least.rows', '{privilege}')");
        assert_eq!(postgres.execute(&sql), "f", "{privilege}");
    }
}

#[tokio::test]
async fn runs_overlap_through_a_pooler_in_transaction_mode() {
    let Some(postgres) = &*POSTGRES else { return };
    let Some(pooler) = postgres.start_pooler() else { return };
    let arguments = [("conn_str", text(pooler.connection_string())), ("schema_name", text("pooled"))];
    let backend = configure("postgres", &arguments);
    // More sessions than the pooler has connections to the server.
    let runs: Vec<_> = (0..6)
        .map(|number| {
            let backend = Arc::clone(&backend);
            tokio::spawn(async move {
                let place = TempDir::new().unwrap();
                let mut state = open(&backend, place.path());
                state.lock(&request()).await.unwrap();
                create(&mut state, &format!("random_id.a[{number}]"), &number.to_string()).await;
                state.unlock().await.unwrap();
            })
        })
        .collect();
    for run in runs {
        run.await.unwrap();
    }
    let place = TempDir::new().unwrap();
    let state = open(&backend, place.path()).read().await.unwrap();
    assert_eq!(ids(&state), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(state.serial, 6);
}

#[tokio::test]
async fn workspaces_are_created_and_deleted() {
    let Some(postgres) = &*POSTGRES else { return };
    let backend = backend(postgres, "workspaces_of_rows");
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    backend.create_workspace("dev", Some(&request())).await.unwrap();
    backend.create_workspace("a", None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a", "dev"]);
    backend.delete_workspace("dev").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a"]);
}

#[tokio::test]
async fn schema_is_created_by_one_of_many() {
    let Some(postgres) = &*POSTGRES else { return };
    let all: Vec<_> = (0..8)
        .map(|_| {
            let backend = backend(postgres, "created_once");
            tokio::spawn(async move { backend.workspaces().await })
        })
        .collect();
    for task in all {
        assert_eq!(task.await.unwrap().unwrap(), ["default"]);
    }
    postgres.execute("UPDATE created_once.schema_version SET version = 99");
    let error = backend(postgres, "created_once").workspaces().await.unwrap_err();
    assert!(error.detail.contains("version 99") && error.detail.contains("newer version"), "{error}");
}

#[tokio::test]
async fn runs_of_one_machine_do_not_share_a_journal() {
    let Some(postgres) = &*POSTGRES else { return };
    let place = TempDir::new().unwrap();
    let backend = backend(postgres, "one_machine");
    let (mut first, mut second) = (open(&backend, place.path()), open(&backend, place.path()));
    first.lock(&request()).await.unwrap();
    let base = first.read().await.unwrap();
    first.lock_rows(&locks(&["random_id.a"], &[]), base.serial).await.unwrap();
    let mut journal = first.begin().await.unwrap();
    journal.record(&"random_id.a".parse().unwrap(), &provider(), Some(&instance("a")));
    journal.commit().unwrap();
    // The journal belongs to a living run, so another command does not recover it.
    second.lock(&request()).await.unwrap();
    assert!(second.read().await.unwrap().is_empty());
    assert!(second.recovery().is_none());
    create(&mut second, "random_id.b", "b").await;
    second.unlock().await.unwrap();
    let run = first.row_run(&journal, &base).unwrap();
    first.set_row_run(run);
    first.finish(journal, &base, &with(&base, "random_id.a", "a")).await.unwrap();
    first.unlock().await.unwrap();
    assert_eq!(ids(&open(&backend, place.path()).read().await.unwrap()), ["a", "b"]);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn wrong_password_is_reported() {
    let Some(postgres) = &*POSTGRES else { return };
    let arguments = [("conn_str", text(postgres.connection_string_for("postgres", "wrong")))];
    let backend = configure("postgres", &arguments);
    let place = TempDir::new().unwrap();
    let error = open(&backend, place.path()).read().await.unwrap_err();
    assert!(error.to_string().contains("SQLSTATE 28P01"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("check the user and the password")), "{error:?}");
}

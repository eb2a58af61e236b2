//! The backend `pg` with a PostgreSQL server.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};
use wardian_backend::Backend;
use wardian_state::{LockError, State, StateProblem, StateStorage, StorageEffect};
use wardian_state_server::Postgres;
use wardian_value::Value;

use crate::support::{addresses, configure, manager, request, text, with};

/// The server of all tests. Each test uses its own schema.
static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);

/// The test that uses the server.
static TURN: Mutex<()> = Mutex::const_new(());

/// Returns the server when no other test uses it; [`None`] if PostgreSQL is not installed. The lock on the
/// creation of rows is shared by all schemas of a database, so tests would find it held.
async fn server() -> Option<(&'static Postgres, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().await;
    POSTGRES.as_ref().map(|postgres| (postgres, turn))
}

fn backend(postgres: &Postgres, schema: &str) -> Arc<dyn Backend> {
    backend_with(&postgres.connection_string(), schema, &[])
}

fn backend_with(conn_str: &str, schema: &str, more: &[(&'static str, Value)]) -> Arc<dyn Backend> {
    let arguments = [("conn_str", text(conn_str)), ("schema_name", text(schema))];
    configure("pg", &[&arguments[..], more].concat())
}

/// Ends the sessions of Wardian in a schema's tests, as a network failure or an administrator does.
fn end_sessions(postgres: &Postgres, name: &str) {
    postgres.execute(&format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE '%{name}%' AND pid <> \
         pg_backend_pid()"
    ));
}

#[tokio::test]
async fn state_is_stored_in_terraforms_table() {
    let Some((postgres, _turn)) = server().await else { return };
    let place = TempDir::new().unwrap();
    let backend = backend(postgres, "plain \"x\"");
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    assert!(!state.exists().await.unwrap());
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let second = state.write(&with(&first, "random_id.b", "ü\u{1f600}'")).await.unwrap();
    state.unlock().await.unwrap();
    let data = postgres.execute("SELECT data FROM \"plain \"\"x\"\"\".states WHERE name = 'default'");
    assert_eq!(wardian_state::decode_state(data.as_bytes()).unwrap().unwrap(), *second);
    let columns = postgres.execute(
        "SELECT string_agg(column_name || ' ' || data_type, ',' ORDER BY ordinal_position) FROM information_schema.columns \
         WHERE table_schema = 'plain \"x\"'",
    );
    assert_eq!(columns, "id bigint,name text,data text");
    let again = manager(backend.state("default").unwrap(), place.path()).read().await.unwrap();
    assert_eq!(*again, *second);
}

#[tokio::test]
async fn workspaces_are_rows() {
    let Some((postgres, _turn)) = server().await else { return };
    let backend = backend(postgres, "workspaces");
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    backend.create_workspace("dev", Some(&request())).await.unwrap();
    backend.create_workspace("a", None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a", "dev"]);
    assert!(
        postgres.execute("SELECT data FROM workspaces.states WHERE name = 'dev'").contains("\"serial\": 1,")
    );
    backend.delete_workspace("dev").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a"]);
}

#[tokio::test]
async fn held_lock_names_the_session() {
    let Some((postgres, _turn)) = server().await else { return };
    let backend = backend(postgres, "held");
    for has_row in [false, true] {
        let workspace = if has_row { "dev" } else { "default" };
        if has_row {
            backend.create_workspace(workspace, None).await.unwrap();
        }
        let first = backend.state(workspace).unwrap();
        first.lock(&request()).await.unwrap();
        let second = backend.state(workspace).unwrap();
        let error = second.lock(&request()).await.unwrap_err();
        let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
        assert!(holder.who.contains("postgres@127.0.0.1"), "{holder:?}");
        assert!(holder.operation.contains("OperationTypeApply"), "{holder:?}");
        assert!(second.force_unlock("x").await.unwrap_err().to_string().contains("pg_terminate_backend"));
        first.unlock().await.unwrap();
        second.lock(&request()).await.unwrap();
        second.unlock().await.unwrap();
    }
}

/// Locks a state once the server has noticed the end of the session that holds the lock.
async fn lock_after_end(storage: &Arc<dyn StateStorage>) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while let Err(error) = storage.lock(&request()).await {
        assert!(matches!(error, LockError::Held { .. }) && Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn lock_of_ended_session_is_released() {
    let Some((postgres, _turn)) = server().await else { return };
    let backend = backend(postgres, "ended");
    backend.create_workspace("dev", None).await.unwrap();
    let first = backend.state("dev").unwrap();
    first.lock(&request()).await.unwrap();
    drop(first);
    let second = backend.state("dev").unwrap();
    lock_after_end(&second).await;
    second.unlock().await.unwrap();
}

#[tokio::test]
async fn lost_session_is_opened_and_locked_again() {
    let Some((postgres, _turn)) = server().await else { return };
    let conn_str = format!("{}&application_name=lost_session", postgres.connection_string());
    let backend = backend_with(&conn_str, "lost", &[]);
    backend.create_workspace("dev", None).await.unwrap();
    let place = TempDir::new().unwrap();
    let storage = backend.state("dev").unwrap();
    let mut state = manager(Arc::clone(&storage), place.path());
    state.lock(&wardian_state::LockRequest { who: "lost_session".into(), ..request() }).await.unwrap();
    let before = state.read().await.unwrap();
    end_sessions(postgres, "lost_session");
    // The write fails, but the state is read again in a new session: the error is the write's.
    let next = with(&before, "random_id.a", "1");
    let error = state.write(&next).await.unwrap_err();
    assert!(
        matches!(&error.problem, StateProblem::Storage(problem) if problem.effect == StorageEffect::Unknown)
    );
    let other = backend.state("dev").unwrap();
    assert!(matches!(other.lock(&request()).await, Err(LockError::Held { .. })), "the lock is held again");
    state.unlock().await.unwrap();
    let mut recovering = manager(storage, place.path());
    recovering.lock(&request()).await.unwrap();
    assert_eq!(addresses(&recovering.read().await.unwrap()), ["random_id.a"]);
    recovering.unlock().await.unwrap();
}

#[tokio::test]
async fn write_after_another_process_took_the_lock_is_rejected() {
    let Some((postgres, _turn)) = server().await else { return };
    let conn_str = format!("{}&application_name=stolen_lock", postgres.connection_string());
    let backend = backend_with(&conn_str, "stolen", &[]);
    backend.create_workspace("dev", None).await.unwrap();
    let places = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut first = manager(backend.state("dev").unwrap(), places[0].path());
    first.lock(&wardian_state::LockRequest { who: "stolen_lock".into(), ..request() }).await.unwrap();
    let before = first.read().await.unwrap();
    end_sessions(postgres, "stolen_lock");
    let mut second = manager(backend.state("dev").unwrap(), places[1].path());
    second.lock(&request()).await.unwrap();
    second.write(&with(&before, "random_id.second", "1")).await.unwrap();
    for _ in 0..2 {
        assert!(first.write(&with(&before, "random_id.first", "1")).await.is_err());
    }
    assert!(places[0].path().join("state.journal").exists());
    second.unlock().await.unwrap();
    let state = manager(backend.state("dev").unwrap(), places[1].path()).read().await.unwrap();
    assert_eq!(addresses(&state), ["random_id.second"]);
}

#[tokio::test]
async fn state_that_changed_meanwhile_is_not_replaced() {
    let Some((postgres, _turn)) = server().await else { return };
    let backend = backend(postgres, "changed");
    backend.create_workspace("dev", None).await.unwrap();
    let places = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut mine = manager(backend.state("dev").unwrap(), places[0].path());
    mine.lock(&request()).await.unwrap();
    let before = mine.read().await.unwrap();
    let mut theirs = manager(backend.state("dev").unwrap(), places[1].path());
    theirs.write(&with(&before, "random_id.theirs", "1")).await.unwrap();
    let error = mine.write(&with(&before, "random_id.mine", "1")).await.unwrap_err();
    assert!(
        matches!(&error.problem, StateProblem::Storage(problem) if problem.effect == StorageEffect::Conflict)
    );
    mine.unlock().await.unwrap();
}

#[tokio::test]
async fn wrong_credentials_and_missing_objects_are_explained() {
    let Some((postgres, _turn)) = server().await else { return };
    let read = async |conn_str: &str, more: &[(&'static str, Value)]| {
        let backend = backend_with(conn_str, "explained", more);
        backend.state("default").unwrap().read().await.unwrap_err()
    };
    let error = read(&postgres.connection_string_for("postgres", "wr0ng"), &[]).await;
    assert!(error.to_string().contains("28P01") && !format!("{error:?}").contains("wr0ng"), "{error}");
    assert!(error.hint().unwrap().contains("password"));
    let error = read(&postgres.connection_string().replace("/postgres?", "/absent?"), &[]).await;
    assert!(error.hint().unwrap().contains("create the database"), "{error:?}");
    let skip = [
        ("skip_schema_creation", Value::bool(true)),
        ("skip_table_creation", Value::bool(true)),
        ("skip_index_creation", Value::bool(true)),
    ];
    let error = read(&postgres.connection_string(), &skip).await;
    assert!(error.hint().unwrap().contains("skip_table_creation"), "{error:?}");
    let error = read(&postgres.connection_string().replace("disable", "require"), &[]).await;
    assert!(error.to_string().contains("does not support TLS"), "{error}");
    let error = read("postgres://x@127.0.0.1:1/x?sslmode=disable", &[]).await;
    assert!(error.hint().unwrap().contains("server is running"), "{error:?}");
}

#[tokio::test]
async fn role_without_privilege_to_create_objects_is_sufficient() {
    let Some((postgres, _turn)) = server().await else { return };
    let setup = backend(postgres, "least");
    setup.create_workspace("dev", None).await.unwrap();
    postgres.execute(
        "CREATE ROLE least LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA least TO least; GRANT SELECT, INSERT, UPDATE, DELETE \
         ON least.states TO least; GRANT USAGE ON SEQUENCE public.global_states_id_seq TO least",
    );
    let skip = [("skip_table_creation", Value::bool(true)), ("skip_index_creation", Value::bool(true))];
    let backend = backend_with(&postgres.connection_string_for("least", "p"), "least", &skip);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("dev").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    let before = state.read().await.unwrap();
    state.write(&with(&before, "random_id.a", "1")).await.unwrap();
    state.unlock().await.unwrap();
    postgres.execute("ALTER ROLE least SET default_transaction_read_only = on");
    let error = state.write(&with(&before, "random_id.b", "1")).await.unwrap_err();
    assert!(error.hint().unwrap().contains("read-only"), "{error:?}");
}

#[tokio::test]
async fn socket_and_libpq_variables_are_used() {
    let Some((postgres, _turn)) = server().await else { return };
    let port = postgres.port().to_string();
    let directory = postgres.socket_directory().display().to_string();
    let variables =
        [("PGHOST", &*directory), ("PGPORT", &*port), ("PGUSER", "postgres"), ("PGDATABASE", "postgres")];
    let host = crate::support::host(&variables, Duration::from_secs(10));
    let backend = crate::support::configure_with("pg", &[("schema_name", text("socket"))], &host).unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
}

#[tokio::test]
async fn server_that_never_answers_does_not_block() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let conn_str = format!("postgres://x@127.0.0.1:{port}/x?sslmode=disable&connect_timeout=1");
    let started = Instant::now();
    let error = backend_with(&conn_str, "x", &[]).state("default").unwrap().read().await.unwrap_err();
    assert!(error.to_string().contains("within 1 seconds"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn table_is_created_by_one_of_many() {
    let Some((postgres, _turn)) = server().await else { return };
    let all: Vec<_> = (0..12)
        .map(|_| {
            let backend = backend(postgres, "created_by_one");
            tokio::spawn(async move { backend.workspaces().await })
        })
        .collect();
    for task in all {
        assert_eq!(task.await.unwrap().unwrap(), ["default"]);
    }
}

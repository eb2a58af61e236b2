//! One state in a row of the table, with its advisory lock.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard};
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::session::{PgError, Session};
use super::{PgSettings, SharedSession};

/// The lock that a session holds while the state has no row.
const CREATION_LOCK: &str = "-1";

#[derive(Debug)]
pub(super) struct PgStorage {
    settings: Arc<PgSettings>,
    workspace: String,
    session: SharedSession,
    lock: Mutex<Option<HeldLock>>,
}

/// The advisory lock of the session.
#[derive(Clone, Debug)]
struct HeldLock {
    info: LockInfo,
    /// The key of the lock: the ID of the row, or -1.
    key: String,
}

/// The result of an attempt to lock.
enum Attempt {
    Acquired(String),
    /// Another session holds the lock with this key.
    Held(String),
}

impl PgStorage {
    pub(super) fn new(settings: Arc<PgSettings>, workspace: &str) -> Self {
        Self { settings, workspace: workspace.to_owned(), session: Mutex::default(), lock: Mutex::default() }
    }

    /// Returns a usable session. If the session that held the lock was lost, the lock is acquired
    /// again in the new one.
    async fn session(&self, operation: &str) -> Result<MutexGuard<'_, Option<Session>>, StorageError> {
        let mut guard = self.session.lock().await;
        if guard.as_ref().is_some_and(|session| !session.is_broken()) {
            return Ok(guard);
        }
        *guard = None;
        let mut session = self.settings.open(operation).await?;
        let mut lock = self.lock.lock().await;
        if let Some(held) = &mut *lock {
            match self.try_lock(&mut session).await.map_err(|error| error.into_storage(operation))? {
                Attempt::Acquired(key) => held.key = key,
                Attempt::Held(_) => {
                    return Err(StorageError::new(format!(
                        "failed to {operation}: the session that held the lock was lost, and another session now holds \
                         the lock"
                    ))
                    .with_effect(StorageEffect::Conflict));
                }
            }
        }
        *guard = Some(session);
        Ok(guard)
    }

    async fn query(
        &self,
        operation: &str,
        sql: &str,
        parameters: &[&[u8]],
    ) -> Result<Vec<super::session::Row>, StorageError> {
        let mut guard = self.session(operation).await?;
        let Some(session) = guard.as_mut() else {
            return Err(StorageError::new("there is no session"));
        };
        session.query(sql, parameters).await.map_err(|error| error.into_storage(operation))
    }

    /// Locks the row, or the creation of rows if there is none, as Terraform does.
    async fn try_lock(&self, session: &mut Session) -> Result<Attempt, PgError> {
        let sql = format!(
            "SELECT states.id, pg_try_advisory_lock(states.id), pg_try_advisory_lock({CREATION_LOCK}) FROM \
             {}.states WHERE states.name = $1",
            self.settings.schema
        );
        let rows = session.query(&sql, &[self.workspace.as_bytes()]).await?;
        let Some(row) = rows.first() else {
            let sql = format!("SELECT pg_try_advisory_lock({CREATION_LOCK})");
            let rows = session.query(&sql, &[]).await?;
            let key = CREATION_LOCK.to_owned();
            let is_acquired = rows.first().is_some_and(|row| row.flag(0));
            return Ok(if is_acquired { Attempt::Acquired(key) } else { Attempt::Held(key) });
        };
        let key = row.text(0).unwrap_or_default().to_owned();
        let (has_row, has_creation) = (row.flag(1), row.flag(2));
        if has_creation {
            release(session, CREATION_LOCK).await?;
        }
        match (has_row, has_creation) {
            (true, true) => Ok(Attempt::Acquired(key)),
            (true, false) => {
                release(session, &key).await?;
                Ok(Attempt::Held(CREATION_LOCK.to_owned()))
            }
            (false, _) => Ok(Attempt::Held(key)),
        }
    }

    /// Returns information on the session that holds a lock.
    async fn holder(&self, session: &mut Session, key: &str) -> Option<LockInfo> {
        let sql = "SELECT l.pid::text, a.usename::text, coalesce(host(a.client_addr), 'the server'), \
                   to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), a.application_name \
                   FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND \
                   l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = \
                   current_database()) AND ((l.classid::bigint << 32) | l.objid::bigint) = $1::bigint";
        let rows = session.query(sql, &[key.as_bytes()]).await.ok()?;
        let row = rows.first()?;
        let text = |column| row.text(column).unwrap_or_default().to_owned();
        Some(LockInfo {
            id: format!("session {}", text(0)),
            operation: text(4),
            who: format!("{}@{}", text(1), text(2)),
            created: text(3),
            path: self.location(),
            ..LockInfo::default()
        })
    }

    async fn stored(&self) -> Result<StoredState, StorageError> {
        let sql = format!("SELECT data, xmin::text FROM {}.states WHERE name = $1", self.settings.schema);
        let rows = self.query("read the state", &sql, &[self.workspace.as_bytes()]).await?;
        let Some(row) = rows.first() else {
            return Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent });
        };
        let version = StorageVersion::Tag(row.text(1).unwrap_or_default().to_owned());
        Ok(StoredState { bytes: row.bytes(0).unwrap_or_default().to_vec(), version })
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        let schema = &self.settings.schema;
        let (data, name) = (content.to_bytes(), self.workspace.as_bytes());
        let (sql, version) = match expected {
            StorageVersion::Unknown => (
                format!(
                    "INSERT INTO {schema}.states (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = \
                     $2 WHERE states.name = $1 RETURNING xmin::text"
                ),
                None,
            ),
            StorageVersion::Absent => (
                format!(
                    "INSERT INTO {schema}.states (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING \
                     xmin::text"
                ),
                None,
            ),
            StorageVersion::Tag(tag) => (
                format!(
                    "UPDATE {schema}.states SET data = $2 WHERE name = $1 AND xmin::text = $3 RETURNING xmin::text"
                ),
                Some(tag.as_bytes()),
            ),
        };
        let mut parameters: Vec<&[u8]> = vec![name, &data];
        parameters.extend(version);
        let rows = self.query("write the state", &sql, &parameters).await?;
        match rows.first() {
            Some(row) => Ok(StorageVersion::Tag(row.text(0).unwrap_or_default().to_owned())),
            None => Err(StorageError::new(
                "failed to write the state: the row has changed since it was read, so it was not replaced",
            )
            .with_effect(StorageEffect::Conflict)
            .with_advice("another process has changed the state although it was locked")),
        }
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }
}

async fn release(session: &mut Session, key: &str) -> Result<(), PgError> {
    session.query("SELECT pg_advisory_unlock($1::bigint)", &[key.as_bytes()]).await.map(drop)
}

#[async_trait]
impl StateStorage for PgStorage {
    fn location(&self) -> String {
        format!(
            "{}, workspace {} in schema {}",
            self.settings.connection, self.workspace, self.settings.schema_name
        )
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.stored().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content, expected).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        const OPERATION: &str = "lock the state";
        let mut guard = self.session(OPERATION).await.map_err(|error| self.failed(error))?;
        let Some(session) = guard.as_mut() else {
            return Err(self.failed(StorageError::new("there is no session")));
        };
        // The name is shown to others that wait for the lock.
        let name = format!("{} ({})", request.operation, request.who);
        let name: String = name.chars().filter(char::is_ascii).take(63).collect();
        let _ = session.query("SELECT set_config('application_name', $1, false)", &[name.as_bytes()]).await;
        let attempt =
            self.try_lock(session).await.map_err(|error| self.failed(error.into_storage(OPERATION)))?;
        match attempt {
            Attempt::Acquired(key) => {
                let info = LockInfo::new(request, "");
                *self.lock.lock().await = Some(HeldLock { info: info.clone(), key });
                Ok(info)
            }
            Attempt::Held(key) => {
                let holder = self.holder(session, &key).await.map(Box::new);
                Err(LockError::Held { location: self.location(), holder, ends_with_process: true })
            }
        }
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let held = self.lock.lock().await.take();
        let mut guard = self.session.lock().await;
        let (Some(held), Some(mut session)) = (held, guard.take()) else { return Ok(()) };
        if session.is_broken() {
            // The server releases the lock of a session that has ended.
            return Ok(());
        }
        let released = release(&mut session, &held.key).await;
        session.close().await;
        tracing::debug!(id = held.info.id, "released the advisory lock");
        match released {
            Ok(()) | Err(PgError::Lost(_)) => Ok(()),
            Err(error) => Err(self.failed(error.into_storage("unlock the state"))),
        }
    }

    async fn force_unlock(&self, _id: &str) -> Result<(), LockError> {
        let reason =
            "PostgreSQL releases the lock when the session of its holder ends; end that process, or end the \
                      session with pg_terminate_backend"
                .to_owned();
        Err(LockError::Unsupported { location: self.location(), reason })
    }
}

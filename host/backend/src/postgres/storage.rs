//! The state of a workspace in rows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::sleep;
use wardian_state::{
    ConflictReason, LockError, LockInfo, LockRequest, RowBatch, RowChanges, RowConflict, RowKey, RowKind,
    RowLockError, RowLocks, RowStorage, RunId, StateContent, StateError, StateProblem, StateRow, StateRows,
    StateStorage, StateVersion, StorageEffect, StorageError, StorageVersion, StoredState, TakenOver,
    decode_state, encode_state,
};

use super::lease::Lease;
use super::{PostgresSettings, is_lease_ended};
use crate::pg::session::{PgError, Row, Session};

/// Operations that lock rows instead of the whole state.
const SHARED_OPERATIONS: &[&str] = &["OperationTypePlan", "OperationTypeApply", "OperationTypeRefresh"];

/// The pauses before a transaction whose result is unknown is repeated. Repeating it is safe: it
/// stores the same rows, which only this run can change.
const RETRY_PAUSES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

#[derive(Debug)]
pub(super) struct PostgresStorage {
    settings: Arc<PostgresSettings>,
    workspace: String,
    terraform_version: String,
    session: Mutex<Option<Session>>,
    run: std::sync::Mutex<Option<HeldRun>>,
}

/// The run that this value holds.
#[derive(Debug)]
struct HeldRun {
    id: RunId,
    lease: Lease,
    /// The serial on which the run is based.
    base: u64,
    /// The rows that the run has locked for writing.
    locked: BTreeSet<RowKey>,
}

#[derive(Serialize)]
struct LockItem<'a> {
    mode: &'static str,
    kind: &'static str,
    name: &'a str,
    resource: &'a str,
}

#[derive(Serialize)]
struct BegunItem<'a> {
    kind: &'static str,
    name: &'a str,
    action: &'a str,
}

#[derive(Serialize)]
struct RowItem<'a> {
    kind: &'static str,
    name: &'a str,
    resource: &'a str,
    provider: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct KeyItem<'a> {
    kind: &'static str,
    name: &'a str,
}

/// Columns of a run, for [`lock_info`].
const RUN_COLUMNS: &str = "r.lock_id, r.operation, r.who, r.program_version, \
    to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), r.status";

impl PostgresStorage {
    pub(super) fn new(settings: Arc<PostgresSettings>, workspace: &str, terraform_version: &str) -> Self {
        Self {
            settings,
            workspace: workspace.to_owned(),
            terraform_version: terraform_version.to_owned(),
            session: Mutex::default(),
            run: std::sync::Mutex::default(),
        }
    }

    /// Stores an empty state if there is none.
    pub(super) async fn create(&self, lock: Option<&LockRequest>) -> Result<(), String> {
        let request = LockRequest {
            operation: "workspace-new".to_owned(),
            info: String::new(),
            who: lock.map(|lock| lock.who.clone()).unwrap_or_default(),
            version: self.terraform_version.clone(),
        };
        self.lock(&request).await.map_err(|error| error.to_string())?;
        let created = async {
            if self.read_rows(None).await?.is_some() {
                return Ok(());
            }
            let content = StateContent::new_state(&self.terraform_version)
                .map_err(|problem| StateError { location: self.location(), problem })?;
            self.write(&content, &StorageVersion::Absent).await.map(drop)
        };
        let created: Result<(), StateError> = created.await;
        let unlocked = self.unlock().await.map_err(|error| error.to_string());
        created.map_err(|error| error.to_string()).and(unlocked)
    }

    async fn try_query(&self, sql: &str, parameters: &[&[u8]]) -> Result<Vec<Row>, PgFailure> {
        let mut guard = self.session.lock().await;
        if guard.as_ref().is_none_or(Session::is_broken) {
            *guard = None;
            *guard = Some(self.settings.open("open a session").await.map_err(PgFailure::Open)?);
        }
        let Some(session) = guard.as_mut() else {
            return Err(PgFailure::Open(StorageError::new("there is no session")));
        };
        session.query(&self.settings.in_schema(sql), parameters).await.map_err(PgFailure::Query)
    }

    async fn query(
        &self,
        operation: &str,
        sql: &str,
        parameters: &[&[u8]],
    ) -> Result<Vec<Row>, StorageError> {
        self.try_query(sql, parameters).await.map_err(|failure| failure.into_storage(operation))
    }

    /// Runs a statement that has the same effect if it is repeated.
    async fn query_with_retries(
        &self,
        operation: &str,
        sql: &str,
        parameters: &[&[u8]],
    ) -> Result<Vec<Row>, StorageError> {
        let mut pauses = RETRY_PAUSES.into_iter();
        let mut was_lost = false;
        loop {
            match self.try_query(sql, parameters).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => {
                    was_lost |= failure.is_lost();
                    // A server that could be used before may be restarting.
                    match pauses.next().filter(|_| was_lost && failure.is_temporary()) {
                        Some(pause) => sleep(pause).await,
                        None => return Err(failure.into_storage(operation)),
                    }
                }
            }
        }
    }

    fn held<T>(&self, get: impl FnOnce(&mut HeldRun) -> T) -> Option<T> {
        let mut run = self.run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        run.as_mut().map(get)
    }

    /// Returns the run, unless its lease has ended.
    fn active_run(&self, operation: &str) -> Result<RunId, StorageError> {
        match self.held(|run| (run.id, run.lease.has_ended())) {
            Some((id, false)) => Ok(id),
            Some((_, true)) => Err(lease_ended(operation)),
            None => Err(StorageError::new(format!("failed to {operation}: the state is not locked"))
                .with_advice("run the command without -lock=false")),
        }
    }

    fn failed(&self, error: StorageError) -> StateError {
        error.at(self.location())
    }

    fn lock_failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }

    async fn try_lock_rows(&self, locks: &RowLocks, base: u64) -> Result<Vec<RowConflict>, StorageError> {
        const OPERATION: &str = "lock the rows of the state";
        let run = self.active_run(OPERATION)?;
        let write = locks.write.iter().map(|key| LockItem {
            mode: "write",
            kind: key.kind.as_str(),
            name: &key.name,
            resource: &key.resource,
        });
        let kind = RowKind::Instance.as_str();
        let read = locks.read.iter().map(|name| LockItem { mode: "read", kind, name, resource: name });
        let items = json(&write.chain(read).collect::<Vec<_>>());
        let sql = format!(
            "SELECT c.kind, c.name, c.is_changed, {RUN_COLUMNS} FROM SCHEMA.lock_rows($1::bigint, $2::bigint, $3::json, \
             $4::integer) c LEFT JOIN SCHEMA.runs r ON r.id = c.other_run ORDER BY c.kind, c.name"
        );
        let (id, base_text) = (run.to_string(), base.to_string());
        let lease = self.settings.lease.as_secs().to_string();
        let parameters = [id.as_bytes(), base_text.as_bytes(), items.as_bytes(), lease.as_bytes()];
        let rows = self.query_with_retries(OPERATION, &sql, &parameters).await?;
        if rows.is_empty() {
            self.held(|run| {
                run.base = base;
                run.locked.extend(locks.write.iter().cloned());
            });
        }
        Ok(rows.iter().map(|row| self.conflict(row)).collect())
    }

    fn conflict(&self, row: &Row) -> RowConflict {
        let text = |column| row.text(column).unwrap_or_default().to_owned();
        let kind = RowKind::parse(&text(0)).unwrap_or(RowKind::Instance);
        let reason = match (row.flag(2), row.text(8)) {
            (true, _) => ConflictReason::Changed,
            (false, Some("lost")) => ConflictReason::Interrupted,
            _ => ConflictReason::Locked,
        };
        RowConflict {
            key: RowKey { kind, name: text(1), resource: text(1) },
            reason,
            holder: self.lock_info(row, 3),
        }
    }

    /// Returns the information about a run, whose columns begin at `first`.
    fn lock_info(&self, row: &Row, first: usize) -> LockInfo {
        let text = |column: usize| row.text(first + column).unwrap_or_default().to_owned();
        LockInfo {
            id: text(0),
            operation: text(1),
            who: text(2),
            version: text(3),
            created: text(4),
            path: self.location(),
            ..LockInfo::default()
        }
    }
}

/// A statement that could not be executed.
enum PgFailure {
    Open(StorageError),
    Query(PgError),
}

impl PgFailure {
    /// Whether the session was lost. The result of the statement is then unknown.
    fn is_lost(&self) -> bool {
        matches!(self, Self::Query(PgError::Lost(_)))
    }

    /// Whether the statement may succeed if it is repeated.
    fn is_temporary(&self) -> bool {
        self.is_lost() || matches!(self, Self::Open(_))
    }

    fn into_storage(self, operation: &str) -> StorageError {
        match self {
            Self::Open(error) => error,
            Self::Query(error) if is_lease_ended(&error) => lease_ended(operation),
            Self::Query(error) => error.into_storage(operation),
        }
    }
}

fn lease_ended(operation: &str) -> StorageError {
    StorageError::new(format!(
        "failed to {operation}: this run did not renew its lease in time, for example because the process was suspended \
         or the network failed, so it cannot write to the state anymore"
    ))
    .with_effect(StorageEffect::Conflict)
    .with_advice(
        "the changes of this run are in the journal; the next command on this machine that locks the state stores them",
    )
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[async_trait]
impl StateStorage for PostgresStorage {
    fn location(&self) -> String {
        let PostgresSettings { connection, schema_name, .. } = &*self.settings;
        format!("{connection}, workspace {} in schema {schema_name}", self.workspace)
    }

    fn rows(&self) -> Option<&dyn RowStorage> {
        Some(self)
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        let Some(rows) = self.read_rows(None).await? else {
            return Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent });
        };
        let version = StorageVersion::Tag(rows.serial.to_string());
        let encoded = rows.into_state().and_then(|state| encode_state(&state));
        let text = encoded.map_err(|problem| StateError { location: self.location(), problem })?;
        Ok(StoredState { bytes: text.into_bytes(), version })
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        let failed = |problem: StateProblem| StateError { location: self.location(), problem };
        let stored = self.read_rows(None).await?;
        let found = stored.as_ref().map(|rows| rows.serial);
        let is_expected = match expected {
            StorageVersion::Unknown => true,
            StorageVersion::Absent => found.is_none(),
            StorageVersion::Tag(tag) => found.is_some_and(|serial| serial.to_string() == *tag),
        };
        if !is_expected {
            let error = StorageError::new("failed to write the state: it has changed since it was read");
            return Err(self.failed(error.with_effect(StorageEffect::Conflict)));
        }
        let before = stored.unwrap_or_default().into_state().map_err(failed)?;
        let after = decode_state(&content.to_bytes()).map_err(failed)?.unwrap_or_default();
        let changes = RowChanges::between(&before, &after).map_err(failed)?;
        let batch = RowBatch {
            set: changes.set,
            removed: changes.removed,
            lineage: after.lineage,
            terraform_version: after.terraform_version,
            least_serial: content.serial().max(1),
            begun: Vec::new(),
        };
        self.store_rows(&batch).await.map(|serial| StorageVersion::Tag(serial.to_string()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        const OPERATION: &str = "lock the state";
        let info = LockInfo::new(request, self.location());
        let is_shared = SHARED_OPERATIONS.contains(&&*request.operation);
        let mode = if is_shared { "shared" } else { "exclusive" };
        let lease = self.settings.lease.as_secs().to_string();
        let parameters: [&[u8]; 7] = [
            self.workspace.as_bytes(),
            mode.as_bytes(),
            request.operation.as_bytes(),
            request.who.as_bytes(),
            request.version.as_bytes(),
            info.id.as_bytes(),
            lease.as_bytes(),
        ];
        let sql = "SELECT run_id, is_started FROM SCHEMA.start_run($1, $2, $3, $4, $5, $6, $7::integer)";
        let rows = self.query(OPERATION, sql, &parameters).await.map_err(|error| self.lock_failed(error))?;
        let Some(row) = rows.first() else {
            return Err(self.lock_failed(StorageError::new("the database returned no run")));
        };
        if !row.flag(1) {
            let sql = format!("SELECT {RUN_COLUMNS} FROM SCHEMA.runs r WHERE r.id = $1::bigint");
            let id = row.bytes(0).unwrap_or_default();
            let holder = self.query(OPERATION, &sql, &[id]).await.map_err(|error| self.lock_failed(error))?;
            let holder = holder.first().map(|row| Box::new(self.lock_info(row, 0)));
            return Err(LockError::Held { location: self.location(), holder, ends_with_process: false });
        }
        let id: RunId = row.text(0).and_then(|id| id.parse().ok()).unwrap_or_default();
        let lease = Lease::start(Arc::clone(&self.settings), id);
        let held = HeldRun { id, lease, base: 0, locked: BTreeSet::new() };
        *self.run.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(held);
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let run = self.run.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some(HeldRun { id, lease, .. }) = run else { return Ok(()) };
        drop(lease);
        let id = id.to_string();
        let sql = "SELECT SCHEMA.end_run($1::bigint)";
        let ended = self.query_with_retries("unlock the state", sql, &[id.as_bytes()]).await;
        if let Some(session) = self.session.lock().await.take() {
            session.close().await;
        }
        ended.map(drop).map_err(|error| self.lock_failed(error))
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        const OPERATION: &str = "release the lock";
        let parameters = [self.workspace.as_bytes(), id.as_bytes()];
        let sql = "SELECT SCHEMA.force_end($1, $2)";
        let rows = self.query(OPERATION, sql, &parameters).await.map_err(|error| self.lock_failed(error))?;
        if rows.first().is_some_and(|row| row.flag(0)) {
            return Ok(());
        }
        let sql = format!(
            "SELECT {RUN_COLUMNS} FROM SCHEMA.runs r JOIN SCHEMA.states s ON s.id = r.state_id WHERE s.name = $1 AND \
             r.status <> 'ended' ORDER BY r.id LIMIT 1"
        );
        let others = self.query(OPERATION, &sql, &parameters[..1]).await;
        let others = others.map_err(|error| self.lock_failed(error))?;
        let found = others.first().map(|row| Box::new(self.lock_info(row, 0)));
        Err(LockError::OtherLock { location: self.location(), id: id.to_owned(), found })
    }
}

#[async_trait]
impl RowStorage for PostgresStorage {
    async fn read_rows(&self, serial: Option<u64>) -> Result<Option<StateRows>, StateError> {
        // One statement sees one snapshot.
        let (sql, serial) = match serial {
            None => (
                "SELECT 'state', lineage, serial::text, terraform_version, '' FROM SCHEMA.states WHERE name = $1 AND \
                 serial > 0 UNION ALL SELECT r.kind, r.name, r.resource, r.provider, r.content FROM SCHEMA.rows r JOIN \
                 SCHEMA.states s ON s.id = r.state_id WHERE s.name = $1 AND r.until IS NULL",
                None,
            ),
            Some(serial) => (
                "SELECT 'state', v.lineage, v.serial::text, v.terraform_version, '' FROM SCHEMA.versions v JOIN \
                 SCHEMA.states s ON s.id = v.state_id WHERE s.name = $1 AND v.serial = $2::bigint UNION ALL SELECT \
                 r.kind, r.name, r.resource, r.provider, r.content FROM SCHEMA.rows r JOIN SCHEMA.states s ON s.id = \
                 r.state_id WHERE s.name = $1 AND r.since <= $2::bigint AND (r.until IS NULL OR r.until > $2::bigint)",
                Some(serial.to_string()),
            ),
        };
        let mut parameters = vec![self.workspace.as_bytes()];
        parameters.extend(serial.as_ref().map(String::as_bytes));
        let found = self.query_with_retries("read the state", sql, &parameters).await;
        let found = found.map_err(|error| self.failed(error))?;
        let mut rows = StateRows::default();
        let mut exists = false;
        for row in &found {
            let text = |column| row.text(column).unwrap_or_default().to_owned();
            match row.text(0) {
                Some("state") => {
                    exists = true;
                    rows.lineage = text(1);
                    rows.serial = text(2).parse().unwrap_or_default();
                    rows.terraform_version = text(3);
                }
                kind => {
                    let Some(kind) = kind.and_then(RowKind::parse) else {
                        let error = StorageError::new(format!("the row {} has an unknown kind", text(1)))
                            .with_advice("use a newer version of Wardian");
                        return Err(self.failed(error));
                    };
                    let key = RowKey { kind, name: text(1), resource: text(2) };
                    rows.rows.push(StateRow { key, provider: text(3), text: text(4) });
                }
            }
        }
        Ok(exists.then_some(rows))
    }

    fn run(&self) -> Option<RunId> {
        self.held(|run| run.id)
    }

    async fn lock_rows(&self, locks: &RowLocks, base: u64) -> Result<(), RowLockError> {
        let conflicts = self.try_lock_rows(locks, base).await.map_err(|error| self.failed(error))?;
        if conflicts.is_empty() { Ok(()) } else { Err(RowLockError::Conflicts { conflicts }) }
    }

    async fn store_rows(&self, batch: &RowBatch) -> Result<u64, StateError> {
        const OPERATION: &str = "store the changes";
        let run = self.active_run(OPERATION).map_err(|error| self.failed(error))?;
        let keys = batch.begun.iter().map(|(key, _)| key);
        let keys = keys.chain(batch.set.iter().map(|row| &row.key)).chain(&batch.removed);
        let (missing, base) = self
            .held(|run| (keys.filter(|key| !run.locked.contains(*key)).cloned().collect(), run.base))
            .unwrap_or_default();
        let missing = RowLocks { write: missing, read: BTreeSet::new() };
        if !missing.write.is_empty() {
            let conflicts = self.try_lock_rows(&missing, base).await.map_err(|error| self.failed(error))?;
            if let Some(conflict) = conflicts.first() {
                let LockInfo { who, created, .. } = &conflict.holder;
                let error = StorageError::new(format!(
                    "failed to {OPERATION}: a run of {who} since {created} uses {}",
                    conflict.key
                ));
                return Err(self.failed(error.with_effect(StorageEffect::Conflict)));
            }
        }
        let begun = batch.begun.iter().map(|(key, action)| BegunItem {
            kind: key.kind.as_str(),
            name: &key.name,
            action,
        });
        let set = batch.set.iter().map(|row| RowItem {
            kind: row.key.kind.as_str(),
            name: &row.key.name,
            resource: &row.key.resource,
            provider: &row.provider,
            content: &row.text,
        });
        let removed = batch.removed.iter().map(|key| KeyItem { kind: key.kind.as_str(), name: &key.name });
        let (begun, set) = (json(&begun.collect::<Vec<_>>()), json(&set.collect::<Vec<_>>()));
        let removed = json(&removed.collect::<Vec<_>>());
        let (run, least) = (run.to_string(), batch.least_serial.to_string());
        let lease = self.settings.lease.as_secs().to_string();
        let parameters: [&[u8]; 8] = [
            run.as_bytes(),
            batch.lineage.as_bytes(),
            batch.terraform_version.as_bytes(),
            least.as_bytes(),
            begun.as_bytes(),
            set.as_bytes(),
            removed.as_bytes(),
            lease.as_bytes(),
        ];
        let sql = "SELECT SCHEMA.store_rows($1::bigint, $2, $3, $4::bigint, $5::json, $6::json, $7::json, $8::integer)";
        let rows = self.query_with_retries(OPERATION, sql, &parameters).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        rows.first().and_then(|row| row.text(0)?.parse().ok()).ok_or_else(|| {
            self.failed(
                StorageError::new("the database returned no serial").with_effect(StorageEffect::Unknown),
            )
        })
    }

    async fn take_over(&self, interrupted: RunId) -> Result<TakenOver, StateError> {
        const OPERATION: &str = "recover the changes of an interrupted run";
        let run = self.active_run(OPERATION).map_err(|error| self.failed(error))?;
        let (run, interrupted) = (run.to_string(), interrupted.to_string());
        let lease = self.settings.lease.as_secs().to_string();
        let sql = "SELECT kind, name, resource, was_ended FROM SCHEMA.take_over($1::bigint, $2::bigint, $3::integer)";
        let parameters = [run.as_bytes(), interrupted.as_bytes(), lease.as_bytes()];
        let rows = self.query_with_retries(OPERATION, sql, &parameters).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        let mut taken = TakenOver { was_ended: true, ..TakenOver::default() };
        for row in &rows {
            let text = |column| row.text(column).unwrap_or_default().to_owned();
            if row.text(0) == Some("") {
                taken.was_ended = row.flag(3);
            }
            if let Some(kind) = row.text(0).and_then(RowKind::parse) {
                taken.rows.insert(RowKey { kind, name: text(1), resource: text(2) });
            }
        }
        self.held(|run| run.locked.extend(taken.rows.iter().cloned()));
        Ok(taken)
    }

    async fn end_recovery(&self) -> Result<(), StateError> {
        const OPERATION: &str = "recover the changes of an interrupted run";
        let run = self.active_run(OPERATION).map_err(|error| self.failed(error))?.to_string();
        let sql = "SELECT SCHEMA.end_recovery($1::bigint)";
        let ended = self.query_with_retries(OPERATION, sql, &[run.as_bytes()]).await;
        ended.map(drop).map_err(|error| self.failed(error))
    }

    async fn versions(&self, limit: usize) -> Result<Vec<StateVersion>, StateError> {
        let limit = limit.to_string();
        let sql = "SELECT v.serial::text, v.operation, v.who, to_char(v.created_at AT TIME ZONE 'UTC', \
                   'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), (SELECT count(*) FROM SCHEMA.rows r WHERE r.state_id = s.id AND r.since = \
                   v.serial)::text, (SELECT count(*) FROM SCHEMA.rows r WHERE r.state_id = s.id AND r.until = \
                   v.serial)::text FROM SCHEMA.versions v JOIN SCHEMA.states s ON s.id = v.state_id WHERE s.name = $1 \
                   ORDER BY v.serial DESC LIMIT $2::bigint";
        let rows = self
            .query_with_retries("read the versions", sql, &[self.workspace.as_bytes(), limit.as_bytes()])
            .await
            .map_err(|error| self.failed(error))?;
        let version = |row: &Row| {
            let text = |column| row.text(column).unwrap_or_default().to_owned();
            let number = |column| row.text(column).and_then(|text| text.parse().ok()).unwrap_or_default();
            StateVersion {
                serial: number(0),
                operation: text(1),
                who: text(2),
                created: text(3),
                set: number(4),
                ended: number(5),
            }
        };
        Ok(rows.iter().map(version).collect())
    }
}

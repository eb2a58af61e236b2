//! The backend `postgres`, which stores each object of a state in a row of its own in a PostgreSQL
//! database. It is Wardian's own; Terraform's is `pg`.
//!
//! | table | content |
//! |---|---|
//! | `states` | one row for each workspace: lineage and serial |
//! | `rows` | the versions of instances, outputs and check results, each with the serials between which it is part of the state |
//! | `versions` | one row for each serial: when, by whom, for which operation |
//! | `runs` | the runs with their leases; the ID of a run is its epoch |
//! | `locks` | the rows and resources that runs have locked |
//!
//! Every write is one call of a function in the database, which checks the lease of the run and the
//! locks. Therefore a connection pooler may be in transaction mode, and a role that may only execute
//! the functions cannot bypass the checks. The comments in `schema_1.sql` describe the functions.

mod lease;
mod migration;
mod storage;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage, StorageError};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::{BackendConfig, Settings};
use crate::host::{BackendAccess, BackendHost};
use crate::pg::connection_string::ConnectionSettings;
use crate::pg::quote_identifier;
use crate::pg::session::{PgError, Row, Session};
use crate::schema::{block, flag, number, text};
use crate::types::DEFAULT_WORKSPACE;
use storage::PostgresStorage;

const NAME: &str = "postgres";
const DEFAULT_SCHEMA: &str = "wardian";

/// The time after which a run that does not renew its lease cannot write again.
const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// The minimum of the lease. It must be longer than an interruption of the network that a run should
/// survive.
const MIN_LEASE: Duration = Duration::from_secs(2);
const MAX_LEASE: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(crate) struct PostgresBackendType;

/// The settings of the backend. `Debug` output contains no secrets.
#[derive(Debug)]
struct PostgresSettings {
    connection: ConnectionSettings,
    /// The schema's name, quoted.
    schema: String,
    /// The schema's name.
    schema_name: String,
    skips_migration: bool,
    lease: Duration,
}

#[derive(Debug)]
struct PostgresBackend {
    settings: Arc<PostgresSettings>,
    terraform_version: String,
}

impl BackendType for PostgresBackendType {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> = LazyLock::new(|| {
            block([
                ("conn_str", text()),
                ("lease_seconds", number()),
                ("schema_name", text()),
                ("skip_migration", flag()),
            ])
        });
        &SCHEMA
    }

    fn configure(
        &self,
        config: &BackendConfig,
        host: &BackendHost,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        let settings = Settings { config, host };
        let schema_name =
            settings.text("schema_name", &["PG_SCHEMA_NAME"]).unwrap_or_else(|| DEFAULT_SCHEMA.to_owned());
        let lease = settings.number("lease_seconds", &[]).map_or(DEFAULT_LEASE, Duration::from_secs);
        if !(MIN_LEASE..=MAX_LEASE).contains(&lease) {
            let (min, max) = (MIN_LEASE.as_secs(), MAX_LEASE.as_secs());
            let detail = format!("The lease must be at least {min} and at most {max} seconds.");
            return Err(BackendError::for_argument("lease_seconds", "Invalid lease", detail));
        }
        let settings = PostgresSettings {
            connection: ConnectionSettings::new(settings)?,
            schema: quote_identifier(&schema_name),
            schema_name,
            skips_migration: host.access == BackendAccess::ReadOnly || settings.flag("skip_migration", &[]),
            lease,
        };
        let terraform_version = host.terraform_version.clone();
        Ok(Arc::new(PostgresBackend { settings: Arc::new(settings), terraform_version }))
    }
}

impl PostgresSettings {
    /// Opens a session with a database whose schema has the current version.
    async fn open(&self, operation: &str) -> Result<Session, StorageError> {
        let mut session =
            Session::connect(&self.connection).await.map_err(|error| error.into_storage(operation))?;
        migration::run(self, &mut session).await?;
        Ok(session)
    }

    /// Runs one statement in a new session.
    async fn query(
        &self,
        operation: &str,
        sql: &str,
        parameters: &[&[u8]],
    ) -> Result<Vec<Row>, StorageError> {
        let mut session = self.open(operation).await?;
        let rows = session.query(&self.in_schema(sql), parameters).await;
        session.close().await;
        rows.map_err(|error| error.into_storage(operation))
    }

    /// Replaces `SCHEMA` in a statement.
    fn in_schema(&self, sql: &str) -> String {
        sql.replace("SCHEMA", &self.schema)
    }
}

#[async_trait]
impl Backend for PostgresBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(PostgresStorage::new(Arc::clone(&self.settings), workspace, &self.terraform_version)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let sql = "SELECT name FROM SCHEMA.states WHERE name <> 'default' AND serial > 0 ORDER BY name";
        let rows = self
            .settings
            .query("list the workspaces", sql, &[])
            .await
            .map_err(|error| BackendError::new("Workspaces cannot be listed", error.sentences()))?;
        let mut names = vec![DEFAULT_WORKSPACE.to_owned()];
        names.extend(rows.iter().filter_map(|row| row.text(0).map(str::to_owned)));
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError> {
        let storage = PostgresStorage::new(Arc::clone(&self.settings), name, &self.terraform_version);
        storage.create(lock).await.map_err(|reason| BackendError::new("Workspace cannot be created", reason))
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        let sql = "SELECT SCHEMA.delete_state($1)";
        let deleted = self.settings.query("delete the workspace", sql, &[name.as_bytes()]).await;
        deleted.map(drop).map_err(|error| BackendError::new("Workspace cannot be deleted", error.sentences()))
    }
}

/// SQLSTATE of a write of a run that has lost its lease.
const LEASE_ENDED: &str = "WD001";

/// Returns whether a statement failed because the lease of its run has ended.
fn is_lease_ended(error: &PgError) -> bool {
    matches!(error, PgError::Server { code, .. } if code == LEASE_ENDED)
}

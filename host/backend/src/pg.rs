//! The backend `pg`, which stores states in a PostgreSQL database.
//!
//! | object | definition |
//! |---|---|
//! | sequence `public.global_states_id_seq` | IDs that are unique in the database, because they are the keys of locks |
//! | table `SCHEMA.states` | `id`, the workspace's `name`, and the state as text in `data` |
//! | index `states_by_name` | unique, on `name` |
//!
//! A state is locked with an advisory lock of the session: on the row's ID, or on -1 while there is
//! no row. The server releases it when the session ends, so there is nothing to unlock after a
//! crash. A state is replaced only if its row has not changed since it was read.

pub(crate) mod connection_string;
pub(crate) mod session;
mod storage;
mod stream;
mod traffic;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use tokio::sync::Mutex;
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage, StorageError};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::{BackendConfig, Settings};
use crate::host::{BackendAccess, BackendHost};
use crate::initial::store_initial_state;
use crate::schema::{block, flag, text};
use crate::types::DEFAULT_WORKSPACE;
use connection_string::ConnectionSettings;
use session::{PgError, Session};
use storage::PgStorage;

const NAME: &str = "pg";
const DEFAULT_SCHEMA: &str = "terraform_remote_state";

#[derive(Debug)]
pub(crate) struct PgBackendType;

/// The settings of the backend. `Debug` output contains no secrets.
#[derive(Debug)]
struct PgSettings {
    connection: ConnectionSettings,
    /// The schema's name, quoted.
    schema: String,
    /// The schema's name.
    schema_name: String,
    skips_schema: bool,
    skips_table: bool,
    skips_index: bool,
}

#[derive(Debug)]
struct PgBackend {
    settings: Arc<PgSettings>,
    terraform_version: String,
}

impl BackendType for PgBackendType {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> = LazyLock::new(|| {
            block([
                ("conn_str", text()),
                ("schema_name", text()),
                ("skip_index_creation", flag()),
                ("skip_schema_creation", flag()),
                ("skip_table_creation", flag()),
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
        let is_read_only = host.access == BackendAccess::ReadOnly;
        let settings = PgSettings {
            connection: ConnectionSettings::new(settings)?,
            schema: quote_identifier(&schema_name),
            schema_name,
            skips_schema: is_read_only || settings.flag("skip_schema_creation", &["PG_SKIP_SCHEMA_CREATION"]),
            skips_table: is_read_only || settings.flag("skip_table_creation", &["PG_SKIP_TABLE_CREATION"]),
            skips_index: is_read_only || settings.flag("skip_index_creation", &["PG_SKIP_INDEX_CREATION"]),
        };
        let terraform_version = host.terraform_version.clone();
        Ok(Arc::new(PgBackend { settings: Arc::new(settings), terraform_version }))
    }
}

/// Quotes a name, which can then contain any characters.
pub(crate) fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', "").replace('"', "\"\""))
}

impl PgSettings {
    /// Opens a session, and creates the objects that do not exist yet.
    async fn open(&self, operation: &str) -> Result<Session, StorageError> {
        let mut session =
            Session::connect(&self.connection).await.map_err(|error| error.into_storage(operation))?;
        self.prepare(&mut session).await.map_err(|error| error.into_storage("prepare the database"))?;
        Ok(session)
    }

    async fn prepare(&self, session: &mut Session) -> Result<(), PgError> {
        let schema = &self.schema;
        if !self.skips_schema {
            let parameters = [self.schema_name.as_bytes()];
            let sql = "select count(1) from information_schema.schemata where schema_name = $1";
            let rows = session.query(sql, &parameters).await?;
            // A role without the privilege to create schemas can use an existing schema.
            if rows.first().and_then(|row| row.text(0)) == Some("0") {
                create(session, &format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
            }
        }
        if !self.skips_table {
            create(session, "CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint").await?;
            let sql = format!(
                "CREATE TABLE IF NOT EXISTS {schema}.states (id bigint NOT NULL DEFAULT \
                 nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)"
            );
            create(session, &sql).await?;
        }
        if !self.skips_index {
            let sql = format!("CREATE UNIQUE INDEX IF NOT EXISTS states_by_name ON {schema}.states (name)");
            create(session, &sql).await?;
        }
        Ok(())
    }
}

/// Runs a statement that creates an object if it does not exist. If another session creates the object
/// at the same time, PostgreSQL reports a duplicate key or an existing object.
async fn create(session: &mut Session, sql: &str) -> Result<(), PgError> {
    const CREATED_BY_OTHERS: [&str; 4] = ["23505", "42P06", "42P07", "42710"];
    match session.query(sql, &[]).await {
        Err(PgError::Server { code, .. }) if CREATED_BY_OTHERS.contains(&&*code) => Ok(()),
        result => result.map(drop),
    }
}

#[async_trait]
impl Backend for PgBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(PgStorage::new(Arc::clone(&self.settings), workspace)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let list = async {
            let mut session = self.settings.open("list the workspaces").await?;
            let sql = format!(
                "SELECT name FROM {}.states WHERE name != 'default' ORDER BY name",
                self.settings.schema
            );
            let rows = session.query(&sql, &[]).await;
            let rows = rows.map_err(|error| error.into_storage("list the workspaces"))?;
            session.close().await;
            Ok(rows.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect())
        };
        let mut names: Vec<String> = list.await.map_err(|error: StorageError| {
            BackendError::new("Workspaces cannot be listed", error.sentences())
        })?;
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError> {
        let storage = self.state(name)?;
        store_initial_state(storage, lock, &self.terraform_version)
            .await
            .map_err(|reason| BackendError::new("Workspace cannot be created", format!("{reason}.")))
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        let delete = async {
            let mut session = self.settings.open("delete the workspace").await?;
            let sql = format!("DELETE FROM {}.states WHERE name = $1", self.settings.schema);
            let deleted = session.query(&sql, &[name.as_bytes()]).await;
            deleted.map_err(|error| error.into_storage("delete the workspace"))?;
            session.close().await;
            Ok(())
        };
        delete.await.map_err(|error: StorageError| {
            BackendError::new("Workspace cannot be deleted", error.sentences())
        })
    }
}

/// The session of a storage, which is opened when it is needed.
type SharedSession = Mutex<Option<Session>>;

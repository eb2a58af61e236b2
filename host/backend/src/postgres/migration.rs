//! Creates the schema in the database, and updates it to the version of this program.
//!
//! The versions are numbered. The files `schema_N.sql` contain the statements that lead from version
//! N - 1 to version N; each is executed in one transaction, under an advisory lock of the transaction.

use std::fmt::Write as _;

use wardian_state::StorageError;

use super::PostgresSettings;
use crate::pg::session::{PgError, Session};

/// The statements of each version.
const MIGRATIONS: &[&str] = &[include_str!("schema_1.sql")];

/// The key of the advisory lock: "wardian" as a number.
const LOCK_KEY: i64 = 0x0077_6172_6469_616e;

/// Updates the schema if it is older than this program.
pub(super) async fn run(settings: &PostgresSettings, session: &mut Session) -> Result<(), StorageError> {
    const OPERATION: &str = "prepare the database";
    let failed = |error: PgError| error.into_storage(OPERATION);
    let found = version(settings, session).await.map_err(failed)?;
    let newest = MIGRATIONS.len();
    if found > newest {
        return Err(StorageError::new(format!(
            "the schema \"{}\" has version {found}, and this version of Wardian supports versions up to {newest}",
            settings.schema_name
        ))
        .with_advice("use a newer version of Wardian"));
    }
    if found == newest {
        return Ok(());
    }
    if settings.skips_migration {
        let advice = "let a role that may change the schema run `wardian init` without skip_migration";
        return Err(StorageError::new(format!(
            "the schema \"{}\" has version {found} instead of {newest}, and skip_migration is set",
            settings.schema_name
        ))
        .with_advice(advice));
    }
    let updated = session.script(&script(settings, found)).await;
    let Err(error) = updated else { return Ok(()) };
    // Another process may have updated the schema while this one waited for the advisory lock.
    session.script("ROLLBACK").await.map_err(failed)?;
    match version(settings, session).await.map_err(failed)? {
        version if version == newest => Ok(()),
        _ => Err(failed(error)),
    }
}

/// Returns the version of the schema; 0 if it does not exist.
async fn version(settings: &PostgresSettings, session: &mut Session) -> Result<usize, PgError> {
    let table = format!("{}.schema_version", settings.schema);
    let exists = session.query("SELECT to_regclass($1) IS NOT NULL", &[table.as_bytes()]).await?;
    if !exists.first().is_some_and(|row| row.flag(0)) {
        return Ok(0);
    }
    let rows = session.query(&format!("SELECT max(version) FROM {table}"), &[]).await?;
    Ok(rows.first().and_then(|row| row.text(0)?.parse().ok()).unwrap_or(0))
}

/// Returns the statements that update the schema. If another process has already updated it, the
/// first of them fails, and the version is read again.
fn script(settings: &PostgresSettings, found: usize) -> String {
    let schema = &settings.schema;
    let mut script = format!(
        "BEGIN; SELECT pg_advisory_xact_lock({LOCK_KEY}); CREATE SCHEMA IF NOT EXISTS {schema}; \
         CREATE TABLE IF NOT EXISTS {schema}.schema_version (version integer PRIMARY KEY);"
    );
    for (index, statements) in MIGRATIONS.iter().enumerate().skip(found) {
        let version = index + 1;
        let _ = writeln!(script, "INSERT INTO {schema}.schema_version VALUES ({version});");
        script.push_str(&statements.replace("SCHEMA", schema));
    }
    script.push_str("COMMIT;");
    script
}

//! Renews the lease of a run while the run lasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;
use tokio::time::sleep;
use wardian_state::RunId;

use super::{PostgresSettings, is_lease_ended};
use crate::pg::session::Session;

/// A task that renews a lease until this value is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    has_ended: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Lease {
    /// Starts to renew the lease of a run that was just started.
    pub(super) fn start(settings: Arc<PostgresSettings>, run: RunId) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(renew(settings, run, Arc::clone(&has_ended)));
        Self { has_ended, task }
    }

    /// Returns whether the database has reported that the lease has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Renews a lease three times in its duration. After a failure that is not the end of the lease, tries
/// again: the write that needs the lease reports the problem.
async fn renew(settings: Arc<PostgresSettings>, run: RunId, has_ended: Arc<AtomicBool>) {
    let sql = settings.in_schema("SELECT SCHEMA.renew($1::bigint, $2::integer)");
    let (run, seconds) = (run.to_string(), settings.lease.as_secs().to_string());
    let mut session: Option<Session> = None;
    loop {
        sleep(settings.lease / 3).await;
        if session.as_ref().is_none_or(Session::is_broken) {
            session = Session::connect(&settings.connection).await.ok();
        }
        let Some(open) = &mut session else { continue };
        match open.query(&sql, &[run.as_bytes(), seconds.as_bytes()]).await {
            Ok(_) => {}
            Err(error) if is_lease_ended(&error) => {
                has_ended.store(true, Ordering::Release);
                return;
            }
            Err(error) => tracing::warn!(%error, "the lease of the run could not be renewed"),
        }
    }
}

//! Records the changes of an engine run: in the journal, and in a remote storage. A storage that keeps
//! rows separately stores each change, other storages the unfinished state from time to time.

use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_engine::{FlushReply, StateSink};
use wardian_state::{
    Instance, InterimState, Journal, RowRun, State, StateError, StateManager, StorageVersion,
};

use crate::context::AppContext;
use crate::error::{AppError, state_reason};

/// Writes the journal of an engine run.
pub struct Recorder {
    journal: Journal,
    /// The reason why a change could not be recorded.
    problem: Option<StateError>,
    interim: Option<Interim>,
    rows: Option<RowRun>,
}

/// The unfinished state, which is stored while the run continues.
struct Interim {
    state: InterimState,
    interval: Duration,
    /// The time of the last write, or of the beginning of the run.
    last: Instant,
    is_changed: bool,
    writing: Option<JoinHandle<Result<StorageVersion, StateError>>>,
}

impl Recorder {
    /// Starts to record changes of a run that is based on a state.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub async fn begin(
        context: &AppContext,
        manager: &mut StateManager,
        base: &State,
    ) -> Result<Self, AppError> {
        let journal = manager.begin().await?;
        let rows = manager.row_run(&journal, base);
        let interim = manager.interim(&journal).map(|state| Interim {
            state,
            interval: context.environment.persist_interval(),
            last: Instant::now(),
            is_changed: false,
            writing: None,
        });
        Ok(Self { journal, problem: None, interim, rows })
    }

    /// Ends the recording, and returns the journal, whose changes are then merged into the state.
    pub async fn into_journal(self, manager: &mut StateManager) -> Journal {
        if let Some(mut interim) = self.interim {
            if let Some(writing) = interim.writing.take() {
                interim.end_write(writing.await);
            }
            manager.set_interim(interim.state);
        }
        if let Some(rows) = self.rows {
            manager.set_row_run(rows);
        }
        self.journal
    }
}

impl Interim {
    /// Starts a write if the last one has ended and the interval has passed.
    fn write_if_due(&mut self, journal: &mut Journal) -> Result<(), StateError> {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(result) = self.writing.take().and_then(FutureExt::now_or_never)
        {
            self.end_write(result);
        }
        if !self.is_changed || self.writing.is_some() || self.last.elapsed() < self.interval {
            return Ok(());
        }
        self.is_changed = false;
        self.last = Instant::now();
        if let Some(write) = self.state.begin_write(journal)? {
            self.writing = Some(tokio::spawn(write.run()));
        }
        Ok(())
    }

    fn end_write(&mut self, result: Result<Result<StorageVersion, StateError>, tokio::task::JoinError>) {
        match result {
            Ok(result) => self.state.end_write(result),
            Err(_) => self.state.forget_version(),
        }
    }
}

impl StateSink for Recorder {
    fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) {
        self.journal.record_intent(address, action);
        if let Some(rows) = &mut self.rows {
            rows.record_intent(address, action);
        }
    }

    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        self.journal.record(address, provider, instance);
        if let Some(interim) = &mut self.interim {
            interim.state.set_instance(address, provider, instance);
            interim.is_changed = true;
        }
        if let Some(rows) = &mut self.rows {
            rows.record(address, provider, instance);
        }
    }

    fn commit(&mut self) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(state_reason(problem));
        }
        let mut commit = || {
            self.journal.commit()?;
            if let Some(rows) = &mut self.rows {
                // Requests must not be sent before their intents are stored.
                return tokio::task::block_in_place(|| Handle::current().block_on(rows.store()));
            }
            match &mut self.interim {
                Some(interim) => interim.write_if_due(&mut self.journal),
                None => Ok(()),
            }
        };
        commit().map_err(|error| state_reason(self.problem.insert(error)))
    }

    fn flush(&mut self, done: FlushReply) {
        self.journal.flush(move |result| done(result.map_err(|error| state_reason(&error))));
    }
}

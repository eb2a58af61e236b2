//! Stores the changes of a run in a storage that keeps rows separately, while the run lasts.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};

use crate::error::{StateError, StateProblem};
use crate::model::{Instance, State};
use crate::row_storage::{RowBatch, RowStorage};
use crate::rows::{RowChanges, RowKey, StateRow};
use crate::storage::{StateStorage, StorageError};

/// The changes of a run.
#[derive(Debug)]
pub struct RowRun {
    storage: Arc<dyn StateStorage>,
    lineage: String,
    terraform_version: String,
    /// The state on which the run is based.
    base: State,
    /// The requests that are not stored yet, with their actions.
    begun: BTreeMap<RowKey, String>,
    /// The rows that are not stored yet; `None` for removed rows.
    pending: BTreeMap<RowKey, Option<StateRow>>,
    /// The rows that the run has stored.
    stored: BTreeMap<RowKey, Option<StateRow>>,
}

impl RowRun {
    pub(crate) fn new(
        storage: Arc<dyn StateStorage>,
        base: State,
        lineage: &str,
        terraform_version: &str,
    ) -> Self {
        Self {
            storage,
            lineage: lineage.to_owned(),
            terraform_version: terraform_version.to_owned(),
            base,
            begun: BTreeMap::new(),
            pending: BTreeMap::new(),
            stored: BTreeMap::new(),
        }
    }

    /// Records a request for an instance, which is sent to a provider after [`RowRun::store`].
    pub fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) {
        self.begun.insert(RowKey::for_instance(address), action.to_owned());
    }

    /// Records the new objects of an instance; `None` if it was removed.
    pub fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        let key = RowKey::for_instance(address);
        self.begun.remove(&key);
        let row = instance.map(|instance| StateRow::for_instance(address, &provider.to_string(), instance));
        self.pending.insert(key, row);
    }

    /// Stores everything that was recorded.
    ///
    /// # Errors
    /// Returns an error if the storage has not confirmed it. Requests whose intents are not stored
    /// must not be sent.
    pub async fn store(&mut self) -> Result<(), StateError> {
        if self.begun.is_empty() && self.pending.is_empty() {
            return Ok(());
        }
        let mut batch = self.batch();
        batch.begun = self.begun.iter().map(|(key, action)| (key.clone(), action.clone())).collect();
        for (key, row) in &self.pending {
            match row {
                Some(row) => batch.set.push(row.clone()),
                None => batch.removed.push(key.clone()),
            }
        }
        self.rows()?.store_rows(&batch).await?;
        self.begun.clear();
        // `append` would rebuild the whole map.
        self.stored.extend(std::mem::take(&mut self.pending));
        Ok(())
    }

    /// Stores what is different in the final state of the run. Returns the serial of the state.
    pub(crate) async fn finish(&mut self, state: &State) -> Result<u64, StateError> {
        self.store().await?;
        let changes = RowChanges::between(&self.base, state).map_err(|problem| self.failed(problem))?;
        let mut batch = self.batch();
        let is_stored = |key: &RowKey, row: Option<&StateRow>| {
            self.stored.get(key).is_some_and(|stored| stored.as_ref() == row)
        };
        batch.set = changes.set.into_iter().filter(|row| !is_stored(&row.key, Some(row))).collect();
        batch.removed = changes.removed.into_iter().filter(|key| !is_stored(key, None)).collect();
        self.rows()?.store_rows(&batch).await
    }

    fn batch(&self) -> RowBatch {
        RowBatch {
            lineage: self.lineage.clone(),
            terraform_version: self.terraform_version.clone(),
            ..RowBatch::default()
        }
    }

    fn rows(&self) -> Result<&dyn RowStorage, StateError> {
        self.storage.rows().ok_or_else(|| self.failed(no_rows()))
    }

    fn failed(&self, problem: StateProblem) -> StateError {
        StateError { location: self.storage.location(), problem }
    }
}

/// Returns the problem of a storage that does not keep rows separately.
pub(crate) fn no_rows() -> StateProblem {
    StorageError::new("the storage does not keep the rows of a state separately").into()
}

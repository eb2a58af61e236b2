//! Plans the removal of an object from the state, without destroying it.

use std::sync::Arc;

use wardian_diagnostic::Diagnosed;
use wardian_state::Object;

use super::plan::DestroyOutcome;
use super::refresh::refresh;
use super::subject::Subject;
use crate::plan::{Action, ActionReason, ResourceChange};

/// Plans to remove an object from the state without destroying it. The object is not read.
pub async fn plan_forget(
    subject: &Subject,
    object: &Arc<Object>,
    deposed: Option<wardian_value::Str>,
    reason: Option<ActionReason>,
) -> Diagnosed<DestroyOutcome> {
    refresh(subject, object, false).await.map(|found| {
        let change = ResourceChange {
            deposed,
            reason,
            planned_private: Arc::clone(&object.private),
            ..ResourceChange::new(
                subject.address.clone(),
                subject.provider_config.clone(),
                Action::Forget,
                (found.current.clone(), subject.null()),
                Arc::clone(&subject.schema),
            )
        };
        DestroyOutcome {
            stored: found.stored,
            refreshed: found.object,
            current: found.current,
            change: Some(change),
        }
    })
}

//! Planning that an object is forgotten.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_state::Object;

use super::plan::DestroyOutcome;
use super::refresh::refresh;
use super::subject::Subject;
use crate::plan::{Action, ActionReason, ResourceChange};

/// Plans that an object stays as it is and leaves the state. It is not read: what has
/// become of it is nobody's concern any more.
pub async fn plan_forget(
    subject: &Subject,
    object: &Arc<Object>,
    deposed: Option<wardian_value::Str>,
    reason: Option<ActionReason>,
) -> Result<DestroyOutcome, Diagnostics> {
    let found = refresh(subject, object, false).await?;
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
    Ok(DestroyOutcome {
        stored: found.stored,
        refreshed: found.object,
        current: found.current,
        change: Some(change),
        diagnostics: found.diagnostics,
    })
}

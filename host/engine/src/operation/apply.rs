//! Applies the planned change of one managed object.

use std::sync::Arc;

use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_plugin::{
    ApplyRequest, ApplyResponse, ClientCapabilities, ConfigKind, PrivateBytes, RecordError, RecordedState,
    ValidateConfigRequest,
};
use wardian_state::{Object, ObjectStatus};
use wardian_value::{PathMarks, Value, View};

use super::data::marked;
use super::plan::{IgnoredAttributes, PlanProposal, request_destroy_plan, request_plan};
use super::recording::{LastRecorded, RecordingSender, record_during};
use super::subject::{Completion, PersistedMeta, ProgressReporter, Subject, object_id};
use crate::object::compatible::completion_violations;
use crate::object::legacy::without_null_blocks;
use crate::plan::{Action, ResourceChange};

/// The result of an operation. The operation may have failed.
pub struct ApplyOutcome {
    /// The object to store; `None` if the object does not exist.
    pub object: Option<Arc<Object>>,
    /// The object as a value; null if the object does not exist.
    pub value: Value,
    /// The warnings and errors; after an error, the operation failed.
    pub diagnostics: Diagnostics,
    /// The progress of an operation that continues with provisioners.
    pub progress: Option<ProgressReporter>,
}

impl ApplyOutcome {
    pub fn failed(&self) -> bool {
        self.diagnostics.has_errors()
    }
}

/// Destroys an object after the provider has planned the destruction.
pub async fn plan_and_destroy(
    subject: &Subject,
    change: &ResourceChange,
    object: &Arc<Object>,
    recordings: &RecordingSender,
) -> ApplyOutcome {
    let planned = request_destroy_plan(subject, &change.before, Arc::clone(&change.planned_private)).await;
    let Diagnosed { value: planned_private, diagnostics } = planned;
    match planned_private {
        Some(planned_private) => {
            let change = ResourceChange { planned_private, ..change.clone() };
            let mut outcome = destroy(subject, &change, object, None, recordings).await;
            outcome.diagnostics.extend(diagnostics);
            outcome
        }
        None => ApplyOutcome {
            object: Some(Arc::clone(object)),
            value: change.before.clone(),
            diagnostics,
            progress: None,
        },
    }
}

/// Destroys an object; `progress` is set if the start has already been reported. If the operation fails,
/// the object in the provider's response is stored.
pub async fn destroy(
    subject: &Subject,
    change: &ResourceChange,
    object: &Arc<Object>,
    progress: Option<ProgressReporter>,
    recordings: &RecordingSender,
) -> ApplyOutcome {
    let prior = subject.context.unmark_and_register(&change.before);
    let work = async {
        let request = ApplyRequest {
            type_name: subject.address.type_name().clone(),
            prior_state: prior.clone(),
            planned_state: subject.null(),
            config: subject.null(),
            planned_private: Arc::clone(&change.planned_private),
            provider_meta: subject
                .provider_meta
                .as_ref()
                .map(|meta| subject.context.unmark_and_register(meta)),
            planned_identity: None,
        };
        let encode = |state| recorded_destruction(subject, object, state);
        let (response, recorded) = record_during(subject, recordings, encode, |context| async move {
            subject.provider.apply_resource_change(&context, request).await
        })
        .await;
        let mut diagnostics = subject.about(&response.diagnostics);
        let left = response.new_state.filter(|left| {
            let fits = subject.check_conformance(left, "Provider produced invalid object", "returned");
            fits.map_err(|problem| diagnostics.push(problem)).is_ok()
        });
        if left.is_none()
            && diagnostics.has_errors()
            && let Some(LastRecorded { object, value }) = recorded
        {
            return ApplyOutcome { object, value, diagnostics, progress: None };
        }
        let left = left.unwrap_or_else(|| {
            // Without a response, the object is considered unchanged.
            if diagnostics.has_errors() { prior.clone() } else { subject.null() }
        });
        if left.is_null() && diagnostics.has_errors() {
            // The provider did not report that the object was destroyed.
            return ApplyOutcome {
                object: Some(Arc::clone(object)),
                value: change.before.clone(),
                diagnostics,
                progress: None,
            };
        }
        if left.is_null() {
            return ApplyOutcome { object: None, value: left, diagnostics, progress: None };
        }
        if !diagnostics.has_errors() {
            diagnostics.push(subject.provider_error(
                "Provider returned invalid result object after apply",
                &format!(
                    "returned an object for {} after destroying it. The returned object is saved.",
                    subject.address
                ),
            ));
        }
        after_failed_destroy(subject, &left, object, response.private, diagnostics)
    };
    let progress = progress.unwrap_or_else(|| begin_destruction(subject, change));
    let outcome = progress.during(work).await;
    progress.end(ended(&outcome));
    outcome
}

pub fn begin_destruction(subject: &Subject, change: &ResourceChange) -> ProgressReporter {
    subject.start_progress(Action::Delete, change.deposed.as_deref(), object_id(&change.before))
}

/// Returns the completion of an operation for progress events.
pub fn ended(outcome: &ApplyOutcome) -> Completion {
    if outcome.failed() { Completion::Failed } else { Completion::Succeeded(object_id(&outcome.value)) }
}

/// Returns the result of a failed destruction. It contains the object in the provider's response.
fn after_failed_destroy(
    subject: &Subject,
    left: &Value,
    object: &Arc<Object>,
    private: PrivateBytes,
    mut diagnostics: Diagnostics,
) -> ApplyOutcome {
    let value = subject.mark_stored(object, &without_unknowns(left));
    let meta = PersistedMeta {
        dependencies: Arc::clone(&object.dependencies),
        create_before_destroy: object.create_before_destroy,
    };
    let private = if private.is_empty() { Arc::clone(&object.private) } else { private };
    match subject.encode(&value, private, object.status, &meta) {
        Ok(kept) => ApplyOutcome { object: Some(Arc::new(kept)), value, diagnostics, progress: None },
        Err(found) => {
            diagnostics.extend(found);
            ApplyOutcome {
                object: Some(Arc::clone(object)),
                value: left.clone(),
                diagnostics,
                progress: None,
            }
        }
    }
}

/// The inputs of a create or update.
#[derive(Clone, Debug)]
pub struct ApplyInput {
    pub change: ResourceChange,
    /// The configuration, evaluated with the values that are now known, with marks.
    pub config: Value,
    /// The stored object of an update; `None` for a create and for the creation of a
    /// replacement.
    pub stored: Option<Arc<Object>>,
    pub ignore_changes: IgnoredAttributes,
    /// The metadata to store with the object.
    pub meta: PersistedMeta,
    /// The steps after the change.
    pub afterwards: Afterwards,
}

/// The steps that follow the creation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// No steps.
    Nothing,
    /// Provisioners. They complete the creation.
    Provisioning,
}

/// Encodes a state that a provider recorded while it destroyed an object.
fn recorded_destruction(
    subject: &Subject,
    object: &Object,
    recorded: RecordedState,
) -> Result<LastRecorded, RecordError> {
    let meta = PersistedMeta {
        dependencies: Arc::clone(&object.dependencies),
        create_before_destroy: object.create_before_destroy,
    };
    let mark = |value: &Value| subject.mark_stored(object, value);
    encode_recorded(subject, recorded, &object.private, object.status, &meta, mark)
}

/// Checks and encodes a state that a provider recorded; `private` replaces missing private data.
fn encode_recorded(
    subject: &Subject,
    recorded: RecordedState,
    private: &PrivateBytes,
    status: ObjectStatus,
    meta: &PersistedMeta,
    mark: impl FnOnce(&Value) -> Value,
) -> Result<LastRecorded, RecordError> {
    if recorded.state.is_null() {
        return Ok(LastRecorded { object: None, value: subject.null() });
    }
    subject
        .check_conformance(&recorded.state, "Provider recorded invalid object", "recorded")
        .map_err(|problem| RecordError::Invalid(problem.detail))?;
    let value = mark(&without_unknowns(&recorded.state));
    let private = if recorded.private.is_empty() { Arc::clone(private) } else { recorded.private };
    let object = subject.encode(&value, private, status, meta).map_err(|problems| {
        let details: Vec<String> = problems.into_iter().map(|problem| problem.detail).collect();
        RecordError::Invalid(details.join(" "))
    })?;
    Ok(LastRecorded { object: Some(Arc::new(object)), value })
}

/// Creates or updates an object.
pub async fn apply(subject: &Subject, input: &ApplyInput, recordings: &RecordingSender) -> ApplyOutcome {
    let action = if input.stored.is_some() { Action::Update } else { Action::Create };
    let prior = match &input.stored {
        Some(_) => subject.context.unmark_and_register(&input.change.before),
        None => subject.null(),
    };
    let unchanged = |diagnostics: Diagnostics| ApplyOutcome {
        object: input.stored.clone(),
        value: input.change.before.clone(),
        diagnostics,
        progress: None,
    };
    let Diagnosed { value: planned, diagnostics } = final_plan(subject, input, &prior).await;
    let Some((planned, private)) = planned else { return unchanged(diagnostics) };
    if action == Action::Update && planned == prior {
        // Only marks change, or the provider no longer plans a change.
        return store(subject, input, &planned, stored_private(input), ObjectStatus::Ready, diagnostics);
    }
    let work = async {
        let request = ApplyRequest {
            type_name: subject.address.type_name().clone(),
            prior_state: prior.clone(),
            planned_state: planned.clone(),
            config: subject.context.unmark_and_register(&input.config),
            planned_private: Arc::clone(&private),
            provider_meta: subject
                .provider_meta
                .as_ref()
                .map(|meta| subject.context.unmark_and_register(meta)),
            planned_identity: None,
        };
        let encode = |state| {
            let status = input.stored.as_ref().map_or(ObjectStatus::Tainted, |object| object.status);
            let mark = |value: &Value| marked(subject, &input.config, value);
            encode_recorded(subject, state, &private, status, &input.meta, mark)
        };
        let (response, recorded) = record_during(subject, recordings, encode, |context| async move {
            subject.provider.apply_resource_change(&context, request).await
        })
        .await;
        let mut diagnostics = diagnostics;
        diagnostics.extend(subject.about(&response.diagnostics));
        finish(subject, input, &planned, (response, recorded), diagnostics)
    };
    let id = input.stored.as_ref().and_then(|_| object_id(&input.change.before));
    let progress = subject.start_progress(action, None, id);
    let mut outcome = progress.during(work).await;
    if input.afterwards == Afterwards::Provisioning && !outcome.failed() {
        outcome.progress = Some(progress);
    } else {
        progress.end(ended(&outcome));
    }
    outcome
}

fn stored_private(input: &ApplyInput) -> PrivateBytes {
    input.stored.as_ref().map(|object| Arc::clone(&object.private)).unwrap_or_default()
}

/// Plans again with all values known, and compares the result with the approved plan.
async fn final_plan(
    subject: &Subject,
    input: &ApplyInput,
    prior: &Value,
) -> Diagnosed<(Value, PrivateBytes)> {
    let config = subject.context.unmark_and_register(&input.config);
    if !config.is_wholly_known() {
        return Diagnosed::failed(subject.error(
            "Configuration contains unknown value",
            format!(
                "The configuration for {} still contains unknown values, although all its dependencies are \
                 applied. This is a bug in Wardian; please report it.",
                subject.address
            ),
        ));
    }
    let approved = subject.context.unmark_and_register(&input.change.after);
    let private = if input.stored.is_some() { stored_private(input) } else { PrivateBytes::default() };
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: config.clone(),
        capabilities: ClientCapabilities::default(),
    };
    let mut diagnostics = subject
        .about(&subject.provider.validate_config(&subject.context, ConfigKind::Resource, request).await);
    if diagnostics.has_errors() {
        return Diagnosed::failed(diagnostics);
    }
    let marked = marks(input);
    let proposal = PlanProposal { prior, config: &config, ignored: &input.ignore_changes, marked: &marked };
    let planned = request_plan(subject, &proposal, private).await.take(&mut diagnostics);
    let Some(planned) = planned else { return Diagnosed::failed(diagnostics) };
    // An update may become a no-op, but it must not become a replacement.
    if !planned.required_replace.is_empty() {
        let paths: Vec<String> = planned.required_replace.iter().map(ToString::to_string).collect();
        diagnostics.push(subject.provider_error(
            "Provider produced inconsistent final plan",
            &format!(
                "changed the planned action for {} from an update to a replacement after all values became \
                 known: it now requires a replacement for changes of {}.",
                subject.address,
                paths.join(" and ")
            ),
        ));
        return Diagnosed::failed(diagnostics);
    }
    let violations = completion_violations(&subject.schema.block, &approved, &planned.object);
    if violations.is_empty() {
        return Diagnosed::with_diagnostics((planned.object, planned.private), diagnostics);
    }
    diagnostics.push(subject.protocol_violations(
        "Provider produced inconsistent final plan",
        "planned a different value, after all values became known, for",
        &violations,
        &marked,
    ));
    Diagnosed::failed(diagnostics)
}

/// Returns the paths of values that must not be shown.
fn marks(input: &ApplyInput) -> PathMarks {
    let mut marks = input.config.mark_paths();
    marks.extend(input.change.after.mark_paths());
    marks.extend(input.change.before.mark_paths());
    marks
}

fn finish(
    subject: &Subject,
    input: &ApplyInput,
    planned: &Value,
    (response, recorded): (ApplyResponse, Option<LastRecorded>),
    mut diagnostics: Diagnostics,
) -> ApplyOutcome {
    let failed = diagnostics.has_errors();
    let creating = input.stored.is_none();
    let answered = response.new_state.filter(|new| {
        let fits = subject.check_conformance(new, "Provider produced invalid object", "returned");
        fits.map_err(|problem| diagnostics.push(problem)).is_ok()
    });
    if answered.is_none()
        && diagnostics.has_errors()
        && let Some(LastRecorded { object, value }) = recorded
    {
        return ApplyOutcome { object, value, diagnostics, progress: None };
    }
    let Some(new) = answered.filter(|new| !new.is_null()) else {
        if !diagnostics.has_errors() {
            diagnostics.push(subject.provider_error(
                "Provider returned invalid result object after apply",
                &format!("returned no object for {} without reporting an error.", subject.address),
            ));
        }
        // The provider returned no object, so the prior object is kept.
        return ApplyOutcome {
            object: input.stored.clone(),
            value: if creating { subject.null() } else { input.change.before.clone() },
            diagnostics,
            progress: None,
        };
    };
    let new =
        if response.legacy_type_system { without_null_blocks(&subject.schema.block, &new) } else { new };
    if !new.is_wholly_known() {
        if !failed {
            diagnostics.push(subject.provider_error(
                "Provider returned invalid result object after apply",
                &format!(
                    "returned unknown values for {} after the apply. All values must be known then; unknown \
                     values are saved as null.",
                    subject.address
                ),
            ));
        }
    } else if !failed {
        let violations = completion_violations(&subject.schema.block, planned, &new);
        let (summary, opening) =
            ("Provider produced inconsistent result after apply", "produced an unexpected new value for");
        if !violations.is_empty() && response.legacy_type_system {
            subject.warn_legacy_sdk(summary, &violations);
        } else if !violations.is_empty() {
            diagnostics.push(subject.protocol_violations(summary, opening, &violations, &marks(input)));
        }
    }
    let new = without_unknowns(&new);
    // A failed creation may leave an incomplete object.
    let status = if diagnostics.has_errors() && creating {
        ObjectStatus::Tainted
    } else {
        input.stored.as_ref().map_or(ObjectStatus::Ready, |object| object.status)
    };
    store(subject, input, &new, response.private, status, diagnostics)
}

fn store(
    subject: &Subject,
    input: &ApplyInput,
    new: &Value,
    private: PrivateBytes,
    status: ObjectStatus,
    mut diagnostics: Diagnostics,
) -> ApplyOutcome {
    let value = marked(subject, &input.config, new);
    match subject.encode(&value, private, status, &input.meta) {
        Ok(object) => ApplyOutcome { object: Some(Arc::new(object)), value, diagnostics, progress: None },
        Err(found) => {
            diagnostics.extend(found);
            ApplyOutcome { object: input.stored.clone(), value, diagnostics, progress: None }
        }
    }
}

/// Replaces unknown values with null, at any depth.
pub fn without_unknowns(value: &Value) -> Value {
    if value.is_wholly_known() {
        return value.clone();
    }
    value.transform(&mut |_, part| match part.view() {
        View::Unknown => Value::null(part.ty().clone()),
        _ => part,
    })
}

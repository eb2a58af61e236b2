//! Carrying out the planned change of one managed object.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_plugin::{
    ApplyRequest, ApplyResponse, ClientCapabilities, ConfigKind, PrivateBytes, ValidateConfigRequest,
    hand_over,
};
use wardian_state::{Object, ObjectStatus};
use wardian_value::{PathMarks, Value, View};

use super::data::marked;
use super::plan::{IgnoreChanges, Question, ask, ask_for_destruction};
use super::subject::{Ended, Replan, Subject, Telling, object_id};
use crate::object::compatible::completion_violations;
use crate::object::legacy::without_null_blocks;
use crate::plan::{Action, ResourceChange};

/// What is there after an operation, whether it failed or not.
pub struct ApplyOutcome {
    /// The object to store; `None` where there is none.
    pub object: Option<Arc<Object>>,
    /// The object as a value, null where there is none.
    pub value: Value,
    /// What there is to say; with errors, the operation failed.
    pub diagnostics: Diagnostics,
    /// Work that went well so far, and whose end is to be told when more was done.
    pub telling: Option<Telling>,
}

impl ApplyOutcome {
    /// Whether the operation failed.
    pub fn failed(&self) -> bool {
        self.diagnostics.has_errors()
    }
}

/// Destroys an object for whose destruction the provider is to make a plan first.
pub async fn plan_and_destroy(
    subject: &Subject,
    change: &ResourceChange,
    object: &Arc<Object>,
) -> ApplyOutcome {
    match ask_for_destruction(subject, &change.before, Arc::clone(&change.planned_private)).await {
        Ok((planned_private, diagnostics)) => {
            let change = ResourceChange { planned_private, ..change.clone() };
            let mut outcome = destroy(subject, &change, object, None).await;
            outcome.diagnostics.extend(diagnostics);
            outcome
        }
        Err(diagnostics) => ApplyOutcome {
            object: Some(Arc::clone(object)),
            value: change.before.clone(),
            diagnostics,
            telling: None,
        },
    }
}

/// Destroys an object, which may be told of already. After a failure what the provider says
/// is left is kept.
pub async fn destroy(
    subject: &Subject,
    change: &ResourceChange,
    object: &Arc<Object>,
    telling: Option<Telling>,
) -> ApplyOutcome {
    let prior = hand_over(&change.before);
    let work = async {
        let request = ApplyRequest {
            type_name: subject.address.type_name().clone(),
            prior_state: prior.clone(),
            planned_state: subject.null(),
            config: subject.null(),
            planned_private: Arc::clone(&change.planned_private),
            provider_meta: subject.provider_meta.as_ref().map(hand_over),
            planned_identity: None,
        };
        let response = subject.provider.apply_resource_change(request).await;
        let mut diagnostics = subject.about(&response.diagnostics);
        let left = response.new_state.filter(|left| {
            let fits = subject.conforming(left, "Provider produced invalid object", "returned");
            fits.map_err(|problem| diagnostics.push(problem)).is_ok()
        });
        let left = left.unwrap_or_else(|| {
            // No answer at all: what was there is there.
            if diagnostics.has_errors() { prior.clone() } else { subject.null() }
        });
        if left.is_null() && diagnostics.has_errors() {
            // It is not said that the object is gone.
            return ApplyOutcome {
                object: Some(Arc::clone(object)),
                value: change.before.clone(),
                diagnostics,
                telling: None,
            };
        }
        if left.is_null() {
            return ApplyOutcome { object: None, value: left, diagnostics, telling: None };
        }
        if !diagnostics.has_errors() {
            diagnostics.push(subject.provider_error(
                "Provider returned invalid result object after apply",
                &format!(
                    "returned an object for {} after it was asked to destroy it. What it returned is saved.",
                    subject.address
                ),
            ));
        }
        keep(subject, &left, object, response.private, diagnostics)
    };
    let telling = telling.unwrap_or_else(|| begin_destruction(subject, change));
    let outcome = telling.during(work).await;
    telling.end(ended(&outcome));
    outcome
}

/// Tells that an object is about to be destroyed.
pub fn begin_destruction(subject: &Subject, change: &ResourceChange) -> Telling {
    subject.begin_telling(Action::Delete, change.deposed.as_deref(), object_id(&change.before))
}

/// How an operation ended, for those who are told.
pub fn ended(outcome: &ApplyOutcome) -> Ended {
    if outcome.failed() { Ended::Badly } else { Ended::Well(object_id(&outcome.value)) }
}

/// After a failed destruction: the object stays, as the provider says it is now.
fn keep(
    subject: &Subject,
    left: &Value,
    object: &Arc<Object>,
    private: PrivateBytes,
    mut diagnostics: Diagnostics,
) -> ApplyOutcome {
    let value = subject.mark_stored(object, &without_unknowns(left));
    let replan = Replan {
        dependencies: Arc::clone(&object.dependencies),
        create_before_destroy: object.create_before_destroy,
    };
    let private = if private.is_empty() { Arc::clone(&object.private) } else { private };
    match subject.encode(&value, private, object.status, &replan) {
        Ok(kept) => ApplyOutcome { object: Some(Arc::new(kept)), value, diagnostics, telling: None },
        Err(found) => {
            diagnostics.extend(found);
            ApplyOutcome { object: Some(Arc::clone(object)), value: left.clone(), diagnostics, telling: None }
        }
    }
}

/// What a create or update works with.
#[derive(Clone, Debug)]
pub struct ApplyInput {
    /// The planned change.
    pub change: ResourceChange,
    /// The configuration as it is known now, with marks.
    pub config: Value,
    /// The stored object that is updated; `None` for a create, also that of a
    /// replacement.
    pub stored: Option<Arc<Object>>,
    /// What to leave alone.
    pub ignore_changes: IgnoreChanges,
    /// What is stored with the object.
    pub replan: Replan,
    /// What comes next.
    pub afterwards: Afterwards,
}

/// What follows once an object is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// Nothing: that is all.
    Nothing,
    /// Provisioners, with which alone the work is done.
    Provisioning,
}

/// Creates or updates an object.
pub async fn apply(subject: &Subject, input: &ApplyInput) -> ApplyOutcome {
    let action = if input.stored.is_some() { Action::Update } else { Action::Create };
    let prior = match &input.stored {
        Some(_) => hand_over(&input.change.before),
        None => subject.null(),
    };
    let unchanged = |diagnostics: Diagnostics| ApplyOutcome {
        object: input.stored.clone(),
        value: input.change.before.clone(),
        diagnostics,
        telling: None,
    };
    let mut diagnostics = Diagnostics::new();
    let Some((planned, private)) = final_plan(subject, input, &prior, &mut diagnostics).await else {
        return unchanged(diagnostics);
    };
    if action == Action::Update && planned == prior {
        // Only what is sensitive changed, or the provider now sees no difference.
        return store(subject, input, &planned, stored_private(input), ObjectStatus::Ready, diagnostics);
    }
    let work = async {
        let request = ApplyRequest {
            type_name: subject.address.type_name().clone(),
            prior_state: prior.clone(),
            planned_state: planned.clone(),
            config: hand_over(&input.config),
            planned_private: private,
            provider_meta: subject.provider_meta.as_ref().map(hand_over),
            planned_identity: None,
        };
        let response = subject.provider.apply_resource_change(request).await;
        let mut diagnostics = diagnostics;
        diagnostics.extend(subject.about(&response.diagnostics));
        finish(subject, input, &planned, response, diagnostics)
    };
    let id = input.stored.as_ref().and_then(|_| object_id(&input.change.before));
    let telling = subject.begin_telling(action, None, id);
    let mut outcome = telling.during(work).await;
    if input.afterwards == Afterwards::Provisioning && !outcome.failed() {
        outcome.telling = Some(telling);
    } else {
        telling.end(ended(&outcome));
    }
    outcome
}

fn stored_private(input: &ApplyInput) -> PrivateBytes {
    input.stored.as_ref().map(|object| Arc::clone(&object.private)).unwrap_or_default()
}

/// Plans once more, now that all is known, and holds the result against what the
/// person approved.
async fn final_plan(
    subject: &Subject,
    input: &ApplyInput,
    prior: &Value,
    diagnostics: &mut Diagnostics,
) -> Option<(Value, PrivateBytes)> {
    let config = hand_over(&input.config);
    if !config.is_wholly_known() {
        diagnostics.push(subject.error(
            "Configuration contains unknown value",
            format!(
                "The configuration for {} still holds values that are not known, though all that it \
                 depends on has been applied. This is a bug in Wardian, which should be reported.",
                subject.address
            ),
        ));
        return None;
    }
    let approved = hand_over(&input.change.after);
    let private = if input.stored.is_some() { stored_private(input) } else { PrivateBytes::default() };
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: config.clone(),
        capabilities: ClientCapabilities::default(),
    };
    let found = subject.about(&subject.provider.validate_config(ConfigKind::Resource, request).await);
    let invalid = found.has_errors();
    diagnostics.extend(found);
    if invalid {
        return None;
    }
    let marked = marks(input);
    let question = Question { prior, config: &config, ignored: &input.ignore_changes, marked: &marked };
    let planned = ask(subject, &question, private, diagnostics).await?;
    // An update that turns out to be none is one that was not needed.
    if !planned.required_replace.is_empty() {
        let paths: Vec<String> = planned.required_replace.iter().map(ToString::to_string).collect();
        diagnostics.push(subject.provider_error(
            "Provider produced inconsistent final plan",
            &format!(
                "changed the planned action for {} from an update to a replacement, once all values were \
                 known: it says now that {} cannot be changed in place.",
                subject.address,
                paths.join(" and ")
            ),
        ));
        return None;
    }
    let violations = completion_violations(&subject.schema.block, &approved, &planned.object);
    if violations.is_empty() {
        return Some((planned.object, planned.private));
    }
    diagnostics.push(subject.violations(
        "Provider produced inconsistent final plan",
        "planned differently, once all values were known, than it did before, for",
        &violations,
        &marked,
    ));
    None
}

/// Where values must not be shown.
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
    response: ApplyResponse,
    mut diagnostics: Diagnostics,
) -> ApplyOutcome {
    let failed = diagnostics.has_errors();
    let creating = input.stored.is_none();
    let answered = response.new_state.filter(|new| {
        let fits = subject.conforming(new, "Provider produced invalid object", "returned");
        fits.map_err(|problem| diagnostics.push(problem)).is_ok()
    });
    let Some(new) = answered.filter(|new| !new.is_null()) else {
        if !diagnostics.has_errors() {
            diagnostics.push(subject.provider_error(
                "Provider returned invalid result object after apply",
                &format!("returned no object for {} though it reported no error.", subject.address),
            ));
        }
        // Nothing was said of what is there now: what was there before is kept.
        return ApplyOutcome {
            object: input.stored.clone(),
            value: if creating { subject.null() } else { input.change.before.clone() },
            diagnostics,
            telling: None,
        };
    };
    let new =
        if response.legacy_type_system { without_null_blocks(&subject.schema.block, &new) } else { new };
    if !new.is_wholly_known() {
        if !failed {
            diagnostics.push(subject.provider_error(
                "Provider returned invalid result object after apply",
                &format!(
                    "left values of {} unknown after the apply. All values must be known then; those that \
                     are not are saved as null.",
                    subject.address
                ),
            ));
        }
    } else if !failed {
        let violations = completion_violations(&subject.schema.block, planned, &new);
        let (summary, opening) =
            ("Provider produced inconsistent result after apply", "produced an unexpected new value for");
        if !violations.is_empty() && response.legacy_type_system {
            subject.excuse(summary, &violations);
        } else if !violations.is_empty() {
            diagnostics.push(subject.violations(summary, opening, &violations, &marks(input)));
        }
    }
    let new = without_unknowns(&new);
    // A create that failed half way leaves something that must not be relied on.
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
    match subject.encode(&value, private, status, &input.replan) {
        Ok(object) => ApplyOutcome { object: Some(Arc::new(object)), value, diagnostics, telling: None },
        Err(found) => {
            diagnostics.extend(found);
            ApplyOutcome { object: input.stored.clone(), value, diagnostics, telling: None }
        }
    }
}

/// Unknown parts become null.
pub fn without_unknowns(value: &Value) -> Value {
    if value.is_wholly_known() {
        return value.clone();
    }
    value.transform(&mut |_, part| match part.view() {
        View::Unknown => Value::null(part.ty().clone()),
        _ => part,
    })
}

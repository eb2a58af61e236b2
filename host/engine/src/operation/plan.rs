//! Planning the change of one managed object.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_plugin::{
    ClientCapabilities, ConfigKind, ImportTarget, PlanRequest, PlanResponse, PrivateBytes,
    ValidateConfigRequest, hand_over,
};
use wardian_state::Object;
use wardian_value::{Path, PathMarks, Value};

use super::data::marked;
use super::import::{import, importing};
use super::refresh::refresh;
use super::subject::{Replan, Subject};
pub use crate::object::ignored::IgnoreChanges;
use crate::object::legacy::without_null_blocks;
use crate::object::plan_valid::plan_violations;
use crate::object::proposed::proposed_new;
use crate::object::replace_paths::changing_paths;
use crate::plan::{Action, ActionReason, ResourceChange};

/// What a plan starts from.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The object in the state.
    pub stored: Option<Arc<Object>>,
    /// An object to import, where there is none in the state.
    pub import: Option<ImportTarget>,
    /// Whether it is read first.
    pub refresh: bool,
    /// The configuration, with marks.
    pub config: Value,
    /// What to leave alone.
    pub ignore_changes: IgnoreChanges,
    /// Replace it whatever the provider says, and why.
    pub force_replace: Option<ActionReason>,
    /// What is stored with the object.
    pub replan: Replan,
}

/// A planned object.
#[derive(Debug)]
pub struct PlanOutcome {
    /// The object before it was read; null where there was none.
    pub stored: Value,
    /// What the state holds before the change: the object as read.
    pub refreshed: Option<Arc<Object>>,
    /// The object as read; null where there is none.
    pub current: Value,
    /// The change.
    pub change: ResourceChange,
    /// Warnings.
    pub diagnostics: Diagnostics,
}

/// Reads an object and plans its change.
pub async fn plan(subject: &Subject, input: PlanInput) -> Result<PlanOutcome, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let (stored, current, refreshed) = match (&input.stored, &input.import) {
        (Some(object), _) => {
            let found = refresh(subject, object, input.refresh).await?;
            diagnostics.extend(found.diagnostics);
            (found.stored, found.current, found.object)
        }
        (None, Some(target)) => {
            let found = import(subject, target).await?;
            diagnostics.extend(found.diagnostics);
            (subject.null(), found.current, Some(found.object))
        }
        (None, None) => (subject.null(), subject.null(), None),
    };
    let change = plan_change(subject, &input, refreshed.as_deref(), &current, &mut diagnostics).await;
    match change {
        Some(mut change) => {
            let refreshed = refreshed.map(|object| with_replan(object, &input, change.action));
            let target = input.import.as_ref().filter(|_| input.stored.is_none());
            change.importing = target.map(importing);
            Ok(PlanOutcome { stored, refreshed, current, change, diagnostics })
        }
        None => Err(diagnostics),
    }
}

/// An object that was read may be made from other things than when it was stored. Those
/// from then still count where it is destroyed, and so until it was changed.
fn with_replan(object: Arc<Object>, input: &PlanInput, action: Action) -> Arc<Object> {
    let replan = &input.replan;
    let dependencies = if object.dependencies == replan.dependencies {
        Arc::clone(&object.dependencies)
    } else if action == Action::NoOp {
        Arc::clone(&replan.dependencies)
    } else if input.refresh {
        let mut both: Vec<_> = object.dependencies.iter().chain(replan.dependencies.iter()).collect();
        both.sort_by_cached_key(ToString::to_string);
        both.dedup();
        both.into_iter().cloned().collect()
    } else {
        Arc::clone(&object.dependencies)
    };
    let is_same = Arc::ptr_eq(&dependencies, &object.dependencies);
    if is_same && object.create_before_destroy == replan.create_before_destroy {
        return object;
    }
    Arc::new(Object {
        dependencies,
        create_before_destroy: replan.create_before_destroy,
        ..Object::clone(&object)
    })
}

/// Plans the change of an object that was read. `None` where the diagnostics hold an
/// error.
pub async fn plan_change(
    subject: &Subject,
    input: &PlanInput,
    object: Option<&Object>,
    current: &Value,
    diagnostics: &mut Diagnostics,
) -> Option<ResourceChange> {
    let config = hand_over(&input.config);
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: config.clone(),
        capabilities: ClientCapabilities::default(),
    };
    diagnostics.extend(subject.about(&subject.provider.validate_config(ConfigKind::Resource, request).await));
    if diagnostics.has_errors() {
        return None;
    }

    let mut marks = input.config.mark_paths();
    marks.extend(current.mark_paths());
    let tainted = object.is_some_and(Object::is_tainted);
    let before = hand_over(current);
    let prior = if tainted { subject.null() } else { before.clone() };
    let private = object.filter(|_| !tainted).map(|o| Arc::clone(&o.private)).unwrap_or_default();
    let question =
        Question { prior: &prior, config: &config, ignored: &input.ignore_changes, marked: &marks };
    let first = ask(subject, &question, private, diagnostics).await?;

    let replace = |reason| (replace_action(input), Some(reason));
    let (action, reason) = if tainted {
        replace(ActionReason::ReplaceBecauseTainted)
    } else if prior.is_null() {
        (Action::Create, None)
    } else if let Some(reason) = input.force_replace {
        replace(reason)
    } else if !first.required_replace.is_empty() {
        replace(ActionReason::ReplaceBecauseCannotUpdate)
    } else if first.object != prior {
        (Action::Update, None)
    } else {
        (Action::NoOp, None)
    };

    let required_replace = first.required_replace.clone();
    // The new object of a replacement is planned as one that was never there.
    let planned = if action.is_replace() && !tainted {
        let none = subject.null();
        let anew = Question { prior: &none, ignored: &IgnoreChanges::Nothing, ..question };
        // What it warns of, it warned of when it was asked first.
        let mut found = Diagnostics::new();
        let Some(planned) = ask(subject, &anew, first.private.clone(), &mut found).await else {
            diagnostics.extend(found);
            return None;
        };
        planned
    } else {
        first
    };
    let after = marked(subject, &input.config, &planned.object);
    // Only what is sensitive has changed: the state is to be written, no more.
    let marks_changed = action == Action::NoOp && after.mark_paths() != current.mark_paths();
    let action = if marks_changed { Action::Update } else { action };
    Some(ResourceChange {
        reason,
        required_replace,
        planned_private: planned.private,
        ..ResourceChange::new(
            subject.address.clone(),
            subject.provider_config.clone(),
            action,
            (current.clone(), after),
            Arc::clone(&subject.schema),
        )
    })
}

fn replace_action(input: &PlanInput) -> Action {
    if input.replan.create_before_destroy { Action::CreateThenDelete } else { Action::DeleteThenCreate }
}

/// What a provider is asked to plan. Values bear no marks.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The object as it is.
    pub prior: &'a Value,
    /// The configuration as it is written.
    pub config: &'a Value,
    /// What to leave alone.
    pub ignored: &'a IgnoreChanges,
    /// Where values must not be shown.
    pub marked: &'a PathMarks,
}

/// A provider's plan that passed the checks.
pub struct Planned {
    /// The planned object.
    pub object: Value,
    /// For the apply.
    pub private: PrivateBytes,
    /// Paths that change and cannot be changed in place.
    pub required_replace: Vec<Path>,
}

/// Asks the provider for a plan and checks it. `None` where the diagnostics hold
/// an error.
pub async fn ask(
    subject: &Subject,
    question: &Question<'_>,
    private: PrivateBytes,
    diagnostics: &mut Diagnostics,
) -> Option<Planned> {
    let block = &subject.schema.block;
    let Question { prior, ignored, marked, .. } = *question;
    let config = ignored.in_configuration(block, prior, question.config);
    let request = PlanRequest {
        type_name: subject.address.type_name().clone(),
        prior_state: prior.clone(),
        proposed_new_state: proposed_new(block, prior, &config),
        config: config.clone(),
        prior_private: private,
        provider_meta: subject.provider_meta.as_ref().map(hand_over),
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response: PlanResponse = subject.provider.plan_resource_change(request).await;
    let found = subject.about(&response.diagnostics);
    let failed = found.has_errors();
    diagnostics.extend(found);
    if failed {
        return None;
    }
    let Some(mut planned) = response.planned_state else {
        diagnostics.push(subject.provider_error(
            "Provider produced invalid plan",
            &format!("gave no planned object for {}.", subject.address),
        ));
        return None;
    };
    if let Err(problem) = subject.conforming(&planned, "Provider produced invalid plan", "planned") {
        diagnostics.push(problem);
        return None;
    }
    if response.deferred.is_some() {
        diagnostics.push(subject.provider_error(
            "Provider deferred changes without being allowed to",
            &format!("put off the change of {}, though it was not told that it may.", subject.address),
        ));
        return None;
    }
    if response.legacy_type_system {
        planned = without_null_blocks(block, &planned);
    }
    let violations = plan_violations(block, prior, &config, &planned);
    if !violations.is_empty() {
        let (summary, opening) = ("Provider produced invalid plan", "planned an invalid value for");
        if !response.legacy_type_system {
            diagnostics.push(subject.violations(summary, opening, &violations, marked));
            return None;
        }
        subject.excuse(summary, &violations);
    }
    if response.legacy_type_system {
        planned = ignored.in_plan(prior, &planned);
    }
    match changing_paths(block, &response.requires_replace, prior, &planned) {
        Ok(required_replace) => {
            Some(Planned { object: planned, private: response.planned_private, required_replace })
        }
        Err(path) => {
            diagnostics.push(subject.provider_error(
                "Provider produced invalid plan",
                &format!(
                    "has indicated \"requires replacement\" on {} for a non-existent attribute path {path}.",
                    subject.address
                ),
            ));
            None
        }
    }
}

/// Asks the provider to plan an object's destruction; what it wants back then.
///
/// # Errors
/// What the provider has against it, or an answer that is none.
pub async fn ask_for_destruction(
    subject: &Subject,
    current: &Value,
    private: PrivateBytes,
) -> Result<(PrivateBytes, Diagnostics), Diagnostics> {
    let request = PlanRequest {
        type_name: subject.address.type_name().clone(),
        prior_state: hand_over(current),
        proposed_new_state: subject.null(),
        config: subject.null(),
        prior_private: private,
        provider_meta: subject.provider_meta.as_ref().map(hand_over),
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = subject.provider.plan_resource_change(request).await;
    let diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    if response.planned_state.is_some_and(|planned| !planned.is_null()) {
        return Err(subject
            .provider_error(
                "Provider produced invalid plan",
                &format!("planned a non-null destroy value for {}.", subject.address),
            )
            .into());
    }
    Ok((response.planned_private, diagnostics))
}

/// A planned destruction.
#[derive(Debug)]
pub struct DestroyOutcome {
    /// The object before it was read.
    pub stored: Value,
    /// The object as read; `None` where it is gone already.
    pub refreshed: Option<Arc<Object>>,
    /// The object as read, as a value.
    pub current: Value,
    /// The change; `None` where the object is gone already, or the provider refuses to
    /// destroy it.
    pub change: Option<ResourceChange>,
    /// Warnings, and errors of a provider that refuses.
    pub diagnostics: Diagnostics,
}

/// Reads an object and plans its destruction.
pub async fn plan_destroy(
    subject: &Subject,
    object: &Arc<Object>,
    read: bool,
    deposed: Option<&wardian_value::Str>,
    reason: Option<ActionReason>,
    plan_destroy_supported: bool,
) -> Result<DestroyOutcome, Diagnostics> {
    let found = refresh(subject, object, read).await?;
    let mut diagnostics = found.diagnostics;
    let mut change = None;
    if let Some(object) = &found.object {
        let mut private = Arc::clone(&object.private);
        let mut refused = false;
        if plan_destroy_supported {
            match ask_for_destruction(subject, &found.current, Arc::clone(&private)).await {
                Ok((planned, found)) => {
                    diagnostics.extend(found);
                    private = planned;
                }
                Err(found) => {
                    diagnostics.extend(found);
                    refused = true;
                }
            }
        }
        change = (!refused).then(|| ResourceChange {
            deposed: deposed.cloned(),
            reason,
            planned_private: private,
            ..ResourceChange::new(
                subject.address.clone(),
                subject.provider_config.clone(),
                Action::Delete,
                (found.current.clone(), subject.null()),
                Arc::clone(&subject.schema),
            )
        });
    }
    Ok(DestroyOutcome {
        stored: found.stored,
        refreshed: found.object,
        current: found.current,
        change,
        diagnostics,
    })
}

//! Plans the change to one managed object.

use std::sync::Arc;

use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_plugin::{
    ClientCapabilities, ConfigKind, ImportTarget, PlanRequest, PlanResponse, PrivateBytes,
    ValidateConfigRequest,
};
use wardian_state::Object;
use wardian_value::{Path, PathMarks, Value};

use super::data::marked;
use super::import::{import, importing};
use super::refresh::refresh;
use super::subject::{PersistedMeta, Subject};
pub use crate::object::ignored::IgnoredAttributes;
use crate::object::plan_valid::plan_violations;
use crate::object::proposed::proposed_new;
use crate::object::replace_paths::changing_paths;
use crate::plan::{Action, ActionReason, ResourceChange};

/// The inputs of a plan for one object.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The object in the state.
    pub stored: Option<Arc<Object>>,
    /// The object to import if the state does not contain one.
    pub import: Option<ImportTarget>,
    /// Whether the object is read first.
    pub refresh: bool,
    /// The configuration, with marks.
    pub config: Value,
    pub ignore_changes: IgnoredAttributes,
    /// The reason to replace the object regardless of the provider's plan.
    pub force_replace: Option<ActionReason>,
    /// The metadata to store with the object.
    pub meta: PersistedMeta,
}

/// A planned object.
#[derive(Debug)]
pub struct PlanOutcome {
    /// The object before it was read; null if it did not exist.
    pub stored: Value,
    /// The object after it was read. It is stored before the change is made.
    pub refreshed: Option<Arc<Object>>,
    /// The object after it was read; null if it does not exist.
    pub current: Value,
    pub change: ResourceChange,
}

/// Reads an object and plans its change.
pub async fn plan(subject: &Subject, input: PlanInput) -> Diagnosed<PlanOutcome> {
    let mut diagnostics = Diagnostics::new();
    let present = match (&input.stored, &input.import) {
        (Some(object), _) => {
            let found = refresh(subject, object, input.refresh).await.take(&mut diagnostics);
            found.map(|found| (found.stored, found.current, found.object))
        }
        (None, Some(target)) => {
            let found = import(subject, target).await.take(&mut diagnostics);
            found.map(|found| (subject.null(), found.current, Some(found.object)))
        }
        (None, None) => Some((subject.null(), subject.null(), None)),
    };
    let Some((stored, current, refreshed)) = present else { return Diagnosed::failed(diagnostics) };
    let change = plan_change(subject, &input, refreshed.as_deref(), &current).await.take(&mut diagnostics);
    let Some(mut change) = change else { return Diagnosed::failed(diagnostics) };
    let refreshed = refreshed.map(|object| with_meta(object, &input, change.action));
    let target = input.import.as_ref().filter(|_| input.stored.is_none());
    change.importing = target.map(importing);
    Diagnosed::with_diagnostics(PlanOutcome { stored, refreshed, current, change }, diagnostics)
}

/// Updates the stored dependencies of an object that was read. The dependencies with which it was
/// created are also preserved until it is changed, because its destruction depends on them.
fn with_meta(object: Arc<Object>, input: &PlanInput, action: Action) -> Arc<Object> {
    let meta = &input.meta;
    let dependencies = if object.dependencies == meta.dependencies {
        Arc::clone(&object.dependencies)
    } else if action == Action::NoOp {
        Arc::clone(&meta.dependencies)
    } else if input.refresh {
        let mut both: Vec<_> = object.dependencies.iter().chain(meta.dependencies.iter()).collect();
        both.sort_by_cached_key(ToString::to_string);
        both.dedup();
        both.into_iter().cloned().collect()
    } else {
        Arc::clone(&object.dependencies)
    };
    let is_same = Arc::ptr_eq(&dependencies, &object.dependencies);
    if is_same && object.create_before_destroy == meta.create_before_destroy {
        return object;
    }
    Arc::new(Object {
        dependencies,
        create_before_destroy: meta.create_before_destroy,
        ..Object::clone(&object)
    })
}

/// Plans the change to an object that was read.
pub async fn plan_change(
    subject: &Subject,
    input: &PlanInput,
    object: Option<&Object>,
    current: &Value,
) -> Diagnosed<ResourceChange> {
    let config = subject.context.unmark_and_register(&input.config);
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

    let mut marks = input.config.mark_paths();
    marks.extend(current.mark_paths());
    let tainted = object.is_some_and(Object::is_tainted);
    let before = subject.context.unmark_and_register(current);
    let prior = if tainted { subject.null() } else { before.clone() };
    let private = object.filter(|_| !tainted).map(|o| Arc::clone(&o.private)).unwrap_or_default();
    let proposal =
        PlanProposal { prior: &prior, config: &config, ignored: &input.ignore_changes, marked: &marks };
    let first = request_plan(subject, &proposal, private).await.take(&mut diagnostics);
    let Some(first) = first else { return Diagnosed::failed(diagnostics) };

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
    // The replacement is planned like a new object.
    let planned = if action.is_replace() && !tainted {
        let none = subject.null();
        let anew = PlanProposal { prior: &none, ignored: &IgnoredAttributes::Nothing, ..proposal };
        let replacement = request_plan(subject, &anew, first.private.clone()).await;
        let Some(planned) = replacement.value else {
            diagnostics.extend(replacement.diagnostics);
            return Diagnosed::failed(diagnostics);
        };
        // The warnings of the second plan are dropped, because the first plan contains the same
        // ones.
        planned
    } else {
        first
    };
    let after = marked(subject, &input.config, &planned.object);
    // If only marks change, only the state is written.
    let marks_changed = action == Action::NoOp && after.mark_paths() != current.mark_paths();
    let action = if marks_changed { Action::Update } else { action };
    let change = ResourceChange {
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
    };
    Diagnosed::with_diagnostics(change, diagnostics)
}

fn replace_action(input: &PlanInput) -> Action {
    if input.meta.create_before_destroy { Action::CreateThenDelete } else { Action::DeleteThenCreate }
}

/// The inputs of a plan request. The values have no marks.
#[derive(Clone, Copy)]
pub struct PlanProposal<'a> {
    /// The current object.
    pub prior: &'a Value,
    /// The configuration before `ignore_changes`.
    pub config: &'a Value,
    pub ignored: &'a IgnoredAttributes,
    /// The paths of values that must not be shown.
    pub marked: &'a PathMarks,
}

/// A provider's plan that passed the checks.
pub struct ProviderPlan {
    pub object: Value,
    /// The private data for the apply.
    pub private: PrivateBytes,
    /// The paths whose change requires a replacement.
    pub required_replace: Vec<Path>,
}

/// Requests a plan from the provider and checks it.
pub async fn request_plan(
    subject: &Subject,
    proposal: &PlanProposal<'_>,
    private: PrivateBytes,
) -> Diagnosed<ProviderPlan> {
    let block = &subject.schema.block;
    let PlanProposal { prior, ignored, marked, .. } = *proposal;
    let config = ignored.in_configuration(block, prior, proposal.config);
    let request = PlanRequest {
        type_name: subject.address.type_name().clone(),
        prior_state: prior.clone(),
        proposed_new_state: proposed_new(block, prior, &config),
        config: config.clone(),
        prior_private: private,
        provider_meta: subject.provider_meta.as_ref().map(|meta| subject.context.unmark_and_register(meta)),
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response: PlanResponse = subject.provider.plan_resource_change(&subject.context, request).await;
    let mut diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Diagnosed::failed(diagnostics);
    }
    let mut fail = |problem| {
        diagnostics.push(problem);
        Diagnosed::failed(std::mem::take(&mut diagnostics))
    };
    let Some(mut planned) = response.planned_state else {
        return fail(subject.provider_error(
            "Provider produced invalid plan",
            &format!("returned no planned object for {}.", subject.address),
        ));
    };
    if let Err(problem) = subject.check_conformance(&planned, "Provider produced invalid plan", "planned") {
        return fail(problem);
    }
    if response.deferred.is_some() {
        return fail(subject.provider_error(
            "Provider deferred changes without being allowed to",
            &format!("deferred the change to {}, which was not allowed.", subject.address),
        ));
    }
    let violations = plan_violations(block, prior, &config, &planned);
    if !violations.is_empty() {
        let (summary, opening) = ("Provider produced invalid plan", "planned an invalid value for");
        if !response.legacy_type_system {
            return fail(subject.protocol_violations(summary, opening, &violations, marked));
        }
        subject.warn_legacy_sdk(summary, &violations);
    }
    if response.legacy_type_system {
        planned = ignored.in_plan(prior, &planned);
    }
    match changing_paths(block, &response.requires_replace, prior, &planned) {
        Ok(required_replace) => {
            let planned =
                ProviderPlan { object: planned, private: response.planned_private, required_replace };
            Diagnosed::with_diagnostics(planned, diagnostics)
        }
        Err(path) => fail(subject.provider_error(
            "Provider produced invalid plan",
            &format!(
                "has indicated \"requires replacement\" on {} for a non-existent attribute path {path}.",
                subject.address
            ),
        )),
    }
}

/// Requests the plan of an object's destruction from the provider. Returns the private data for the
/// apply.
pub async fn request_destroy_plan(
    subject: &Subject,
    current: &Value,
    private: PrivateBytes,
) -> Diagnosed<PrivateBytes> {
    let request = PlanRequest {
        type_name: subject.address.type_name().clone(),
        prior_state: subject.context.unmark_and_register(current),
        proposed_new_state: subject.null(),
        config: subject.null(),
        prior_private: private,
        provider_meta: subject.provider_meta.as_ref().map(|meta| subject.context.unmark_and_register(meta)),
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = subject.provider.plan_resource_change(&subject.context, request).await;
    let diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Diagnosed::failed(diagnostics);
    }
    if response.planned_state.is_some_and(|planned| !planned.is_null()) {
        return Diagnosed::failed(subject.provider_error(
            "Provider produced invalid plan",
            &format!("planned a non-null destroy value for {}.", subject.address),
        ));
    }
    Diagnosed::with_diagnostics(response.planned_private, diagnostics)
}

/// A planned destruction.
#[derive(Debug)]
pub struct DestroyOutcome {
    /// The object before it was read.
    pub stored: Value,
    /// The object after it was read; `None` if it no longer exists.
    pub refreshed: Option<Arc<Object>>,
    /// The object after it was read, as a value.
    pub current: Value,
    /// The change; `None` if the object no longer exists, or if the provider refuses to destroy it.
    pub change: Option<ResourceChange>,
}

/// Reads an object and plans its destruction.
pub async fn plan_destroy(
    subject: &Subject,
    object: &Arc<Object>,
    read: bool,
    deposed: Option<&wardian_value::Str>,
    reason: Option<ActionReason>,
    plan_destroy_supported: bool,
) -> Diagnosed<DestroyOutcome> {
    let Diagnosed { value: found, mut diagnostics } = refresh(subject, object, read).await;
    let Some(found) = found else { return Diagnosed::failed(diagnostics) };
    let mut change = None;
    if let Some(object) = &found.object {
        let mut private = Arc::clone(&object.private);
        let mut refused = false;
        if plan_destroy_supported {
            let planned = request_destroy_plan(subject, &found.current, Arc::clone(&private)).await;
            match planned.take(&mut diagnostics) {
                Some(planned) => private = planned,
                None => refused = true,
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
    let outcome =
        DestroyOutcome { stored: found.stored, refreshed: found.object, current: found.current, change };
    Diagnosed::with_diagnostics(outcome, diagnostics)
}

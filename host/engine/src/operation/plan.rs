//! Planning the change of one managed object.

use std::sync::Arc;

use wardian_lang::Diagnostics;
use wardian_plugin::{
    ClientCapabilities, ConfigKind, PlanRequest, PlanResponse, PrivateBytes, ValidateConfigRequest,
};
use wardian_state::Object;
use wardian_value::{Path, PathMarks, PathStep, Value};

use super::data::marked;
use super::refresh::refresh;
use super::subject::{Replan, Subject};
use crate::object::plan_valid::plan_violations;
use crate::object::proposed::proposed_new;
use crate::plan::{Action, ActionReason, ResourceChange};

/// Which differences between configuration and object are left alone.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// None.
    #[default]
    Nothing,
    /// All.
    All,
    /// Those at these paths and below.
    Paths(Vec<Path>),
}

impl From<&wardian_config::IgnoreChanges> for IgnoreChanges {
    fn from(written: &wardian_config::IgnoreChanges) -> Self {
        match written {
            wardian_config::IgnoreChanges::Nothing => Self::Nothing,
            wardian_config::IgnoreChanges::All => Self::All,
            wardian_config::IgnoreChanges::Paths(paths) => {
                Self::Paths(paths.iter().map(|(path, _)| path.clone()).collect())
            }
        }
    }
}

/// What a plan starts from.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The object in the state.
    pub stored: Option<Arc<Object>>,
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
    let (stored, current, refreshed) = match &input.stored {
        Some(object) => {
            let found = refresh(subject, object, input.refresh).await?;
            diagnostics.extend(found.diagnostics);
            (found.stored, found.current, found.object)
        }
        None => (subject.null(), subject.null(), None),
    };
    let refreshed = refreshed.map(|object| keep_replan(object, &input.replan));
    let change = plan_change(subject, &input, refreshed.as_deref(), &current, &mut diagnostics).await;
    match change {
        Some(change) => Ok(PlanOutcome { stored, refreshed, current, change, diagnostics }),
        None => Err(diagnostics),
    }
}

/// An object that is left as it is may still be made from other things than when it
/// was stored.
fn keep_replan(object: Arc<Object>, replan: &Replan) -> Arc<Object> {
    // What it was made from once still counts when it is destroyed.
    let mut dependencies: Vec<_> =
        object.dependencies.iter().chain(replan.dependencies.iter()).cloned().collect();
    dependencies.sort_unstable();
    dependencies.dedup();
    if *object.dependencies == *dependencies && object.create_before_destroy == replan.create_before_destroy {
        return object;
    }
    Arc::new(Object {
        dependencies: dependencies.into(),
        create_before_destroy: replan.create_before_destroy,
        ..Object::clone(&object)
    })
}

/// `None` where the diagnostics hold an error.
async fn plan_change(
    subject: &Subject,
    input: &PlanInput,
    object: Option<&Object>,
    current: &Value,
    diagnostics: &mut Diagnostics,
) -> Option<ResourceChange> {
    let config = input.config.unmark_deep();
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
    let before = current.unmark_deep();
    let prior = if tainted { subject.null() } else { before.clone() };
    let private = object.filter(|_| !tainted).map(|o| Arc::clone(&o.private)).unwrap_or_default();
    let steered = ignore(subject, &input.ignore_changes, &prior, &config);
    let first = ask(subject, &prior, &steered, &marks, private, diagnostics).await?;
    let required_replace = filter_required_replace(subject, &first, &prior, diagnostics)?;

    let changed = first.object != prior;
    let replace = |reason| (replace_action(input), Some(reason));
    let (action, reason) = if tainted {
        replace(ActionReason::ReplaceBecauseTainted)
    } else if prior.is_null() {
        (Action::Create, None)
    } else if let Some(reason) = input.force_replace {
        replace(reason)
    } else if !required_replace.is_empty() && changed {
        replace(ActionReason::ReplaceBecauseCannotUpdate)
    } else if changed {
        (Action::Update, None)
    } else {
        (Action::NoOp, None)
    };

    // The new object of a replacement is planned as one that was never there.
    let planned = if action.is_replace() && !tainted {
        ask(subject, &subject.null(), &config, &marks, first.private.clone(), diagnostics).await?
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

/// A provider's plan that passed the checks.
pub struct Planned {
    /// The planned object.
    pub object: Value,
    /// For the apply.
    pub private: PrivateBytes,
    response_paths: Vec<Path>,
}

/// Asks the provider for a plan and checks it. `None` where the diagnostics hold
/// an error.
pub async fn ask(
    subject: &Subject,
    prior: &Value,
    config: &Value,
    marked: &PathMarks,
    private: PrivateBytes,
    diagnostics: &mut Diagnostics,
) -> Option<Planned> {
    let block = &subject.schema.block;
    let request = PlanRequest {
        type_name: subject.address.type_name().clone(),
        prior_state: prior.clone(),
        proposed_new_state: proposed_new(block, prior, config),
        config: config.clone(),
        prior_private: private,
        provider_meta: None,
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
    let Some(planned) = response.planned_state else {
        diagnostics.push(subject.provider_error(
            "Provider produced invalid plan",
            &format!("gave no planned object for {}.", subject.address),
        ));
        return None;
    };
    if response.deferred.is_some() {
        diagnostics.push(subject.provider_error(
            "Provider deferred changes without being allowed to",
            &format!("put off the change of {}, though it was not told that it may.", subject.address),
        ));
        return None;
    }
    let violations = plan_violations(block, prior, config, &planned);
    if !violations.is_empty() && !response.legacy_type_system {
        diagnostics.push(subject.violations(
            "Provider produced invalid plan",
            "planned an invalid value for",
            &violations,
            marked,
        ));
        return None;
    }
    Some(Planned {
        object: planned,
        private: response.planned_private,
        response_paths: response.requires_replace,
    })
}

/// The paths whose value really changes. `None` where a path leads nowhere.
fn filter_required_replace(
    subject: &Subject,
    plan: &Planned,
    prior: &Value,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Path>> {
    if prior.is_null() {
        return Some(Vec::new());
    }
    let mut kept = Vec::new();
    for path in &plan.response_paths {
        let (before, after) = (path.apply(prior), path.apply(&plan.object));
        match (before, after) {
            (None, None) if !leads_through_null(path, prior) && !leads_through_null(path, &plan.object) => {
                diagnostics.push(subject.provider_error(
                    "Provider produced invalid plan",
                    &format!(
                        "has indicated \"requires replacement\" on {} for a non-existent attribute path {path}.",
                        subject.address
                    ),
                ));
                return None;
            }
            (before, after) if before != after => kept.push(path.clone()),
            _ => {}
        }
    }
    kept.sort();
    kept.dedup();
    Some(kept)
}

/// Whether a path ends early at a null or an unknown: then there may well be such
/// an attribute.
fn leads_through_null(path: &Path, value: &Value) -> bool {
    let mut steps = path.clone();
    while steps.pop().is_some() {
        if let Some(part) = steps.apply(value) {
            return part.is_null() || !part.is_known() || part.as_elements().is_some();
        }
    }
    false
}

/// The configuration with what shall be left alone taken from the prior object.
pub fn ignore(subject: &Subject, ignored: &IgnoreChanges, prior: &Value, config: &Value) -> Value {
    if prior.is_null() {
        return config.clone();
    }
    match ignored {
        IgnoreChanges::Nothing => config.clone(),
        IgnoreChanges::All => without_computed(&subject.schema.block, prior),
        IgnoreChanges::Paths(paths) => {
            paths.iter().fold(config.clone(), |config, path| take_over(&config, prior, path.steps()))
        }
    }
}

/// The object as a configuration would have to be to ask for it.
fn without_computed(block: &wardian_plugin::Block, prior: &Value) -> Value {
    prior.transform(&mut |path, value| match path.steps() {
        [PathStep::Attribute(name)] => match block.attributes.get(name) {
            Some(attribute) if !attribute.setting.is_configurable() => Value::null(value.ty().clone()),
            _ => value,
        },
        _ => value,
    })
}

fn take_over(config: &Value, prior: &Value, steps: &[PathStep]) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return prior.clone();
    };
    match step {
        PathStep::Attribute(name) | PathStep::Key(name) => {
            match (config.get(name), prior.get(name)) {
                (Some(configured), Some(before)) => {
                    config.with_attribute(name, take_over(configured, before, rest))
                }
                // A key that only one of them has: the prior object decides.
                (None, Some(before)) if rest.is_empty() && config.as_mapping().is_some() => {
                    config.with_attribute(name, before.clone())
                }
                (Some(_), None) if rest.is_empty() && matches!(config.ty(), wardian_value::Type::Map(_)) => {
                    without_key(config, name)
                }
                (None, Some(_)) if rest.is_empty() && config.is_null() && prior.as_mapping().is_some() => {
                    only_key(prior, name)
                }
                _ => config.clone(),
            }
        }
        PathStep::Index(index) => {
            let at = usize::try_from(*index).unwrap_or(usize::MAX);
            let (Some(configured), Some(before)) = (config.as_elements(), prior.as_elements()) else {
                return config.clone();
            };
            if at >= configured.len() || at >= before.len() {
                return config.clone();
            }
            let elements = configured.iter().enumerate().map(|(i, element)| {
                if i == at { take_over(element, &before[at], rest) } else { element.clone() }
            });
            match config.ty() {
                wardian_value::Type::List(element) => Value::list((**element).clone(), elements),
                wardian_value::Type::Tuple(_) => Value::tuple(elements),
                _ => config.clone(),
            }
        }
    }
}

fn without_key(map: &Value, key: &str) -> Value {
    match (map.ty(), map.as_mapping()) {
        (wardian_value::Type::Map(element), Some(elements)) => Value::map(
            (**element).clone(),
            elements.iter().filter(|(k, _)| &***k != key).map(|(k, v)| (k.clone(), v.clone())),
        ),
        _ => map.clone(),
    }
}

fn only_key(map: &Value, key: &str) -> Value {
    match (map.ty(), map.as_mapping()) {
        (wardian_value::Type::Map(element), Some(elements)) => Value::map(
            (**element).clone(),
            elements.iter().filter(|(k, _)| &***k == key).map(|(k, v)| (k.clone(), v.clone())),
        ),
        _ => map.clone(),
    }
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
    /// The change; `None` where the object is gone already.
    pub change: Option<ResourceChange>,
    /// Warnings.
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
        if plan_destroy_supported {
            let request = PlanRequest {
                type_name: subject.address.type_name().clone(),
                prior_state: found.current.unmark_deep(),
                proposed_new_state: subject.null(),
                config: subject.null(),
                prior_private: Arc::clone(&object.private),
                provider_meta: None,
                prior_identity: None,
                capabilities: ClientCapabilities::default(),
            };
            let response = subject.provider.plan_resource_change(request).await;
            diagnostics.extend(subject.about(&response.diagnostics));
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
            private = response.planned_private;
        }
        change = Some(ResourceChange {
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

//! `null_resource`: an object that is replaced when its triggers change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::{AttributePlan, Context, Resource, Result, Schema, Str, Update, Value};

use crate::random_number;

pub(crate) struct NullResource;

/// A resource that does nothing itself, but has the lifecycle of a managed resource. Provisioners
/// and dependencies can be attached to it.
#[derive(Serialize, Deserialize, Schema)]
pub(crate) struct State {
    /// Arbitrary strings. Changing one replaces the object.
    #[attr(force_new_if = is_more_than_new_nulls)]
    triggers: Option<BTreeMap<String, Option<String>>>,
    /// A random number, drawn when the object is created.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for NullResource {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(State { id: Some(random_number()?), ..plan })
    }
}

/// Returns whether the change consists of more than additional null elements. An earlier version of
/// the provider stored maps without their null elements, and stored null for a map with only null
/// elements. Such objects must not be replaced.
fn is_more_than_new_nulls(change: &AttributePlan<'_>) -> bool {
    if !change.planned().is_known() {
        return true;
    }
    let (planned, prior) = (change.planned(), change.prior());
    let entries = |map: &Value| map.as_mapping().unwrap_or_default().to_map();
    let is_changed = |(key, value): (Str, Value)| match prior.get(&key) {
        Some(prior) => *prior != value,
        None => !value.is_null(),
    };
    entries(prior).keys().any(|key| planned.get(key).is_none())
        || entries(planned).into_iter().any(is_changed)
}

impl Update for NullResource {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

//! `null_data_source`: returns its inputs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, DataSource, Result, Schema};

use crate::random_number;

pub(crate) struct NullDataSource;

/// Returns its inputs as outputs. Local values are a simpler alternative.
#[derive(Serialize, Deserialize, Schema)]
#[schema(
    deprecated = "The null_data_source predates local values, which replace all its uses. Use `locals` \
                  instead."
)]
pub(crate) struct State {
    /// Strings that are returned as `outputs`.
    inputs: Option<BTreeMap<String, Option<String>>>,
    /// The strings of `inputs`.
    #[attr(computed)]
    outputs: Option<BTreeMap<String, Option<String>>>,
    /// A random number, which changes with each read. For tests only.
    #[attr(computed)]
    random: Option<String>,
    /// The configured value, or `default`. For tests only.
    #[attr(optional, computed)]
    has_computed_default: Option<String>,
    /// Always `static`.
    #[attr(computed, deprecated = "Has no effect; exists for compatibility.")]
    id: Option<String>,
}

impl DataSource for NullDataSource {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn read(&self, config: State, _: &mut Context<'_>) -> Result<State> {
        Ok(State {
            outputs: config.inputs.clone(),
            random: Some(random_number()?),
            has_computed_default: Some(config.has_computed_default.unwrap_or_else(|| "default".into())),
            id: Some("static".into()),
            inputs: config.inputs,
        })
    }
}

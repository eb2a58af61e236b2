//! `null_data_source`: returns its inputs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, Context, DataSource, Result, Schema, Type};

use crate::random_number;

pub(crate) struct NullDataSource;

#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    inputs: Option<BTreeMap<String, Option<String>>>,
    outputs: Option<BTreeMap<String, Option<String>>>,
    random: Option<String>,
    has_computed_default: Option<String>,
    id: Option<String>,
}

impl DataSource for NullDataSource {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("Returns its inputs as outputs. Local values are a simpler alternative.")
            .deprecated(
                "The null_data_source predates local values, which replace all its uses. Use `locals` \
                 instead.",
            )
            .attribute(
                Attribute::map("inputs", Type::String).description("Strings that are returned as `outputs`."),
            )
            .attribute(
                Attribute::map("outputs", Type::String).computed().description("The strings of `inputs`."),
            )
            .attribute(
                Attribute::string("random")
                    .computed()
                    .description("A random number, which changes with each read. For tests only."),
            )
            .attribute(
                Attribute::string("has_computed_default")
                    .optional()
                    .computed()
                    .description("The configured value, or `default`. For tests only."),
            )
            .attribute(
                Attribute::string("id")
                    .computed()
                    .deprecated("Has no effect; exists for compatibility.")
                    .description("Always `static`."),
            )
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

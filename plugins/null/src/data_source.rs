//! `null_data_source`: gives back what it is given.

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
            .description("Gives its inputs back as outputs. Local values do the same in a simpler way.")
            .deprecated(
                "The null_data_source was made before there were local values, which can do all that it \
                         does. Use `locals` instead.",
            )
            .attribute(
                Attribute::map("inputs", Type::String)
                    .description("Strings that are given back as `outputs`."),
            )
            .attribute(
                Attribute::map("outputs", Type::String).computed().description("The strings of `inputs`."),
            )
            .attribute(Attribute::string("random").computed().description(
                "A random number, another one at each read. For tests; of little use otherwise.",
            ))
            .attribute(Attribute::string("has_computed_default").optional().computed().description(
                "What it is set to, or `default` where it is not set. For tests; of little use otherwise.",
            ))
            .attribute(
                Attribute::string("id")
                    .computed()
                    .deprecated("Has no meaning and is there only because it always was.")
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

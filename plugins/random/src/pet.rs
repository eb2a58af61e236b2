//! `random_pet`: a memorable name.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, Context, Diagnostics, Explain as _, Resource, Result, Schema, Update};

use crate::keepers::{self, Keepers};
use crate::pet_name;

pub(crate) struct RandomPet;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    keepers: Keepers,
    length: Option<i64>,
    prefix: Option<String>,
    separator: Option<String>,
    id: Option<String>,
}

impl Resource for RandomPet {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("A random pet name, for use in names that must be unique.")
            .attribute(keepers::attribute())
            .attribute(
                Attribute::integer("length")
                    .default(2_i64)
                    .force_new()
                    .description("The number of words. Default: 2."),
            )
            .attribute(Attribute::string("prefix").force_new().description(
                "Text before the words, followed by a \
                    separator.",
            ))
            .attribute(
                Attribute::string("separator")
                    .default("-")
                    .force_new()
                    .description("The separator between words. Default: `-`."),
            )
            .attribute(Attribute::string("id").computed().use_state_for_unknown().description("The name."))
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        const MAX_WORDS: i64 = 100_000;
        let words = plan.length.unwrap_or_default();
        if words > MAX_WORDS {
            let detail = format!("length must be at most {MAX_WORDS}.");
            return Err(Diagnostics::error("Name too long", detail));
        }
        let separator = plan.separator.as_deref().unwrap_or_default();
        let mut name = pet_name::generate(words, separator).explain("Name not generated")?;
        if let Some(prefix) = plan.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            name = format!("{prefix}{separator}{name}");
        }
        Ok(State { id: Some(name), ..plan })
    }
}

impl Update for RandomPet {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

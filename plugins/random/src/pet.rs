//! `random_pet`: a memorable name.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Diagnostics, Explain as _, Resource, Result, Schema, Update};

use crate::keepers::Keepers;
use crate::pet_name;

pub(crate) struct RandomPet;

/// A random pet name, for use in names that must be unique.
#[derive(Debug, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    keepers: Keepers,
    /// The number of words. Default: 2.
    #[attr(default = 2, force_new)]
    length: Option<i64>,
    /// Text before the words, followed by a separator.
    #[attr(force_new)]
    prefix: Option<String>,
    /// The separator between words. Default: `-`.
    #[attr(default = "-", force_new)]
    separator: Option<String>,
    /// The name.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for RandomPet {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
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

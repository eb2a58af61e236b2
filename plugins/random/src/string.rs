//! `random_string`: text that need not be kept secret.

use wardian_sdk::{Attribute, Context, Explain as _, Import, Resource, Result, Schema, Update, Upgrader};

use crate::keepers::Keepers;
use crate::text_arguments::{self, text_state};

/// The resource type.
pub(crate) struct RandomString;

text_state! {
    /// An object of it, of any schema version.
    State { keepers: Keepers, number: Option<bool>, result: Option<String>, id: Option<String> }
}

impl Resource for RandomString {
    type State = State;

    fn schema(&self) -> Schema {
        let result =
            |name| Attribute::string(name).computed().use_state_for_unknown().description("The text.");
        Schema::new()
            .version(2)
            .description(
                "Random text of letters, digits and special characters, from a cryptographic generator. \
                 It is shown in plans and outputs: for secrets use `random_password`.",
            )
            .attributes(text_arguments::managed())
            .attribute(result("result"))
            .attribute(result("id"))
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.recipe().generate().explain("Text not generated")?;
        Ok(State { result: Some(text.clone()), id: Some(text), ..plan })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let text = import.id()?.to_owned();
        let state = State { result: Some(text.clone()), id: Some(text), ..State::default() };
        import.set_state(&state.brought_up_to_date())
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        let upgrade = |old: State| Ok(old.brought_up_to_date());
        vec![Upgrader::new(0, upgrade), Upgrader::new(1, upgrade)]
    }
}

impl Update for RandomString {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

impl State {
    /// Fills in what schema 1 did not have and what imports left null.
    fn brought_up_to_date(mut self) -> Self {
        text_arguments::agree(&mut self.number, &mut self.numeric);
        text_arguments::measure(&mut self.length, self.result.as_deref());
        self.fill_defaults();
        self
    }
}

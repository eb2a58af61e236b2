//! `random_string`: text that is not secret.

use wardian_sdk::{
    Attribute, Context, Explain as _, Import, Resource, Result, Schema, StateUpgrader, Update,
};

use crate::keepers::Keepers;
use crate::string_arguments::{self, string_state};

pub(crate) struct RandomString;

string_state! {
    /// The state of the resource, of any schema version.
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
                 Plans and outputs show it; use `random_password` for secrets.",
            )
            .attributes(string_arguments::managed())
            .attribute(result("result"))
            .attribute(result("id"))
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.rules().generate().explain("Text not generated")?;
        Ok(State { result: Some(text.clone()), id: Some(text), ..plan })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let text = import.id()?.to_owned();
        let state = State { result: Some(text.clone()), id: Some(text), ..State::default() };
        import.set_state(&state.upgrade_state())
    }

    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        let upgrade = |old: State| Ok(old.upgrade_state());
        vec![StateUpgrader::new(0, upgrade), StateUpgrader::new(1, upgrade)]
    }
}

impl Update for RandomString {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

impl State {
    /// Sets the attributes that schema 1 did not have and that imports left null.
    fn upgrade_state(mut self) -> Self {
        string_arguments::copy_number_to_numeric(&mut self.number, &mut self.numeric);
        string_arguments::fill_length(&mut self.length, self.result.as_deref());
        self.fill_defaults();
        self
    }
}

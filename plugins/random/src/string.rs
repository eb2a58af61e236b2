//! `random_string`: text that is not secret.

use wardian_sdk::{Context, Explain as _, Import, Resource, Result, Schema, StateUpgrader, Update};

use crate::keepers::Keepers;
use crate::string_arguments::{self, string_state};

pub(crate) struct RandomString;

string_state! {
    /// Random text of letters, digits and special characters, from a cryptographic generator. Plans
    /// and outputs show it; use `random_password` for secrets.
    #[schema(version = 2)]
    State
    enabled(default = true, force_new)
    minimum(default = 0, force_new)
    numeric(optional, computed, modify_plan = string_arguments::sync_number_and_numeric, force_new)
    length(force_new)
    override_special(force_new_if = string_arguments::changes_more_than_empty_to_null)
    {
        keepers: Keepers,
        /// The previous name of `numeric`.
        #[attr(
            optional,
            computed,
            deprecated = "Use `numeric` instead.",
            modify_plan = string_arguments::sync_number_and_numeric,
            force_new,
            validate(string_arguments::any_class_enabled())
        )]
        number: Option<bool>,
    }
    {
        /// The text.
        #[attr(computed, use_state_for_unknown)]
        result: Option<String>,
        /// The text.
        #[attr(computed, use_state_for_unknown)]
        id: Option<String>,
    }
}

impl Resource for RandomString {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
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

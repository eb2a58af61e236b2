//! `random_password`: a password and its hash.

use wardian_sdk::{Context, Explain as _, Import, Resource, Result, Schema, StateUpgrader, Update};

use crate::keepers::Keepers;
use crate::password_hash;
use crate::string_arguments::{self, string_state};

pub(crate) struct RandomPassword;

string_state! {
    /// Random text as in `random_string`, but sensitive: it is stored in the state and never shown.
    #[schema(version = 3)]
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
        /// The password.
        #[attr(computed, sensitive, use_state_for_unknown)]
        result: Option<String>,
        /// A bcrypt hash of the first 72 bytes of the password.
        #[attr(computed, sensitive, use_state_for_unknown)]
        bcrypt_hash: Option<String>,
        /// Always `none`; not intended for use in configurations.
        #[attr(computed, use_state_for_unknown)]
        id: Option<String>,
    }
}

impl Resource for RandomPassword {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.rules().generate().explain("Password not generated")?;
        State { id: Some("none".to_owned()), result: Some(text), ..plan }.with_valid_hash()
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let result = Some(import.id()?.to_owned());
        let state = State { id: Some("none".to_owned()), result, ..State::default() };
        import.set_state(&state.upgrade_state().with_valid_hash()?)
    }

    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        vec![
            StateUpgrader::new(0, |old: State| old.upgrade_state().with_valid_hash()),
            StateUpgrader::new(1, |old: State| Ok(old.upgrade_state())),
            StateUpgrader::new(2, |old: State| {
                let state = old.upgrade_state();
                if state.hash_verifies() { Ok(state) } else { state.with_valid_hash() }
            }),
        ]
    }
}

impl Update for RandomPassword {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

impl State {
    /// Sets the attributes that early schemas did not have and that imports left null.
    fn upgrade_state(mut self) -> Self {
        string_arguments::copy_number_to_numeric(&mut self.number, &mut self.numeric);
        string_arguments::fill_length(&mut self.length, self.result.as_deref());
        self.fill_defaults();
        self
    }

    fn with_valid_hash(mut self) -> Result<Self> {
        let password = self.result.as_deref().unwrap_or_default();
        self.bcrypt_hash = Some(password_hash::hash(password).explain("Password not hashed")?);
        Ok(self)
    }

    fn hash_verifies(&self) -> bool {
        let password = self.result.as_deref().unwrap_or_default();
        self.bcrypt_hash.as_deref().is_some_and(|hash| password_hash::verifies(password, hash))
    }
}

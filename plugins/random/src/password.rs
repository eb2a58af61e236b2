//! `random_password`: secret text with its hash.

use wardian_sdk::{Attribute, Context, Explain as _, Import, Resource, Result, Schema, Update, Upgrader};

use crate::keepers::Keepers;
use crate::password_hash;
use crate::text_arguments::{self, text_state};

/// The resource type.
pub(crate) struct RandomPassword;

text_state! {
    /// An object of it, of any schema version.
    State {
        keepers: Keepers,
        number: Option<bool>,
        result: Option<String>,
        bcrypt_hash: Option<String>,
        id: Option<String>,
    }
}

impl Resource for RandomPassword {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .version(3)
            .description(
                "Random text as `random_string` makes it, but sensitive: it is stored in state, and shown \
                 nowhere.",
            )
            .attributes(text_arguments::managed())
            .attributes(results().map(Attribute::use_state_for_unknown))
            .attribute(
                Attribute::string("id")
                    .computed()
                    .use_state_for_unknown()
                    .description("Always `none`; not for use in configurations."),
            )
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.recipe().generate().explain("Password not generated")?;
        State { id: Some("none".to_owned()), result: Some(text), ..plan }.rehashed()
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let result = Some(import.id()?.to_owned());
        let state = State { id: Some("none".to_owned()), result, ..State::default() };
        import.set_state(&state.brought_up_to_date().rehashed()?)
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        vec![
            Upgrader::new(0, |old: State| old.brought_up_to_date().rehashed()),
            Upgrader::new(1, |old: State| Ok(old.brought_up_to_date())),
            Upgrader::new(2, |old: State| {
                let state = old.brought_up_to_date();
                if state.hash_verifies() { Ok(state) } else { state.rehashed() }
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
    /// Fills in what early schemas did not have and what imports left null.
    fn brought_up_to_date(mut self) -> Self {
        text_arguments::agree(&mut self.number, &mut self.numeric);
        text_arguments::measure(&mut self.length, self.result.as_deref());
        self.fill_defaults();
        self
    }

    fn rehashed(mut self) -> Result<Self> {
        let password = self.result.as_deref().unwrap_or_default();
        self.bcrypt_hash = Some(password_hash::hash(password).explain("Password not hashed")?);
        Ok(self)
    }

    fn hash_verifies(&self) -> bool {
        let password = self.result.as_deref().unwrap_or_default();
        self.bcrypt_hash.as_deref().is_some_and(|hash| password_hash::verifies(password, hash))
    }
}

/// What the managed and the ephemeral resource give.
pub(crate) fn results() -> impl Iterator<Item = Attribute> {
    [
        Attribute::string("result").computed().sensitive().description("The password."),
        Attribute::string("bcrypt_hash")
            .computed()
            .sensitive()
            .description("A bcrypt hash of the password, or of its first 72 bytes if it is longer."),
    ]
    .into_iter()
}

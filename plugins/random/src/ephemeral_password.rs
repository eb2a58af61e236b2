//! The ephemeral `random_password`: secret text that is stored nowhere.

use wardian_sdk::{Context, EphemeralResource, Explain as _, Opened, Result, Schema};

use crate::password;
use crate::password_hash;
use crate::text_arguments::{self, text_state};

/// The ephemeral resource type.
pub(crate) struct EphemeralPassword;

text_state! {
    /// Its configuration and result.
    State { result: Option<String>, bcrypt_hash: Option<String> }
}

impl EphemeralResource for EphemeralPassword {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description(
                "A random password that exists for one run only: for write-only arguments, so that it is \
                 in no plan or state.",
            )
            .attributes(text_arguments::ephemeral())
            .attributes(password::results())
    }

    fn open(&self, mut config: State, _: &mut Context<'_>) -> Result<Opened<State>> {
        config.fill_defaults();
        let password = config.recipe().generate().explain("Password not generated")?;
        config.bcrypt_hash = Some(password_hash::hash(&password).explain("Password not hashed")?);
        config.result = Some(password);
        Ok(Opened::new(config))
    }
}

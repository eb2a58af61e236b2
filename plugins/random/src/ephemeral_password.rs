//! The ephemeral resource `random_password`: a password that is never stored.

use wardian_sdk::{Context, EphemeralResource, Explain as _, Opened, Result, Schema};

use crate::password_hash;
use crate::string_arguments::string_state;

pub(crate) struct EphemeralPassword;

string_state! {
    /// A random password that exists only during one run and is stored in no plan or state. Use it
    /// for write-only arguments.
    State
    enabled(optional, computed)
    minimum(optional, computed)
    numeric(optional, computed)
    length()
    override_special()
    {}
    {
        /// The password.
        #[attr(computed, sensitive)]
        result: Option<String>,
        /// A bcrypt hash of the first 72 bytes of the password.
        #[attr(computed, sensitive)]
        bcrypt_hash: Option<String>,
    }
}

impl EphemeralResource for EphemeralPassword {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn open(&self, mut config: State, _: &mut Context<'_>) -> Result<Opened<State>> {
        config.fill_defaults();
        let password = config.rules().generate().explain("Password not generated")?;
        config.bcrypt_hash = Some(password_hash::hash(&password).explain("Password not hashed")?);
        config.result = Some(password);
        Ok(Opened::new(config))
    }
}

//! `random_id`: a random number in several encodings, each with a prefix.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Explain as _, Import, Resource, Result, Schema, Update};

use crate::bytes::byte_count;
use crate::encoding;
use crate::entropy;
use crate::keepers::Keepers;

pub(crate) struct RandomId;

/// A random number for use in names that must be unique, from a cryptographic generator. With 16
/// bytes it is as unique as a UUID.
#[derive(Debug, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    keepers: Keepers,
    /// The number of random bytes.
    #[attr(force_new)]
    byte_length: i64,
    /// Literal text at the start of each encoding except `id`.
    #[attr(force_new)]
    prefix: Option<String>,
    /// The identifier in base64 with `-` and `_`, without padding.
    #[attr(computed, use_state_for_unknown)]
    b64_url: Option<String>,
    /// The identifier in base64 with `+` and `/`, padded.
    #[attr(computed, use_state_for_unknown)]
    b64_std: Option<String>,
    /// The identifier in hexadecimal, two digits for each byte.
    #[attr(computed, use_state_for_unknown)]
    hex: Option<String>,
    /// The identifier in decimal, without leading zeros.
    #[attr(computed, use_state_for_unknown)]
    dec: Option<String>,
    /// The value of `b64_url` without the prefix.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl State {
    fn new(keepers: Keepers, prefix: Option<String>, bytes: &[u8], id: String) -> Self {
        let prefixed = |text: &str| Some(format!("{}{text}", prefix.as_deref().unwrap_or_default()));
        Self {
            keepers,
            byte_length: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            b64_url: prefixed(&id),
            b64_std: prefixed(&encoding::base64_standard(bytes)),
            hex: prefixed(&encoding::hexadecimal(bytes)),
            dec: prefixed(&encoding::decimal(bytes)),
            prefix,
            id: Some(id),
        }
    }
}

impl Resource for RandomId {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let count = byte_count("byte_length", plan.byte_length)?;
        let bytes = entropy::random_bytes(count).explain("Identifier not generated")?;
        let id = encoding::base64_url(&bytes);
        Ok(State::new(plan.keepers, plan.prefix, &bytes, id))
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let (prefix, id) = match import.id()?.rsplit_once(',') {
            Some((prefix, id)) => (Some(prefix).filter(|prefix| !prefix.is_empty()), id),
            None => (None, import.id()?),
        };
        let (prefix, id) = (prefix.map(str::to_owned), id.to_owned());
        let bytes = encoding::from_base64_url(&id).map_err(|_| {
            import.invalid_id(
                "the bytes in URL-safe base64 without padding, after a prefix and a comma if there is one",
            )
        })?;
        import.set_state(&State::new(Keepers::default(), prefix, &bytes, id))
    }
}

impl Update for RandomId {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

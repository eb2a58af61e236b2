//! `random_id`: a random number in several encodings, each with a prefix.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, Context, Explain as _, Import, Resource, Result, Schema, Update};

use crate::bytes::byte_count;
use crate::encoding;
use crate::entropy;
use crate::keepers::{self, Keepers};

pub(crate) struct RandomId;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    keepers: Keepers,
    byte_length: Option<i64>,
    prefix: Option<String>,
    b64_url: Option<String>,
    b64_std: Option<String>,
    hex: Option<String>,
    dec: Option<String>,
    id: Option<String>,
}

impl State {
    fn new(keepers: Keepers, prefix: Option<String>, bytes: &[u8], id: String) -> Self {
        let prefixed = |text: &str| Some(format!("{}{text}", prefix.as_deref().unwrap_or_default()));
        Self {
            keepers,
            byte_length: i64::try_from(bytes.len()).ok(),
            b64_url: prefixed(&id),
            b64_std: prefixed(&encoding::base64_standard(bytes)),
            hex: prefixed(&encoding::hexadecimal(bytes)),
            dec: prefixed(&encoding::decimal(bytes)),
            prefix,
            id: Some(id),
        }
    }
}

fn spelling(name: &str, description: &str) -> Attribute {
    Attribute::string(name).computed().use_state_for_unknown().description(description)
}

impl Resource for RandomId {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description(
                "A random number for use in names that must be unique, from a cryptographic generator. \
                 With 16 bytes it is as unique as a UUID.",
            )
            .attribute(keepers::attribute())
            .attribute(
                Attribute::integer("byte_length")
                    .required()
                    .force_new()
                    .description("The number of random bytes."),
            )
            .attribute(
                Attribute::string("prefix")
                    .force_new()
                    .description("Literal text at the start of each encoding except `id`."),
            )
            .attribute(spelling("b64_url", "The identifier in base64 with `-` and `_`, without padding."))
            .attribute(spelling("b64_std", "The identifier in base64 with `+` and `/`, padded."))
            .attribute(spelling("hex", "The identifier in hexadecimal, two digits for each byte."))
            .attribute(spelling("dec", "The identifier in decimal, without leading zeros."))
            .attribute(spelling("id", "The value of `b64_url` without the prefix."))
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
        import.set_state(&State::new(None, prefix, &bytes, id))
    }
}

impl Update for RandomId {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

//! `random_bytes`: secret bytes, in base64 and hexadecimal.

use serde::{Deserialize, Serialize};
use wardian_sdk::{
    Attribute, Context, Diagnostics, Explain as _, Import, Resource, Result, Schema, Update, validate,
};

use crate::encoding;
use crate::entropy;
use crate::keepers::{self, Keepers};

pub(crate) struct RandomBytes;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    keepers: Keepers,
    length: Option<i64>,
    base64: Option<String>,
    hex: Option<String>,
    id: Option<String>,
}

impl State {
    fn new(keepers: Keepers, bytes: &[u8], base64: String) -> Self {
        Self {
            keepers,
            length: i64::try_from(bytes.len()).ok(),
            base64: Some(base64),
            hex: Some(encoding::hexadecimal(bytes)),
            id: Some("none".to_owned()),
        }
    }
}

impl Resource for RandomBytes {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("Random bytes for use as a secret or key, from a cryptographic generator.")
            .attribute(keepers::attribute())
            .attribute(
                Attribute::integer("length")
                    .required()
                    .force_new()
                    .validate(validate::range(1..))
                    .description("The number of bytes, at least 1."),
            )
            .attribute(
                Attribute::string("base64")
                    .computed()
                    .sensitive()
                    .use_state_for_unknown()
                    .description("The bytes in base64."),
            )
            .attribute(
                Attribute::string("hex")
                    .computed()
                    .sensitive()
                    .use_state_for_unknown()
                    .description("The bytes in hexadecimal."),
            )
            .attribute(
                Attribute::string("id")
                    .computed()
                    .use_state_for_unknown()
                    .description("Always `none`; not intended for use in configurations."),
            )
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let bytes =
            entropy::random_bytes(byte_count("length", plan.length)?).explain("Bytes not generated")?;
        let base64 = encoding::base64_standard(&bytes);
        Ok(State::new(plan.keepers, &bytes, base64))
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let id = import.id()?.to_owned();
        let bytes = encoding::from_base64_standard(&id)
            .map_err(|_| import.invalid_id("the bytes in standard base64"))?;
        import.set_state(&State::new(None, &bytes, id))
    }
}

impl Update for RandomBytes {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

/// Returns a configured number of bytes, or an error if it is out of range.
pub(crate) fn byte_count(attribute: &str, count: Option<i64>) -> Result<usize> {
    const MAX_BYTES: usize = 64 << 20;
    count.and_then(|count| usize::try_from(count).ok()).filter(|count| *count <= MAX_BYTES).ok_or_else(|| {
        let detail = format!("{attribute} must be between 0 and {MAX_BYTES}");
        Diagnostics::error("Number of bytes out of range", detail)
    })
}

//! `random_bytes`: secret bytes, in base64 and hexadecimal.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Diagnostics, Explain as _, Import, Resource, Result, Schema, Update};

use crate::encoding;
use crate::entropy;
use crate::keepers::Keepers;

pub(crate) struct RandomBytes;

/// Random bytes for use as a secret or key, from a cryptographic generator.
#[derive(Debug, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    keepers: Keepers,
    /// The number of bytes, at least 1.
    #[attr(force_new, validate(range(1..)))]
    length: i64,
    /// The bytes in base64.
    #[attr(computed, sensitive, use_state_for_unknown)]
    base64: Option<String>,
    /// The bytes in hexadecimal.
    #[attr(computed, sensitive, use_state_for_unknown)]
    hex: Option<String>,
    /// Always `none`; not intended for use in configurations.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl State {
    fn new(keepers: Keepers, bytes: &[u8], base64: String) -> Self {
        Self {
            keepers,
            length: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            base64: Some(base64),
            hex: Some(encoding::hexadecimal(bytes)),
            id: Some("none".to_owned()),
        }
    }
}

impl Resource for RandomBytes {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
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
        import.set_state(&State::new(Keepers::default(), &bytes, id))
    }
}

impl Update for RandomBytes {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

/// Returns a configured number of bytes, or an error if it is out of range.
pub(crate) fn byte_count(attribute: &str, count: i64) -> Result<usize> {
    const MAX_BYTES: usize = 64 << 20;
    usize::try_from(count).ok().filter(|count| *count <= MAX_BYTES).ok_or_else(|| {
        let detail = format!("{attribute} must be between 0 and {MAX_BYTES}");
        Diagnostics::error("Number of bytes out of range", detail)
    })
}

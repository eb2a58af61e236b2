//! `random_uuid`: a version 4 UUID.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Explain as _, Import, Resource, Result, Schema, Update};

use crate::encoding;
use crate::entropy;
use crate::keepers::Keepers;

pub(crate) struct RandomUuid;

/// A random UUID, for identifiers that must be unique.
#[derive(Debug, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    keepers: Keepers,
    /// The UUID, in lower case.
    #[attr(computed, use_state_for_unknown)]
    result: Option<String>,
    /// The UUID, in lower case.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl State {
    fn new(keepers: Keepers, uuid: String) -> Self {
        Self { keepers, result: Some(uuid.clone()), id: Some(uuid) }
    }
}

impl Resource for RandomUuid {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let mut bytes = entropy::random_bytes(16).explain("UUID not generated")?;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Ok(State::new(plan.keepers, spell(&encoding::hexadecimal(&bytes))))
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let digits = read(import.id()?).ok_or_else(|| {
            import.invalid_id("a UUID: groups of 8, 4, 4, 4 and 12 hexadecimal digits, separated by hyphens")
        })?;
        import.set_state(&State::new(Keepers::default(), spell(&digits)))
    }
}

impl Update for RandomUuid {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

/// The number of digits in each group.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Inserts hyphens between the five groups of a UUID's 32 hexadecimal digits.
fn spell(digits: &str) -> String {
    let mut rest = digits;
    let groups = GROUPS.map(|length| {
        let (group, after) = rest.split_at(length);
        rest = after;
        group
    });
    groups.join("-")
}

/// Returns the 32 digits of a UUID in lower case.
fn read(uuid: &str) -> Option<String> {
    let groups: Vec<&str> = uuid.split('-').collect();
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fits =
        groups.iter().map(|group| group.len()).eq(GROUPS) && groups.iter().all(|group| are_digits(group));
    fits.then(|| groups.concat().to_ascii_lowercase())
}

//! `time_sleep`: a delay on creation or destruction.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::duration::GoDuration;
use wardian_sdk::validate::{self, Validator};
use wardian_sdk::{Context, Diagnostics, Explain, Import, Resource, Result, Schema, Update, run};

use crate::import_id;
use crate::timestamp::Timestamp;
use crate::timestamp_attributes::Triggers;

pub(crate) struct Sleep;

/// Waits during creation, destruction, or both, to delay the resources that depend on it.
#[derive(Default, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    /// The delay at creation, such as `30s` or `5m`. A change causes no delay.
    #[attr(validate(self::is_delay(), at_least_one_of("destroy_duration")))]
    create_duration: Option<String>,
    /// The delay at destruction, such as `30s` or `5m`. A change causes no delay; the value that was
    /// applied last is used.
    #[attr(validate(self::is_delay()))]
    destroy_duration: Option<String>,
    triggers: Triggers,
    /// The end of the last wait in RFC 3339 format.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for Sleep {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        wait("create_duration", plan.create_duration.as_deref())?;
        Ok(State { id: Some(Timestamp::now().to_string()), ..plan })
    }

    fn delete(&self, state: State, _: &mut Context<'_>) -> Result<()> {
        wait("destroy_duration", state.destroy_duration.as_deref())
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let expected = "CREATEDURATION,DESTROYDURATION,KEY=VALUE,... with at least one duration";
        let parts = import_id::split(import)?;
        let [create, destroy, pairs @ ..] = parts.as_slice() else { return Err(import.invalid_id(expected)) };
        if create.is_empty() && destroy.is_empty() {
            return Err(import.invalid_id(expected));
        }
        let mut triggers = BTreeMap::new();
        for pair in pairs {
            match pair.split('=').collect::<Vec<_>>()[..] {
                [key, value] => triggers.insert(key.to_owned(), Some(value.to_owned())),
                _ => return Err(import.invalid_id(expected)),
            };
        }
        import.set_state(&State {
            create_duration: imported("create_duration", create)?,
            destroy_duration: imported("destroy_duration", destroy)?,
            id: Some(Timestamp::now().to_string()),
            triggers: Triggers((!triggers.is_empty()).then_some(triggers)),
        })
    }
}

impl Update for Sleep {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

fn is_delay() -> Validator {
    validate::matches(
        "must be a number immediately followed by ms (milliseconds), s (seconds), m (minutes), or h (hours). \
         For example, \"30s\" for 30 seconds.",
        is_one_number_with_unit,
    )
}

/// Returns whether the text consists of digits, an optional fraction and a unit.
fn is_one_number_with_unit(text: &str) -> bool {
    let number = ["ms", "s", "m", "h"].iter().find_map(|unit| text.strip_suffix(unit));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match number.map(|number| number.split_once('.').unwrap_or((number, "0"))) {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => false,
    }
}

fn parse(name: &str, text: &str) -> Result<GoDuration> {
    GoDuration::parse(text).explain(&format!("Invalid {name}"))
}

fn imported(name: &str, text: &str) -> Result<Option<String>> {
    if text.is_empty() {
        return Ok(None);
    }
    parse(name, text).map(|_| Some(text.to_owned()))
}

fn wait(name: &str, text: Option<&str>) -> Result<()> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
    let duration = parse(name, text)?
        .to_std()
        .ok_or_else(|| Diagnostics::error(format!("Invalid {name}"), "It is negative."))?;
    run::sleep(duration)
}

//! `time_static`: a timestamp that does not change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attr, Attribute, Context, Import, Plan, Resource, Result, Schema};

use crate::import_id;
use crate::timestamp::Timestamp;
use crate::timestamp_attributes::{parse, parts, set_planned_parts, set_state_parts, timestamp, triggers};

pub(crate) struct Static;

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct State {
    day: Option<i64>,
    hour: Option<i64>,
    id: Option<String>,
    minute: Option<i64>,
    month: Option<i64>,
    rfc3339: Option<String>,
    second: Option<i64>,
    triggers: Option<BTreeMap<String, Option<String>>>,
    unix: Option<i64>,
    year: Option<i64>,
}

impl Resource for Static {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description(
                "A timestamp that is stored in the state: the time of creation, or a configured one.",
            )
            .attributes(parts("the moment"))
            .attribute(triggers())
            .attribute(
                timestamp("rfc3339")
                    .force_new()
                    .description("The timestamp in RFC 3339 format. Default: the time of creation."),
            )
            .attribute(
                Attribute::string("id")
                    .computed()
                    .use_state_for_unknown()
                    .description("The timestamp in RFC 3339 format."),
            )
    }

    /// Plans the timestamp, which is already known if it is configured.
    fn modify_plan(&self, plan: &mut Plan, _: &mut Context<'_>) -> Result<()> {
        if !plan.is_create() {
            return Ok(());
        }
        let Some(planned) = plan.planned_mut() else { return Ok(()) };
        if let Attr::Known(text) = planned.get::<Attr<String>>("rfc3339")? {
            set_planned_parts(planned, parse("rfc3339", &text)?)?;
            planned.set("id", &text)?;
        }
        Ok(())
    }

    fn create(&self, mut plan: State, _: &mut Context<'_>) -> Result<State> {
        let moment =
            plan.rfc3339.as_deref().map_or_else(|| Ok(Timestamp::now()), |text| parse("rfc3339", text))?;
        let text = plan.rfc3339.take().unwrap_or_else(|| moment.to_string());
        set_state_parts!(plan, moment);
        Ok(State { id: Some(text.clone()), rfc3339: Some(text), ..plan })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let moment = import_id::timestamp(import.id()?)?;
        let text = moment.to_string();
        let mut state = State { id: Some(text.clone()), rfc3339: Some(text), ..State::default() };
        set_state_parts!(state, moment);
        import.set_state(&state)
    }
}

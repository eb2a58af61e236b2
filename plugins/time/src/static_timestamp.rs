//! `time_static`: a timestamp that does not change.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attr, Context, Import, Plan, Resource, Result, Schema};

use crate::import_id;
use crate::timestamp::Timestamp;
use crate::timestamp_attributes::{MomentParts, Triggers, is_timestamp, parse, set_planned_parts};

pub(crate) struct Static;

/// A timestamp that is stored in the state: the time of creation, or a configured one.
#[derive(Default, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    #[serde(flatten)]
    parts: MomentParts,
    triggers: Triggers,
    /// The timestamp in RFC 3339 format. Default: the time of creation.
    #[attr(optional, computed, force_new, validate(self::is_timestamp()))]
    rfc3339: Option<String>,
    /// The timestamp in RFC 3339 format.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for Static {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
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
        Ok(State { parts: moment.into(), id: Some(text.clone()), rfc3339: Some(text), ..plan })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let moment = import_id::timestamp(import.id()?)?;
        let text = moment.to_string();
        import.set_state(&State {
            parts: moment.into(),
            id: Some(text.clone()),
            rfc3339: Some(text),
            ..State::default()
        })
    }
}

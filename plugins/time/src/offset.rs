//! `time_offset`: a timestamp at an offset from a base.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attr, Context, Diagnostics, Import, Object, Plan, Resource, Result, Schema, Update};

use crate::import_id;
use crate::timestamp::Timestamp;
use crate::timestamp_attributes::{
    MomentParts, Triggers, is_timestamp, out_of_range_error, parse, set_planned_parts,
};

pub(crate) struct Offset;

/// A timestamp at an offset from another, stored in the state.
#[derive(Default, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    /// The base timestamp in RFC 3339 format. Default: the time of creation.
    #[attr(optional, computed, validate(self::is_timestamp()))]
    base_rfc3339: Option<String>,
    #[serde(flatten)]
    parts: MomentParts,
    /// The offset in years. At least one of the offsets must be set.
    offset_years: Option<i64>,
    /// The offset in months. At least one of the offsets must be set.
    offset_months: Option<i64>,
    /// The offset in days. At least one of the offsets must be set.
    offset_days: Option<i64>,
    /// The offset in hours. At least one of the offsets must be set.
    offset_hours: Option<i64>,
    /// The offset in minutes. At least one of the offsets must be set.
    offset_minutes: Option<i64>,
    /// The offset in seconds. At least one of the offsets must be set.
    // Only one attribute has the validator, to report the error only once.
    #[attr(validate(at_least_one_of(
        "offset_years",
        "offset_months",
        "offset_days",
        "offset_hours",
        "offset_minutes"
    )))]
    offset_seconds: Option<i64>,
    triggers: Triggers,
    /// The timestamp in RFC 3339 format.
    #[attr(computed)]
    rfc3339: Option<String>,
    /// The base timestamp, in RFC 3339 format.
    #[attr(computed)]
    id: Option<String>,
}

const UNITS: [&str; 6] = ["years", "months", "days", "hours", "minutes", "seconds"];

/// The offset of a timestamp from its base.
#[derive(Clone, Copy, Debug, Default)]
struct Distance {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
}

impl Distance {
    /// Reads the offset from a plan; `None` if one of its values is unknown.
    fn from_plan(planned: &Object) -> Result<Option<Self>> {
        let mut known = [0; 6];
        for (amount, unit) in known.iter_mut().zip(UNITS) {
            match planned.get::<Attr<i64>>(&format!("offset_{unit}"))? {
                Attr::Unknown => return Ok(None),
                Attr::Null => {}
                Attr::Known(value) => *amount = value,
            }
        }
        let [years, months, days, hours, minutes, seconds] = known;
        Ok(Some(Self { years, months, days, hours, minutes, seconds }))
    }

    fn from_state(state: &State) -> Self {
        Self {
            years: state.offset_years.unwrap_or_default(),
            months: state.offset_months.unwrap_or_default(),
            days: state.offset_days.unwrap_or_default(),
            hours: state.offset_hours.unwrap_or_default(),
            minutes: state.offset_minutes.unwrap_or_default(),
            seconds: state.offset_seconds.unwrap_or_default(),
        }
    }

    /// Returns the timestamp at this offset. The order of the additions matters, because months
    /// have different lengths.
    fn from(self, base: Timestamp) -> Result<Timestamp> {
        let sum = || {
            base.plus_date(0, 0, self.days)?
                .plus_seconds(self.hours.checked_mul(3600)?)?
                .plus_seconds(self.minutes.checked_mul(60)?)?
                .plus_date(0, self.months, 0)?
                .plus_seconds(self.seconds)?
                .plus_date(self.years, 0, 0)
        };
        sum().ok_or_else(out_of_range_error)
    }
}

/// Returns the state for the timestamp at the configured offset from `base`. `text` is the base as
/// it was configured.
fn at_distance(state: State, text: String, base: Timestamp) -> Result<State> {
    let moment = Distance::from_state(&state).from(base)?;
    Ok(State {
        parts: moment.into(),
        rfc3339: Some(moment.to_string()),
        id: Some(base.to_string()),
        base_rfc3339: Some(text),
        ..state
    })
}

impl Resource for Offset {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    /// Plans the new timestamp if the offset changes.
    fn modify_plan(&self, plan: &mut Plan, _: &mut Context<'_>) -> Result<()> {
        let is_other = UNITS.iter().any(|unit| plan.is_changed(&format!("offset_{unit}")));
        if !is_other || plan.config().is_some_and(|config| config.is_unknown("base_rfc3339")) {
            return Ok(());
        }
        let before = match plan.prior() {
            Some(prior) => prior.get::<Option<String>>("base_rfc3339")?,
            None => None,
        };
        let Some(planned) = plan.planned_mut() else { return Ok(()) };
        let Some(distance) = Distance::from_plan(planned)? else { return Ok(()) };
        let Some(text) = planned.get::<Attr<String>>("base_rfc3339")?.into_known().or(before) else {
            return Ok(());
        };
        let base = parse("base_rfc3339", &text)?;
        let moment = distance.from(base)?;
        set_planned_parts(planned, moment)?;
        planned.set("rfc3339", &moment.to_string())?;
        planned.set("base_rfc3339", &text)?;
        planned.set("id", &base.to_string())
    }

    fn create(&self, mut plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.base_rfc3339.take().unwrap_or_else(|| Timestamp::now().to_string());
        let base = parse("base_rfc3339", &text)?;
        at_distance(plan, text, base)
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let expected = "BASETIMESTAMP,YEARS,MONTHS,DAYS,HOURS,MINUTES,SECONDS with at least one offset";
        let parts = import_id::split(import)?;
        let [base, offsets @ ..] = parts.as_slice() else { return Err(import.invalid_id(expected)) };
        let [years, months, days, hours, minutes, seconds] = offsets else {
            return Err(import.invalid_id(expected));
        };
        if base.is_empty() || offsets.iter().all(String::is_empty) {
            return Err(import.invalid_id(expected));
        }
        let base = import_id::timestamp(base)?;
        let state = State {
            offset_years: import_id::number(years)?,
            offset_months: import_id::number(months)?,
            offset_days: import_id::number(days)?,
            offset_hours: import_id::number(hours)?,
            offset_minutes: import_id::number(minutes)?,
            offset_seconds: import_id::number(seconds)?,
            ..State::default()
        };
        import.set_state(&at_distance(state, base.to_string(), base)?)
    }
}

impl Update for Offset {
    fn update(&self, prior: State, mut plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.base_rfc3339.take().or(prior.base_rfc3339).ok_or_else(missing_base)?;
        let base = parse("base_rfc3339", &text)?;
        at_distance(plan, text, base)
    }
}

fn missing_base() -> Diagnostics {
    Diagnostics::error("No base", "The state has no base_rfc3339.")
}

//! `time_rotating`: a timestamp that is replaced after its rotation time.

use serde::{Deserialize, Serialize};
use wardian_sdk::{
    Attr, AttributePlan, Context, Diagnostics, Import, Object, Plan, Resource, Result, Schema, Update, log,
};

use crate::import_id;
use crate::timestamp::Timestamp;
use crate::timestamp_attributes::{
    RotationParts, Triggers, is_timestamp, out_of_range_error, parse, set_planned_parts,
};

pub(crate) struct Rotating;

/// A timestamp that is stored in the state until its rotation time: the first run after that
/// replaces the object.
#[derive(Default, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    #[serde(flatten)]
    parts: RotationParts,
    /// The number of years after which the object is replaced. At least one of the rotations must
    /// be set.
    #[attr(validate(range(1..)))]
    rotation_years: Option<i64>,
    /// The number of months after which the object is replaced. At least one of the rotations must
    /// be set.
    #[attr(validate(range(1..)))]
    rotation_months: Option<i64>,
    /// The number of days after which the object is replaced. At least one of the rotations must
    /// be set.
    #[attr(validate(range(1..)))]
    rotation_days: Option<i64>,
    /// The number of hours after which the object is replaced. At least one of the rotations must
    /// be set.
    #[attr(validate(range(1..)))]
    rotation_hours: Option<i64>,
    /// The number of minutes after which the object is replaced. At least one of the rotations must
    /// be set.
    #[attr(validate(range(1..)))]
    rotation_minutes: Option<i64>,
    /// The rotation time in RFC 3339 format.
    #[attr(
        optional,
        computed,
        force_new_if = had_expired,
        validate(
            self::is_timestamp(),
            at_least_one_of("rotation_years", "rotation_months", "rotation_days", "rotation_hours", "rotation_minutes")
        )
    )]
    rotation_rfc3339: Option<String>,
    triggers: Triggers,
    /// The base timestamp in RFC 3339 format. Default: the time of creation.
    #[attr(optional, computed, force_new, validate(self::is_timestamp()))]
    rfc3339: Option<String>,
    /// The base timestamp, in RFC 3339 format.
    #[attr(computed)]
    id: Option<String>,
}

const UNITS: [&str; 5] = ["years", "months", "days", "hours", "minutes"];

/// The configured time of rotation.
#[derive(Clone, Debug, Default)]
struct Rotation {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    at: Option<String>,
}

impl Rotation {
    /// Reads the rotation from a plan; `None` if one of its values is unknown.
    fn from_plan(planned: &Object, config: &Object) -> Result<Option<Self>> {
        let mut known = [0; 5];
        for (amount, unit) in known.iter_mut().zip(UNITS) {
            match planned.get::<Attr<i64>>(&format!("rotation_{unit}"))? {
                Attr::Unknown => return Ok(None),
                Attr::Null => {}
                Attr::Known(value) => *amount = value,
            }
        }
        let at = match config.get::<Attr<String>>("rotation_rfc3339")? {
            Attr::Unknown => return Ok(None),
            at => at.into_known(),
        };
        let [years, months, days, hours, minutes] = known;
        Ok(Some(Self { years, months, days, hours, minutes, at }))
    }

    fn from_state(state: &State) -> Self {
        Self {
            years: state.rotation_years.unwrap_or_default(),
            months: state.rotation_months.unwrap_or_default(),
            days: state.rotation_days.unwrap_or_default(),
            hours: state.rotation_hours.unwrap_or_default(),
            minutes: state.rotation_minutes.unwrap_or_default(),
            at: state.rotation_rfc3339.clone(),
        }
    }

    /// Returns the rotation time and its text. If several arguments are set, the last argument in
    /// this order applies, for compatibility: days, hours, minutes, months, timestamp, years.
    fn after(self, base: Timestamp) -> Result<(Timestamp, String)> {
        let sum = if self.years != 0 {
            base.plus_date(self.years, 0, 0)
        } else if let Some(text) = self.at {
            return Ok((parse("rotation_rfc3339", &text)?, text));
        } else if self.months != 0 {
            base.plus_date(0, self.months, 0)
        } else if self.minutes != 0 {
            self.minutes.checked_mul(60).and_then(|seconds| base.plus_seconds(seconds))
        } else if self.hours != 0 {
            self.hours.checked_mul(3600).and_then(|seconds| base.plus_seconds(seconds))
        } else {
            base.plus_date(0, 0, self.days)
        };
        let moment = sum.ok_or_else(out_of_range_error)?;
        Ok((moment, moment.to_string()))
    }
}

/// Returns the state with all values computed from `base`. `text` is the base as it was configured.
fn rotated(state: State, text: String, base: Timestamp) -> Result<State> {
    let (rotation, rotation_text) = Rotation::from_state(&state).after(base)?;
    Ok(State {
        parts: rotation.into(),
        rotation_rfc3339: Some(rotation_text),
        id: Some(base.to_string()),
        rfc3339: Some(text),
        ..state
    })
}

/// Returns whether the rotation time has passed.
fn is_expired(rotation: &str) -> bool {
    Timestamp::parse(rotation).is_some_and(|rotation| Timestamp::now().is_after(rotation))
}

fn had_expired(change: &AttributePlan<'_>) -> bool {
    change.prior().as_str().is_some_and(is_expired)
}

impl Resource for Rotating {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    /// Plans the new rotation time if the rotation changes.
    fn modify_plan(&self, plan: &mut Plan, _: &mut Context<'_>) -> Result<()> {
        let names = UNITS.iter().map(|unit| format!("rotation_{unit}")).chain(["rotation_rfc3339".into()]);
        let is_other = names.into_iter().any(|name| plan.is_changed(&name));
        let (Some(config), Some(prior)) = (plan.config().cloned(), plan.prior().cloned()) else {
            return Ok(());
        };
        if !is_other || config.is_unknown("rfc3339") {
            return Ok(());
        }
        let Some(planned) = plan.planned_mut() else { return Ok(()) };
        let Some(rotation) = Rotation::from_plan(planned, &config)? else { return Ok(()) };
        let before = prior.get::<Option<String>>("rfc3339")?;
        let Some(text) = planned.get::<Attr<String>>("rfc3339")?.into_known().or(before) else {
            return Ok(());
        };
        let base = parse("rfc3339", &text)?;
        let (moment, rotation_text) = rotation.after(base)?;
        set_planned_parts(planned, moment)?;
        planned.set("rotation_rfc3339", &rotation_text)?;
        planned.set("rfc3339", &text)?;
        planned.set("id", &base.to_string())
    }

    fn create(&self, mut plan: State, _: &mut Context<'_>) -> Result<State> {
        let text = plan.rfc3339.take().unwrap_or_else(|| Timestamp::now().to_string());
        let base = parse("rfc3339", &text)?;
        rotated(plan, text, base)
    }

    /// Returns no object after the rotation time, so the next plan creates a new object.
    fn read(&self, state: State, _: &mut Context<'_>) -> Result<Option<State>> {
        if let Some(text) = state.rotation_rfc3339.as_deref().filter(|text| !text.is_empty()) {
            parse("rotation_rfc3339", text)?;
            if is_expired(text) {
                log::info("the rotation time has passed: removing the object");
                return Ok(None);
            }
        }
        Ok(Some(state))
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let expected = "BASETIMESTAMP,YEARS,MONTHS,DAYS,HOURS,MINUTES with at least one rotation, or \
                        BASETIMESTAMP,ROTATIONTIMESTAMP";
        let parts = import_id::split(import)?;
        let [base_text, rotations @ ..] = parts.as_slice() else { return Err(import.invalid_id(expected)) };
        if base_text.is_empty() || rotations.iter().all(String::is_empty) {
            return Err(import.invalid_id(expected));
        }
        let base = import_id::timestamp(base_text)?;
        let state = match rotations {
            [at] => {
                import_id::timestamp(at)?;
                State { rotation_rfc3339: Some(at.clone()), ..State::default() }
            }
            [years, months, days, hours, minutes] => State {
                rotation_years: import_id::number(years)?,
                rotation_months: import_id::number(months)?,
                rotation_days: import_id::number(days)?,
                rotation_hours: import_id::number(hours)?,
                rotation_minutes: import_id::number(minutes)?,
                ..State::default()
            },
            _ => return Err(import.invalid_id(expected)),
        };
        import.set_state(&rotated(state, base.to_string(), base)?)
    }
}

impl Update for Rotating {
    fn update(&self, prior: State, mut plan: State, context: &mut Context<'_>) -> Result<State> {
        let text = plan.rfc3339.take().or(prior.rfc3339).ok_or_else(missing_base)?;
        let base = parse("rfc3339", &text)?;
        // The planned timestamp can be computed from the other arguments.
        if let Some(config) = context.config() {
            plan.rotation_rfc3339 = config.get("rotation_rfc3339")?;
        }
        rotated(plan, text, base)
    }
}

fn missing_base() -> Diagnostics {
    Diagnostics::error("No base", "The state has no rfc3339.")
}

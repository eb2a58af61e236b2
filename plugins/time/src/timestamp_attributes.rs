//! Defines the attributes that contain the components of a timestamp.

use wardian_sdk::{Attribute, Diagnostic, Object, Result, Type, validate};

use crate::timestamp::Timestamp;

/// Returns the attributes `day`, `hour`, `minute`, `month`, `second`, `unix` and `year`, described
/// as components of `what`.
pub(crate) fn parts(what: &str) -> Vec<Attribute> {
    ["day", "hour", "minute", "month", "second", "year"]
        .into_iter()
        .map(|part| Attribute::number(part).computed().description(format!("The {part} of {what}.")))
        .chain([Attribute::number("unix")
            .computed()
            .description(format!("The number of seconds from 1970-01-01T00:00:00Z to {what}."))])
        .collect()
}

pub(crate) fn triggers() -> Attribute {
    Attribute::map("triggers", Type::String)
        .force_new()
        .description("Arbitrary strings. Changing one replaces the object.")
}

/// Returns an optional, computed attribute for an RFC 3339 timestamp.
pub(crate) fn timestamp(name: &str) -> Attribute {
    Attribute::string(name)
        .optional()
        .computed()
        .validate(validate::matches("must be an RFC 3339 timestamp, such as 2020-02-12T06:36:13Z", |text| {
            Timestamp::parse(text).is_some()
        }))
}

/// Plans the components of a timestamp.
pub(crate) fn set_planned_parts(planned: &mut Object, moment: Timestamp) -> Result<()> {
    let civil = moment.civil();
    planned.set("year", &civil.year)?;
    planned.set("month", &civil.month)?;
    planned.set("day", &civil.day)?;
    planned.set("hour", &civil.hour)?;
    planned.set("minute", &civil.minute)?;
    planned.set("second", &civil.second)?;
    planned.set("unix", &moment.unix())
}

/// Sets the fields of a state to the components of a timestamp.
macro_rules! set_state_parts {
    ($state:expr, $moment:expr) => {{
        let civil = $moment.civil();
        $state.year = Some(civil.year);
        $state.month = Some(civil.month);
        $state.day = Some(civil.day);
        $state.hour = Some(civil.hour);
        $state.minute = Some(civil.minute);
        $state.second = Some(civil.second);
        $state.unix = Some($moment.unix());
    }};
}
pub(crate) use set_state_parts;

pub(crate) fn parse(attribute: &str, text: &str) -> Result<Timestamp> {
    Timestamp::parse(text).ok_or_else(|| {
        Diagnostic::error(
            "Invalid timestamp",
            format!("The value of {attribute} is not an RFC 3339 timestamp: {text:?}"),
        )
        .at_attribute(attribute)
        .into()
    })
}

/// Returns the error for a sum outside of the supported years.
pub(crate) fn out_of_range_error() -> wardian_sdk::Diagnostics {
    wardian_sdk::Diagnostics::error("Timestamp out of range", "The resulting year has more than six digits.")
}

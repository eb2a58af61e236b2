//! The attributes in which resources show a moment in parts.

use wardian_sdk::{Attribute, Diagnostic, Object, Result, Type, validate};

use crate::moment::Moment;

/// `day`, `hour`, `minute`, `month`, `second`, `unix` and `year` of what is called
/// `what`.
pub(crate) fn parts(what: &str) -> Vec<Attribute> {
    ["day", "hour", "minute", "month", "second", "year"]
        .into_iter()
        .map(|part| Attribute::number(part).computed().description(format!("The {part} of {what}.")))
        .chain([Attribute::number("unix")
            .computed()
            .description(format!("The seconds from 1970-01-01T00:00:00Z to {what}."))])
        .collect()
}

/// `triggers`.
pub(crate) fn triggers() -> Attribute {
    Attribute::map("triggers", Type::String)
        .force_new()
        .description("Strings of any meaning. A change of them replaces the object.")
}

/// A timestamp of RFC 3339 that may be configured.
pub(crate) fn timestamp(name: &str) -> Attribute {
    Attribute::string(name).optional().computed().validate(validate::matches(
        "must be a timestamp of RFC 3339, such as 2020-02-12T06:36:13Z",
        |text| Moment::parse(text).is_some(),
    ))
}

/// Plans the parts of a moment.
pub(crate) fn plan_parts(planned: &mut Object, moment: Moment) -> Result<()> {
    let civil = moment.civil();
    planned.set("year", &civil.year)?;
    planned.set("month", &civil.month)?;
    planned.set("day", &civil.day)?;
    planned.set("hour", &civil.hour)?;
    planned.set("minute", &civil.minute)?;
    planned.set("second", &civil.second)?;
    planned.set("unix", &moment.unix())
}

/// Sets the fields of a state that show a moment in parts.
macro_rules! set_parts {
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
pub(crate) use set_parts;

/// Reads a timestamp that an attribute holds.
pub(crate) fn parse(attribute: &str, text: &str) -> Result<Moment> {
    Moment::parse(text).ok_or_else(|| {
        Diagnostic::error(
            "Invalid timestamp",
            format!("The value of {attribute} is not a timestamp of RFC 3339: {text:?}"),
        )
        .at_attribute(attribute)
        .into()
    })
}

/// The error for a sum of which nobody can mean the result.
pub(crate) fn out_of_range() -> wardian_sdk::Diagnostics {
    wardian_sdk::Diagnostics::error("Timestamp out of range", "The resulting year has more than six digits.")
}

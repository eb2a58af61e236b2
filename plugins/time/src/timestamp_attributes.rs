//! Defines the attributes that contain the components of a timestamp.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::validate::{self, Validator};
use wardian_sdk::{Attribute, AttributeShape, AttributeType, Diagnostic, Object, Result};

use crate::timestamp::Timestamp;

/// Declares a struct with the components of a timestamp, described as components of `$what`, which
/// states contain through `#[serde(flatten)]`.
macro_rules! timestamp_parts {
    ($name:ident, $what:literal) => {
        #[derive(Default, serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
        #[schema(shared, computed)]
        pub(crate) struct $name {
            #[doc = concat!("The day of ", $what, ".")]
            day: Option<i64>,
            #[doc = concat!("The hour of ", $what, ".")]
            hour: Option<i64>,
            #[doc = concat!("The minute of ", $what, ".")]
            minute: Option<i64>,
            #[doc = concat!("The month of ", $what, ".")]
            month: Option<i64>,
            #[doc = concat!("The second of ", $what, ".")]
            second: Option<i64>,
            #[doc = concat!("The year of ", $what, ".")]
            year: Option<i64>,
            #[doc = concat!("The number of seconds from 1970-01-01T00:00:00Z to ", $what, ".")]
            unix: Option<i64>,
        }

        impl From<Timestamp> for $name {
            fn from(moment: Timestamp) -> Self {
                let civil = moment.civil();
                Self {
                    day: Some(civil.day),
                    hour: Some(civil.hour),
                    minute: Some(civil.minute),
                    month: Some(civil.month),
                    second: Some(civil.second),
                    year: Some(civil.year),
                    unix: Some(moment.unix()),
                }
            }
        }
    };
}

timestamp_parts!(MomentParts, "the moment");
timestamp_parts!(RotationParts, "the rotation");

/// The attribute `triggers`, which every resource has.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Triggers(pub(crate) Option<BTreeMap<String, Option<String>>>);

impl AttributeType for Triggers {
    const ACCEPTS_NULL: bool = true;

    fn shape() -> AttributeShape {
        BTreeMap::<String, String>::shape()
    }

    fn configure(attribute: Attribute) -> Attribute {
        attribute.force_new().description("Arbitrary strings. Changing one replaces the object.")
    }
}

/// Requires a timestamp in RFC 3339 format.
pub(crate) fn is_timestamp() -> Validator {
    validate::matches("must be an RFC 3339 timestamp, such as 2020-02-12T06:36:13Z", |text| {
        Timestamp::parse(text).is_some()
    })
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

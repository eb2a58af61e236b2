//! Defines the arguments that determine the characters of `random_string`, and of the resource and
//! the ephemeral resource `random_password`.

use wardian_sdk::validate::{self, Validator};
use wardian_sdk::{Attribute, AttributePlan, Diagnostics, Result, Value};

use crate::keepers;

/// The minimum number of characters from each class. `length` must be at least their sum.
const MINIMUMS: [&str; 4] = ["min_upper", "min_lower", "min_numeric", "min_special"];

/// Declares a state with these arguments and additional attributes.
macro_rules! string_state {
    ($(#[$attribute:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$attribute])*
        #[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
        pub(crate) struct $name {
            pub(crate) length: Option<i64>,
            pub(crate) upper: Option<bool>,
            pub(crate) min_upper: Option<i64>,
            pub(crate) lower: Option<bool>,
            pub(crate) min_lower: Option<i64>,
            pub(crate) numeric: Option<bool>,
            pub(crate) min_numeric: Option<i64>,
            pub(crate) special: Option<bool>,
            pub(crate) min_special: Option<i64>,
            pub(crate) override_special: Option<String>,
            $(pub(crate) $field: $type,)*
        }

        impl $name {
            /// Replaces null with the default values.
            pub(crate) fn fill_defaults(&mut self) {
                for enabled in [&mut self.upper, &mut self.lower, &mut self.numeric, &mut self.special] {
                    enabled.get_or_insert(true);
                }
                let minimums =
                    [&mut self.min_upper, &mut self.min_lower, &mut self.min_numeric, &mut self.min_special];
                for minimum in minimums {
                    minimum.get_or_insert(0);
                }
            }

            pub(crate) fn rules(&self) -> crate::characters::StringRules {
                let class = |allowed: Option<bool>, minimum: Option<i64>| crate::characters::CharacterClass {
                    allowed: allowed.unwrap_or(true),
                    minimum: minimum.unwrap_or_default(),
                };
                crate::characters::StringRules {
                    length: self.length.unwrap_or_default(),
                    upper: class(self.upper, self.min_upper),
                    lower: class(self.lower, self.min_lower),
                    numeric: class(self.numeric, self.min_numeric),
                    special: class(self.special, self.min_special),
                    override_special: self.override_special.clone().unwrap_or_default(),
                }
            }
        }
    };
}
pub(crate) use string_state;

/// Returns the arguments of a managed resource. Each has a default value, and a change replaces the
/// object.
pub(crate) fn managed() -> impl Iterator<Item = Attribute> {
    let synced = |attribute: Attribute| attribute.optional().computed().modify_plan(sync_number_and_numeric);
    let mut arguments = vec![
        keepers::attribute(),
        synced(
            Attribute::bool("number")
                .validate(any_class_enabled())
                .description("The previous name of `numeric`.")
                .deprecated("Use `numeric` instead."),
        )
        .force_new(),
    ];
    arguments.extend(all().map(|attribute| match attribute.name() {
        "numeric" => synced(attribute).force_new(),
        "override_special" => attribute.force_new_if(|change| !changes_only_empty_to_null(change)),
        "length" => attribute.force_new(),
        name if MINIMUMS.contains(&name) => attribute.default(0_i64).force_new(),
        _ => attribute.default(true).force_new(),
    }));
    arguments.into_iter()
}

/// Returns the arguments of an ephemeral resource, which sets the default values itself.
pub(crate) fn ephemeral() -> impl Iterator<Item = Attribute> {
    all().map(|attribute| match attribute.name() {
        "length" | "override_special" => attribute,
        _ => attribute.optional().computed(),
    })
}

/// Returns the arguments without default values and plan modifiers.
fn all() -> impl Iterator<Item = Attribute> {
    let enabled = |name: &str, what: &str| {
        let text = format!("Whether the text may contain {what}. Default: true.");
        Attribute::bool(name).description(text)
    };
    let minimum = |name: &str, what: &str| {
        let text = format!("The minimum number of {what}. Default: 0.");
        Attribute::integer(name).description(text)
    };
    [
        Attribute::integer("length")
            .required()
            .validate(validate::range(1..))
            .validate(length_covers_minimums())
            .description("The number of characters, at least 1 and at least the sum of the four minimums."),
        enabled("upper", "upper-case letters"),
        minimum("min_upper", "upper-case letters"),
        enabled("lower", "lower-case letters"),
        minimum("min_lower", "lower-case letters"),
        enabled("numeric", "digits").validate(any_class_enabled()),
        minimum("min_numeric", "digits"),
        enabled("special", "special characters, which are `!@#$%&*()-_=+[]{}<>:?`"),
        minimum("min_special", "special characters"),
        Attribute::string("override_special")
            .description("Special characters that replace the default ones."),
    ]
    .into_iter()
}

/// Requires that `length` is at least the sum of the minimums. Unknown minimums count as zero.
fn length_covers_minimums() -> Validator {
    validate::custom_with_context(|check, diagnostics| {
        let whole = |value: &Value| value.as_number().and_then(|number| number.as_i64());
        let Some(length) = whole(check.value()) else { return };
        let claimed = MINIMUMS
            .iter()
            .filter_map(|name| check.sibling(name).and_then(whole))
            .fold(0_i64, i64::saturating_add);
        if length < claimed {
            let sum = MINIMUMS.join(" + ");
            diagnostics.push(check.invalid_value(format!("must be at least {sum}, which is {claimed}")));
        }
    })
}

/// Requires that at least one class of characters is enabled. A class that is not configured is
/// enabled.
fn any_class_enabled() -> Validator {
    validate::custom_with_context(|check, diagnostics| {
        let is_off = |value: &Value| value.as_bool() == Some(false);
        let others = ["special", "upper", "lower"];
        let all_off =
            is_off(check.value()) && others.iter().all(|name| check.sibling(name).is_some_and(is_off));
        if all_off {
            let detail = "At least one of special, upper, lower and numeric must be true.";
            diagnostics.push(check.invalid_combination(detail));
        }
    })
}

/// Plans `number` and `numeric`, which are two names for the same argument. If one of them is
/// configured, its value applies to both.
fn sync_number_and_numeric(change: &mut AttributePlan<'_>) -> Result<()> {
    let configured = |name: &str| change.root_config().get(name).filter(|value| !value.is_null()).cloned();
    let planned = match (configured("number"), configured("numeric")) {
        (Some(number), Some(numeric)) => {
            if number.is_known() && numeric.is_known() && number != numeric {
                return Err(Diagnostics::error(
                    "number and numeric contradict each other",
                    "Both are configured, with different values. number is the deprecated name of numeric: \
                     configure numeric only.",
                ));
            }
            return Ok(());
        }
        (Some(configured), None) | (None, Some(configured)) => configured,
        (None, None) => Value::bool(true),
    };
    change.set_value(planned);
    Ok(())
}

/// Sets `numeric` of a stored state to the value of `number`.
pub(crate) fn copy_number_to_numeric(number: &mut Option<bool>, numeric: &mut Option<bool>) {
    *numeric = Some(*number.get_or_insert(true));
}

/// Sets a missing `length` of a stored state to the length of its text in bytes.
pub(crate) fn fill_length(length: &mut Option<i64>, text: Option<&str>) {
    if length.is_none() {
        *length = i64::try_from(text.unwrap_or_default().len()).ok();
    }
}

/// Returns whether the change is only from "" to null, since version 3.4.2 stored "" if nothing was
/// configured.
fn changes_only_empty_to_null(change: &AttributePlan<'_>) -> bool {
    change.config().is_null() && change.prior().as_str() == Some("")
}

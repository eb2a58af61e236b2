//! Defines the arguments that determine the characters of `random_string`, and of the resource and
//! the ephemeral resource `random_password`.

use wardian_sdk::validate::{self, Validator};
use wardian_sdk::{AttributePlan, Diagnostics, Result, Value};

/// The minimum number of characters from each class. `length` must be at least their sum.
const MINIMUMS: [&str; 4] = ["min_upper", "min_lower", "min_numeric", "min_special"];

/// Declares a state with these arguments and their options, and attributes before and after them.
macro_rules! string_state {
    (
        $(#[$attribute:meta])*
        $name:ident
        enabled($($enabled:tt)*)
        minimum($($minimum:tt)*)
        numeric($($numeric:tt)*)
        length($($length:tt)*)
        override_special($($override_special:tt)*)
        { $($(#[$before_attribute:meta])* $before:ident: $before_type:ty),* $(,)? }
        { $($(#[$after_attribute:meta])* $after:ident: $after_type:ty),* $(,)? }
    ) => {
        #[derive(Debug, Default, serde::Serialize, serde::Deserialize, Schema)]
        $(#[$attribute])*
        pub(crate) struct $name {
            $($(#[$before_attribute])* pub(crate) $before: $before_type,)*
            /// The number of characters, at least 1 and at least the sum of the four minimums.
            #[attr(required, nullable)]
            #[attr(validate(range(1..), crate::string_arguments::length_covers_minimums()))]
            #[attr($($length)*)]
            pub(crate) length: Option<i64>,
            /// Whether the text may contain upper-case letters. Default: true.
            #[attr($($enabled)*)]
            pub(crate) upper: Option<bool>,
            /// The minimum number of upper-case letters. Default: 0.
            #[attr($($minimum)*)]
            pub(crate) min_upper: Option<i64>,
            /// Whether the text may contain lower-case letters. Default: true.
            #[attr($($enabled)*)]
            pub(crate) lower: Option<bool>,
            /// The minimum number of lower-case letters. Default: 0.
            #[attr($($minimum)*)]
            pub(crate) min_lower: Option<i64>,
            /// Whether the text may contain digits. Default: true.
            #[attr(validate(crate::string_arguments::any_class_enabled()))]
            #[attr($($numeric)*)]
            pub(crate) numeric: Option<bool>,
            /// The minimum number of digits. Default: 0.
            #[attr($($minimum)*)]
            pub(crate) min_numeric: Option<i64>,
            /// Whether the text may contain special characters, which are `!@#$%&*()-_=+[]{}<>:?`. Default: true.
            #[attr($($enabled)*)]
            pub(crate) special: Option<bool>,
            /// The minimum number of special characters. Default: 0.
            #[attr($($minimum)*)]
            pub(crate) min_special: Option<i64>,
            /// Special characters that replace the default ones.
            #[attr($($override_special)*)]
            pub(crate) override_special: Option<String>,
            $($(#[$after_attribute])* pub(crate) $after: $after_type,)*
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

/// Requires that `length` is at least the sum of the minimums. Unknown minimums count as zero.
pub(crate) fn length_covers_minimums() -> Validator {
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
pub(crate) fn any_class_enabled() -> Validator {
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
pub(crate) fn sync_number_and_numeric(change: &mut AttributePlan<'_>) -> Result<()> {
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

/// Returns whether the change is not only from "" to null, since version 3.4.2 stored "" if nothing
/// was configured.
pub(crate) fn changes_more_than_empty_to_null(change: &AttributePlan<'_>) -> bool {
    !change.config().is_null() || change.prior().as_str() != Some("")
}

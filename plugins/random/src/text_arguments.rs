//! What `random_string` and both forms of `random_password` have in common:
//! the arguments that say which characters the text has.

use wardian_sdk::validate::{self, Validator};
use wardian_sdk::{Attribute, AttributeChange, Diagnostics, Result, Value};

use crate::keepers;

/// The minimums that `length` must have room for.
const MINIMUMS: [&str; 4] = ["min_upper", "min_lower", "min_numeric", "min_special"];

/// Declares a state with the arguments and further attributes, and its recipe.
macro_rules! text_state {
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
            /// Puts defaults in place of what is null.
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

            /// The text to generate.
            pub(crate) fn recipe(&self) -> crate::characters::Recipe {
                let kind = |allowed: Option<bool>, minimum: Option<i64>| crate::characters::Kind {
                    allowed: allowed.unwrap_or(true),
                    minimum: minimum.unwrap_or_default(),
                };
                crate::characters::Recipe {
                    length: self.length.unwrap_or_default(),
                    upper: kind(self.upper, self.min_upper),
                    lower: kind(self.lower, self.min_lower),
                    numeric: kind(self.numeric, self.min_numeric),
                    special: kind(self.special, self.min_special),
                    override_special: self.override_special.clone().unwrap_or_default(),
                }
            }
        }
    };
}
pub(crate) use text_state;

/// The arguments of a managed resource: each with its default, a change of any
/// of them replaces the text.
pub(crate) fn managed() -> impl Iterator<Item = Attribute> {
    let in_step = |attribute: Attribute| attribute.optional().computed().modify_plan(keep_in_step);
    let mut arguments = vec![
        keepers::attribute(),
        in_step(
            Attribute::bool("number")
                .validate(not_all_off())
                .description("The former name of `numeric`.")
                .deprecated("Use `numeric` instead."),
        )
        .force_new(),
    ];
    arguments.extend(all().map(|attribute| match attribute.name() {
        "numeric" => in_step(attribute).force_new(),
        "override_special" => attribute.force_new_if(|change| !is_empty_to_null(change)),
        "length" => attribute.force_new(),
        name if MINIMUMS.contains(&name) => attribute.default(0_i64).force_new(),
        _ => attribute.default(true).force_new(),
    }));
    arguments.into_iter()
}

/// The arguments of an ephemeral resource, which fills in defaults by itself.
pub(crate) fn ephemeral() -> impl Iterator<Item = Attribute> {
    all().map(|attribute| match attribute.name() {
        "length" | "override_special" => attribute,
        _ => attribute.optional().computed(),
    })
}

/// The arguments without defaults and plan modifiers.
fn all() -> impl Iterator<Item = Attribute> {
    let enabled = |name: &str, what: &str| {
        let text = format!("Whether the text may have {what}; true unless set.");
        Attribute::bool(name).description(text)
    };
    let minimum = |name: &str, what: &str| {
        let text = format!("How many {what} the text has at least; 0 unless set.");
        Attribute::integer(name).description(text)
    };
    [
        Attribute::integer("length")
            .required()
            .validate(validate::range(1..))
            .validate(room_for_minimums())
            .description("How many characters, at least 1 and at least the sum of the four minimums."),
        enabled("upper", "upper-case letters"),
        minimum("min_upper", "upper-case letters"),
        enabled("lower", "lower-case letters"),
        minimum("min_lower", "lower-case letters"),
        enabled("numeric", "digits").validate(not_all_off()),
        minimum("min_numeric", "digits"),
        enabled("special", "special characters, which are `!@#$%&*()-_=+[]{}<>:?`"),
        minimum("min_special", "special characters"),
        Attribute::string("override_special")
            .description("Special characters to use in place of the usual ones, where `special` allows any."),
    ]
    .into_iter()
}

/// `length` must have room for all minimums. Those that are not known yet
/// count as zero.
fn room_for_minimums() -> Validator {
    validate::any(|check, diagnostics| {
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

/// A text needs some kind of character: all of them configured to be off is
/// refused. One that is not configured is on.
fn not_all_off() -> Validator {
    validate::any(|check, diagnostics| {
        let is_off = |value: &Value| value.as_bool() == Some(false);
        let others = ["special", "upper", "lower"];
        let all_off =
            is_off(check.value()) && others.iter().all(|name| check.sibling(name).is_some_and(is_off));
        if all_off {
            let detail = "At least one of special, upper, lower and numeric has to be true.";
            diagnostics.push(check.invalid_combination(detail));
        }
    })
}

/// `number` and `numeric` are two names of one thing: what is configured under
/// either holds for both.
fn keep_in_step(change: &mut AttributeChange<'_>) -> Result<()> {
    let configured = |name: &str| change.root_config().get(name).filter(|value| !value.is_null()).cloned();
    let planned = match (configured("number"), configured("numeric")) {
        (Some(number), Some(numeric)) => {
            if number.is_known() && numeric.is_known() && number != numeric {
                return Err(Diagnostics::error(
                    "number and numeric contradict each other",
                    "Both are configured, with different values. number is the deprecated name of numeric: \
                     configure numeric alone.",
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

/// Makes `numeric` of a stored state what `number` is.
pub(crate) fn agree(number: &mut Option<bool>, numeric: &mut Option<bool>) {
    *numeric = Some(*number.get_or_insert(true));
}

/// Gives a stored state without `length` that of its text, in bytes.
pub(crate) fn measure(length: &mut Option<i64>, text: Option<&str>) {
    if length.is_none() {
        *length = i64::try_from(text.unwrap_or_default().len()).ok();
    }
}

/// Version 3.4.2 stored an empty text where nothing was configured.
fn is_empty_to_null(change: &AttributeChange<'_>) -> bool {
    change.config().is_null() && change.prior().as_str() == Some("")
}

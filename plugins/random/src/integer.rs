//! `random_integer`: a number in a range.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Diagnostics, Explain as _, Import, Resource, Result, Schema, Update};

use crate::entropy;
use crate::keepers::Keepers;
use crate::seeded::SeededNumbers;

pub(crate) struct RandomInteger;

/// A random whole number between `min` and `max`, inclusive.
#[derive(Debug, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    keepers: Keepers,
    /// The smallest possible number.
    #[attr(force_new)]
    min: i64,
    /// The largest possible number.
    #[attr(force_new)]
    max: i64,
    /// The seed of the number generator: the same seed gives the same number.
    #[attr(force_new)]
    seed: Option<String>,
    /// The number.
    #[attr(computed, use_state_for_unknown)]
    result: Option<i64>,
    /// The number in decimal.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for RandomInteger {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let number = draw(plan.min, plan.max, plan.seed.as_deref())?;
        Ok(State { result: Some(number), id: Some(number.to_string()), ..plan })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let invalid = || import.invalid_id("result,min,max or result,min,max,seed with whole numbers");
        let parts: Vec<&str> = import.id()?.split(',').collect();
        let ([result, min, max] | [result, min, max, _]) = parts[..] else {
            return Err(invalid());
        };
        let number = |text: &str| text.parse::<i64>().map_err(|_| invalid());
        let state = State {
            keepers: Keepers::default(),
            min: number(min)?,
            max: number(max)?,
            seed: parts.get(3).map(|seed| (*seed).to_owned()),
            result: Some(number(result)?),
            id: Some(result.to_owned()),
        };
        import.set_state(&state)
    }
}

impl Update for RandomInteger {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

fn draw(min: i64, max: i64, seed: Option<&str>) -> Result<i64> {
    if max < min {
        let detail = format!("min ({min}) must not be greater than max ({max}).");
        return Err(Diagnostics::error("Empty range of numbers", detail));
    }
    let last = max.abs_diff(min);
    let count = last.checked_add(1).filter(|count| i64::try_from(*count).is_ok()).ok_or_else(|| {
        let detail = format!("There are more than 2^63 - 1 numbers between {min} and {max}.");
        Diagnostics::error("Range of numbers too wide", detail)
    })?;
    let offset = match seed {
        Some(seed) if !seed.is_empty() => SeededNumbers::from_text(seed).below(count),
        _ => entropy::random_below(count).explain("Number not generated")?,
    };
    Ok(min.wrapping_add_unsigned(offset))
}

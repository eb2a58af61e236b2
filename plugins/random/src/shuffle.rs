//! `random_shuffle`: a list in random order.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Diagnostics, Explain as _, Resource, Result, Schema, Update};

use crate::entropy::{self, EntropyError};
use crate::keepers::Keepers;
use crate::seeded::SeededNumbers;

pub(crate) struct RandomShuffle;

/// The elements of a list of strings in random order.
#[derive(Debug, Serialize, Deserialize, Schema)]
pub(crate) struct State {
    keepers: Keepers,
    /// The seed of the number generator: the same seed gives the same order of the same list.
    #[attr(force_new)]
    seed: Option<String>,
    /// The elements.
    #[attr(force_new)]
    input: Vec<Option<String>>,
    /// The number of results. If it is smaller than the number of inputs, some inputs are omitted;
    /// if it is larger, inputs are repeated; each input occurs once before any of them is repeated.
    /// Default: the number of inputs.
    #[attr(force_new)]
    result_count: Option<i64>,
    /// The elements in random order.
    #[attr(computed, use_state_for_unknown)]
    result: Option<Vec<Option<String>>>,
    /// Always `-`; not intended for use in configurations.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for RandomShuffle {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        const MAX_RESULTS: usize = 10_000_000;
        let input = plan.input.as_slice();
        let count = match plan.result_count {
            None | Some(0) => Some(input.len()),
            Some(count) => usize::try_from(count).ok().filter(|count| *count <= MAX_RESULTS),
        };
        let count = count.ok_or_else(|| {
            let detail = format!("result_count must be between 0 and {MAX_RESULTS}.");
            Diagnostics::error("Number of results out of range", detail)
        })?;
        let result = shuffled(input, count, plan.seed.as_deref()).explain("Order not generated")?;
        Ok(State { result: Some(result), id: Some("-".to_owned()), ..plan })
    }
}

impl Update for RandomShuffle {
    fn update(&self, _: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

fn shuffled<T: Clone>(input: &[T], count: usize, seed: Option<&str>) -> Result<Vec<T>, EntropyError> {
    let mut seeded = seed.filter(|seed| !seed.is_empty()).map(SeededNumbers::from_text);
    let mut result = Vec::new();
    while result.len() < count && !input.is_empty() {
        let order = match &mut seeded {
            Some(numbers) => numbers.permutation(input.len()),
            None => {
                let mut order: Vec<usize> = (0..input.len()).collect();
                entropy::shuffle(&mut order)?;
                order
            }
        };
        let missing = count - result.len();
        result.extend(order.into_iter().take(missing).map(|position| input[position].clone()));
    }
    Ok(result)
}

//! `random_shuffle`: a list in random order.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, Context, Diagnostics, Explain as _, Resource, Result, Schema, Type, Update};

use crate::entropy::{self, EntropyError};
use crate::keepers::{self, Keepers};
use crate::seeded::SeededNumbers;

pub(crate) struct RandomShuffle;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    keepers: Keepers,
    seed: Option<String>,
    input: Option<Vec<Option<String>>>,
    result_count: Option<i64>,
    result: Option<Vec<Option<String>>>,
    id: Option<String>,
}

impl Resource for RandomShuffle {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("The elements of a list of strings in random order.")
            .attribute(keepers::attribute())
            .attribute(Attribute::string("seed").force_new().description(
                "The seed of the number generator: the same seed gives the same order of the same list.",
            ))
            .attribute(
                Attribute::list("input", Type::String).required().force_new().description("The elements."),
            )
            .attribute(Attribute::integer("result_count").force_new().description(
                "The number of results. If it is smaller than the number of inputs, some inputs are \
                 omitted; if it is larger, inputs are repeated; each input occurs once before any of them \
                 is repeated. Default: the number of inputs.",
            ))
            .attribute(
                Attribute::list("result", Type::String)
                    .computed()
                    .use_state_for_unknown()
                    .description("The elements in random order."),
            )
            .attribute(
                Attribute::string("id")
                    .computed()
                    .use_state_for_unknown()
                    .description("Always `-`; not intended for use in configurations."),
            )
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        const MAX_RESULTS: usize = 10_000_000;
        let input = plan.input.as_deref().unwrap_or_default();
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

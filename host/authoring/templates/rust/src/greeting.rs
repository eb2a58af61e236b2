//! `@@name@@_greeting`: a data source.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, DataSource, Result, Schema};

pub(crate) const TYPE: &str = "@@name@@_greeting";

pub(crate) struct Greeting;

/// A greeting.
#[derive(Serialize, Deserialize, Schema)]
pub(crate) struct State {
    /// The name of the person to greet.
    #[attr(validate(length(1..)))]
    name: String,
    /// The greeting.
    #[attr(computed)]
    text: Option<String>,
}

impl DataSource for Greeting {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn read(&self, config: State, _: &mut Context<'_>) -> Result<State> {
        let text = format!("Hello, {}!", config.name);
        Ok(State {
            text: Some(text),
            ..config
        })
    }
}

#[cfg(test)]
mod tests {
    use wardian_sdk::testing::{ProviderHarness, hcl};

    use super::TYPE;

    #[test]
    fn greeting_contains_the_name() {
        let harness = ProviderHarness::new(crate::provider());
        let config = hcl(r#"name = "Ada""#);
        let greeting = harness.read_data_source(TYPE, config).unwrap();
        assert_eq!(greeting.get::<String>("text").unwrap(), "Hello, Ada!");
    }
}

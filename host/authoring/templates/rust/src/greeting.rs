//! `@@name@@_greeting`: a data source.

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, Context, DataSource, Result, Schema, validate};

pub(crate) struct Greeting;

#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    name: String,
    text: Option<String>,
}

impl DataSource for Greeting {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("A greeting.")
            .attribute(
                Attribute::string("name")
                    .required()
                    .validate(validate::length(1..))
                    .description("The name of the person to greet."),
            )
            .attribute(Attribute::string("text").computed().description("The greeting."))
    }

    fn read(&self, config: State, _: &mut Context<'_>) -> Result<State> {
        let text = format!("Hello, {}!", config.name);
        Ok(State { text: Some(text), ..config })
    }
}

#[cfg(test)]
mod tests {
    use wardian_sdk::testing::{ProviderHarness, hcl};

    #[test]
    fn greeting_contains_the_name() {
        let harness = ProviderHarness::new(crate::provider());
        let greeting = harness.read_data_source("@@name@@_greeting", hcl(r#"name = "Ada""#)).unwrap();
        assert_eq!(greeting.get::<String>("text").unwrap(), "Hello, Ada!");
    }
}

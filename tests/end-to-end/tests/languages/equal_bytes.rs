//! Schemas, plans and states that are equal byte for byte in all languages.

use regex::Regex;

use crate::provider::{Language, Provider};

/// The configuration with every kind of attribute.
const CONFIGURATION: &str = include_str!("cases/lifecycle/1.tf");

/// What the commands of one provider print and store.
#[derive(PartialEq)]
struct Results {
    schema: String,
    plan: String,
    state: String,
}

fn results(provider: &Provider) -> Results {
    let project = provider.project();
    project.write("main.tf", CONFIGURATION);
    let schema = project.run("providers schema -json").success().out;
    project.run("plan -input=false -out=plan.saved").success();
    let plan = project.run("show -json plan.saved").success().out;
    project.run("apply -input=false plan.saved").success();
    let state = project.read("terraform.tfstate");
    // The time of a plan and the lineage of a state are different in each run.
    let own = Regex::new("\"(timestamp|lineage)\": ?\"[^\"]+\"").unwrap();
    assert!(own.is_match(&plan) && own.is_match(&state), "{plan}\n{state}");
    let without_own = |text: &str| own.replace_all(text, "").into_owned();
    Results { schema, plan: without_own(&plan), state: without_own(&state) }
}

#[test]
fn schemas_plans_and_states_have_the_same_bytes() {
    let mut first: Option<(Language, Results)> = None;
    for language in Language::ALL {
        let Some(provider) = Provider::find(language) else { continue };
        let found = results(&provider);
        let Some((first_language, expected)) = &first else {
            first = Some((language, found));
            continue;
        };
        for (what, one, other) in [
            ("schema", &expected.schema, &found.schema),
            ("plan", &expected.plan, &found.plan),
            ("state", &expected.state, &found.state),
        ] {
            assert!(one == other, "the {what} in {first_language} and {language}:\n{one}\n{other}");
        }
    }
    assert!(first.is_some(), "no provider was found");
}

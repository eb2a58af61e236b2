//! Values, locks and rates that the instances of a provider share.

use crate::provider::{ADDRESS, Language, Provider};

#[test]
fn concurrent_calls_share_values_and_locks() {
    let configuration = format!(
        "terraform {{\n  required_providers {{\n    inventory = {{\n      source = \"{ADDRESS}\"\n    }}\n  }}\n}}\n\n\
         data \"inventory_ticket\" \"a\" {{\n  count = 40\n  queue = \"a\"\n}}\n\n\
         data \"inventory_ticket\" \"b\" {{\n  queue = \"b\"\n}}\n\n\
         output \"numbers\" {{\n  value = concat([tostring(data.inventory_ticket.b.number)], \
         sort([for one in data.inventory_ticket.a : format(\"%02d\", one.number)]))\n}}\n"
    );
    let expected: Vec<String> =
        std::iter::once("1".to_owned()).chain((1..=40).map(|number| format!("{number:02}"))).collect();
    for language in Language::ALL {
        let Some(provider) = Provider::find(language) else { continue };
        let project = provider.project();
        project.write("main.tf", &configuration);
        // Values end with the run, so the second run has the same numbers.
        for _ in 0..2 {
            project.run("apply -auto-approve -no-color -parallelism=8").success();
            let numbers = project.state()["outputs"]["numbers"]["value"].clone();
            assert_eq!(numbers, serde_json::json!(expected), "{language}");
        }
    }
}

//! Exceptions and panics.

use crate::provider::{Language, Provider};

const BROKEN: &str = r#"
terraform {
  required_providers {
    inventory = {
      source = "example.com/acme/inventory"
    }
  }
}

resource "inventory_item" "a" {
  name = "broken"
}
"#;

/// The user sees the exception with the frame of the author's code, and the next call works.
#[test]
fn exception_is_a_diagnostic_with_a_trace() {
    for (language, frame) in
        [(Language::Go, "item.Create"), (Language::JavaScript, "create ("), (Language::Python, "in create")]
    {
        let Some(provider) = Provider::find(language) else { continue };
        let project = provider.project();
        project.write("main.tf", BROKEN);
        let seen = project.run("apply -auto-approve -no-color").ended_with(1);
        let text = seen.errors;
        for part in ["Unexpected exception while creating inventory_item", "the shelf is broken", frame] {
            assert!(text.contains(part), "{part:?} is not in the message of {language}:\n{text}");
        }
        project.write("main.tf", BROKEN.replace("broken", "mended"));
        project.run("apply -auto-approve").success();
    }
}

//! `@@name@@_note`: a resource with a computed attribute.
//!
//! Replace the bodies of `create`, `update` and `delete` with requests to your service
//! (`wardian_sdk::http`).

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, Context, Import, Resource, Result, Schema, Update, validate};

pub(crate) struct Note;

/// An object. A value that can be null, or that `create` computes, is an `Option`.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    title: String,
    text: Option<String>,
    id: Option<String>,
}

impl Resource for Note {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("A note.")
            .attribute(
                Attribute::string("title")
                    .required()
                    .force_new()
                    .validate(validate::length(1..=80))
                    .description("The title. Changing it replaces the note."),
            )
            .attribute(Attribute::string("text").default("").description("The text. Empty by default."))
            .attribute(
                Attribute::string("id")
                    .computed()
                    .use_state_for_unknown()
                    .description("The ID, which is derived from the title."),
            )
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(State { id: Some(format!("note-{}", plan.title)), ..plan })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let title = import.id()?.to_owned();
        let id = Some(format!("note-{title}"));
        import.set_state(&State { title, text: Some(String::new()), id })
    }
}

impl Update for Note {
    fn update(&self, _prior: State, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use wardian_sdk::testing::{PlannedAction, ProviderHarness, hcl};

    #[test]
    fn text_is_changed_in_place() {
        let harness = ProviderHarness::new(crate::provider());
        let note = harness.create("@@name@@_note", hcl(r#"title = "a""#)).unwrap();
        assert_eq!(note.get::<String>("id"), "note-a");
        let config = hcl("title = \"a\"\ntext = \"b\"");
        let plan = harness.plan("@@name@@_note", Some(&note), config).unwrap();
        assert_eq!(plan.action, PlannedAction::Update);
        assert_eq!(harness.apply(&plan).unwrap().unwrap().get::<String>("text"), "b");
    }

    #[test]
    fn title_replaces_the_note() {
        let harness = ProviderHarness::new(crate::provider());
        let note = harness.create("@@name@@_note", hcl(r#"title = "a""#)).unwrap();
        let plan = harness.plan("@@name@@_note", Some(&note), hcl(r#"title = "b""#)).unwrap();
        assert_eq!(plan.action, PlannedAction::Replace);
    }
}

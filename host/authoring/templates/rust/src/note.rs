//! `@@name@@_note`: a resource with a computed attribute.
//!
//! Replace the bodies of `create`, `update` and `delete` with requests to your service
//! (`wardian_sdk::http`).

use serde::{Deserialize, Serialize};
use wardian_sdk::{Context, Import, Resource, Result, Schema, Update};

pub(crate) const TYPE: &str = "@@name@@_note";

pub(crate) struct Note;

/// A note.
#[derive(Serialize, Deserialize, Schema)]
pub(crate) struct State {
    /// The title. Changing it replaces the note.
    #[attr(force_new, validate(length(1..=80)))]
    title: String,
    /// The text. Empty by default.
    #[attr(default = "")]
    text: String,
    /// The ID, which is derived from the title.
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

impl Resource for Note {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::for_type::<State>()
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(State {
            id: Some(format!("note-{}", plan.title)),
            ..plan
        })
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
        let title = import.id()?.to_owned();
        let id = Some(format!("note-{title}"));
        import.set_state(&State {
            title,
            text: String::new(),
            id,
        })
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

    use super::TYPE;

    #[test]
    fn text_is_changed_in_place() {
        let harness = ProviderHarness::new(crate::provider());
        let note = harness.create(TYPE, hcl(r#"title = "a""#)).unwrap();
        assert_eq!(note.get::<String>("id"), "note-a");
        let config = hcl("title = \"a\"\ntext = \"b\"");
        let plan = harness.plan(TYPE, Some(&note), config).unwrap();
        assert_eq!(plan.action, PlannedAction::Update);
        let note = harness.apply(&plan).unwrap().unwrap();
        assert_eq!(note.get::<String>("text"), "b");
    }

    #[test]
    fn title_replaces_the_note() {
        let harness = ProviderHarness::new(crate::provider());
        let note = harness.create(TYPE, hcl(r#"title = "a""#)).unwrap();
        let config = hcl(r#"title = "b""#);
        let plan = harness.plan(TYPE, Some(&note), config).unwrap();
        assert_eq!(plan.action, PlannedAction::Replace);
    }
}

//! Tests of the provider with Wardian's engine, in the process of the test. After each step, a further
//! plan must be empty, and at the end all objects are destroyed.

use wardian_acceptance::{AcceptanceTest, ExpectedAction, ExpectedDiagnostic, PlanCheck, StateCheck, Step, json};

fn acceptance_test() -> AcceptanceTest {
    AcceptanceTest::new(terraform_provider_@@name@@::provider)
}

#[test]
fn note_is_created_changed_and_replaced() {
    acceptance_test()
        .step(
            Step::apply(r#"resource "@@name@@_note" "a" { title = "first" }"#)
                .expect_plan(PlanCheck::action("@@name@@_note.a", ExpectedAction::Create))
                .check(StateCheck::value("@@name@@_note.a", "id", json!("note-first"))),
        )
        .step(Step::import("@@name@@_note.a").by_attribute("title"))
        .step(
            Step::apply(r#"resource "@@name@@_note" "a" { title = "second" }"#)
                .expect_plan(PlanCheck::replaced_because_of("@@name@@_note.a", "title")),
        )
        .run();
}

#[test]
fn empty_title_is_rejected() {
    acceptance_test()
        .step(
            Step::plan(r#"resource "@@name@@_note" "a" { title = "" }"#)
                .expect_error(ExpectedDiagnostic::containing("title")),
        )
        .run();
}

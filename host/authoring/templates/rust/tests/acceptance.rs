//! Tests of the provider with Wardian's engine, in the process of the test. After each step, a further
//! plan must be empty, and at the end all objects are destroyed.

use wardian_acceptance::{
    AcceptanceTest, ExpectedAction, ExpectedDiagnostic, PlanCheck, StateCheck, Step, json,
};

const TYPE: &str = "@@name@@_note";
const ADDRESS: &str = "@@name@@_note.a";

fn acceptance_test() -> AcceptanceTest {
    AcceptanceTest::new(terraform_provider_@@name@@::provider)
}

fn configuration(title: &str) -> String {
    format!(r#"resource "{TYPE}" "a" {{ title = "{title}" }}"#)
}

#[test]
fn note_is_created_changed_and_replaced() {
    acceptance_test()
        .step(
            Step::apply(configuration("first"))
                .expect_plan(PlanCheck::action(ADDRESS, ExpectedAction::Create))
                .check(StateCheck::value(ADDRESS, "id", json!("note-first"))),
        )
        .step(Step::import(ADDRESS).by_attribute("title"))
        .step(
            Step::apply(configuration("second"))
                .expect_plan(PlanCheck::replaced_because_of(ADDRESS, "title")),
        )
        .run();
}

#[test]
fn empty_title_is_rejected() {
    acceptance_test()
        .step(Step::plan(configuration("")).expect_error(ExpectedDiagnostic::containing("title")))
        .run();
}

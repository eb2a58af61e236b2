//! `wardian test cleanup`: destroys the objects that earlier tests have left, because they were
//! interrupted, could not destroy them, or have `skip_cleanup`.

use std::fmt::Write as _;

use wardian_app::testing::LeftRecord;
use wardian_diagnostic::Diagnostic;
use wardian_printable::{PrintableText, append, printable};
use wardian_testing::{LeftObject, TestSuite, objects};

use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome, Status};
use crate::render::counted::counted;

/// Returns an error if objects of an earlier test remain: a new test would create the same objects
/// again.
///
/// # Errors
/// Returns an error that lists the objects.
pub(super) fn check_nothing_left(left: &[LeftRecord]) -> Outcome<()> {
    if left.is_empty() {
        return Ok(());
    }
    let mut detail = String::from("Earlier tests have left these objects:\n");
    for record in left {
        let state = &record.state;
        for object in objects(&state.state) {
            let _ = writeln!(detail, "  - {} of {}/{}", described(&object), state.file, state.run);
        }
        for address in &state.unfinished {
            let _ = writeln!(
                detail,
                "  - {address} of {}/{}, whose operation was interrupted: it may exist",
                state.file, state.run
            );
        }
    }
    detail.push_str("\nDestroy them with `wardian test cleanup` before the tests are executed again.");
    Err(Failure::from(Diagnostic::error("Objects of an earlier test remain", detail)))
}

/// Destroys the objects of all records.
pub(super) async fn clean_up(
    context: &CommandContext,
    suite: &TestSuite<'_>,
    records: &[LeftRecord],
    repair: bool,
) -> Outcome {
    let mut status = Status::Success;
    let mut destroyed = 0;
    for record in records.iter().filter(|record| !(repair && record.kept)) {
        let state = &record.state;
        let place = printable!("{}/{}", state.file.as_str(), state.run.as_str());
        context.shell.say(printable!("{place}... tearing down"));
        let (left, diagnostics) = suite.clean_up(state).await;
        context.shell.diagnostics(&diagnostics);
        if left.is_empty() && !diagnostics.has_errors() {
            destroyed += objects(&state.state).len();
            context.app.remove_test_record(state)?;
            for address in &state.unfinished {
                context.shell.note(printable!(
                    "The operation on {} was interrupted. Check whether the object exists.",
                    address.as_str()
                ));
            }
            continue;
        }
        status = Status::Failed;
        context.shell.note(list(&left, &place));
    }
    context.shell.say(printable!("\n{} destroyed.", counted(destroyed, "object")));
    Ok(status)
}

fn list(left: &[LeftObject], place: &PrintableText) -> PrintableText {
    let mut text = printable!("\nThese objects of {place} remain:");
    for object in left {
        append!(text, "\n  - {}", described(object).as_str());
    }
    text
}

/// Returns the address of an object, with the key of a deposed object.
pub(super) fn described(object: &LeftObject) -> String {
    match &object.deposed {
        None => object.address.clone(),
        Some(key) => format!("{} ({key})", object.address),
    }
}

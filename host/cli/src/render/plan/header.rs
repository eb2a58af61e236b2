//! Renders the comment above each change of a plan: the action and its reason.

use wardian_address::{InstanceKey, ResourceInstanceAddress, ResourceMode};
use wardian_engine::{Action, ActionReason, Importing, ResourceChange};
use wardian_printable::{append, append_line, printable};
use wardian_value::json;

use super::Cause;
use crate::product::Product;
use crate::render::style::{Page, Style};

/// Writes the comment, and the first line of the block up to its opening brace.
pub(super) fn write(page: &mut Page, change: &ResourceChange, cause: Cause, product: Product) {
    comment(page, change, cause, product);
    symbol(page, change.action);
    let keyword = if change.address.mode() == ResourceMode::Data { "data" } else { "resource" };
    append!(page, " {keyword} \"{}\" \"{}\" ", change.address.type_name(), change.address.name());
}

fn comment(page: &mut Page, change: &ResourceChange, cause: Cause, product: Product) {
    let moved_from = change.previous_address.as_ref().filter(|from| **from != change.address);
    if let (Action::NoOp, Some(from)) = (change.action, moved_from) {
        page.paint(Style::Bold, printable!("  # {from}"));
        page.push(" has moved to ");
        page.paint(Style::Bold, printable!("{}", subject(change)));
        page.push("\n");
        return;
    }
    if change.action == Action::Forget {
        forgetting(page, change, moved_from, product);
        return;
    }
    page.paint(Style::Bold, printable!("  # {}", subject(change)));
    match (change.action, cause) {
        (Action::NoOp, _) if change.importing.is_some() => page.push(" will be imported"),
        (Action::NoOp, _) => page.push(" stays as it is"),
        (Action::Create, _) => page.push(" will be created"),
        (Action::Read, _) => page.push(" will be read during apply"),
        (Action::Update, Cause::Planned) => page.push(" will be updated in-place"),
        (Action::Update, Cause::Drift) => page.push(" has changed"),
        (Action::Delete, Cause::Planned) => {
            page.push(" will be ");
            page.paint(Style::BoldRed, "destroyed");
        }
        (Action::Delete, Cause::Drift) => page.push(" has been deleted"),
        // A forgotten object has a header of its own.
        (Action::Forget, _) => {}
        (Action::DeleteThenCreate | Action::CreateThenDelete, _) => replacement(page, change.reason),
    }
    page.push("\n");
    if let Some(reason) = change.reason {
        explanation(page, change, reason);
    }
    if change.deposed.is_some() && change.action == Action::Delete {
        page.push("  # (left over from a partially-failed replacement of this instance)\n");
    }
    if let Some(from) = moved_from {
        append_line!(page, "  # (moved from {from})");
    }
    if let Some(importing) = &change.importing {
        imported(page, change, importing);
    }
}

/// Writes the origin of an object that is being imported.
fn imported(page: &mut Page, change: &ResourceChange, importing: &Importing) {
    if change.action != Action::NoOp {
        let origin = match importing {
            Importing::Id(id) => format!("from \"{id}\""),
            Importing::Identity(identity) => format!("from {}", json::to_json_value(identity)),
            Importing::Unknown => "with an ID that is known after apply".to_owned(),
        };
        append_line!(page, "  # (imported {origin})");
    }
    if change.generated_config.is_some() {
        page.push("  # (config will be generated)\n");
    }
    if change.action.is_replace() {
        page.push("  # ");
        page.paint(Style::Yellow, "Warning: this will destroy the imported resource");
        page.push("\n");
    }
}

/// Writes the header of a forgotten object. The header is indented by one more column.
fn forgetting(
    page: &mut Page,
    change: &ResourceChange,
    moved_from: Option<&ResourceInstanceAddress>,
    product: Product,
) {
    page.paint(Style::Bold, printable!(" # {}", subject(change)));
    match change.deposed {
        Some(_) => page.push(" will be removed from the state, but "),
        None => append!(page, " will no longer be managed by {}, but ", product.name()),
    }
    page.paint(Style::BoldRed, "will not be destroyed");
    page.push("\n");
    if change.deposed.is_some() {
        page.push(" # (left over from a partially-failed replacement of this instance)\n");
    }
    page.push(" # (destroy = false is set in the configuration)\n");
    if let Some(from) = moved_from {
        append_line!(page, "  # (moved from {from})");
    }
}

fn subject(change: &ResourceChange) -> String {
    match &change.deposed {
        Some(key) => format!("{} (deposed object {key})", change.address),
        None => change.address.to_string(),
    }
}

fn replacement(page: &mut Page, reason: Option<ActionReason>) {
    let (start, end) = match reason {
        Some(ActionReason::ReplaceBecauseTainted) => (" is tainted, so must be ", ""),
        Some(ActionReason::ReplaceByRequest) => (" will be ", ", as requested"),
        Some(ActionReason::ReplaceByTriggers) => (" will be ", " due to changes in replace_triggered_by"),
        _ => (" must be ", ""),
    };
    page.push(start);
    page.paint(Style::BoldRed, "replaced");
    page.push(end);
}

fn explanation(page: &mut Page, change: &ResourceChange, reason: ActionReason) {
    let address = &change.address;
    match reason {
        ActionReason::ReplaceBecauseTainted
        | ActionReason::ReplaceBecauseCannotUpdate
        | ActionReason::ReplaceByRequest
        | ActionReason::ReplaceByTriggers => {}
        ActionReason::DeleteBecauseNoResourceConfig => {
            let (type_name, name) = (address.type_name(), address.name());
            append_line!(page, "  # (because {type_name}.{name} is not in configuration)");
        }
        ActionReason::DeleteBecauseNoModule => {
            append_line!(page, "  # (because {} is not in configuration)", address.module());
        }
        ActionReason::DeleteBecauseWrongRepetition => {
            let what = match address.key {
                InstanceKey::None => "uses count or for_each",
                InstanceKey::Int(_) => "does not use count",
                InstanceKey::String(_) => "does not use for_each",
            };
            append_line!(page, "  # (because resource {what})");
        }
        ActionReason::DeleteBecauseCountIndex => {
            append_line!(page, "  # (because index {} is out of range for count)", address.key);
        }
        ActionReason::DeleteBecauseEachKey => {
            append_line!(page, "  # (because key {} is not in for_each map)", address.key);
        }
        ActionReason::DeleteBecauseNoMoveTarget => {
            let from = change.previous_address.as_ref().unwrap_or(address);
            append_line!(page, "  # (because {from} was moved to {address}, which is not in configuration)");
        }
        ActionReason::ReadBecauseCheckNested => {
            page.push("  # (config will be reloaded to verify a check block)\n");
        }
        ActionReason::ReadBecauseConfigUnknown => {
            page.push("  # (config refers to values not yet known)\n");
        }
        ActionReason::ReadBecauseDependencyPending => {
            page.push("  # (depends on a resource or a module with changes pending)\n");
        }
    }
}

/// Writes the three columns of an action's symbol.
pub(super) fn symbol(page: &mut Page, action: Action) {
    match action {
        Action::NoOp => page.push("   "),
        Action::Create => {
            page.push("  ");
            page.paint(Style::Green, "+");
        }
        Action::Read => {
            page.push(" ");
            page.paint(Style::Cyan, "<=");
        }
        Action::Update => {
            page.push("  ");
            page.paint(Style::Yellow, "~");
        }
        Action::Delete => {
            page.push("  ");
            page.paint(Style::Red, "-");
        }
        Action::Forget => {
            page.push(" ");
            page.paint(Style::Red, ".");
        }
        Action::DeleteThenCreate => {
            page.paint(Style::Red, "-");
            page.push("/");
            page.paint(Style::Green, "+");
        }
        Action::CreateThenDelete => {
            page.paint(Style::Green, "+");
            page.push("/");
            page.paint(Style::Red, "-");
        }
    }
}

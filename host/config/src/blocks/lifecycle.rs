//! Reads `lifecycle` blocks.

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Attribute, Block, Expression, ReferenceSubject, Traversal};

use super::check::conditions;
use super::references::warn_of_quotes;
use super::{ActionTrigger, Condition};
use crate::content::Shape;
use crate::names::block_kind;

/// The lifecycle rules of a resource's objects.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// True to create the replacement before destroying the old object; `None` if not set.
    pub create_before_destroy: Option<bool>,
    /// True to reject plans that destroy the object.
    pub prevent_destroy: bool,
    /// The arguments that may differ from the existing object's values.
    pub ignore_changes: IgnoreChanges,
    /// References to values whose changes trigger a replacement.
    pub replace_triggered_by: Vec<Expression>,
    /// Conditions that must be true before the operation.
    pub preconditions: Vec<Condition>,
    /// Conditions that must be true after the operation.
    pub postconditions: Vec<Condition>,
    /// The actions that are invoked before or after the operation.
    pub action_triggers: Vec<ActionTrigger>,
}

/// The arguments that may differ from the existing object's values.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    #[default]
    Nothing,
    All,
    /// The items, whose roots are attributes or blocks of the resource.
    Paths(Vec<Traversal>),
}

impl Lifecycle {
    pub(super) fn read(block: &Block, mode: ResourceMode, problems: &mut Diagnostics) -> Self {
        const SHAPE: Shape = Shape {
            noun: "a lifecycle block",
            required: &[],
            optional: &["create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by"],
            blocks: &["action_trigger", "precondition", "postcondition"],
        };
        let content = SHAPE.read(&block.body, problems);
        let action_triggers = content.unlabeled("action_trigger", problems);
        if mode != ResourceMode::Managed {
            let kind = block_kind(mode);
            for trigger in &action_triggers {
                let detail = format!(
                    "Only the events of managed resources trigger actions, so action_trigger is not allowed in \
                     a {kind} block."
                );
                problems.push(
                    Diagnostic::error(format!("Invalid {kind} resource lifecycle argument"), detail)
                        .at(trigger.header_span.clone()),
                );
            }
            for attribute in SHAPE.optional.iter().filter_map(|name| content.attribute(name)) {
                let detail = format!(
                    "The lifecycle argument \"{}\" applies only to managed resources and is not allowed in a \
                     {kind} block.",
                    attribute.name
                );
                problems.push(
                    Diagnostic::error(format!("Invalid {kind} resource lifecycle argument"), detail)
                        .at(attribute.name_span.clone()),
                );
            }
        }
        Self {
            create_before_destroy: content.flag("create_before_destroy", problems),
            prevent_destroy: content.flag("prevent_destroy", problems).unwrap_or(false),
            ignore_changes: content
                .attribute("ignore_changes")
                .map(|attribute| IgnoreChanges::read(attribute, problems))
                .unwrap_or_default(),
            replace_triggered_by: content
                .attribute("replace_triggered_by")
                .map(|attribute| triggers(attribute, problems))
                .unwrap_or_default(),
            preconditions: conditions(&content, "precondition", problems),
            postconditions: conditions(&content, "postcondition", problems),
            action_triggers: match mode {
                ResourceMode::Managed => action_triggers
                    .into_iter()
                    .map(|trigger| ActionTrigger::read(trigger, problems))
                    .collect(),
                ResourceMode::Data | ResourceMode::Ephemeral => Vec::new(),
            },
        }
    }
}

impl IgnoreChanges {
    fn read(attribute: &Attribute, problems: &mut Diagnostics) -> Self {
        let expression = &attribute.expression;
        if expression.as_keyword() == Some("all") || expression.as_quoted() == Some("all") {
            return Self::All;
        }
        let Some(items) = expression.as_tuple_items() else {
            problems.push(
                Diagnostic::error(
                    "Invalid expression",
                    "A list of arguments or the keyword all is required here.",
                )
                .at(expression.span().clone()),
            );
            return Self::Nothing;
        };
        let mut paths = Vec::new();
        let mut wildcard = None;
        for item in items {
            if item.as_quoted() == Some("*") {
                let detail = "To ignore changes to all arguments, write: ignore_changes = all";
                problems.push(
                    Diagnostic::error("Invalid ignore_changes wildcard", detail).at(item.span().clone()),
                );
                wildcard = Some(item.span().clone());
                continue;
            }
            warn_of_quotes(&item, problems);
            match item.as_traversal() {
                Some(traversal) => paths.push(traversal),
                None => problems.push(
                    Diagnostic::error(
                        "Invalid expression",
                        "An argument name is required here, optionally followed by constant indexes.",
                    )
                    .at(item.span().clone()),
                ),
            }
        }
        if let Some(span) = wildcard {
            if !paths.is_empty() {
                let detail = "All arguments are already ignored, so naming some of them has no effect.";
                problems.push(Diagnostic::error("Invalid ignore_changes ruleset", detail).at(span));
            }
            return Self::All;
        }
        Self::Paths(paths)
    }
}

fn triggers(attribute: &Attribute, problems: &mut Diagnostics) -> Vec<Expression> {
    let expression = &attribute.expression;
    let Some(items) = expression.as_tuple_items() else {
        let detail = "A list of resource references is required here.";
        problems.push(Diagnostic::error("Invalid expression", detail).at(expression.span().clone()));
        return Vec::new();
    };
    let items: Vec<Expression> = items.iter().filter_map(|item| problems.collect(item.unquoted())).collect();
    for item in &items {
        if let Some(problem) = trigger_problem(item) {
            problems.push(problem);
        }
    }
    items
}

fn trigger_problem(item: &Expression) -> Option<Diagnostic> {
    let mut names_resource = false;
    for reference in item.references() {
        let summary = match &reference.subject {
            ReferenceSubject::Resource { .. } => {
                names_resource = true;
                continue;
            }
            ReferenceSubject::CountIndex | ReferenceSubject::EachKey => continue,
            ReferenceSubject::EachValue => "Invalid each reference in replace_triggered_by expression",
            _ => "Invalid reference in replace_triggered_by expression",
        };
        let detail = format!(
            "Only a resource or one of its attributes can trigger a replacement; to select an instance, use \
             only count.index or each.key, not {}.",
            reference.subject
        );
        return Some(Diagnostic::error(summary, detail).at(item.span().clone()));
    }
    let detail = "A reference to a managed resource, or to one of its attributes, is required here.";
    (!names_resource)
        .then(|| Diagnostic::error("Invalid replace_triggered_by expression", detail).at(item.span().clone()))
}

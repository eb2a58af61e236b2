//! `lifecycle` blocks.

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Attribute, Block, Expression, Subject, Traversal};
use wardian_value::Path;

use super::Condition;
use super::check::conditions;
use super::references::warn_of_quotes;
use crate::content::Shape;
use crate::names::block_kind;

/// How a resource's objects live.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// Create the replacement before the replaced is destroyed; `None` where it
    /// is not said.
    pub create_before_destroy: Option<bool>,
    /// Refuse plans that destroy.
    pub prevent_destroy: bool,
    /// Which arguments may differ from what exists.
    pub ignore_changes: IgnoreChanges,
    /// What causes a replacement when it changes.
    pub replace_triggered_by: Vec<Expression>,
    /// What must hold before.
    pub preconditions: Vec<Condition>,
    /// What must hold after.
    pub postconditions: Vec<Condition>,
}

/// Which arguments may differ from what exists.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// None.
    #[default]
    Nothing,
    /// All.
    All,
    /// These.
    Paths(Vec<(Path, Span)>),
}

impl Lifecycle {
    pub(super) fn read(block: &Block, mode: ResourceMode, problems: &mut Diagnostics) -> Self {
        const SHAPE: Shape = Shape {
            noun: "a lifecycle block",
            required: &[],
            optional: &["create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by"],
            blocks: &["precondition", "postcondition"],
        };
        let content = SHAPE.read(&block.body, problems);
        if mode != ResourceMode::Managed {
            let kind = block_kind(mode);
            for attribute in SHAPE.optional.iter().filter_map(|name| content.attribute(name)) {
                let detail = format!(
                    "The lifecycle argument \"{}\" is for resources that are created and destroyed; a {kind} \
                     block cannot have it.",
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
                    "A list of arguments in brackets is needed here, or the keyword all.",
                )
                .at(expression.span().clone()),
            );
            return Self::Nothing;
        };
        let mut paths = Vec::new();
        let mut wildcard = None;
        for item in items {
            if item.as_quoted() == Some("*") {
                let detail = "To ignore changes of all arguments, write: ignore_changes = all";
                problems.push(
                    Diagnostic::error("Invalid ignore_changes wildcard", detail).at(item.span().clone()),
                );
                wildcard = Some(item.span().clone());
                continue;
            }
            warn_of_quotes(&item, problems);
            match item.as_traversal() {
                Some(traversal) => paths.push((relative_path(&traversal), item.span().clone())),
                None => problems.push(
                    Diagnostic::error(
                        "Invalid expression",
                        "The name of an argument is needed here, maybe with constant indexes behind it.",
                    )
                    .at(item.span().clone()),
                ),
            }
        }
        if let Some(span) = wildcard {
            if !paths.is_empty() {
                let detail = "All arguments are ignored already, so that naming some of them says nothing.";
                problems.push(Diagnostic::error("Invalid ignore_changes ruleset", detail).at(span));
            }
            return Self::All;
        }
        Self::Paths(paths)
    }
}

fn relative_path(traversal: &Traversal) -> Path {
    let mut path = Path::root().attribute(traversal.root.clone());
    for step in &traversal.steps {
        path.push(step.step.clone());
    }
    path
}

fn triggers(attribute: &Attribute, problems: &mut Diagnostics) -> Vec<Expression> {
    let expression = &attribute.expression;
    let Some(items) = expression.as_tuple_items() else {
        let detail = "A list of references to resources in brackets is needed here.";
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
            Subject::Resource { .. } => {
                names_resource = true;
                continue;
            }
            Subject::CountIndex | Subject::EachKey => continue,
            Subject::EachValue => "Invalid each reference in replace_triggered_by expression",
            _ => "Invalid reference in replace_triggered_by expression",
        };
        let detail = format!(
            "A replacement is triggered by a resource or one of its attributes; to choose an instance, count.index and \
             each.key can be used, but not {}.",
            reference.subject
        );
        return Some(Diagnostic::error(summary, detail).at(item.span().clone()));
    }
    let detail = "A reference to a managed resource, or to one of its attributes, is needed here.";
    (!names_resource)
        .then(|| Diagnostic::error("Invalid replace_triggered_by expression", detail).at(item.span().clone()))
}

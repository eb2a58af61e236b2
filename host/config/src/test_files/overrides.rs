//! Reads override blocks, and the values of overrides and mocks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Expression};
use wardian_value::Type;

use super::{Override, OverrideDuring, OverrideKind};
use crate::blocks::{Target, TargetResource, not_static};
use crate::content::{Content, Shape, labels};

impl OverrideKind {
    /// Returns the kind that a block type declares.
    pub(super) fn from_block_type(name: &str) -> Option<Self> {
        match name {
            "override_resource" => Some(Self::Resource),
            "override_data" => Some(Self::Data),
            "override_module" => Some(Self::Module),
            _ => None,
        }
    }

    pub(super) fn block_type(self) -> &'static str {
        match self {
            Self::Resource => "override_resource",
            Self::Data => "override_data",
            Self::Module => "override_module",
        }
    }

    /// Returns the argument that contains the values.
    fn values_argument(self) -> &'static str {
        match self {
            Self::Resource | Self::Data => "values",
            Self::Module => "outputs",
        }
    }

    fn accepts(self, target: &Target) -> bool {
        use wardian_address::ResourceMode::{Data, Managed};
        match (self, &target.resource) {
            (Self::Module, None) => true,
            (Self::Resource, Some(TargetResource { mode, .. })) => *mode == Managed,
            (Self::Data, Some(TargetResource { mode, .. })) => *mode == Data,
            (Self::Module, Some(_)) | (Self::Resource | Self::Data, None) => false,
        }
    }
}

/// The overrides of a file, a run or a mock provider.
#[derive(Default)]
pub(super) struct Overrides {
    pub(super) list: Vec<Override>,
    /// The spans of the blocks by block type and target.
    known: BTreeMap<(OverrideKind, String), Span>,
}

impl Overrides {
    /// Reads an override block.
    pub(super) fn read(
        &mut self,
        kind: OverrideKind,
        block: &Block,
        default: OverrideDuring,
        problems: &mut Diagnostics,
    ) {
        let Some(read) = read(kind, block, default, problems) else { return };
        let target = read.target.to_string();
        if let Some(first) = self.known.get(&(kind, target.clone())) {
            let detail = format!("{target} is already overridden by the block at {first}.");
            problems.push(
                Diagnostic::error(format!("Duplicate {} block", kind.block_type()), detail).at(read.span),
            );
            return;
        }
        self.known.insert((kind, target), read.span.clone());
        self.list.push(read);
    }

    /// Adds the overrides of another mock data file.
    pub(super) fn extend(&mut self, others: Self, problems: &mut Diagnostics) {
        for other in others.list {
            let key = (other.kind, other.target.to_string());
            if let Some(first) = self.known.get(&key) {
                let detail = format!("{} is already overridden by the block at {first}.", key.1);
                problems.push(Diagnostic::error("Duplicate override block", detail).at(other.span));
                continue;
            }
            self.known.insert(key, other.span.clone());
            self.list.push(other);
        }
    }

    /// Adds the overrides of mock data files that this block does not contain itself.
    pub(super) fn add_missing(&mut self, others: Self) {
        for other in others.list {
            let key = (other.kind, other.target.to_string());
            if let Entry::Vacant(entry) = self.known.entry(key) {
                entry.insert(other.span.clone());
                self.list.push(other);
            }
        }
    }
}

fn read(
    kind: OverrideKind,
    block: &Block,
    default: OverrideDuring,
    problems: &mut Diagnostics,
) -> Option<Override> {
    const RESOURCE: Shape = Shape {
        noun: "an override block for a resource",
        required: &[],
        optional: &["target", "values", "override_during"],
        blocks: &[],
    };
    const MODULE: Shape = Shape {
        noun: "an override_module block",
        required: &[],
        optional: &["target", "outputs", "override_during"],
        blocks: &[],
    };
    labels(block, [], problems)?;
    let shape = if kind == OverrideKind::Module { MODULE } else { RESOURCE };
    let content = shape.read(&block.body, problems);
    let values = values(kind, &content, problems);
    let during = override_during(&content, default, problems);
    let Some(attribute) = content.attribute("target") else {
        let detail = format!("An {} block needs the address of an object to override.", kind.block_type());
        problems.push(Diagnostic::error("Missing target attribute", detail).at(block.header_span.clone()));
        return None;
    };
    let expression = &attribute.expression;
    let traversal = expression.as_traversal().filter(|_| !expression.is_native_quoted());
    let target = match traversal.map(|traversal| Target::parse_in_test(&traversal)) {
        Some(Ok(target)) => target,
        Some(Err(problem)) => {
            problems.push(problem);
            return None;
        }
        None => {
            problems.push(not_static(expression));
            return None;
        }
    };
    if !kind.accepts(&target) {
        let wanted = match kind {
            OverrideKind::Resource => "a managed resource",
            OverrideKind::Data => "a data source",
            OverrideKind::Module => "a module",
        };
        let detail = format!("An {} block overrides {wanted}, not {target}.", kind.block_type());
        problems.push(Diagnostic::error("Invalid override target", detail).at(attribute.span.clone()));
        return None;
    }
    Some(Override {
        kind,
        target,
        target_span: attribute.span.clone(),
        values,
        during,
        span: block.header_span.clone(),
    })
}

fn values(kind: OverrideKind, content: &Content<'_>, problems: &mut Diagnostics) -> Option<Expression> {
    let name = kind.values_argument();
    let attribute = content.attribute(name)?;
    let expression = mocked_values(&attribute.expression, problems);
    let is_object = match expression.as_constant() {
        Some(value) => !value.is_null() && matches!(value.ty(), Type::Object(_) | Type::Map(_)),
        // Function calls are evaluated when the test is run.
        None => expression.references().is_empty() || expression.as_object_items().is_some(),
    };
    if !is_object {
        let detail = format!("The \"{name}\" argument must be an object.");
        problems
            .push(Diagnostic::error(format!("Invalid {name} attribute"), detail).at(attribute.span.clone()));
        return None;
    }
    Some(expression)
}

/// Returns the values of a mock, which are constant except for function calls. In JSON, strings are
/// literals.
pub(super) fn mocked_values(expression: &Expression, problems: &mut Diagnostics) -> Expression {
    if let Ok(value) = expression.evaluate_constant() {
        return Expression::constant(value, expression.span());
    }
    problems.extend(expression.check());
    for reference in expression.references() {
        let text = reference.span.text();
        let length = text.find(['.', '[']).unwrap_or(text.len());
        let span = Span { end: reference.span.start + length, ..reference.span.clone() };
        let detail = "Mocked values cannot refer to other objects.";
        problems.push(Diagnostic::error("Variables not allowed", detail).at(span));
    }
    if expression.references().is_empty()
        && expression.function_calls().is_empty()
        && let Err(found) = expression.evaluate_constant()
    {
        problems.extend(found);
    }
    expression.clone()
}

/// Reads the `override_during` argument.
pub(super) fn override_during(
    content: &Content<'_>,
    default: OverrideDuring,
    problems: &mut Diagnostics,
) -> OverrideDuring {
    let Some(attribute) = content.attribute("override_during") else { return default };
    match attribute.expression.as_keyword() {
        Some("plan") => OverrideDuring::Plan,
        Some("apply") => OverrideDuring::Apply,
        _ => {
            let detail = "The argument is one of the keywords plan and apply, without quotes.";
            problems
                .push(Diagnostic::error("Invalid override_during value", detail).at(attribute.span.clone()));
            default
        }
    }
}

//! Reads `action` blocks, and the `action_trigger` blocks that refer to them.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span, did_you_mean};
use wardian_lang::{Block, Body, Expression, ReferenceSubject};
use wardian_value::{PathStep, Str};

use super::ProviderReference;
use super::meta_arguments::repetition;
use super::references::{provider_reference, warn_of_quotes};
use super::resource::implied_provider;
use crate::content::{Shape, labels};
use crate::names::check_name;

/// An `action` block.
#[derive(Clone, Debug)]
pub struct ActionBlock {
    /// The action type, such as `aws_lambda_invoke`.
    pub type_name: Str,
    pub name: Str,
    /// The provider configuration.
    pub provider: ProviderReference,
    /// The number of instances.
    pub count: Option<Expression>,
    /// The collection that determines one instance for each element.
    pub for_each: Option<Expression>,
    /// The provider's arguments: the body of the `config` block.
    pub config: Body,
    /// The span of the header.
    pub span: Span,
    /// The span of the type in the header.
    pub type_span: Span,
}

/// The type and name of an action. Together, they are unique in the action's module.
pub type ActionKey = (Str, Str);

/// An `action_trigger` block.
#[derive(Clone, Debug)]
pub struct ActionTrigger {
    /// The events that trigger the actions, without duplicates.
    pub events: Vec<LifecycleEvent>,
    /// The condition under which the actions are invoked.
    pub condition: Option<Expression>,
    /// The actions in the order in which they are invoked.
    pub actions: Vec<ActionReference>,
    /// The span of the header.
    pub span: Span,
}

/// A reference to an action, with or without an instance key: `action.aws_lambda_invoke.x[0]`.
#[derive(Clone, Debug)]
pub struct ActionReference {
    pub key: ActionKey,
    /// The whole reference. Its evaluation determines the instance key.
    pub expression: Expression,
    /// True if an instance key follows the name.
    pub has_key: bool,
}

/// An event in the life cycle of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LifecycleEvent {
    BeforeCreate,
    AfterCreate,
    BeforeUpdate,
    AfterUpdate,
}

impl LifecycleEvent {
    pub const ALL: [Self; 4] = [Self::BeforeCreate, Self::AfterCreate, Self::BeforeUpdate, Self::AfterUpdate];

    /// Returns the keyword in configurations.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::BeforeCreate => "before_create",
            Self::AfterCreate => "after_create",
            Self::BeforeUpdate => "before_update",
            Self::AfterUpdate => "after_update",
        }
    }

    /// Returns the event's name in machine-readable plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeCreate => "BeforeCreate",
            Self::AfterCreate => "AfterCreate",
            Self::BeforeUpdate => "BeforeUpdate",
            Self::AfterUpdate => "AfterUpdate",
        }
    }

    /// Returns whether the event precedes the operation on the object.
    pub fn is_before(self) -> bool {
        matches!(self, Self::BeforeCreate | Self::BeforeUpdate)
    }
}

impl ActionBlock {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "an action block",
            required: &[],
            optional: &["provider", "count", "for_each"],
            blocks: &["config"],
        };
        let [type_label, label] = labels(block, ["type", "name"], problems)?;
        check_name(type_label, "Invalid action type name", problems);
        check_name(label, "Invalid action name", problems);
        let content = SHAPE.read(&block.body, problems);
        let provider = content
            .attribute("provider")
            .and_then(|attribute| provider_reference(&attribute.expression, problems));
        let (count, for_each) = repetition(&content, problems);
        let config = content.only_block("config", "Duplicate config block", problems);
        Some(Self {
            provider: provider.unwrap_or_else(|| implied_provider(&type_label.text)),
            type_name: type_label.text.clone(),
            name: label.text.clone(),
            count,
            for_each,
            config: config.map_or_else(|| Body::empty(block.body.span.clone()), |config| config.body.clone()),
            span: block.header_span.clone(),
            type_span: type_label.span.clone(),
        })
    }

    /// Returns the header as it is displayed in diagnostics: `action "aws_lambda_invoke" "x"`.
    pub fn context(&self) -> String {
        format!("action \"{}\" \"{}\"", self.type_name, self.name)
    }

    pub fn key(&self) -> ActionKey {
        (self.type_name.clone(), self.name.clone())
    }
}

impl ActionTrigger {
    pub(super) fn read(block: &Block, problems: &mut Diagnostics) -> Self {
        const SHAPE: Shape = Shape {
            noun: "an action_trigger block",
            required: &["events", "actions"],
            optional: &["condition"],
            blocks: &[],
        };
        let content = SHAPE.read(&block.body, problems);
        let items = |name: &str, wanted: &str, problems: &mut Diagnostics| {
            let expression = &content.attribute(name)?.expression;
            let items = expression.as_tuple_items();
            if items.as_ref().is_none_or(Vec::is_empty) {
                let detail = format!("A list with at least one {wanted} is required here.");
                problems.push(Diagnostic::error("Invalid expression", detail).at(expression.beginning()));
            }
            items
        };
        let events = items("events", "event", problems).unwrap_or_default();
        let actions = items("actions", "reference to an action", problems).unwrap_or_default();
        let mut trigger = Self {
            events: Vec::new(),
            condition: content.expression("condition"),
            actions: actions
                .iter()
                .filter_map(|item| problems.collect(ActionReference::read(item)))
                .collect(),
            span: block.header_span.clone(),
        };
        for item in &events {
            if let Some(event) = problems.collect(trigger.event(item)) {
                trigger.events.push(event);
            }
            if item.is_native_quoted() {
                let detail = "Events are keywords, which are written without quotes.";
                problems.push(
                    Diagnostic::warning("Quoted keywords are deprecated", detail).at(item.span().clone()),
                );
            }
        }
        trigger
    }

    /// Reads an event that is not in the list yet.
    fn event(&self, item: &Expression) -> Result<LifecycleEvent, Diagnostics> {
        let invalid = |detail: String| {
            Diagnostics::from(Diagnostic::error("Invalid \"events\" item", detail).at(item.span().clone()))
        };
        let keywords = LifecycleEvent::ALL.map(LifecycleEvent::keyword);
        let known = || keywords.join(", ");
        let Some(word) = item.as_keyword().or(item.as_quoted()) else {
            return Err(invalid(format!("Each event must be one of the keywords {}.", known())));
        };
        let event = LifecycleEvent::ALL.into_iter().find(|event| event.keyword() == word);
        match event {
            Some(event) if self.events.contains(&event) => {
                Err(invalid(format!("The event {word} is already in the list. Remove it.")))
            }
            Some(event) => Ok(event),
            None => {
                let advice = did_you_mean(word, keywords);
                Err(invalid(format!("There is no event {word}; the events are {}.{advice}", known())))
            }
        }
    }

    /// Returns whether any of the events precedes the operation on the object.
    pub fn has_before_events(&self) -> bool {
        self.events.iter().any(|event| event.is_before())
    }

    /// Returns whether any of the events follows the operation on the object.
    pub fn has_after_events(&self) -> bool {
        self.events.iter().any(|event| !event.is_before())
    }
}

impl ActionReference {
    fn read(item: &Expression) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        warn_of_quotes(item, &mut problems);
        let expression = item.unquoted()?;
        let invalid = |detail: String| {
            Diagnostics::from(Diagnostic::error("Invalid action reference", detail).at(item.span().clone()))
        };
        let mut found = None;
        for reference in expression.references() {
            match &reference.subject {
                ReferenceSubject::Action { kind, name } if found.is_none() => {
                    let (has_key, rest) = match reference.remaining.split_first() {
                        None => (false, None),
                        Some((PathStep::Index(_) | PathStep::Key(_), rest)) => (true, rest.first()),
                        Some((step, _)) => (false, Some(step)),
                    };
                    if rest.is_some() {
                        return Err(invalid(format!(
                            "An action has no attributes: name {} without any, optionally with an instance \
                             key in brackets.",
                            reference.subject
                        )));
                    }
                    found = Some(((kind.clone(), name.clone()), has_key));
                }
                ReferenceSubject::CountIndex | ReferenceSubject::EachKey => {}
                other => {
                    return Err(invalid(format!(
                        "Only an action can be invoked, such as action.TYPE.NAME; to select an instance, use \
                         only count.index or each.key, and not {other}."
                    )));
                }
            }
        }
        let Some((key, has_key)) = found else {
            return Err(invalid(
                "A reference to an action is required here, such as action.TYPE.NAME.".to_owned(),
            ));
        };
        // The static steps of a reference end at a computed index.
        let has_key = has_key || expression.computed_key().is_some();
        Ok(Self { key, expression, has_key })
    }
}

//! Checks of the plan of a step.

use std::fmt;

use serde_json::Value as Json;
use wardian_address::ResourceMode;
use wardian_engine::{Action, Plan, ResourceChange};
use wardian_value::Value;

use wardian_sdk::testing::value_path::{ValuePath, equals, path_text, shown};

/// The action that a plan has for an object.
///
/// ```
/// use wardian_acceptance::{ExpectedAction, PlanCheck};
///
/// PlanCheck::action("cloud_server.web", ExpectedAction::Update);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedAction {
    /// The object does not change.
    NoOp,
    /// The object is created.
    Create,
    /// The object changes in place.
    Update,
    /// The object is destroyed and created again, in either order.
    Replace,
    /// The object is destroyed.
    Delete,
    /// A data source is read during the apply.
    Read,
    /// The object is removed from the state, but not destroyed.
    Forget,
}

impl ExpectedAction {
    fn from_action(action: Action) -> Self {
        match action {
            Action::NoOp => Self::NoOp,
            Action::Create => Self::Create,
            Action::Read => Self::Read,
            Action::Update => Self::Update,
            Action::Delete => Self::Delete,
            Action::DeleteThenCreate | Action::CreateThenDelete => Self::Replace,
            Action::Forget => Self::Forget,
        }
    }
}

impl fmt::Display for ExpectedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoOp => "no-op",
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Read => "read",
            Self::Forget => "forget",
        })
    }
}

/// A check of a step's plan. Paths have the form `disk[0].size`.
///
/// ```
/// use wardian_acceptance::{ExpectedAction, PlanCheck, json};
///
/// let checks = [
///     PlanCheck::action("cloud_server.web", ExpectedAction::Create),
///     PlanCheck::known("cloud_server.web", "size", json!(8)),
///     PlanCheck::unknown("cloud_server.web", "id"),
///     PlanCheck::changes(1),
/// ];
/// ```
#[derive(Debug)]
pub struct PlanCheck(Kind);

#[derive(Debug)]
enum Kind {
    Empty,
    Changes(usize),
    Action(String, ExpectedAction),
    Known(String, String, Json),
    Unknown(String, String),
    ReplacedBecauseOf(String, String),
    OutputKnown(String, Json),
    OutputUnknown(String),
}

impl PlanCheck {
    /// Checks that the plan changes no object and no output.
    ///
    /// ```
    /// wardian_acceptance::PlanCheck::empty();
    /// ```
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// Checks the number of managed objects that change.
    ///
    /// ```
    /// wardian_acceptance::PlanCheck::changes(2);
    /// ```
    pub fn changes(number: usize) -> Self {
        Self(Kind::Changes(number))
    }

    /// Checks the action for an object.
    ///
    /// ```
    /// use wardian_acceptance::{ExpectedAction, PlanCheck};
    /// PlanCheck::action("cloud_server.web", ExpectedAction::Replace);
    /// ```
    pub fn action(address: &str, action: ExpectedAction) -> Self {
        Self(Kind::Action(address.to_owned(), action))
    }

    /// Checks that the planned value of an attribute is known and equal to a value.
    ///
    /// ```
    /// use wardian_acceptance::{PlanCheck, json};
    /// PlanCheck::known("cloud_server.web", "disk[0].size", json!(8));
    /// ```
    pub fn known(address: &str, path: &str, value: Json) -> Self {
        Self(Kind::Known(address.to_owned(), path.to_owned(), value))
    }

    /// Checks that the planned value of an attribute is unknown.
    ///
    /// ```
    /// wardian_acceptance::PlanCheck::unknown("cloud_server.web", "id");
    /// ```
    pub fn unknown(address: &str, path: &str) -> Self {
        Self(Kind::Unknown(address.to_owned(), path.to_owned()))
    }

    /// Checks that the object is replaced because of a change of this attribute.
    ///
    /// ```
    /// wardian_acceptance::PlanCheck::replaced_because_of("cloud_server.web", "zone");
    /// ```
    pub fn replaced_because_of(address: &str, path: &str) -> Self {
        Self(Kind::ReplacedBecauseOf(address.to_owned(), path.to_owned()))
    }

    /// Checks that the planned value of an output is known and equal to a value.
    ///
    /// ```
    /// use wardian_acceptance::{PlanCheck, json};
    /// PlanCheck::output("name", json!("web"));
    /// ```
    pub fn output(name: &str, value: Json) -> Self {
        Self(Kind::OutputKnown(name.to_owned(), value))
    }

    /// Checks that the planned value of an output is unknown.
    ///
    /// ```
    /// wardian_acceptance::PlanCheck::output_unknown("id");
    /// ```
    pub fn output_unknown(name: &str) -> Self {
        Self(Kind::OutputUnknown(name.to_owned()))
    }

    /// Checks a plan. The error describes the difference.
    pub(crate) fn run(&self, plan: &Plan) -> Result<(), String> {
        match &self.0 {
            Kind::Empty if plan.has_changes() => Err("the plan is not empty".to_owned()),
            Kind::Empty => Ok(()),
            Kind::Changes(expected) => {
                let number = managed(plan).filter(|change| change.is_effective()).count();
                equal(&number, expected, "the number of changed objects")
            }
            Kind::Action(address, expected) => {
                let action = ExpectedAction::from_action(change(plan, address)?.action);
                equal(&action, expected, &format!("the action for {address}"))
            }
            Kind::Known(address, path, expected) => {
                let after = &change(plan, address)?.after;
                let path = ValuePath::parse(path).map_err(|error| error.to_string())?;
                compare(&format!("{}.{}", address, path.text()), path.find(after), expected)
            }
            Kind::Unknown(address, path) => {
                let after = &change(plan, address)?.after;
                let path = ValuePath::parse(path).map_err(|error| error.to_string())?;
                is_unknown(&format!("{}.{}", address, path.text()), path.find(after))
            }
            Kind::ReplacedBecauseOf(address, path) => {
                let change = change(plan, address)?;
                let path = ValuePath::parse(path).map_err(|error| error.to_string())?;
                if change.action.is_replace() && change.required_replace.iter().any(|one| path.matches(one)) {
                    return Ok(());
                }
                let action = ExpectedAction::from_action(change.action);
                let paths: Vec<String> = change.required_replace.iter().map(path_text).collect();
                let because = if paths.is_empty() { "no attribute".to_owned() } else { paths.join(", ") };
                Err(format!(
                    "{address} must be replaced because of {}, but the action is {action}, because of {because}",
                    path.text()
                ))
            }
            Kind::OutputKnown(name, expected) => {
                let output = output(plan, name)?;
                compare(&format!("the output {name}"), Some((&output.after, output.sensitive)), expected)
            }
            Kind::OutputUnknown(name) => {
                let output = output(plan, name)?;
                is_unknown(&format!("the output {name}"), Some((&output.after, output.sensitive)))
            }
        }
    }
}

fn managed(plan: &Plan) -> impl Iterator<Item = &ResourceChange> {
    plan.changes.iter().filter(|change| change.address.mode() == ResourceMode::Managed)
}

fn change<'a>(plan: &'a Plan, address: &str) -> Result<&'a ResourceChange, String> {
    let found = plan.changes.iter().find(|one| one.deposed.is_none() && one.address.to_string() == address);
    found.ok_or_else(|| {
        let known: Vec<String> = plan.changes.iter().map(|change| change.address.to_string()).collect();
        missing("the plan", address, &known)
    })
}

fn output<'a>(plan: &'a Plan, name: &str) -> Result<&'a wardian_engine::OutputChange, String> {
    let known = || plan.outputs.keys().map(ToString::to_string).collect::<Vec<_>>();
    plan.outputs.get(name).ok_or_else(|| missing("the plan", &format!("output {name}"), &known()))
}

/// Returns the message for an address or a name that does not exist.
pub(crate) fn missing(place: &str, name: &str, known: &[String]) -> String {
    let hint = wardian_diagnostic::did_you_mean(name, known.iter().map(String::as_str));
    let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
    format!("{place} has no {name}, only {known}.{hint}")
}

fn equal<T: PartialEq + fmt::Display>(found: &T, expected: &T, subject: &str) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{subject} is {found}, expected {expected}")) }
}

/// Compares the value at a path with the expected value.
pub(crate) fn compare(subject: &str, found: Option<(&Value, bool)>, expected: &Json) -> Result<(), String> {
    let Some((value, is_sensitive)) = found else { return Err(format!("{subject} does not exist")) };
    if equals(value, expected) {
        return Ok(());
    }
    Err(format!("{subject} is {}, expected {expected}", shown(value, is_sensitive)))
}

fn is_unknown(subject: &str, found: Option<(&Value, bool)>) -> Result<(), String> {
    match found {
        Some((value, _)) if !value.is_known() => Ok(()),
        Some((value, is_sensitive)) => {
            Err(format!("{subject} is {}, expected an unknown value", shown(value, is_sensitive)))
        }
        None => Err(format!("{subject} does not exist")),
    }
}

//! Parses the JSON document of a plan. Each change is converted as soon as it is parsed, so the
//! values of only one object are held as JSON at a time.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use wardian_address::{ActionInstanceAddress, ResourceInstanceAddress, ResourceMode};

use crate::cause::PlannedReason;
use crate::change::{ChangeKind, ReplaceOrder, ReviewedChange, ReviewedOutput};
use crate::configuration::ConfigurationDocument;
use crate::difference::{Sides, object_difference, value_difference};
use crate::finding::{CheckCounts, FindingSubject, ReviewFinding};
use crate::invocation::{ActionArgument, ActionEvent, ReviewedInvocation, ReviewedTrigger};
use crate::text_pool::TextPool;

/// The reason why a document cannot be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("it is not the JSON document of a plan: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "it is the JSON document of a state. Pass the document that `show -json FILE` prints for a saved plan"
    )]
    State,
    #[error(
        "it has no format version, so it is not the JSON document of a plan. `show -json FILE` prints one for a \
         saved plan; the messages of `plan -json` cannot be reviewed"
    )]
    NoPlan,
    #[error("its format version is {0:?}, but only versions 0 and 1 are supported. Update Wardian")]
    Version(String),
    #[error("it contains more than {} changes, and larger plans cannot be reviewed", u32::MAX)]
    TooManyChanges,
}

/// The parts of a document that are reviewed.
#[derive(Default)]
pub(crate) struct PlanContents {
    pub(crate) changes: Vec<ReviewedChange>,
    /// The number of objects that do not change.
    pub(crate) unchanged: usize,
    pub(crate) drift: Vec<ReviewedChange>,
    pub(crate) outputs: Vec<ReviewedOutput>,
    pub(crate) configuration: ConfigurationDocument,
    pub(crate) invocations: Vec<ReviewedInvocation>,
    pub(crate) findings: Vec<ReviewFinding>,
    pub(crate) checks: CheckCounts,
    /// Resource addresses and the roots of attribute paths on which planned values depend.
    pub(crate) relevant: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) terraform_version: Option<Arc<str>>,
    pub(crate) timestamp: Option<Arc<str>>,
    pub(crate) errored: bool,
    pub(crate) complete: bool,
    pub(crate) applyable: bool,
    format_version: Option<String>,
    is_state: bool,
}

impl PlanContents {
    /// Parses a document.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, ReviewError> {
        let mut parser = serde_json::Deserializer::from_slice(json);
        let contents = parser.deserialize_map(DocumentVisitor)?;
        parser.end()?;
        let Some(version) = &contents.format_version else { return Err(ReviewError::NoPlan) };
        if !matches!(version.split('.').next(), Some("0" | "1")) {
            return Err(ReviewError::Version(version.clone()));
        }
        if contents.is_state {
            return Err(ReviewError::State);
        }
        Ok(contents)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = PlanContents;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plan")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlanContents, A::Error> {
        let pool = RefCell::new(TextPool::default());
        let mut contents = PlanContents { complete: true, applyable: true, ..PlanContents::default() };
        let (mut has_values, mut has_changes) = (false, false);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "format_version" => contents.format_version = Some(map.next_value()?),
                "terraform_version" => contents.terraform_version = Some(map.next_value()?),
                "timestamp" => contents.timestamp = Some(map.next_value()?),
                "errored" => contents.errored = map.next_value()?,
                "complete" => contents.complete = map.next_value()?,
                "applyable" => contents.applyable = map.next_value()?,
                "resource_changes" => {
                    has_changes = true;
                    (contents.changes, contents.unchanged) = map.next_value_seed(Changes(&pool))?;
                }
                "resource_drift" => (contents.drift, _) = map.next_value_seed(Changes(&pool))?,
                "output_changes" => contents.outputs = map.next_value_seed(Outputs(&pool))?,
                "configuration" => contents.configuration = map.next_value()?,
                "action_invocations" => contents.invocations = map.next_value_seed(Invocations(&pool))?,
                "checks" => (contents.findings, contents.checks) = findings(map.next_value()?),
                "relevant_attributes" => {
                    let relevant: Vec<RelevantDocument<'de>> = map.next_value()?;
                    let mut pool = pool.borrow_mut();
                    contents.relevant = relevant
                        .iter()
                        .map(|relevant| {
                            let root = relevant.attribute.first().and_then(Value::as_str).unwrap_or_default();
                            (pool.text(&relevant.resource), pool.text(root))
                        })
                        .collect();
                }
                "values" => {
                    has_values = true;
                    map.next_value::<IgnoredAny>()?;
                }
                "planned_values" => {
                    has_changes = true;
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        contents.is_state = has_values && !has_changes;
        Ok(contents)
    }
}

#[derive(Deserialize)]
struct RelevantDocument<'a> {
    #[serde(borrow)]
    resource: Cow<'a, str>,
    attribute: Vec<Value>,
}

#[derive(Deserialize)]
struct ResourceChangeDocument<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(borrow, default)]
    previous_address: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    provider_name: Cow<'a, str>,
    #[serde(borrow, default)]
    deposed: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    action_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    change: ChangeDocument<'a>,
}

#[derive(Deserialize)]
struct ChangeDocument<'a> {
    #[serde(borrow)]
    actions: Vec<Cow<'a, str>>,
    #[serde(default)]
    before: Value,
    #[serde(default)]
    after: Value,
    #[serde(default)]
    after_unknown: Value,
    #[serde(default)]
    before_sensitive: Value,
    #[serde(default)]
    after_sensitive: Value,
    #[serde(default)]
    replace_paths: Vec<Vec<Value>>,
    #[serde(default)]
    importing: Option<ImportingDocument>,
}

#[derive(Deserialize)]
struct ImportingDocument {
    #[serde(default)]
    id: Option<String>,
}

/// The planned action.
enum PlannedAction {
    Nothing,
    Kind(ChangeKind),
}

impl ChangeDocument<'_> {
    fn action(&self) -> Option<PlannedAction> {
        let actions: Vec<&str> = self.actions.iter().map(|action| &**action).collect();
        let kind = match actions.as_slice() {
            ["no-op"] | [] => return Some(PlannedAction::Nothing),
            ["create"] => ChangeKind::Create,
            ["read"] => ChangeKind::Read,
            ["update"] => ChangeKind::Update,
            ["delete"] => ChangeKind::Destroy,
            ["forget"] => ChangeKind::Forget,
            ["delete", "create"] => ChangeKind::Replace(ReplaceOrder::DestroyFirst),
            ["create", "delete"] => ChangeKind::Replace(ReplaceOrder::CreateFirst),
            ["create", "forget"] | ["forget", "create"] => ChangeKind::Replace(ReplaceOrder::ForgetFirst),
            _ => return None,
        };
        Some(PlannedAction::Kind(kind))
    }

    fn sides(&self, kind: Option<ChangeKind>) -> Sides<'_> {
        let whole = |value| -> Option<&Value> { Some(value) };
        // A forgotten object does not change.
        let is_forgotten = kind == Some(ChangeKind::Forget);
        Sides {
            before: whole(&self.before),
            after: whole(if is_forgotten { &self.before } else { &self.after }),
            unknown: whole(&self.after_unknown),
            before_sensitive: whole(&self.before_sensitive),
            after_sensitive: whole(if is_forgotten { &self.before_sensitive } else { &self.after_sensitive }),
        }
    }
}

impl ResourceChangeDocument<'_> {
    /// Returns the change; `None` if nothing changes.
    fn convert<E: serde::de::Error>(&self, pool: &mut TextPool) -> Result<Option<ReviewedChange>, E> {
        let Some(action) = self.change.action() else {
            return Err(E::custom(format_args!(
                "unknown actions of {}: {:?}",
                self.address, self.change.actions
            )));
        };
        let address: ResourceInstanceAddress = self
            .address
            .parse()
            .map_err(|error| E::custom(format_args!("invalid address {:?}: {error}", self.address)))?;
        let moved_from = self.previous_address.as_deref().filter(|previous| *previous != self.address);
        let importing = self.change.importing.as_ref();
        let kind = match action {
            PlannedAction::Kind(kind) => kind,
            PlannedAction::Nothing if importing.is_some() => ChangeKind::Import,
            PlannedAction::Nothing if moved_from.is_some() => ChangeKind::Move,
            PlannedAction::Nothing => return Ok(None),
        };
        let is_data = match address.mode() {
            ResourceMode::Managed => false,
            // A data source that vanishes is only removed from the state.
            ResourceMode::Data if kind == ChangeKind::Destroy => return Ok(None),
            ResourceMode::Data => true,
            ResourceMode::Ephemeral => return Ok(None),
        };
        let difference = object_difference(self.change.sides(Some(kind)), &self.change.replace_paths, pool);
        Ok(Some(ReviewedChange {
            address: self.address.as_ref().into(),
            module: pool.text(&address.module().to_string()),
            resource: pool.text(&address.config().to_string()),
            type_name: pool.text(address.type_name()),
            is_data,
            provider: pool.text(&self.provider_name),
            deposed: self.deposed.as_deref().map(|key| pool.text(key)),
            kind,
            moved_from: moved_from.map(Into::into),
            imported_id: importing.map(|importing| importing.id.as_deref().unwrap_or_default().into()),
            attributes: difference.attributes,
            unchanged: difference.unchanged,
            forced_by: difference.forced_by,
            reason: self.action_reason.as_deref().map(|name| PlannedReason::from_name(name, pool)),
            causes: Box::default(),
            source: None,
        }))
    }
}

/// Converts changes while they are parsed, and counts the objects that do not change.
struct Changes<'a>(&'a RefCell<TextPool>);

impl<'de> DeserializeSeed<'de> for Changes<'_> {
    type Value = (Vec<ReviewedChange>, usize);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Changes<'_> {
    type Value = (Vec<ReviewedChange>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of changes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut changes = Vec::new();
        let mut unchanged = 0;
        while let Some(document) = sequence.next_element::<ResourceChangeDocument<'de>>()? {
            match document.convert(&mut self.0.borrow_mut())? {
                Some(change) => changes.push(change),
                None => unchanged += 1,
            }
        }
        Ok((changes, unchanged))
    }
}

struct Outputs<'a>(&'a RefCell<TextPool>);

impl<'de> DeserializeSeed<'de> for Outputs<'_> {
    type Value = Vec<ReviewedOutput>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Outputs<'_> {
    type Value = Vec<ReviewedOutput>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the changes of outputs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut outputs = Vec::new();
        while let Some((name, document)) = map.next_entry::<Cow<'de, str>, ChangeDocument<'de>>()? {
            let Some(action) = document.action() else {
                return Err(A::Error::custom(format_args!("unknown actions of the output {name}")));
            };
            let PlannedAction::Kind(kind) = action else { continue };
            let pool = &mut self.0.borrow_mut();
            outputs.push(ReviewedOutput {
                name: pool.text(&name),
                class: kind.class(),
                attributes: value_difference(&name, document.sides(None), pool),
            });
        }
        outputs.sort_by(|one, other| (one.class, &one.name).cmp(&(other.class, &other.name)));
        Ok(outputs)
    }
}

#[derive(Deserialize)]
struct InvocationDocument<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(borrow, default)]
    provider_name: Cow<'a, str>,
    #[serde(default)]
    config_values: Value,
    #[serde(default)]
    config_unknown: Value,
    #[serde(default)]
    config_sensitive: Value,
    #[serde(borrow, default)]
    lifecycle_action_trigger: Option<TriggerDocument<'a>>,
}

#[derive(Deserialize)]
struct TriggerDocument<'a> {
    #[serde(borrow, default)]
    triggering_resource_address: Cow<'a, str>,
    #[serde(borrow, default)]
    action_trigger_event: Cow<'a, str>,
}

impl InvocationDocument<'_> {
    fn convert<E: serde::de::Error>(&self, pool: &mut TextPool) -> Result<ReviewedInvocation, E> {
        let address: ActionInstanceAddress = self
            .address
            .parse()
            .map_err(|error| E::custom(format_args!("invalid address {:?}: {error}", self.address)))?;
        let sides = Sides {
            after: Some(&self.config_values),
            unknown: Some(&self.config_unknown),
            after_sensitive: Some(&self.config_sensitive),
            ..Sides::default()
        };
        let arguments = object_difference(sides, &[], pool).attributes.into_iter();
        Ok(ReviewedInvocation {
            address: self.address.as_ref().into(),
            action: pool.text(&address.config().to_string()),
            provider: pool.text(&self.provider_name),
            trigger: self.lifecycle_action_trigger.as_ref().map(|trigger| ReviewedTrigger {
                object: pool.text(&trigger.triggering_resource_address),
                change: None,
                event: ActionEvent::from_name(&trigger.action_trigger_event),
            }),
            arguments: arguments
                .filter_map(|argument| Some(ActionArgument { path: argument.path, value: argument.after? }))
                .collect(),
        })
    }
}

/// Converts the invocations of actions while they are parsed.
struct Invocations<'a>(&'a RefCell<TextPool>);

impl<'de> DeserializeSeed<'de> for Invocations<'_> {
    type Value = Vec<ReviewedInvocation>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Invocations<'_> {
    type Value = Vec<ReviewedInvocation>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of action invocations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut invocations = Vec::new();
        while let Some(document) = sequence.next_element::<InvocationDocument<'de>>()? {
            invocations.push(document.convert(&mut self.0.borrow_mut())?);
        }
        Ok(invocations)
    }
}

#[derive(Deserialize)]
struct CheckDocument {
    address: CheckAddressDocument,
    #[serde(default)]
    status: String,
    #[serde(default)]
    instances: Vec<CheckInstanceDocument>,
}

#[derive(Deserialize)]
struct CheckInstanceDocument {
    address: CheckAddressDocument,
    #[serde(default)]
    status: String,
    #[serde(default)]
    problems: Vec<ProblemDocument>,
}

#[derive(Deserialize)]
struct CheckAddressDocument {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    to_display: Arc<str>,
}

#[derive(Deserialize)]
struct ProblemDocument {
    #[serde(default)]
    message: Arc<str>,
}

/// Returns the checks that failed or could not be evaluated, and the numbers of all results.
fn findings(checks: Vec<CheckDocument>) -> (Vec<ReviewFinding>, CheckCounts) {
    let mut findings = Vec::new();
    let mut counts = CheckCounts::default();
    for check in checks {
        let subject = FindingSubject::from_name(&check.address.kind);
        let mut add = |address: Arc<str>, status: &str, problems: Vec<ProblemDocument>| {
            match status {
                "pass" => counts.passed += 1,
                "fail" => counts.failed += 1,
                "error" => counts.errors += 1,
                _ => counts.unknown += 1,
            }
            if matches!(status, "fail" | "error") {
                let messages = problems.into_iter().map(|problem| problem.message).collect();
                findings.push(ReviewFinding { subject, address, is_error: status == "error", messages });
            }
        };
        if check.instances.is_empty() {
            // A check without instances that passes has nothing to check.
            if check.status != "pass" {
                add(check.address.to_display, &check.status, Vec::new());
            }
        }
        for instance in check.instances {
            add(instance.address.to_display, &instance.status, instance.problems);
        }
    }
    (findings, counts)
}

//! Renders the JSON messages of a run: one JSON document per line.
//!
//! The keys, their order and the content of `@message` are defined by the format: programs search
//! for them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use wardian_address::{InstanceKey, ModuleInstance, ProviderAddress, ResourceInstanceAddress, Version};
use wardian_app::PublisherChange;
use wardian_diagnostic::Diagnostic;
use wardian_engine::{
    Action, ActionInvocation, ActionReason, ChangeCounts, EphemeralAction, Event, OutputChange,
    ResourceChange,
};
use wardian_policy::PublisherIdentity;
use wardian_state::OutputValue;
use wardian_value::Str;

use super::actions::{ActionHook, InvocationMessage};
use super::changes::ImportingDocument;
use super::compact;
use super::objects::Index;
use super::queries::{ListComplete, ListResourceFound, ListStart};
use super::test_messages::TestMessage;
use super::values::{PlainValue, TypeDocument};
use crate::product::Product;

/// The version of the JSON messages, in the first message.
const FORMAT_VERSION: &str = "1.2";

/// One line.
pub(crate) enum Message<'a> {
    /// The version of Terraform with which Wardian is compatible. This is the first message.
    Version(&'a str),
    /// Human-readable text without a meaning for programs.
    Log(&'a str),
    /// A step or the result of `init`, with a code that identifies it for programs.
    InitOutput {
        code: &'static str,
        text: &'a str,
    },
    Diagnostic(&'a Diagnostic),
    /// The publisher of a plugin that is new, has changed, or is no longer known. Terraform has no
    /// such message.
    Publisher {
        address: &'a ProviderAddress,
        version: &'a Version,
        change: &'a PublisherChange,
    },
    /// An object that changed outside of Wardian.
    Drift(&'a ResourceChange),
    /// The planned change of an object.
    PlannedChange(&'a ResourceChange),
    /// The planned invocation of an action.
    PlannedInvocation(&'a ActionInvocation),
    /// The number of planned or completed changes.
    Summary(Summary, ChangeCounts),
    PlannedOutputs(&'a BTreeMap<Str, OutputChange>),
    /// The current outputs.
    Outputs(&'a BTreeMap<Str, OutputValue>),
    /// An event about an object.
    Hook(Box<Hook<'a>>),
    /// A query starts.
    ListStart(ListStart),
    /// A query found an object.
    ListResourceFound(Box<ListResourceFound<'a>>),
    /// A query ended.
    ListComplete(ListComplete),
    /// An event about an action.
    ActionHook(Box<ActionHook<'a>>),
    /// A step or a result of `test`.
    Test(TestMessage<'a>),
}

/// The kind of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summary {
    /// A plan.
    Plan,
    /// An apply in any plan mode.
    Apply,
    /// The command `destroy`.
    Destroy,
}

impl Message<'_> {
    /// Returns the line, without its line break, with a timestamp.
    pub(crate) fn line(&self, timestamp: &str, product: Product) -> String {
        compact(&Line { message: self, timestamp, product })
    }

    fn level(&self) -> &'static str {
        match self {
            Self::Diagnostic(diagnostic) if diagnostic.is_error() => "error",
            Self::Diagnostic(_) => "warn",
            Self::Test(test) => test.level(),
            _ => "info",
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Version(_) => "version",
            Self::Log(_) => "log",
            Self::InitOutput { .. } => "init_output",
            Self::Diagnostic(_) => "diagnostic",
            Self::Publisher { .. } => "publisher",
            Self::Drift(_) => "resource_drift",
            Self::PlannedChange(_) => "planned_change",
            Self::PlannedInvocation(_) => "planned_action_invocation",
            Self::ActionHook(hook) => hook.kind,
            Self::ListStart(_) => "list_start",
            Self::ListResourceFound(_) => "list_resource_found",
            Self::ListComplete(_) => "list_complete",
            Self::Summary(..) => "change_summary",
            Self::PlannedOutputs(_) | Self::Outputs(_) => "outputs",
            Self::Hook(hook) => hook.kind,
            Self::Test(test) => test.kind(),
        }
    }

    fn text(&self, product: Product) -> String {
        match self {
            Self::Version(version) => format!("{} {version}", product.message_name()),
            Self::Log(text) | Self::InitOutput { text, .. } => (*text).to_owned(),
            Self::Diagnostic(diagnostic) => {
                let severity = if diagnostic.is_error() { "Error" } else { "Warning" };
                format!("{severity}: {}", diagnostic.summary)
            }
            Self::Publisher { address, version, change } => {
                let name = address.for_display();
                match change.publisher() {
                    Some(publisher) => format!("{name} v{version} is signed by {publisher}"),
                    None => format!("{name} v{version} is not signed by a publisher"),
                }
            }
            Self::Drift(change) => {
                format!("{}: Drift detected ({})", change.address, ChangeMessage::new(change).action)
            }
            Self::PlannedChange(change) => {
                format!("{}: Plan to {}", change.address, ChangeMessage::new(change).action)
            }
            Self::PlannedInvocation(invocation) => {
                format!("planned action invocation: {}", invocation.address)
            }
            Self::ActionHook(hook) => hook.text.clone(),
            Self::ListStart(list) => format!("{}: Starting query...", list.address),
            Self::ListResourceFound(found) => format!("{}: Result found", found.address),
            Self::ListComplete(list) => format!("{}: List complete", list.address),
            Self::Summary(summary, counts) => summary.text(*counts),
            Self::PlannedOutputs(outputs) => format!("Outputs: {}", outputs.len()),
            Self::Outputs(outputs) => format!("Outputs: {}", outputs.len()),
            Self::Hook(hook) => hook.text.clone(),
            Self::Test(test) => test.text.clone(),
        }
    }
}

struct Line<'a> {
    message: &'a Message<'a>,
    timestamp: &'a str,
    product: Product,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("@level", self.message.level())?;
        map.serialize_entry("@message", &self.message.text(self.product))?;
        map.serialize_entry("@module", self.product.message_module())?;
        map.serialize_entry("@timestamp", self.timestamp)?;
        match self.message {
            Message::Version(version) => map.serialize_entry(self.product.message_key(), version)?,
            Message::Log(_) => {}
            Message::InitOutput { code, .. } => map.serialize_entry("message_code", code)?,
            Message::Diagnostic(diagnostic) => map.serialize_entry("diagnostic", &diagnostic.document())?,
            Message::Publisher { address, version, change } => {
                map.serialize_entry("publisher", &PublisherMessage::new(address, version, change))?;
            }
            Message::Drift(change) | Message::PlannedChange(change) => {
                map.serialize_entry("change", &ChangeMessage::new(change))?;
            }
            Message::Summary(summary, counts) => {
                map.serialize_entry("changes", &SummaryMessage::new(*summary, *counts))?;
            }
            Message::PlannedOutputs(outputs) => map.serialize_entry("outputs", &planned_outputs(outputs))?,
            Message::Outputs(outputs) => map.serialize_entry("outputs", &stored_outputs(outputs))?,
            Message::Hook(hook) => map.serialize_entry("hook", hook)?,
            Message::ListStart(list) => map.serialize_entry("list_start", list)?,
            Message::ListResourceFound(found) => map.serialize_entry("list_resource_found", found)?,
            Message::ListComplete(list) => map.serialize_entry("list_complete", list)?,
            Message::ActionHook(hook) => map.serialize_entry("hook", hook)?,
            Message::PlannedInvocation(invocation) => {
                map.serialize_entry("invocation", &InvocationMessage::new(invocation))?;
            }
            Message::Test(test) => test.serialize_entries(&mut map)?,
        }
        map.serialize_entry("type", self.message.kind())?;
        if let Message::Version(_) = self.message {
            map.serialize_entry("ui", FORMAT_VERSION)?;
        }
        map.end()
    }
}

/// The publisher of a plugin.
#[derive(Serialize)]
struct PublisherMessage<'a> {
    address: String,
    version: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<BTreeMap<&'static str, &'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_identity: Option<BTreeMap<&'static str, &'a str>>,
}

impl<'a> PublisherMessage<'a> {
    fn new(address: &ProviderAddress, version: &Version, change: &'a PublisherChange) -> Self {
        let parts = |publisher: &'a PublisherIdentity| {
            publisher.parts().map(|(part, text)| (part.as_str(), text)).collect()
        };
        Self {
            address: address.to_string(),
            version: version.to_string(),
            change: match change {
                PublisherChange::First { .. } => "new",
                PublisherChange::Other { .. } => "changed",
                PublisherChange::Unsigned { .. } => "missing",
            },
            identity: change.publisher().map(parts),
            previous_identity: change.before().map(parts),
        }
    }
}

impl Summary {
    fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Destroy => "destroy",
        }
    }

    /// Returns the summary's text, which is also part of the text output.
    pub(crate) fn text(self, counts: ChangeCounts) -> String {
        let ChangeCounts { add, change, destroy, import, forget: _, invoke } = counts;
        match self {
            Self::Plan => crate::render::plan::summary(counts),
            Self::Apply => {
                let import = if import > 0 { format!("{import} imported, ") } else { String::new() };
                let actions = if invoke > 0 { format!(" Actions: {invoke} invoked.") } else { String::new() };
                format!(
                    "Apply complete! Resources: {import}{add} added, {change} changed, {destroy} \
                     destroyed.{actions}"
                )
            }
            Self::Destroy => format!("Destroy complete! Resources: {destroy} destroyed."),
        }
    }
}

#[derive(Serialize)]
struct SummaryMessage {
    add: usize,
    change: usize,
    import: usize,
    remove: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    action_invocation: Option<usize>,
    operation: &'static str,
}

impl SummaryMessage {
    fn new(summary: Summary, counts: ChangeCounts) -> Self {
        let ChangeCounts { add, change, destroy, import, forget: _, invoke } = counts;
        let action_invocation = (invoke > 0).then_some(invoke);
        Self { add, change, import, remove: destroy, action_invocation, operation: summary.name() }
    }
}

#[derive(Serialize)]
struct ChangeMessage<'a> {
    resource: ResourceMessage<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_resource: Option<ResourceMessage<'a>>,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importing: Option<ImportingDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generated_config: Option<&'a str>,
}

impl<'a> ChangeMessage<'a> {
    fn new(change: &'a ResourceChange) -> Self {
        let from = change.previous_address.as_ref().filter(|from| **from != change.address);
        Self {
            resource: ResourceMessage::new(&change.address),
            previous_resource: from.map(ResourceMessage::new),
            action: match change.action {
                // If several of these apply to an unchanged object, the first one is reported.
                Action::NoOp if from.is_some() => "move",
                Action::NoOp if change.importing.is_some() => "import",
                action => action_name(action),
            },
            reason: change.reason.map(reason_name),
            importing: change.importing.as_ref().map(ImportingDocument),
            generated_config: change.generated_config.as_deref(),
        }
    }
}

fn action_name(action: Action) -> &'static str {
    match action {
        Action::NoOp => "noop",
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::DeleteThenCreate | Action::CreateThenDelete => "replace",
        Action::Delete => "delete",
        Action::Forget => "remove",
    }
}

fn reason_name(reason: ActionReason) -> &'static str {
    match reason {
        ActionReason::ReplaceBecauseTainted => "tainted",
        ActionReason::ReplaceBecauseCannotUpdate => "cannot_update",
        ActionReason::ReplaceByRequest => "requested",
        ActionReason::ReplaceByTriggers => "replace_triggered_by",
        other => other.name(),
    }
}

/// An address, split into its components.
#[derive(Serialize)]
pub(super) struct ResourceMessage<'a> {
    addr: String,
    module: String,
    resource: String,
    implied_provider: &'a str,
    resource_type: &'a str,
    resource_name: &'a str,
    resource_key: Option<Index<'a>>,
}

impl<'a> ResourceMessage<'a> {
    pub(super) fn new(address: &'a ResourceInstanceAddress) -> Self {
        let type_name: &str = address.type_name();
        let mut inside = address.clone();
        inside.resource.module = ModuleInstance::root();
        Self {
            addr: address.to_string(),
            module: address.module().to_string(),
            resource: inside.to_string(),
            implied_provider: type_name.split('_').next().unwrap_or(type_name),
            resource_type: type_name,
            resource_name: address.name(),
            resource_key: match &address.key {
                InstanceKey::None => None,
                key => Index::from_key(key),
            },
        }
    }
}

#[derive(Serialize)]
struct PlannedOutput {
    sensitive: bool,
    action: &'static str,
}

fn planned_outputs(outputs: &BTreeMap<Str, OutputChange>) -> BTreeMap<&str, PlannedOutput> {
    let planned = |change: &OutputChange| PlannedOutput {
        sensitive: change.sensitive,
        action: action_name(change.action),
    };
    outputs.iter().map(|(name, change)| (&**name, planned(change))).collect()
}

/// An output. The value is omitted if it is sensitive.
#[derive(Serialize)]
struct StoredOutput<'a> {
    sensitive: bool,
    #[serde(rename = "type")]
    ty: TypeDocument<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<PlainValue<'a>>,
}

fn stored_outputs(outputs: &BTreeMap<Str, OutputValue>) -> BTreeMap<&str, StoredOutput<'_>> {
    outputs
        .iter()
        .map(|(name, OutputValue { value, sensitive })| {
            let shown = (!sensitive).then_some(PlainValue(value));
            (&**name, StoredOutput { sensitive: *sensitive, ty: TypeDocument(value.ty()), value: shown })
        })
        .collect()
}

/// An event about an object.
#[derive(Serialize)]
pub(crate) struct Hook<'a> {
    resource: ResourceMessage<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provisioner: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip)]
    kind: &'static str,
    #[serde(skip)]
    text: String,
}

/// Returns the message for an event. Imports are reported only as planned changes.
pub(crate) fn hook<'a>(event: &'a Event<'a>) -> Option<Message<'a>> {
    let plain = |kind, address: &'a ResourceInstanceAddress, text: String| Hook {
        resource: ResourceMessage::new(address),
        action: None,
        id_key: None,
        id_value: None,
        elapsed_seconds: None,
        provisioner: None,
        output: None,
        kind,
        text,
    };
    let hook = match event {
        Event::ReadFailed { .. }
        | Event::ImportStarted { .. }
        | Event::ImportFound { .. }
        | Event::Importing { .. }
        | Event::Imported { .. } => return None,
        Event::ListStarted { list, config } => {
            return Some(Message::ListStart(ListStart::new(list, config)));
        }
        Event::ListFound { list, object } => {
            return Some(Message::ListResourceFound(Box::new(ListResourceFound::new(list, object))));
        }
        Event::ListCompleted { list, found } => {
            return Some(Message::ListComplete(ListComplete::new(list, found)));
        }
        Event::ActionStarted { address, trigger } => return action(ActionHook::started(address, trigger)),
        Event::ActionProgress { address, trigger, message } => {
            return action(ActionHook::progressed(address, trigger, message));
        }
        Event::ActionCompleted { address, trigger } => {
            return action(ActionHook::completed(address, trigger));
        }
        Event::ActionFailed { address, trigger, error } => {
            return action(ActionHook::failed(address, trigger, error));
        }
        Event::RefreshStarted { address, id } => {
            plain("refresh_start", address, format!("{address}: Refreshing state...{}", Named(id.as_deref())))
                .named(id.as_deref())
        }
        Event::RefreshCompleted { address, id } => {
            plain("refresh_complete", address, format!("{address}: Refresh complete{}", Named(id.as_deref())))
                .named(id.as_deref())
        }
        Event::Started { address, deposed: _, action, id } => {
            let text = format!("{address}: {}...{}", verb(*action), Named(id.as_deref()));
            plain("apply_start", address, text).doing(*action, None).named(id.as_deref())
        }
        Event::InProgress { address, action, id: _, elapsed } => {
            let verb = verb(*action).to_lowercase();
            let text = format!("{address}: Still {verb}... [{} elapsed]", Elapsed(*elapsed));
            plain("apply_progress", address, text).doing(*action, Some(*elapsed))
        }
        Event::Completed { address, action, id, elapsed } => {
            // A destroyed object no longer has an ID.
            let id = id.as_deref().filter(|_| *action != Action::Delete);
            let text =
                format!("{address}: {} complete after {}{}", noun(*action), Elapsed(*elapsed), Named(id));
            plain("apply_complete", address, text).doing(*action, Some(*elapsed)).named(id)
        }
        Event::Failed { address, action, elapsed } => {
            let text = format!("{address}: {} errored after {}", noun(*action), Elapsed(*elapsed));
            plain("apply_errored", address, text).doing(*action, Some(*elapsed))
        }
        Event::ProvisionStarted { address, provisioner } => {
            let text = format!("{address}: Provisioning with '{provisioner}'...");
            plain("provision_start", address, text).provisioned_with(provisioner, None)
        }
        Event::ProvisionOutput { address, provisioner, text } => {
            let output = text.trim_end();
            if output.is_empty() {
                return None;
            }
            let message = format!("{address}: ({provisioner}): {output}");
            plain("provision_progress", address, message).provisioned_with(provisioner, Some(output))
        }
        Event::ProvisionCompleted { address, provisioner } => {
            let text = format!("{address}: ({provisioner}) Provisioning complete");
            plain("provision_complete", address, text).provisioned_with(provisioner, None)
        }
        Event::ProvisionFailed { address, provisioner } => {
            let text = format!("{address}: ({provisioner}) Provisioning errored");
            plain("provision_errored", address, text).provisioned_with(provisioner, None)
        }
        Event::EphemeralStarted { address, action } => {
            let text = format!("{address}: {}...", ephemeral_words(*action).verb);
            plain("ephemeral_op_start", address, text).doing_ephemeral(*action, None)
        }
        Event::EphemeralInProgress { address, action, elapsed } => {
            let verb = ephemeral_words(*action).verb.to_lowercase();
            let text = format!("{address}: Still {verb}... [{} elapsed]", Elapsed(*elapsed));
            plain("ephemeral_op_progress", address, text).doing_ephemeral(*action, Some(*elapsed))
        }
        Event::EphemeralCompleted { address, action, elapsed } => {
            let noun = ephemeral_words(*action).noun;
            let text = format!("{address}: {noun} complete after {}", Elapsed(*elapsed));
            plain("ephemeral_op_complete", address, text).doing_ephemeral(*action, Some(*elapsed))
        }
        Event::EphemeralFailed { address, action, elapsed } => {
            let noun = ephemeral_words(*action).noun;
            let text = format!("{address}: {noun} errored after {}", Elapsed(*elapsed));
            plain("ephemeral_op_errored", address, text).doing_ephemeral(*action, Some(*elapsed))
        }
    };
    Some(Message::Hook(Box::new(hook)))
}

#[expect(clippy::unnecessary_wraps, reason = "it returns the result of `hook`")]
fn action(hook: ActionHook<'_>) -> Option<Message<'_>> {
    Some(Message::ActionHook(Box::new(hook)))
}

impl<'a> Hook<'a> {
    fn named(mut self, id: Option<&'a str>) -> Self {
        let parts = id.and_then(|id| id.split_once('='));
        (self.id_key, self.id_value) = parts.unzip();
        self
    }

    fn provisioned_with(mut self, provisioner: &'a str, output: Option<&'a str>) -> Self {
        (self.provisioner, self.output) = (Some(provisioner), output);
        self
    }

    fn doing_ephemeral(mut self, action: EphemeralAction, elapsed: Option<Duration>) -> Self {
        self.action = Some(ephemeral_words(action).name);
        self.elapsed_seconds = elapsed.map(seconds);
        self
    }

    fn doing(mut self, action: Action, elapsed: Option<Duration>) -> Self {
        self.action = Some(action_name(action));
        self.elapsed_seconds = elapsed.map(seconds);
        self
    }
}

/// The verbs for the operations of an ephemeral resource.
struct EphemeralWords {
    name: &'static str,
    verb: &'static str,
    noun: &'static str,
}

fn ephemeral_words(action: EphemeralAction) -> EphemeralWords {
    let (name, verb, noun) = match action {
        EphemeralAction::Open => ("open", "Opening", "Opening"),
        EphemeralAction::Renew => ("renew", "Renewing", "Renewal"),
        EphemeralAction::Close => ("close", "Closing", "Closing"),
    };
    EphemeralWords { name, verb, noun }
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Create => "Creating",
        Action::Update => "Modifying",
        Action::Delete => "Destroying",
        Action::Read => "Refreshing",
        Action::DeleteThenCreate | Action::CreateThenDelete => "Replacing",
        Action::Forget => "Removing",
        Action::NoOp => "Applying",
    }
}

fn noun(action: Action) -> &'static str {
    match action {
        Action::Create => "Creation",
        Action::Update => "Modifications",
        Action::Delete => "Destruction",
        Action::Read => "Refresh",
        Action::DeleteThenCreate | Action::CreateThenDelete => "Replacement",
        Action::Forget => "Removal",
        Action::NoOp => "Apply",
    }
}

/// Rounds to the nearest second.
fn seconds(elapsed: Duration) -> u64 {
    elapsed.as_secs() + u64::from(elapsed.subsec_millis() >= 500)
}

struct Named<'a>(Option<&'a str>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(f, " [{id}]"),
            None => Ok(()),
        }
    }
}

/// A duration in whole seconds: `0s`, `1m10s`, `2h0m5s`.
struct Elapsed(Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = seconds(self.0);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match (hours, minutes) {
            (0, 0) => write!(f, "{seconds}s"),
            (0, _) => write!(f, "{minutes}m{seconds}s"),
            _ => write!(f, "{hours}h{minutes}m{seconds}s"),
        }
    }
}

//! The context of a plugin call: the object for which the call is made, and the sensitive values
//! that must not be shown.
//!
//! Requests contain resource types, as defined by the protocol, but users identify resource
//! instances by their addresses. The engine creates one [`CallContext`] for each operation and
//! passes it with every call. The crates that execute calls include the address in diagnostics, log
//! lines and audit records, and redact the [sensitive values](SensitiveValues) in them.

use std::fmt;
use std::sync::Arc;

use tracing::Span;
use tracing::field::Empty;
use wardian_value::{Str, Value};

use crate::notices::CallNotices;
use crate::redaction::SensitiveValues;
use crate::state_recorder::{ContextRecorder, ObjectRecorder};

/// The context shared by all calls of an operation. Clones share the sensitive values.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    address: Option<Arc<str>>,
    sensitive_values: SensitiveValues,
    recorder: ContextRecorder,
    notices: Option<CallNotices>,
}

impl CallContext {
    /// Creates a context without sensitive values. The address is the address of a resource
    /// instance or a provider configuration, or another name for the operation.
    pub fn new(address: impl Into<Arc<str>>) -> Self {
        Self { address: Some(address.into()), ..Self::default() }
    }

    /// Returns a context for the same object with different sensitive values.
    #[must_use]
    pub fn with_sensitive_values(&self, sensitive_values: SensitiveValues) -> Self {
        Self { sensitive_values, ..self.clone() }
    }

    /// Returns a context for a call whose states are recorded while it runs.
    #[must_use]
    pub fn with_recorder(&self, recorder: Arc<dyn ObjectRecorder>) -> Self {
        Self { recorder: ContextRecorder(Some(recorder)), ..self.clone() }
    }

    /// Returns the recorder of the object's states, if the call changes an object.
    pub fn recorder(&self) -> Option<&Arc<dyn ObjectRecorder>> {
        self.recorder.0.as_ref()
    }

    /// Returns a context for a call whose response contains the host's own diagnostics.
    #[must_use]
    pub fn with_notices(&self, notices: CallNotices) -> Self {
        Self { notices: Some(notices), ..self.clone() }
    }

    /// Returns the collection of the host's diagnostics about the call, if its response contains them.
    pub fn notices(&self) -> Option<&CallNotices> {
        self.notices.as_ref()
    }

    /// Returns the address of the object.
    pub fn address(&self) -> Option<&Arc<str>> {
        self.address.as_ref()
    }

    /// Returns the values that must not be shown in diagnostics, log lines and records.
    pub fn sensitive_values(&self) -> &SensitiveValues {
        &self.sensitive_values
    }

    /// Returns a value without marks, which can be passed to a plugin. Registers the values in it
    /// that were marked as sensitive or ephemeral.
    pub fn unmark_and_register(&self, value: &Value) -> Value {
        if value.inside_marks().is_empty() {
            return value.clone();
        }
        self.sensitive_values.add_marked(value);
        value.unmark_deep()
    }
}

/// Returns the span of a call, for logs and traces. A transport that knows the sizes of messages
/// records them in the fields `bytes_sent` and `bytes_received`.
pub fn call_span(plugin: &str, function: &str, resource: &str) -> Span {
    tracing::info_span!(
        target: "wardian::call",
        "call",
        plugin,
        function,
        resource,
        bytes_sent = Empty,
        bytes_received = Empty,
    )
}

/// One call of one plugin, as identified in diagnostics, log lines and audit records.
#[derive(Clone, Debug)]
pub struct PluginCall {
    /// The plugin's name in messages.
    pub plugin: Arc<str>,
    /// The name of the function in the plugin's protocol.
    pub function: &'static str,
    /// The resource type, data source, function or action to which the call applies.
    pub type_name: Option<Str>,
    /// The object for which the call is made, and its sensitive values.
    pub context: CallContext,
}

impl PluginCall {
    /// Creates a call in this context.
    pub fn new(
        plugin: &Arc<str>,
        function: &'static str,
        type_name: Option<&Str>,
        context: &CallContext,
    ) -> Self {
        Self { plugin: Arc::clone(plugin), function, type_name: type_name.cloned(), context: context.clone() }
    }

    /// Returns a placeholder for code that an instance runs outside of any call, such as its
    /// initialization.
    pub fn outside_of_calls(plugin: &Arc<str>) -> Self {
        Self::new(plugin, "start", None, &CallContext::default())
    }

    /// Returns the values that must not be shown in diagnostics, log lines and records.
    pub fn sensitive_values(&self) -> &SensitiveValues {
        self.context.sensitive_values()
    }

    /// Returns the span of the call, for logs and traces.
    pub fn span(&self) -> Span {
        call_span(&self.plugin, self.function, self.resource())
    }

    /// Returns the address of the object, or else the name of its type; empty if neither is
    /// known.
    pub fn resource(&self) -> &str {
        self.context.address().map(|address| &**address).or(self.type_name.as_deref()).unwrap_or_default()
    }
}

/// Formats the call, for example as `hashicorp/random in plan-resource-change of random_id.a
/// (random_id)`.
impl fmt::Display for PluginCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in {}", self.plugin, self.function)?;
        match (self.context.address(), &self.type_name) {
            (Some(address), Some(name)) => write!(formatter, " of {address} ({name})"),
            (Some(address), None) => write!(formatter, " of {address}"),
            (None, Some(name)) => write!(formatter, " of {name}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use wardian_value::Marks;

    use super::*;

    #[test]
    fn unmark_and_register_registers_marked_values() {
        let context = CallContext::new("a.b");
        let value = Value::object([("x", Value::from("hunter22").with_marks(Marks::SENSITIVE))]);
        let clone = context.clone();
        assert!(clone.unmark_and_register(&value).inside_marks().is_empty());
        assert_eq!(context.sensitive_values().redact("hunter22"), crate::REDACTED);
    }

    #[test]
    fn display_names_address_and_type() {
        let plugin = Arc::from("hashicorp/random");
        let name = Str::new("random_id");
        let call = |type_name, context: &CallContext| {
            PluginCall::new(&plugin, "read-resource", type_name, context).to_string()
        };
        let (with_address, without) = (CallContext::new("random_id.a"), CallContext::default());
        let expected = "hashicorp/random in read-resource of random_id.a (random_id)";
        assert_eq!(call(Some(&name), &with_address), expected);
        assert_eq!(call(None, &with_address), "hashicorp/random in read-resource of random_id.a");
        assert_eq!(call(Some(&name), &without), "hashicorp/random in read-resource of random_id");
        assert_eq!(call(None, &without), "hashicorp/random in read-resource");
    }
}

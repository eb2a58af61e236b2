//! Runs one provisioner for an object.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_plugin::{CallContext, PluginDiagnostics, ProvisionRequest, Provisioner, SharedByObject};
use wardian_value::{Marks, Str, Value};

use super::Subject;
use crate::events::Event;

/// A provisioner with its inputs.
pub struct ProvisionStep {
    pub type_name: Str,
    pub provisioner: Arc<dyn Provisioner>,
    /// The provisioner's configuration, wholly known.
    pub config: Value,
    /// The value of the provisioner's connection blocks, wholly known; null if it has none.
    pub connection: Value,
    /// The connection and other state shared by the object's provisioners.
    pub shared: SharedByObject,
    /// The marks of all values in the provisioner's configuration. The output may contain these
    /// values, so it is suppressed if any of them is marked.
    pub marks: Marks,
}

/// Runs the provisioner and reports its output.
pub async fn provision(subject: &Subject, step: ProvisionStep) -> Diagnostics {
    let ProvisionStep { type_name, provisioner, config, connection, shared, marks } = step;
    // The sensitive values that were passed to the provider are not passed to a provisioner.
    let context = CallContext::new(subject.address.to_string());
    let request = ProvisionRequest {
        config: context.unmark_and_register(&config),
        connection: context.unmark_and_register(&connection),
        shared,
    };
    let address = &subject.address;
    let provisioner_type = &*type_name;
    subject.events.event(&Event::ProvisionStarted { address, provisioner: provisioner_type });
    let show = |text: &str| {
        subject.events.event(&Event::ProvisionOutput { address, provisioner: provisioner_type, text });
    };
    let withheld = withheld(marks);
    let mut is_told = false;
    let found = provisioner
        .provision(&context, request, &mut |text| match withheld {
            None => show(text),
            Some(_) if is_told => {}
            Some(what) => {
                is_told = true;
                show(&format!("(output is not shown: the configuration contains {what})"));
            }
        })
        .await;
    let found = match withheld {
        None => found,
        Some(what) => without_details(found, what),
    };
    let diagnostics = subject.about(&found);
    let event = if diagnostics.has_errors() {
        Event::ProvisionFailed { address, provisioner: provisioner_type }
    } else {
        Event::ProvisionCompleted { address, provisioner: provisioner_type }
    };
    subject.events.event(&event);
    diagnostics
}

/// Returns a description of the values that must not be shown.
fn withheld(marks: Marks) -> Option<&'static str> {
    match (marks.is_sensitive(), marks.is_ephemeral()) {
        (false, false) => None,
        (true, false) => Some("a sensitive value"),
        (false, true) => Some("an ephemeral value"),
        (true, true) => Some("a sensitive and an ephemeral value"),
    }
}

/// Removes the details from diagnostics, because they may contain parts of the configuration and
/// the output.
fn without_details(mut found: PluginDiagnostics, what: &str) -> PluginDiagnostics {
    for diagnostic in &mut found {
        diagnostic.detail = format!(
            "The provisioner's error message is not shown because its configuration contains {what}, which \
             the message may contain."
        );
    }
    found
}

//! One provisioner's work on an object.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_plugin::{PluginDiagnostics, ProvisionRequest, Provisioner, SharedByObject, hand_over};
use wardian_value::{Marks, Str, Value};

use super::Subject;
use crate::events::Event;

/// What is to be done.
pub struct Step {
    /// The provisioner's type.
    pub type_name: Str,
    /// The provisioner.
    pub provisioner: Arc<dyn Provisioner>,
    /// Its configuration, wholly known.
    pub config: Value,
    /// What its connection blocks say, wholly known; null where there are none.
    pub connection: Value,
    /// What provisioners of the object share.
    pub shared: SharedByObject,
    /// The marks of all that went into its configuration. Its output may hold that, so it
    /// is not shown where there are any.
    pub marks: Marks,
}

/// Does it, and tells what the provisioner shows meanwhile.
pub async fn provision(subject: &Subject, step: Step) -> Diagnostics {
    let Step { type_name, provisioner, config, connection, shared, marks } = step;
    let request = ProvisionRequest { config: hand_over(&config), connection: hand_over(&connection), shared };
    let address = &subject.address;
    let provisioner_type = &*type_name;
    subject.events.event(&Event::ProvisionStarted { address, provisioner: provisioner_type });
    let show = |text: &str| {
        subject.events.event(&Event::ProvisionOutput { address, provisioner: provisioner_type, text });
    };
    let withheld = withheld(marks);
    let mut is_told = false;
    let found = provisioner
        .provision(request, &mut |text| match withheld {
            None => show(text),
            Some(_) if is_told => {}
            Some(what) => {
                is_told = true;
                show(&format!("(output is not shown: there is {what} in the configuration)"));
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

/// What of a configuration must not be shown.
fn withheld(marks: Marks) -> Option<&'static str> {
    match (marks.is_sensitive(), marks.is_ephemeral()) {
        (false, false) => None,
        (true, false) => Some("a sensitive value"),
        (false, true) => Some("an ephemeral value"),
        (true, true) => Some("a sensitive and an ephemeral value"),
    }
}

/// What a provisioner says of a failure tends to hold its configuration and its output.
fn without_details(mut found: PluginDiagnostics, what: &str) -> PluginDiagnostics {
    for diagnostic in &mut found {
        diagnostic.detail = format!(
            "What the provisioner says of it is not shown, since there is {what} in its configuration, which it \
             may repeat."
        );
    }
    found
}

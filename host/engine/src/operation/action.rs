//! Plans and invokes actions.

use std::sync::Arc;

use wardian_address::ActionInstanceAddress;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{
    ActionRequest, CallContext, ClientCapabilities, ConfigKind, PluginDiagnostics, Provider,
    ValidateConfigRequest,
};
use wardian_value::Value;

use crate::events::{Event, Events};
use crate::plan::InvocationTrigger;
use crate::plugin_diagnostics::from_plugin_about;

/// An action instance and its provider.
#[derive(Clone)]
pub struct ActionSubject {
    pub address: ActionInstanceAddress,
    pub trigger: InvocationTrigger,
    pub provider: Arc<dyn Provider>,
    /// The receiver of progress events.
    pub events: Arc<dyn Events>,
}

impl ActionSubject {
    fn about(&self, found: &PluginDiagnostics) -> Diagnostics {
        from_plugin_about(found, &self.address.to_string())
    }

    fn request(&self, context: &CallContext, config: &Value) -> ActionRequest {
        ActionRequest {
            action_type: self.address.type_name.clone(),
            config: context.unmark_and_register(config),
            capabilities: ClientCapabilities::default(),
        }
    }
}

/// Plans an invocation: the provider validates the configuration, which may contain unknown values.
pub async fn plan_invocation(subject: &ActionSubject, config: &Value) -> Diagnostics {
    let context = CallContext::new(subject.address.to_string());
    let request = subject.request(&context, config);
    let validation = ValidateConfigRequest {
        type_name: request.action_type.clone(),
        config: request.config.clone(),
        capabilities: request.capabilities,
    };
    let found = subject.provider.validate_config(&context, ConfigKind::Action, validation).await;
    let mut diagnostics = subject.about(&found);
    if diagnostics.has_errors() {
        return diagnostics;
    }
    let response = subject.provider.plan_action(&context, request).await;
    diagnostics.extend(subject.about(&response.diagnostics));
    if response.deferred.is_some() {
        let detail = format!(
            "The provider deferred the action {}, which was not allowed.\n\nThis is a bug in the provider; \
             please report it to its maintainers.",
            subject.address
        );
        diagnostics.push(
            Diagnostic::error("Provider deferred changes without being allowed to", detail)
                .for_address(subject.address.to_string()),
        );
    }
    diagnostics
}

/// Invokes an action with a wholly known configuration, and reports its progress.
pub async fn invoke(subject: &ActionSubject, config: &Value) -> Diagnostics {
    let ActionSubject { address, trigger, provider, events } = subject;
    let context = CallContext::new(address.to_string());
    let request = subject.request(&context, config);
    events.event(&Event::ActionStarted { address, trigger });
    let mut progress = |message: String| {
        events.event(&Event::ActionProgress { address, trigger, message: &message });
    };
    let found = provider.invoke_action(&context, request, &mut progress).await;
    let diagnostics = subject.about(&found);
    if diagnostics.has_errors() {
        let errors = diagnostics.iter().filter(|problem| problem.is_error());
        let error = errors.map(|problem| problem.summary.as_str()).collect::<Vec<_>>().join("; ");
        events.event(&Event::ActionFailed { address, trigger, error: &error });
    } else {
        events.event(&Event::ActionCompleted { address, trigger });
    }
    diagnostics
}

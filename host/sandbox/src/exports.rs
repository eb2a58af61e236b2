//! The exports of a provider: either the interface `provider`, which contains all calls, or
//! `provider-base` and the interfaces of the parts that the provider has.
//!
//! Both forms have the same calls here. A call to a part that a component does not export is an error;
//! [`LinkedProvider::missing_parts`] compares the exports with the schema, so the engine makes no such
//! call.

use wasmtime::component::{Instance, InstancePre, ResourceAny};
use wasmtime::{AsContextMut, Store};

use crate::bindings::exports::wardian::plugin::provider::{self, Guest as Complete};
use crate::bindings::parts::exports::wardian::plugin::{
    actions, config_generation, configured_form, ephemeral_resources, list_resources, provider_base,
    provider_functions, state_moves,
};
use crate::bindings::wardian::plugin::provider_types as wit;
use crate::bindings::wardian::plugin::types::Diagnostic;
use crate::imports::PROVIDER;
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

/// A provider's component that is linked, and whose exports have the expected types.
#[derive(Clone)]
pub(crate) struct LinkedProvider {
    component: InstancePre<GuestState>,
    calls: LinkedCalls,
    configured_form: Option<configured_form::GuestIndices>,
}

#[derive(Clone)]
enum LinkedCalls {
    Complete(Box<provider::GuestIndices>),
    Parts(Box<LinkedParts>),
}

#[derive(Clone)]
struct LinkedParts {
    base: provider_base::GuestIndices,
    ephemeral_resources: Option<ephemeral_resources::GuestIndices>,
    provider_functions: Option<provider_functions::GuestIndices>,
    list_resources: Option<list_resources::GuestIndices>,
    actions: Option<actions::GuestIndices>,
    state_moves: Option<state_moves::GuestIndices>,
    config_generation: Option<config_generation::GuestIndices>,
}

/// The exports of an instance of a provider.
pub(crate) struct ProviderExports {
    calls: Calls,
    configured_form: Option<configured_form::Guest>,
}

enum Calls {
    Complete(Box<Complete>),
    Parts(Box<Parts>),
}

struct Parts {
    base: provider_base::Guest,
    ephemeral_resources: Option<ephemeral_resources::Guest>,
    provider_functions: Option<provider_functions::Guest>,
    list_resources: Option<list_resources::Guest>,
    actions: Option<actions::Guest>,
    state_moves: Option<state_moves::Guest>,
    config_generation: Option<config_generation::Guest>,
}

impl LinkedProvider {
    /// Checks the types of the exports.
    pub(crate) fn new(component: InstancePre<GuestState>) -> wasmtime::Result<Self> {
        let shape = component.component().component_type();
        let names: Vec<String> = shape.exports(component.engine()).map(|(name, _)| name.to_owned()).collect();
        let exports = |wanted: InterfaceName<'_>| {
            names.iter().any(|name| InterfaceName::parse(name).is_some_and(|name| wanted.serves(&name)))
        };
        macro_rules! part {
            ($part:ident, $name:literal) => {{
                let wanted = InterfaceName { path: concat!("wardian:plugin/", $name), major: 0, minor: 1 };
                if exports(wanted) { Some($part::GuestIndices::new(&component)?) } else { None }
            }};
        }
        let configured_form = part!(configured_form, "configured-form");
        let calls = if exports(PROVIDER) {
            LinkedCalls::Complete(Box::new(provider::GuestIndices::new(&component)?))
        } else {
            LinkedCalls::Parts(Box::new(LinkedParts {
                base: provider_base::GuestIndices::new(&component)?,
                ephemeral_resources: part!(ephemeral_resources, "ephemeral-resources"),
                provider_functions: part!(provider_functions, "provider-functions"),
                list_resources: part!(list_resources, "list-resources"),
                actions: part!(actions, "actions"),
                state_moves: part!(state_moves, "state-moves"),
                config_generation: part!(config_generation, "config-generation"),
            }))
        };
        Ok(Self { component, calls, configured_form })
    }

    pub(crate) fn instance_pre(&self) -> &InstancePre<GuestState> {
        &self.component
    }

    /// Whether the provider can hand on its configured form.
    pub(crate) fn has_configured_form(&self) -> bool {
        self.configured_form.is_some()
    }

    pub(crate) async fn instantiate(
        &self,
        store: &mut Store<GuestState>,
    ) -> wasmtime::Result<ProviderExports> {
        let instance = self.component.instantiate_async(&mut *store).await?;
        self.load(store, &instance)
    }

    /// Returns the exports of an instance.
    pub(crate) fn load(
        &self,
        mut store: impl AsContextMut<Data = GuestState>,
        instance: &Instance,
    ) -> wasmtime::Result<ProviderExports> {
        macro_rules! load {
            ($part:expr) => {
                match &$part {
                    Some(part) => Some(part.load(&mut store, instance)?),
                    None => None,
                }
            };
        }
        let calls = match &self.calls {
            LinkedCalls::Complete(complete) => {
                Calls::Complete(Box::new(complete.load(&mut store, instance)?))
            }
            LinkedCalls::Parts(parts) => Calls::Parts(Box::new(Parts {
                base: parts.base.load(&mut store, instance)?,
                ephemeral_resources: load!(parts.ephemeral_resources),
                provider_functions: load!(parts.provider_functions),
                list_resources: load!(parts.list_resources),
                actions: load!(parts.actions),
                state_moves: load!(parts.state_moves),
                config_generation: load!(parts.config_generation),
            })),
        };
        Ok(ProviderExports { calls, configured_form: load!(self.configured_form) })
    }

    /// Returns the mismatch between a schema and the exported parts, if there is one.
    pub(crate) fn missing_parts(&self, schema: &wit::ProviderSchema) -> Option<String> {
        let LinkedCalls::Parts(parts) = &self.calls else { return None };
        let capabilities = &schema.server_capabilities;
        let needed = [
            (
                !schema.ephemeral_resources.is_empty(),
                parts.ephemeral_resources.is_some(),
                "ephemeral-resources",
            ),
            (!schema.functions.is_empty(), parts.provider_functions.is_some(), "provider-functions"),
            (!schema.list_resources.is_empty(), parts.list_resources.is_some(), "list-resources"),
            (!schema.actions.is_empty(), parts.actions.is_some(), "actions"),
            (capabilities.move_resource_state, parts.state_moves.is_some(), "state-moves"),
            (capabilities.generate_resource_config, parts.config_generation.is_some(), "config-generation"),
        ];
        let (_, _, name) = needed.iter().find(|(is_needed, is_exported, _)| *is_needed && !is_exported)?;
        Some(format!(
            "its schema has parts that need the interface wardian:plugin/{name}, but it does not export the \
             interface"
        ))
    }
}

fn exported<'a, T>(part: Option<&'a T>, name: &str) -> wasmtime::Result<&'a T> {
    part.ok_or_else(|| wasmtime::Error::msg(format!("it does not export wardian:plugin/{name}")))
}

impl Parts {
    #[allow(clippy::unnecessary_wraps, reason = "the other parts may be missing")]
    fn base(&self) -> wasmtime::Result<&provider_base::Guest> {
        Ok(&self.base)
    }

    fn ephemeral_resources(&self) -> wasmtime::Result<&ephemeral_resources::Guest> {
        exported(self.ephemeral_resources.as_ref(), "ephemeral-resources")
    }

    fn provider_functions(&self) -> wasmtime::Result<&provider_functions::Guest> {
        exported(self.provider_functions.as_ref(), "provider-functions")
    }

    fn list_resources(&self) -> wasmtime::Result<&list_resources::Guest> {
        exported(self.list_resources.as_ref(), "list-resources")
    }

    fn actions(&self) -> wasmtime::Result<&actions::Guest> {
        exported(self.actions.as_ref(), "actions")
    }

    fn state_moves(&self) -> wasmtime::Result<&state_moves::Guest> {
        exported(self.state_moves.as_ref(), "state-moves")
    }

    fn config_generation(&self) -> wasmtime::Result<&config_generation::Guest> {
        exported(self.config_generation.as_ref(), "config-generation")
    }
}

/// Defines the calls, each with the part that contains it.
macro_rules! calls {
    ($($part:ident { $($name:ident($($argument:ident: $ty:ty),*) -> $result:ty;)+ })+) => {
        #[allow(clippy::ptr_arg, reason = "the generated functions have these parameters")]
        impl ProviderExports {
            $($(
                pub(crate) async fn $name(
                    &self,
                    store: &mut Store<GuestState>,
                    $($argument: $ty),*
                ) -> wasmtime::Result<$result> {
                    match &self.calls {
                        Calls::Complete(complete) => complete.$name(store, $($argument),*).await,
                        Calls::Parts(parts) => parts.$part()?.$name(store, $($argument),*).await,
                    }
                }
            )+)+
        }
    };
}

calls! {
    base {
        call_get_provider_schema() -> wit::ProviderSchema;
        call_get_resource_identity_schemas() -> wit::IdentitySchemas;
        call_validate_provider_config(config: &Vec<u8>) -> Vec<Diagnostic>;
        call_configure_provider(request: &wit::ConfigureProviderRequest) -> Vec<Diagnostic>;
        call_stop_provider() -> Result<(), String>;
        call_validate_resource_config(request: &wit::ValidateConfigRequest) -> Vec<Diagnostic>;
        call_upgrade_resource_state(
            request: &wit::UpgradeResourceStateRequest
        ) -> wit::UpgradeResourceStateResponse;
        call_upgrade_resource_identity(
            request: &wit::UpgradeResourceIdentityRequest
        ) -> wit::UpgradeResourceIdentityResponse;
        call_read_resource(request: &wit::ReadResourceRequest) -> wit::ReadResourceResponse;
        call_plan_resource_change(
            request: &wit::PlanResourceChangeRequest
        ) -> wit::PlanResourceChangeResponse;
        call_apply_resource_change(
            request: &wit::ApplyResourceChangeRequest
        ) -> wit::ApplyResourceChangeResponse;
        call_import_resource_state(
            request: &wit::ImportResourceStateRequest
        ) -> wit::ImportResourceStateResponse;
        call_validate_data_resource_config(request: &wit::ValidateConfigRequest) -> Vec<Diagnostic>;
        call_read_data_source(request: &wit::ReadDataSourceRequest) -> wit::ReadDataSourceResponse;
    }
    ephemeral_resources {
        call_validate_ephemeral_resource_config(request: &wit::ValidateConfigRequest) -> Vec<Diagnostic>;
        call_open_ephemeral_resource(
            request: &wit::OpenEphemeralResourceRequest
        ) -> wit::OpenEphemeralResourceResponse;
        call_renew_ephemeral_resource(
            type_name: &str, private: &Vec<u8>
        ) -> wit::RenewEphemeralResourceResponse;
        call_close_ephemeral_resource(type_name: &str, private: &Vec<u8>) -> Vec<Diagnostic>;
    }
    provider_functions {
        call_call_function(
            name: &str, arguments: &[Vec<u8>]
        ) -> Result<Vec<u8>, wit::FunctionError>;
    }
    list_resources {
        call_validate_list_resource_config(
            request: &wit::ValidateListResourceConfigRequest
        ) -> Vec<Diagnostic>;
        call_list_resource(request: &wit::ListResourceRequest) -> ResourceAny;
    }
    actions {
        call_validate_action_config(request: &wit::ValidateConfigRequest) -> Vec<Diagnostic>;
        call_plan_action(request: &wit::ActionRequest) -> wit::PlanActionResponse;
        call_invoke_action(request: &wit::ActionRequest) -> ResourceAny;
    }
    state_moves {
        call_move_resource_state(
            request: &wit::MoveResourceStateRequest
        ) -> wit::MoveResourceStateResponse;
    }
    config_generation {
        call_generate_resource_config(
            type_name: &str, state: &Vec<u8>
        ) -> wit::GenerateResourceConfigResponse;
    }
}

impl ProviderExports {
    /// Returns the next results of a list.
    pub(crate) async fn next_list_events(
        &self,
        store: &mut Store<GuestState>,
        events: ResourceAny,
        most: u32,
    ) -> wasmtime::Result<Vec<wit::ListEvent>> {
        match &self.calls {
            Calls::Complete(complete) => complete.list_events().call_next(store, events, most).await,
            Calls::Parts(parts) => parts.list_resources()?.list_events().call_next(store, events, most).await,
        }
    }

    /// Returns the next event of an action.
    pub(crate) async fn next_action_event(
        &self,
        store: &mut Store<GuestState>,
        events: ResourceAny,
    ) -> wasmtime::Result<Option<wit::ActionEvent>> {
        match &self.calls {
            Calls::Complete(complete) => complete.action_events().call_next(store, events).await,
            Calls::Parts(parts) => parts.actions()?.action_events().call_next(store, events).await,
        }
    }

    /// Returns the configured form of the instance; `None` if it cannot be handed on.
    pub(crate) async fn configured_form(
        &self,
        store: &mut Store<GuestState>,
    ) -> wasmtime::Result<Option<Vec<u8>>> {
        exported(self.configured_form.as_ref(), "configured-form")?.call_get_configured_form(store).await
    }

    /// Configures the instance with the form of another instance.
    pub(crate) async fn restore_configured_form(
        &self,
        store: &mut Store<GuestState>,
        form: &[u8],
    ) -> wasmtime::Result<Vec<Diagnostic>> {
        let exports = exported(self.configured_form.as_ref(), "configured-form")?;
        exports.call_restore_configured_form(store, form).await
    }
}

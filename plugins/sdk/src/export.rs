//! Exports a provider from a component.

use std::cell::{OnceCell, RefCell};
use std::marker::PhantomData;
use std::thread::LocalKey;

use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
pub use crate::service::Service;
use crate::service::{ListCursor, diagnostics_record};

/// Provides access to a component's provider. [`crate::export_provider!`] implements it.
pub trait Exported: 'static {
    /// Whether the component exports the form of its configured provider.
    const HAS_CONFIGURED_FORM: bool;

    /// Returns the cell that contains the component's provider.
    fn service() -> &'static LocalKey<OnceCell<Service>>;

    /// Creates the provider when it is first called.
    fn make() -> Service;
}

/// The type that implements the exports of a component.
pub struct Component<E>(PhantomData<E>);

/// Calls the component's provider.
pub(crate) fn with<E: Exported, T>(answer: impl FnOnce(&Service) -> T) -> T {
    let make = || {
        crate::file_access::enter_working_directory();
        E::make().exported(E::HAS_CONFIGURED_FORM)
    };
    E::service().with(|service| answer(service.get_or_init(make)))
}

/// Returns the client of a component's configured provider.
pub(crate) fn client<E: Exported>() -> crate::Result<std::rc::Rc<dyn std::any::Any>> {
    with::<E, _>(Service::configured_client)
}

/// The results of a list request, which the host fetches in batches.
pub struct ListEvents(RefCell<ListCursor>);

impl protocol::GuestListEvents for ListEvents {
    fn next(&self, most: u32) -> Vec<protocol::ListEvent> {
        self.0.borrow_mut().next(most)
    }
}

/// The steps of an action, which the host executes one by one; `None` after the last step.
pub struct ActionEvents(RefCell<Option<crate::action::ActionSteps>>);

impl protocol::GuestActionEvents for ActionEvents {
    fn next(&self) -> Option<protocol::ActionEvent> {
        let mut steps = self.0.borrow_mut();
        match steps.as_mut()?.next() {
            Some(Ok(text)) => Some(protocol::ActionEvent::Progress(text)),
            Some(Err(errors)) => {
                *steps = None;
                Some(protocol::ActionEvent::Completed(diagnostics_record(errors)))
            }
            None => {
                *steps = None;
                Some(protocol::ActionEvent::Completed(Vec::new()))
            }
        }
    }
}

impl<E: Exported> protocol::Guest for Component<E> {
    type ListEvents = ListEvents;
    type ActionEvents = ActionEvents;

    fn get_metadata() -> protocol::Metadata {
        with::<E, _>(Service::metadata)
    }

    fn get_provider_schema() -> protocol::ProviderSchema {
        with::<E, _>(Service::provider_schema)
    }

    fn get_resource_identity_schemas() -> protocol::IdentitySchemas {
        with::<E, _>(Service::identity_schemas)
    }

    fn validate_provider_config(config: Vec<u8>) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.validate_provider_config(&config))
    }

    fn configure_provider(request: protocol::ConfigureProviderRequest) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.configure_provider(&request))
    }

    // A component executes one call at a time, so there is no other call to stop.
    fn stop_provider() -> Result<(), String> {
        Ok(())
    }

    fn validate_resource_config(request: protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.validate_resource(&request))
    }

    fn upgrade_resource_state(
        request: protocol::UpgradeResourceStateRequest,
    ) -> protocol::UpgradeResourceStateResponse {
        with::<E, _>(|service| service.upgrade_state(&request))
    }

    fn upgrade_resource_identity(
        request: protocol::UpgradeResourceIdentityRequest,
    ) -> protocol::UpgradeResourceIdentityResponse {
        with::<E, _>(|service| service.upgrade_identity(&request))
    }

    fn read_resource(request: protocol::ReadResourceRequest) -> protocol::ReadResourceResponse {
        with::<E, _>(|service| service.read_resource(&request))
    }

    fn plan_resource_change(
        request: protocol::PlanResourceChangeRequest,
    ) -> protocol::PlanResourceChangeResponse {
        with::<E, _>(|service| service.plan_resource(&request))
    }

    fn apply_resource_change(
        request: protocol::ApplyResourceChangeRequest,
    ) -> protocol::ApplyResourceChangeResponse {
        with::<E, _>(|service| service.apply_resource(&request))
    }

    fn import_resource_state(
        request: protocol::ImportResourceStateRequest,
    ) -> protocol::ImportResourceStateResponse {
        with::<E, _>(|service| service.import_resource(&request))
    }

    fn move_resource_state(
        request: protocol::MoveResourceStateRequest,
    ) -> protocol::MoveResourceStateResponse {
        with::<E, _>(|service| service.move_resource(&request))
    }

    fn generate_resource_config(type_name: String, _: Vec<u8>) -> protocol::GenerateResourceConfigResponse {
        Service::generate_config(&type_name)
    }

    fn validate_data_resource_config(request: protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.validate_data_source(&request))
    }

    fn read_data_source(request: protocol::ReadDataSourceRequest) -> protocol::ReadDataSourceResponse {
        with::<E, _>(|service| service.read_data_source(&request))
    }

    fn validate_ephemeral_resource_config(
        request: protocol::ValidateConfigRequest,
    ) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.validate_ephemeral(&request))
    }

    fn open_ephemeral_resource(
        request: protocol::OpenEphemeralResourceRequest,
    ) -> protocol::OpenEphemeralResourceResponse {
        with::<E, _>(|service| service.open_ephemeral(&request))
    }

    fn renew_ephemeral_resource(
        type_name: String,
        private: Vec<u8>,
    ) -> protocol::RenewEphemeralResourceResponse {
        with::<E, _>(|service| service.renew_ephemeral(&type_name, private))
    }

    fn close_ephemeral_resource(type_name: String, private: Vec<u8>) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.close_ephemeral(&type_name, private))
    }

    fn get_functions() -> Vec<(String, protocol::Function)> {
        with::<E, _>(Service::functions)
    }

    fn call_function(name: String, arguments: Vec<Vec<u8>>) -> Result<Vec<u8>, protocol::FunctionError> {
        with::<E, _>(|service| service.call_function(&name, &arguments))
    }

    fn validate_list_resource_config(
        request: protocol::ValidateListResourceConfigRequest,
    ) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.validate_list(&request))
    }

    fn list_resource(request: protocol::ListResourceRequest) -> protocol::ListEvents {
        let cursor = with::<E, _>(|service| service.list(&request));
        protocol::ListEvents::new(ListEvents(RefCell::new(cursor)))
    }

    fn validate_action_config(request: protocol::ValidateConfigRequest) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.validate_action(&request))
    }

    fn plan_action(request: protocol::ActionRequest) -> protocol::PlanActionResponse {
        with::<E, _>(|service| service.plan_action(&request))
    }

    fn invoke_action(request: protocol::ActionRequest) -> protocol::ActionEvents {
        let steps = with::<E, _>(|service| service.invoke_action(&request));
        protocol::ActionEvents::new(ActionEvents(RefCell::new(Some(steps))))
    }
}

/// Exports a provider from the component. In `export_provider!(provider)`, `provider` is a function
/// without parameters that returns a [`crate::Provider`]. On targets other than WebAssembly, the macro
/// only checks its arguments.
///
/// The following macro arguments list the capabilities that the component needs (except clocks and
/// randomness), each with a reason. Users approve them before the component runs, and the host
/// denies any other access. See [`crate::declaration`].
///
/// ```
/// # fn provider() -> wardian_sdk::Provider { wardian_sdk::Provider::new("cloud") }
/// wardian_sdk::export_provider!(
///     provider,
///     network { hosts: ["api.example.com"], reason: "creates servers through its API" },
///     filesystem { directories: ["."], reason: "reads the start scripts of servers" },
/// );
/// ```
///
/// `configured_form` after the provider exports its form, for a provider with
/// [`Provider::configured_form`](crate::Provider::configured_form):
/// `export_provider!(provider, configured_form, network { ... })`.
#[macro_export]
macro_rules! export_provider {
    ($provider:path, configured_form $(, $capability:ident $needed:tt)* $(,)?) => {
        $crate::declare_capabilities!($($capability $needed),*);

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "exports of a component are functions with fixed symbol names")]
        const _: () = {
            $crate::export_provider_world!($provider, This, true);
            $crate::export_configured_form!(This);
        };
    };
    ($provider:path $(, $capability:ident $needed:tt)* $(,)?) => {
        $crate::declare_capabilities!($($capability $needed),*);

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "exports of a component are functions with fixed symbol names")]
        const _: () = {
            $crate::export_provider_world!($provider, This, false);
        };

        // Native builds, and therefore tests and editors, report a mistake in the function too.
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $crate::export::Service = || ::core::convert::Into::into($provider());
    };
}

/// Exports the functions of a provider. Declares the type `$exported`, which provides access to it.
#[doc(hidden)]
#[macro_export]
macro_rules! export_provider_world {
    ($provider:path, $exported:ident, $has_configured_form:literal) => {
        struct $exported;

        impl $crate::export::Exported for $exported {
            const HAS_CONFIGURED_FORM: bool = $has_configured_form;

            fn service() -> &'static ::std::thread::LocalKey<::std::cell::OnceCell<$crate::export::Service>> {
                ::std::thread_local! {
                    static SERVICE: ::std::cell::OnceCell<$crate::export::Service> =
                        const { ::std::cell::OnceCell::new() };
                }
                &SERVICE
            }

            fn make() -> $crate::export::Service {
                $provider().into()
            }
        }

        type Component = $crate::export::Component<$exported>;
        $crate::bindings::export!(Component with_types_in $crate::bindings);
    };
}

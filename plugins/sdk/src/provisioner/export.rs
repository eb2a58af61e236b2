//! Exports a provisioner from a component.

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::thread::LocalKey;

use wardian_value::Type;

use super::bindings::exports::wardian::plugin::provisioner as protocol;
use super::bindings::wardian::plugin::communicator::{self as remote, Connection};
use super::bindings::wardian::plugin::process as wire;
use super::bindings::wardian::plugin::ui;
use super::{
    Command, ConnectionOutput, ExitStatus, HostApi, MachineApi, Platform, ProcessEvent, ProvisionContext,
    Provisioner, RemoteError, RunningCommand, RunningProgram, SpawnError,
};
use crate::bindings::wardian::plugin::types;
use crate::check::{Allowed, check};
use crate::schema::schema_record;
use crate::service::diagnostics_record;
use crate::{Diagnostics, Object, Result, Schema, codec};

/// Provides access to a component's provisioner. [`crate::export_provisioner!`] implements it.
pub trait Exported: 'static {
    /// Returns the cell that contains the component's provisioner.
    fn service() -> &'static LocalKey<OnceCell<Service>>;

    /// Creates the provisioner when it is first called.
    fn make() -> Service;
}

type Validate = dyn Fn(&Object) -> Result<()>;

type Provision = dyn Fn(&Object, &mut ProvisionContext<'_>) -> Result<()>;

/// A provisioner, with its Rust types erased.
pub struct Service {
    schema: Schema,
    ty: Type,
    validate: Box<Validate>,
    provision: Box<Provision>,
}

impl Service {
    /// Creates the request path of a provisioner.
    pub fn new<P: Provisioner>(provisioner: P) -> Self {
        let provisioner = std::rc::Rc::new(provisioner);
        let schema = provisioner.schema();
        let validating = std::rc::Rc::clone(&provisioner);
        Self {
            ty: schema.ty(),
            schema,
            validate: Box::new(move |config| validating.validate(config)),
            provision: Box::new(move |config, work| provisioner.provision(config.decode()?, work)),
        }
    }

    /// Returns the type of the configuration.
    pub(super) fn ty(&self) -> &Type {
        &self.ty
    }

    /// Checks a configuration against the schema, and then with the provisioner's own check.
    pub(super) fn validate(&self, config: &Object) -> Diagnostics {
        let mut found = check(&self.schema, config.as_value(), Allowed { write_only: true });
        found.append((self.validate)(config).err().unwrap_or_default());
        found
    }

    /// Runs the provisioner.
    pub(super) fn provision(&self, config: &Object, host: &mut dyn HostApi) -> Result<()> {
        (self.provision)(config, &mut ProvisionContext::new(host))
    }

    fn config(&self, bytes: &[u8]) -> Result<Object> {
        let value = codec::decode(bytes, &self.ty)
            .map_err(|problem| Diagnostics::error("Unable to read the configuration", problem))?;
        Object::from_value(value, self.ty.clone())
    }
}

/// The type that implements the exports of a component.
pub struct Component<E>(PhantomData<E>);

fn with<E: Exported, T>(answer: impl FnOnce(&Service) -> T) -> T {
    let make = || {
        crate::file_access::enter_working_directory();
        E::make()
    };
    E::service().with(|service| answer(service.get_or_init(make)))
}

/// The host API during one call.
struct Host<'a> {
    spawner: Option<&'a wire::Spawner>,
    machine: Option<ConnectedMachine<'a>>,
}

/// The provisioned machine.
struct ConnectedMachine<'a>(&'a Connection);

struct RemoteProcess(remote::RemoteCommand);

struct LocalProcess(wire::RunningProcess);

impl HostApi for Host<'_> {
    fn show(&mut self, text: &str) {
        ui::output(text);
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningProgram>, SpawnError> {
        let Some(spawner) = self.spawner else {
            return Err(SpawnError::Denied("the host does not allow this call to run programs".to_owned()));
        };
        let started = spawner.spawn(&wire::Command {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            working_directory: command.directory.clone(),
            environment: command.environment.clone(),
            input: Vec::new(),
            timeout_milliseconds: None,
            streams: wire::OutputStreams::Together,
        });
        match started {
            Ok(running) => Ok(Box::new(LocalProcess(running))),
            Err(wire::ProcessError::Denied(text)) => Err(SpawnError::Denied(text)),
            Err(wire::ProcessError::NotFound(text)) => Err(SpawnError::NotFound(text)),
            Err(wire::ProcessError::Failed(text)) => Err(SpawnError::Failed(text)),
        }
    }

    fn machine(&mut self) -> Option<&mut dyn MachineApi> {
        self.machine.as_mut().map(|machine| machine as &mut dyn MachineApi)
    }
}

impl MachineApi for ConnectedMachine<'_> {
    fn platform(&self) -> Platform {
        match self.0.platform() {
            remote::TargetPlatform::Unix => Platform::Unix,
            remote::TargetPlatform::Windows => Platform::Windows,
        }
    }

    fn script_path(&self) -> String {
        self.0.script_path()
    }

    fn connect(&mut self, output: ConnectionOutput) -> Result<(), RemoteError> {
        let output = match output {
            ConnectionOutput::Silent => remote::Telling::Silent,
            ConnectionOutput::Shown => remote::Telling::Shown,
        };
        self.0.connect(output).map_err(machine_error)
    }

    fn execute(&mut self, command: &str) -> Result<Box<dyn RunningCommand>, RemoteError> {
        match self.0.execute(command) {
            Ok(running) => Ok(Box::new(RemoteProcess(running))),
            Err(error) => Err(machine_error(error)),
        }
    }

    fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError> {
        self.0.upload(path, content, mode).map_err(machine_error)
    }

    fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError> {
        self.0.upload_path(source, destination).map_err(machine_error)
    }
}

fn machine_error(error: remote::CommunicatorError) -> RemoteError {
    use remote::CommunicatorError as Wire;
    match error {
        Wire::Denied(text) => RemoteError::Denied(text),
        Wire::Disconnected(text) => RemoteError::Disconnected(text),
        Wire::Authentication(text) => RemoteError::Authentication(text),
        Wire::NotFound(text) => RemoteError::NotFound(text),
        Wire::Failed(text) => RemoteError::Failed(text),
    }
}

impl RunningCommand for RemoteProcess {
    fn next_event(&mut self) -> Result<Option<ProcessEvent>, RemoteError> {
        self.0.next_event().map(|event| event.map(process_event)).map_err(machine_error)
    }
}

fn process_event(event: wire::ProcessEvent) -> ProcessEvent {
    match event {
        wire::ProcessEvent::Stdout(bytes) | wire::ProcessEvent::Stderr(bytes) => ProcessEvent::Output(bytes),
        wire::ProcessEvent::Exited(status) => ProcessEvent::Exited(match status {
            wire::ExitStatus::Code(code) => ExitStatus::Code(code),
            wire::ExitStatus::Signal(signal) => ExitStatus::Signal(signal),
            wire::ExitStatus::TimedOut => ExitStatus::TimedOut,
        }),
    }
}

impl RunningProgram for LocalProcess {
    fn next_event(&mut self) -> Option<ProcessEvent> {
        self.0.next_event().map(process_event)
    }
}

impl<E: Exported> protocol::Guest for Component<E> {
    fn get_schema() -> protocol::ProvisionerSchema {
        with::<E, _>(|service| protocol::ProvisionerSchema {
            schema: schema_record(&service.schema),
            diagnostics: Vec::new(),
        })
    }

    fn validate_provisioner_config(config: Vec<u8>) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| {
            diagnostics_record(service.config(&config).map_or_else(|e| e, |config| service.validate(&config)))
        })
    }

    fn provision_resource(
        request: protocol::ProvisionResourceRequest,
        spawner: Option<&wire::Spawner>,
        connection: Option<&Connection>,
    ) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| {
            let config = service.config(&request.config);
            let mut host = Host { spawner, machine: connection.map(ConnectedMachine) };
            let done = config.and_then(|config| service.provision(&config, &mut host));
            diagnostics_record(done.err().unwrap_or_default())
        })
    }

    // A component executes one call at a time, so there is no other call to stop.
    fn stop() -> Result<(), String> {
        Ok(())
    }
}

/// Exports a provisioner from the component. In `export_provisioner!(provisioner)`, `provisioner`
/// is a function without parameters that returns a [`crate::provisioner::Provisioner`]. Expands to
/// nothing on targets other than WebAssembly.
///
/// The following macro arguments list the capabilities that the component needs, each with a
/// reason, as for [`crate::export_provider!`]. Users approve them before the component runs, and
/// the host denies any other access.
///
/// ```
/// # use wardian_sdk::provisioner::{Provisioner, ProvisionContext};
/// # struct Notify;
/// # impl Provisioner for Notify {
/// #     type Config = ();
/// #     fn schema(&self) -> wardian_sdk::Schema { wardian_sdk::Schema::new() }
/// #     fn provision(&self, (): (), _: &mut ProvisionContext<'_>) -> wardian_sdk::Result<()> { Ok(()) }
/// # }
/// # fn provisioner() -> Notify { Notify }
/// wardian_sdk::export_provisioner!(
///     provisioner,
///     process { program: "logger", reason: "writes messages to the system log" },
/// );
/// ```
#[macro_export]
macro_rules! export_provisioner {
    ($provisioner:path $(, $capability:ident $needed:tt)* $(,)?) => {
        $crate::declare_capabilities!($($capability $needed),*);

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "exports of a component are functions with fixed symbol names")]
        const _: () = {
            struct This;

            impl $crate::provisioner::export::Exported for This {
                fn service()
                -> &'static ::std::thread::LocalKey<::std::cell::OnceCell<$crate::provisioner::export::Service>>
                {
                    ::std::thread_local! {
                        static SERVICE: ::std::cell::OnceCell<$crate::provisioner::export::Service> =
                            const { ::std::cell::OnceCell::new() };
                    }
                    &SERVICE
                }

                fn make() -> $crate::provisioner::export::Service {
                    $crate::provisioner::export::Service::new($provisioner())
                }
            }

            type Component = $crate::provisioner::export::Component<This>;
            $crate::provisioner::bindings::export_provisioner_world!(Component with_types_in $crate::provisioner::bindings);
        };

        // Native builds, and therefore tests and editors, report a mistake in the function too.
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $crate::provisioner::export::Service =
            || $crate::provisioner::export::Service::new($provisioner());
    };
}

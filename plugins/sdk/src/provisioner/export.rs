//! A provisioner as the exports of a component.

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::thread::LocalKey;

use wardian_value::Type;

use super::bindings::exports::wardian::plugin::provisioner as protocol;
use super::bindings::wardian::plugin::communicator::{self as remote, Connection};
use super::bindings::wardian::plugin::process as wire;
use super::bindings::wardian::plugin::ui;
use super::{
    Command, Ending, Event, NotRun, Platform, Program, Provisioner, Remote, RemoteError, RemoteProgram,
    Surroundings, Telling, Work,
};
use crate::bindings::wardian::plugin::types;
use crate::check::{Allowed, check};
use crate::schema::schema_record;
use crate::service::diagnostics_record;
use crate::{Diagnostics, Object, Result, Schema, codec};

/// Where a component keeps its provisioner. Implemented by [`crate::export_provisioner!`].
pub trait Exported: 'static {
    /// The one provisioner of the component.
    fn service() -> &'static LocalKey<OnceCell<Service>>;

    /// Makes it, at the first call.
    fn make() -> Service;
}

/// A check of a configuration.
type Validate = dyn Fn(&Object) -> Result<()>;

/// The work that a configuration asks for.
type Provision = dyn Fn(&Object, &mut Work<'_>) -> Result<()>;

/// A provisioner as it answers requests.
pub struct Service {
    schema: Schema,
    ty: Type,
    validate: Box<Validate>,
    provision: Box<Provision>,
}

impl Service {
    /// Of a provisioner.
    pub fn of<P: Provisioner>(provisioner: P) -> Self {
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

    /// The type of its configuration.
    pub(super) fn ty(&self) -> &Type {
        &self.ty
    }

    /// Checks a configuration by its schema and then by its author.
    pub(super) fn validate(&self, config: &Object) -> Diagnostics {
        let mut found = check(&self.schema, config.as_value(), Allowed { write_only: true });
        found.append((self.validate)(config).err().unwrap_or_default());
        found
    }

    /// Does the work.
    pub(super) fn provision(&self, config: &Object, surroundings: &mut dyn Surroundings) -> Result<()> {
        (self.provision)(config, &mut Work::new(surroundings))
    }

    fn config(&self, bytes: &[u8]) -> Result<Object> {
        let value = codec::decode(bytes, &self.ty)
            .map_err(|problem| Diagnostics::error("Unable to read the configuration", problem))?;
        Object::of(value, self.ty.clone())
    }
}

/// Bears the exports of a component.
pub struct Component<E>(PhantomData<E>);

fn with<E: Exported, T>(answer: impl FnOnce(&Service) -> T) -> T {
    let make = || {
        crate::granted::enter_working_directory();
        E::make()
    };
    E::service().with(|service| answer(service.get_or_init(make)))
}

/// The host, as far as it is there for one call.
struct Host<'a> {
    spawner: Option<&'a wire::Spawner>,
    machine: Option<Connected<'a>>,
}

/// The machine that is provisioned.
struct Connected<'a>(&'a Connection);

struct RunningThere(remote::RemoteCommand);

struct Running(wire::RunningProcess);

impl Surroundings for Host<'_> {
    fn show(&mut self, text: &str) {
        ui::output(text);
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn Program>, NotRun> {
        let Some(spawner) = self.spawner else {
            return Err(NotRun::Denied("the host lets this call run no program".to_owned()));
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
            Ok(running) => Ok(Box::new(Running(running))),
            Err(wire::ProcessError::Denied(text)) => Err(NotRun::Denied(text)),
            Err(wire::ProcessError::NotFound(text)) => Err(NotRun::NotFound(text)),
            Err(wire::ProcessError::Failed(text)) => Err(NotRun::Failed(text)),
        }
    }

    fn machine(&mut self) -> Option<&mut dyn Remote> {
        self.machine.as_mut().map(|machine| machine as &mut dyn Remote)
    }
}

impl Remote for Connected<'_> {
    fn platform(&self) -> Platform {
        match self.0.platform() {
            remote::TargetPlatform::Unix => Platform::Unix,
            remote::TargetPlatform::Windows => Platform::Windows,
        }
    }

    fn script_path(&self) -> String {
        self.0.script_path()
    }

    fn connect(&mut self, telling: Telling) -> Result<(), RemoteError> {
        let telling = match telling {
            Telling::Silent => remote::Telling::Silent,
            Telling::Shown => remote::Telling::Shown,
        };
        self.0.connect(telling).map_err(told)
    }

    fn execute(&mut self, command: &str) -> Result<Box<dyn RemoteProgram>, RemoteError> {
        match self.0.execute(command) {
            Ok(running) => Ok(Box::new(RunningThere(running))),
            Err(error) => Err(told(error)),
        }
    }

    fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError> {
        self.0.upload(path, content, mode).map_err(told)
    }

    fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError> {
        self.0.upload_path(source, destination).map_err(told)
    }
}

fn told(error: remote::CommunicatorError) -> RemoteError {
    use remote::CommunicatorError as Wire;
    match error {
        Wire::Denied(text) => RemoteError::Denied(text),
        Wire::Disconnected(text) => RemoteError::Disconnected(text),
        Wire::Authentication(text) => RemoteError::Authentication(text),
        Wire::NotFound(text) => RemoteError::NotFound(text),
        Wire::Failed(text) => RemoteError::Failed(text),
    }
}

impl RemoteProgram for RunningThere {
    fn next_event(&mut self) -> Result<Option<Event>, RemoteError> {
        self.0.next_event().map(|event| event.map(happened)).map_err(told)
    }
}

fn happened(event: wire::ProcessEvent) -> Event {
    match event {
        wire::ProcessEvent::Stdout(bytes) | wire::ProcessEvent::Stderr(bytes) => Event::Output(bytes),
        wire::ProcessEvent::Exited(status) => Event::Ended(match status {
            wire::ExitStatus::Code(code) => Ending::Code(code),
            wire::ExitStatus::Signal(signal) => Ending::Signal(signal),
            wire::ExitStatus::TimedOut => Ending::TimedOut,
        }),
    }
}

impl Program for Running {
    fn next_event(&mut self) -> Option<Event> {
        self.0.next_event().map(happened)
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
            let mut host = Host { spawner, machine: connection.map(Connected) };
            let done = config.and_then(|config| service.provision(&config, &mut host));
            diagnostics_record(done.err().unwrap_or_default())
        })
    }

    // A component serves one call at a time, so nothing is in flight when this is
    // called: there is nothing to end.
    fn stop() -> Result<(), String> {
        Ok(())
    }
}

/// Makes a crate a component that exports a provisioner: `export_provisioner!(provisioner)`,
/// where `provisioner` is a function without arguments that answers with a
/// [`crate::provisioner::Provisioner`]. Outside of WebAssembly it makes nothing.
///
/// What it needs is said after that, and why, as with [`crate::export_provider!`]: people
/// are asked for it before the component runs, and what is not granted is denied.
///
/// ```
/// # use wardian_sdk::provisioner::{Provisioner, Work};
/// # struct Notify;
/// # impl Provisioner for Notify {
/// #     type Config = ();
/// #     fn schema(&self) -> wardian_sdk::Schema { wardian_sdk::Schema::new() }
/// #     fn provision(&self, (): (), _: &mut Work<'_>) -> wardian_sdk::Result<()> { Ok(()) }
/// # }
/// # fn provisioner() -> Notify { Notify }
/// wardian_sdk::export_provisioner!(
///     provisioner,
///     process { program: "logger", reason: "what was made is told to the system's log" },
/// );
/// ```
#[macro_export]
macro_rules! export_provisioner {
    ($provisioner:path $(, $capability:ident $needed:tt)* $(,)?) => {
        $crate::declare_capabilities!($($capability $needed),*);

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "exports of a component are functions of a fixed symbol name")]
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
                    $crate::provisioner::export::Service::of($provisioner())
                }
            }

            type Component = $crate::provisioner::export::Component<This>;
            $crate::provisioner::bindings::export_provisioner_world!(Component with_types_in $crate::provisioner::bindings);
        };
    };
}

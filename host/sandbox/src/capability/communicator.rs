//! `wardian:plugin/communicator`: access to the machine to provision.
//!
//! The host connects according to the connection block. The guest receives a handle that is valid
//! for one call and connected to that machine only; the guest receives neither the password nor the
//! key. All provisioners of an object share one connection. Before a provisioner uses the
//! connection, that provisioner's monitor checks each machine on the route ([`authority`]), even if
//! another provisioner opened the connection; copies are checked file by file. When a run is
//! stopped, operations over its connections are abandoned.

mod authority;
mod connect_attempt;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use wardian_communicator::{
    CommunicatorError as Cause, ConnectionContext, ConnectionSettings, FailureKind,
    RemoteConnection as Shared, SettingsError, TargetPlatform as Platform,
};
use wardian_plugin::{Shareable, SharedByObject};
use wardian_value::Value;
use wasmtime::component::{HasSelf, Linker, Resource};

use self::authority::{Attempt, CallAuthority};
use super::Capability;
use super::filesystem::FileGuard;
use super::process::{event_told, is_stop_requested};
use crate::bindings::provisioner::wardian::plugin::communicator::{
    self, CommunicatorError, Host, HostConnection, HostRemoteCommand, TargetPlatform, Telling,
};
use crate::bindings::provisioner::wardian::plugin::process::ProcessEvent;
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

/// Idle time after which a keep-alive message is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

pub(super) struct Communicator;

impl Capability for Communicator {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/communicator", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        communicator::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

/// The local paths of a connection.
#[derive(Clone, Debug)]
pub(crate) struct LocalPaths {
    /// The base of relative paths.
    pub(crate) directory: PathBuf,
    /// The directory that replaces `~`.
    pub(crate) home: Option<PathBuf>,
    /// The socket of an SSH agent.
    pub(crate) agent: Option<PathBuf>,
}

impl LocalPaths {
    fn path(&self, reported: &str) -> String {
        let at_home = match (reported.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.to_str().map(|home| format!("{home}{rest}"))
            }
            _ => None,
        };
        let reported = at_home.as_deref().unwrap_or(reported);
        // A trailing slash is significant, so it is preserved.
        self.directory.join(reported).to_string_lossy().into_owned()
    }
}

/// A connection that one call uses.
#[derive(Clone)]
pub struct Connection {
    machine: Arc<Machine>,
    stopping: watch::Receiver<bool>,
}

struct Machine {
    /// An error if the block is invalid. Every operation then returns this error.
    shared: Result<Shared, SettingsError>,
    user: Arc<CallAuthority>,
    here: LocalPaths,
}

/// The state of a connection that is shared by the provisioners of an object.
struct KeptConnection {
    block: Value,
    shared: Result<Shared, SettingsError>,
}

#[async_trait]
impl Shareable for KeptConnection {
    async fn close(&self) {
        if let Ok(shared) = &self.shared {
            shared.close().await;
        }
    }
}

impl Connection {
    /// Returns a connection for one call, as described by the connection block.
    pub(crate) fn for_call(
        block: &Value,
        object: &SharedByObject,
        guard: FileGuard,
        here: LocalPaths,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let user = Arc::new(CallAuthority::new(guard));
        let kept = object.find_or_leave(
            |kept: &KeptConnection| kept.block == *block,
            || {
                let settings = ConnectionSettings::read(|name| block.get(name).and_then(text));
                let context = ConnectionContext {
                    agent: here.agent.clone(),
                    keep_alive: KEEP_ALIVE,
                    ..ConnectionContext::new(user.clone())
                };
                let shared = settings.map(|settings| Shared::new(settings, context));
                KeptConnection { block: block.clone(), shared }
            },
        );
        let shared = match &kept.shared {
            Ok(shared) => Ok(shared.on_behalf_of(user.clone())),
            Err(problem) => Err(problem.clone()),
        };
        Self { machine: Arc::new(Machine { shared, user, here }), stopping }
    }

    fn shared(&self) -> Result<&Shared, CommunicatorError> {
        self.machine.shared.as_ref().map_err(|problem| {
            CommunicatorError::Failed(format!("the connection block cannot be used: {problem}"))
        })
    }

    /// Awaits a future, unless a stop is requested first.
    async fn meanwhile<T>(
        &self,
        doing: impl Future<Output = Result<T, Cause>>,
    ) -> Result<T, CommunicatorError> {
        let mut stopping = self.stopping.clone();
        let is_stopping = async {
            if !is_stop_requested(&mut stopping).await {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = is_stopping => Err(cancelled()),
            done = doing => done.map_err(|error| convert_error(&error)),
        }
    }

    async fn connect(
        &self,
        telling: Telling,
        sink: Option<mpsc::Sender<String>>,
    ) -> Result<(), CommunicatorError> {
        let shared = self.shared()?;
        let Some(sink) = sink.filter(|_| telling == Telling::Shown) else {
            return self.meanwhile(shared.connect()).await;
        };
        let mut attempts = self.machine.user.attempts();
        let block = connect_attempt::attempt(shared.settings(), self.machine.here.agent.is_some());
        let mut connecting = pin!(self.meanwhile(shared.connect()));
        let mut is_shown = false;
        let connected = loop {
            tokio::select! {
                biased;
                Some(Attempt) = attempts.recv() => {
                    is_shown = true;
                    // If the receiver was dropped, the output is discarded.
                    let _ = sink.send(block.clone()).await;
                }
                connected = &mut connecting => break connected,
            }
        };
        // An existing connection is reported like a new one.
        if attempts.try_recv().is_ok() || !is_shown && connected.is_ok() {
            let _ = sink.send(block).await;
        }
        connected?;
        let _ = sink.send(connect_attempt::CONNECTED.to_owned()).await;
        Ok(())
    }

    async fn start(&self, command: &str) -> Result<RemoteCommand, CommunicatorError> {
        let command = self.meanwhile(self.shared()?.execute(command)).await?;
        Ok(RemoteCommand { command: Some(command), connection: self.clone() })
    }
}

pub struct RemoteCommand {
    /// `None` after the command was abandoned.
    command: Option<wardian_communicator::RunningCommand>,
    connection: Connection,
}

impl RemoteCommand {
    async fn next(&mut self) -> Result<Option<ProcessEvent>, CommunicatorError> {
        let command = self.command.as_mut().ok_or_else(cancelled)?;
        let next = self.connection.meanwhile(command.next_event()).await;
        if next.is_err() {
            // A command with a terminal ends when its channel is closed.
            self.command = None;
        }
        Ok(next?.map(event_told))
    }
}

fn cancelled() -> CommunicatorError {
    CommunicatorError::Failed(
        "the run is being stopped: the remote command is abandoned and no new commands are started".into(),
    )
}

fn convert_error(error: &Cause) -> CommunicatorError {
    let text = error.to_string();
    match error.kind() {
        FailureKind::Denied => CommunicatorError::Denied(text),
        FailureKind::Disconnected => CommunicatorError::Disconnected(text),
        FailureKind::Authentication => CommunicatorError::Authentication(text),
        FailureKind::NotFound => CommunicatorError::NotFound(text),
        FailureKind::Failed => CommunicatorError::Failed(text),
    }
}

/// Returns an argument of the block as a string.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str().map(str::to_owned);
    let number = || value.as_number().map(ToString::to_string);
    text.or_else(number).or_else(|| value.as_bool().map(|is_set| is_set.to_string()))
}

impl Host for GuestState {}

impl HostConnection for GuestState {
    async fn connect(
        &mut self,
        connection: Resource<Connection>,
        telling: Telling,
    ) -> wasmtime::Result<Result<(), CommunicatorError>> {
        let sink = self.output_sink();
        let connection = self.table().get(&connection)?.clone();
        // The future that connects is a large state machine, so it is boxed.
        Ok(Box::pin(connection.connect(telling, sink)).await)
    }

    async fn platform(&mut self, connection: Resource<Connection>) -> wasmtime::Result<TargetPlatform> {
        let connection = self.table().get(&connection)?;
        Ok(match connection.shared().map(Shared::platform) {
            Ok(Platform::Windows) => TargetPlatform::Windows,
            Ok(Platform::Unix) | Err(_) => TargetPlatform::Unix,
        })
    }

    async fn script_path(&mut self, connection: Resource<Connection>) -> wasmtime::Result<String> {
        let connection = self.table().get(&connection)?;
        Ok(connection.shared().map(Shared::script_path).unwrap_or_default())
    }

    async fn execute(
        &mut self,
        connection: Resource<Connection>,
        command: String,
    ) -> wasmtime::Result<Result<Resource<RemoteCommand>, CommunicatorError>> {
        let connection = self.table().get(&connection)?.clone();
        match connection.start(&command).await {
            Ok(command) => Ok(Ok(self.table().push(command)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn upload(
        &mut self,
        connection: Resource<Connection>,
        path: String,
        content: Vec<u8>,
        mode: Option<u32>,
    ) -> wasmtime::Result<Result<(), CommunicatorError>> {
        let connection = self.table().get(&connection)?.clone();
        Ok(match connection.shared() {
            Ok(shared) => connection.meanwhile(shared.upload(&path, content, mode)).await,
            Err(error) => Err(error),
        })
    }

    async fn upload_path(
        &mut self,
        connection: Resource<Connection>,
        source: String,
        destination: String,
    ) -> wasmtime::Result<Result<(), CommunicatorError>> {
        let connection = self.table().get(&connection)?.clone();
        let source = connection.machine.here.path(&source);
        Ok(match connection.shared() {
            Ok(shared) => connection.meanwhile(shared.upload_path(&source, &destination)).await,
            Err(error) => Err(error),
        })
    }

    async fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        self.table().delete(connection)?;
        Ok(())
    }
}

impl HostRemoteCommand for GuestState {
    async fn next_event(
        &mut self,
        command: Resource<RemoteCommand>,
    ) -> wasmtime::Result<Result<Option<ProcessEvent>, CommunicatorError>> {
        Ok(self.table().get_mut(&command)?.next().await)
    }

    async fn drop(&mut self, command: Resource<RemoteCommand>) -> wasmtime::Result<()> {
        self.table().delete(command)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_root_module_or_home() {
        let here =
            LocalPaths { directory: "/srv/module".into(), home: Some("/home/joe".into()), agent: None };
        for (reported, meant) in [
            ("a/b", "/srv/module/a/b"),
            ("a/", "/srv/module/a/"),
            ("/a/", "/a/"),
            ("~", "/home/joe"),
            ("~/a/", "/home/joe/a/"),
            ("~joe/a", "/srv/module/~joe/a"),
        ] {
            assert_eq!(here.path(reported), meant);
        }
    }

    #[test]
    fn arguments_of_any_type_become_strings() {
        assert_eq!(text(&Value::string("a")).as_deref(), Some("a"));
        assert_eq!(text(&Value::number(22_i64)).as_deref(), Some("22"));
        assert_eq!(text(&Value::bool(true)).as_deref(), Some("true"));
    }
}

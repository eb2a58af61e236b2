//! Runs a provisioner in native unit tests, on the same request path as in a component, with mock
//! programs and a mock machine.

use std::collections::VecDeque;

use super::export::Service;
use super::{
    Command, ConnectionOutput, ExitStatus, HostApi, MachineApi, Platform, ProcessEvent, Provisioner,
    RemoteError, RunningCommand, RunningProgram, SpawnError,
};
use crate::{Diagnostics, Object, Result, Type, codec};

/// A provisioner under test, with mock results and a record of its operations.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// # use wardian_sdk::provisioner::{ProvisionContext, Provisioner};
/// # use wardian_sdk::{Attribute, Result, Schema};
/// #
/// # #[derive(serde::Deserialize)]
/// # struct Config {
/// #     message: String,
/// # }
/// #
/// # struct Say;
/// #
/// # impl Provisioner for Say {
/// #     type Config = Config;
/// #
/// #     fn schema(&self) -> Schema {
/// #         Schema::new().attribute(Attribute::string("message").required())
/// #     }
/// #
/// #     fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
/// #         context.show(&config.message);
/// #         Ok(())
/// #     }
/// # }
///
/// let mut harness = ProvisionerHarness::new();
/// harness.provision(Say, r#"{ "message": "hello" }"#)?;
/// assert_eq!(harness.shown, ["hello"]);
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
#[derive(Default)]
pub struct ProvisionerHarness {
    /// The text that was shown.
    pub shown: Vec<String>,
    /// The programs that were started.
    pub started: Vec<Command>,
    programs: VecDeque<Result<Vec<ProcessEvent>, SpawnError>>,
    /// The machine in the connection block, if there is one.
    pub machine: Option<MockMachine>,
}

/// A machine that only records its operations.
///
/// ```
/// use wardian_sdk::provisioner::testing::{MachineOperation, ProvisionerHarness};
/// use wardian_sdk::provisioner::{Platform, ProvisionContext};
///
/// let mut harness = ProvisionerHarness::new().with_machine(Platform::Unix);
/// ProvisionContext::new(&mut harness).machine()?.run("uptime")?;
/// assert_eq!(harness.machine.unwrap().operations, [MachineOperation::Run("uptime".to_owned())]);
/// # Ok::<(), wardian_sdk::provisioner::RemoteError>(())
/// ```
pub struct MockMachine {
    /// The operations, in order.
    pub operations: Vec<MachineOperation>,
    /// The platform of the machine.
    pub platform: Platform,
    answers: VecDeque<Result<Vec<ProcessEvent>, RemoteError>>,
}

/// An operation on a mock machine.
///
/// ```
/// use wardian_sdk::provisioner::testing::MachineOperation;
///
/// let upload = MachineOperation::Upload { path: "/etc/motd".into(), content: "hello".into(), mode: None };
/// assert_ne!(upload, MachineOperation::Run("uptime".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineOperation {
    /// The connection was opened.
    Connect(ConnectionOutput),
    /// A command was run.
    Run(String),
    /// A file was written.
    Upload {
        /// The path on the machine.
        path: String,
        /// The content of the file.
        content: String,
        /// The mode of the file.
        mode: Option<u32>,
    },
    /// A file or directory was copied.
    UploadPath {
        /// The local path.
        source: String,
        /// The path on the machine.
        destination: String,
    },
}

impl MockMachine {
    fn answer(&mut self, operation: MachineOperation) -> Result<Vec<ProcessEvent>, RemoteError> {
        self.operations.push(operation);
        self.answers.pop_front().unwrap_or_else(|| Ok(vec![ProcessEvent::Exited(ExitStatus::Code(0))]))
    }
}

impl ProvisionerHarness {
    /// Creates a harness in which no program can be started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a mock program for the next start: its output and its exit code.
    #[must_use]
    pub fn with_program(self, output: &str, code: i32) -> Self {
        self.with_program_status(output, ExitStatus::Code(code))
    }

    /// Adds a mock program for the next start: its output and its exit status.
    #[must_use]
    pub fn with_program_status(mut self, output: &str, status: ExitStatus) -> Self {
        let events = vec![ProcessEvent::Output(output.as_bytes().to_vec()), ProcessEvent::Exited(status)];
        self.programs.push_back(Ok(events));
        self
    }

    /// Makes the next program start fail.
    #[must_use]
    pub fn with_spawn_error(mut self, why: SpawnError) -> Self {
        self.programs.push_back(Err(why));
        self
    }

    /// Adds a machine on which every operation succeeds.
    #[must_use]
    pub fn with_machine(mut self, platform: Platform) -> Self {
        self.machine = Some(MockMachine { operations: Vec::new(), platform, answers: VecDeque::new() });
        self
    }

    /// Adds the result of the next operation on the machine. For a command, this is its output and
    /// exit code; for other operations, only success or failure is relevant.
    #[must_use]
    pub fn with_machine_result(mut self, answer: Result<(&str, i32), RemoteError>) -> Self {
        if let Some(machine) = &mut self.machine {
            machine.answers.push_back(answer.map(|(output, code)| {
                vec![
                    ProcessEvent::Output(output.as_bytes().to_vec()),
                    ProcessEvent::Exited(ExitStatus::Code(code)),
                ]
            }));
        }
        self
    }

    /// Validates a configuration in JSON. Absent arguments are null.
    pub fn validate<P: Provisioner>(provisioner: P, config: &str) -> Diagnostics {
        let service = Service::new(provisioner);
        match config_of(&service, config) {
            Ok(config) => service.validate(&config),
            Err(found) => found,
        }
    }

    /// Runs the provisioner.
    ///
    /// # Errors
    /// Returns an error if the provisioner returns errors.
    pub fn provision<P: Provisioner>(&mut self, provisioner: P, config: &str) -> Result<()> {
        let service = Service::new(provisioner);
        let config = config_of(&service, config)?;
        service.provision(&config, self)
    }
}

fn config_of(service: &Service, config: &str) -> Result<Object> {
    let wrong = |problem: String| Diagnostics::error("Not a configuration", problem);
    let mut json: serde_json::Value = serde_json::from_str(config).map_err(|e| wrong(e.to_string()))?;
    if let (Some(json), Type::Object(ty)) = (json.as_object_mut(), service.ty()) {
        for (name, _) in ty.iter() {
            json.entry(name.as_str()).or_insert(serde_json::Value::Null);
        }
    }
    let value = codec::decode_json(&json, service.ty()).map_err(wrong)?;
    Object::from_value(value, service.ty().clone())
}

struct ScriptedProgram(VecDeque<ProcessEvent>);

impl RunningProgram for ScriptedProgram {
    fn next_event(&mut self) -> Option<ProcessEvent> {
        self.0.pop_front()
    }
}

impl HostApi for ProvisionerHarness {
    fn show(&mut self, text: &str) {
        self.shown.push(text.to_owned());
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningProgram>, SpawnError> {
        self.started.push(command.clone());
        match self.programs.pop_front() {
            Some(Ok(events)) => Ok(Box::new(ScriptedProgram(events.into()))),
            Some(Err(why)) => Err(why),
            None => Err(SpawnError::NotFound("the test defines no program for this command".to_owned())),
        }
    }

    fn machine(&mut self) -> Option<&mut dyn MachineApi> {
        self.machine.as_mut().map(|machine| machine as &mut dyn MachineApi)
    }
}

impl RunningCommand for ScriptedProgram {
    fn next_event(&mut self) -> Result<Option<ProcessEvent>, RemoteError> {
        Ok(self.0.pop_front())
    }
}

impl MachineApi for MockMachine {
    fn platform(&self) -> Platform {
        self.platform
    }

    fn script_path(&self) -> String {
        "/tmp/script".to_owned()
    }

    fn connect(&mut self, output: ConnectionOutput) -> Result<(), RemoteError> {
        self.answer(MachineOperation::Connect(output)).map(|_| ())
    }

    fn execute(&mut self, command: &str) -> Result<Box<dyn RunningCommand>, RemoteError> {
        let events = self.answer(MachineOperation::Run(command.to_owned()))?;
        Ok(Box::new(ScriptedProgram(events.into())))
    }

    fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError> {
        let content = String::from_utf8_lossy(content).into_owned();
        self.answer(MachineOperation::Upload { path: path.to_owned(), content, mode }).map(|_| ())
    }

    fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError> {
        let (source, destination) = (source.to_owned(), destination.to_owned());
        self.answer(MachineOperation::UploadPath { source, destination }).map(|_| ())
    }
}

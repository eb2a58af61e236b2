//! A provisioner's unit tests: natively, on the request path of a component, with programs
//! that are only told of.

use std::collections::VecDeque;

use super::export::Service;
use super::{
    Command, Ending, Event, NotRun, Platform, Program, Provisioner, Remote, RemoteError, RemoteProgram,
    Surroundings, Telling,
};
use crate::{Diagnostics, Object, Result, Type, codec};

/// A call of a provisioner, and what came of it.
#[derive(Default)]
pub struct Rehearsal {
    /// What was shown.
    pub shown: Vec<String>,
    /// What was started.
    pub started: Vec<Command>,
    programs: VecDeque<Result<Vec<Event>, NotRun>>,
    /// The machine that a connection block names, if there is one.
    pub machine: Option<RehearsedMachine>,
}

/// A machine that does nothing, and tells what was asked of it.
pub struct RehearsedMachine {
    /// What was done there, in order.
    pub done: Vec<Done>,
    /// What kind it is.
    pub platform: Platform,
    answers: VecDeque<Result<Vec<Event>, RemoteError>>,
}

/// Something that was done on a rehearsed machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was connected with.
    Connected(Telling),
    /// A command was run.
    Ran(String),
    /// A file was written.
    Wrote {
        /// Where.
        path: String,
        /// What is in it.
        content: String,
        /// With which mode.
        mode: Option<u32>,
    },
    /// A file or a directory was copied.
    Copied {
        /// From where.
        source: String,
        /// To where.
        destination: String,
    },
}

impl RehearsedMachine {
    fn answer(&mut self, done: Done) -> Result<Vec<Event>, RemoteError> {
        self.done.push(done);
        self.answers.pop_front().unwrap_or_else(|| Ok(vec![Event::Ended(Ending::Code(0))]))
    }
}

impl Rehearsal {
    /// One in which no program runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next program that is started writes this, and ends with a code.
    #[must_use]
    pub fn program(self, output: &str, code: i32) -> Self {
        self.program_that_ends(output, Ending::Code(code))
    }

    /// The next program that is started writes this, and ends so.
    #[must_use]
    pub fn program_that_ends(mut self, output: &str, ending: Ending) -> Self {
        let events = vec![Event::Output(output.as_bytes().to_vec()), Event::Ended(ending)];
        self.programs.push_back(Ok(events));
        self
    }

    /// The next program that is started does not run.
    #[must_use]
    pub fn without_program(mut self, why: NotRun) -> Self {
        self.programs.push_back(Err(why));
        self
    }

    /// With a machine, on which everything succeeds.
    #[must_use]
    pub fn with_machine(mut self, platform: Platform) -> Self {
        self.machine = Some(RehearsedMachine { done: Vec::new(), platform, answers: VecDeque::new() });
        self
    }

    /// The next thing that is done on the machine comes to this: a command writes the text
    /// and ends with the code, everything else succeeds or does not.
    #[must_use]
    pub fn there(mut self, answer: Result<(&str, i32), RemoteError>) -> Self {
        if let Some(machine) = &mut self.machine {
            machine.answers.push_back(answer.map(|(output, code)| {
                vec![Event::Output(output.as_bytes().to_vec()), Event::Ended(Ending::Code(code))]
            }));
        }
        self
    }

    /// Checks a configuration, given as JSON; what it does not say is null.
    pub fn validate<P: Provisioner>(provisioner: P, config: &str) -> Diagnostics {
        let service = Service::of(provisioner);
        match config_of(&service, config) {
            Ok(config) => service.validate(&config),
            Err(found) => found,
        }
    }

    /// Has the work done.
    ///
    /// # Errors
    /// Why it failed.
    pub fn provision<P: Provisioner>(&mut self, provisioner: P, config: &str) -> Result<()> {
        let service = Service::of(provisioner);
        let config = config_of(&service, config)?;
        service.provision(&config, self)
    }
}

fn config_of(service: &Service, config: &str) -> Result<Object> {
    let wrong = |problem: String| Diagnostics::error("Not a configuration", problem);
    let mut said: serde_json::Value = serde_json::from_str(config).map_err(|e| wrong(e.to_string()))?;
    if let (Some(said), Type::Object(ty)) = (said.as_object_mut(), service.ty()) {
        for (name, _) in ty.iter() {
            said.entry(name.as_str()).or_insert(serde_json::Value::Null);
        }
    }
    let value = codec::decode_json(&said, service.ty()).map_err(wrong)?;
    Object::of(value, service.ty().clone())
}

struct Told(VecDeque<Event>);

impl Program for Told {
    fn next_event(&mut self) -> Option<Event> {
        self.0.pop_front()
    }
}

impl Surroundings for Rehearsal {
    fn show(&mut self, text: &str) {
        self.shown.push(text.to_owned());
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn Program>, NotRun> {
        self.started.push(command.clone());
        match self.programs.pop_front() {
            Some(Ok(events)) => Ok(Box::new(Told(events.into()))),
            Some(Err(why)) => Err(why),
            None => Err(NotRun::NotFound("no program was rehearsed".to_owned())),
        }
    }

    fn machine(&mut self) -> Option<&mut dyn Remote> {
        self.machine.as_mut().map(|machine| machine as &mut dyn Remote)
    }
}

impl RemoteProgram for Told {
    fn next_event(&mut self) -> Result<Option<Event>, RemoteError> {
        Ok(self.0.pop_front())
    }
}

impl Remote for RehearsedMachine {
    fn platform(&self) -> Platform {
        self.platform
    }

    fn script_path(&self) -> String {
        "/tmp/script".to_owned()
    }

    fn connect(&mut self, telling: Telling) -> Result<(), RemoteError> {
        self.answer(Done::Connected(telling)).map(|_| ())
    }

    fn execute(&mut self, command: &str) -> Result<Box<dyn RemoteProgram>, RemoteError> {
        let events = self.answer(Done::Ran(command.to_owned()))?;
        Ok(Box::new(Told(events.into())))
    }

    fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError> {
        let content = String::from_utf8_lossy(content).into_owned();
        self.answer(Done::Wrote { path: path.to_owned(), content, mode }).map(|_| ())
    }

    fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError> {
        let (source, destination) = (source.to_owned(), destination.to_owned());
        self.answer(Done::Copied { source, destination }).map(|_| ())
    }
}

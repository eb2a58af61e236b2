//! A provisioner's unit tests: natively, on the request path of a component, with programs
//! that are only told of.

use std::collections::VecDeque;

use super::export::Service;
use super::{Command, Ending, Event, NotRun, Program, Provisioner, Surroundings};
use crate::{Diagnostics, Object, Result, Type, codec};

/// A call of a provisioner, and what came of it.
#[derive(Default)]
pub struct Rehearsal {
    /// What was shown.
    pub shown: Vec<String>,
    /// What was started.
    pub started: Vec<Command>,
    programs: VecDeque<Result<Vec<Event>, NotRun>>,
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
}

//! Attacks and their goals. A failed setup is an error, not a successful defence.

use std::fmt;
use std::time::Duration;

use crate::bounded;

/// The result of an attack.
#[derive(Debug)]
pub enum Verdict {
    Held,
    /// The goal that the attacker achieved.
    Escaped(String),
    /// The cost of the attack for the host. The attack succeeded if its cost exceeds the maximum.
    Cost(Cost),
    /// The machine does not support the attack.
    Unavailable(String),
}

/// The cost of a command for the host.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The highest resident memory, in bytes.
    pub memory: u64,
    /// CPU time, since it does not depend on other programs.
    pub time: Duration,
    /// Whether the command was killed because it exceeded its memory or time.
    pub is_killed: bool,
}

impl Cost {
    fn is_within_bounds(self) -> bool {
        !self.is_killed && self.memory <= MAX_MEMORY && self.time <= MAX_TIME
    }
}

impl From<&bounded::Run> for Cost {
    fn from(run: &bounded::Run) -> Self {
        Self { memory: run.peak, time: run.cpu, is_killed: run.killed.is_some() }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let killed = if self.is_killed { ", killed" } else { "" };
        write!(formatter, "{} MiB, {:.1} s{killed}", self.memory >> 20, self.time.as_secs_f32())
    }
}

/// The maximum cost of hostile input for the host.
const MAX_MEMORY: u64 = 512 << 20;
const MAX_TIME: Duration = Duration::from_secs(30);

impl Verdict {
    /// Returns the attacker's gain if the attack succeeded.
    pub fn obtained(&self) -> Option<String> {
        match self {
            Self::Held | Self::Unavailable(_) => None,
            Self::Escaped(obtained) => Some(obtained.clone()),
            Self::Cost(cost) => (!cost.is_within_bounds()).then(|| cost.to_string()),
        }
    }
}

/// A verdict, or the reason why the attack could not be run.
pub type Outcome = Result<Verdict, String>;

type Run = Box<dyn Fn() -> Outcome + Send + Sync>;

pub struct Attack {
    pub family: &'static str,
    pub name: String,
    /// Whether the attack uses much memory or time, and must therefore run alone.
    pub is_heavy: bool,
    pub run: Run,
}

impl Attack {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.family, self.name)
    }
}

/// The attacks of one family, in order.
pub struct Table {
    family: &'static str,
    attacks: Vec<Attack>,
}

impl Table {
    pub fn new(family: &'static str) -> Self {
        Self { family, attacks: Vec::new() }
    }

    pub fn add(&mut self, name: impl Into<String>, run: impl Fn() -> Outcome + Send + Sync + 'static) {
        self.push(name.into(), false, Box::new(run));
    }

    pub fn add_heavy(&mut self, name: impl Into<String>, run: impl Fn() -> Outcome + Send + Sync + 'static) {
        self.push(name.into(), true, Box::new(run));
    }

    fn push(&mut self, name: String, is_heavy: bool, run: Run) {
        self.attacks.push(Attack { family: self.family, name, is_heavy, run });
    }

    pub fn into_attacks(self) -> Vec<Attack> {
        self.attacks
    }
}

/// Returns an escape if the condition is true.
pub fn escaped_if(condition: bool, obtained: impl Into<String>) -> Outcome {
    Ok(if condition { Verdict::Escaped(obtained.into()) } else { Verdict::Held })
}

/// Fails the setup unless the condition is true.
pub fn ensure(condition: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(problem()) }
}

//! Attacks with their goals. A failed setup is an error, not a success of the defence.

/// The result of an attack.
#[derive(Debug)]
pub enum Verdict {
    Held,
    /// What the attacker obtained.
    Escaped(String),
    /// The machine lacks something that the attack requires.
    Unavailable(String),
}

/// A verdict, or the reason why the attack could not be carried out.
pub type Outcome = Result<Verdict, String>;

type Run = Box<dyn Fn() -> Outcome + Send + Sync>;

pub struct Attack {
    pub family: &'static str,
    pub name: String,
    /// Whether it uses much memory or time, so that it runs alone.
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

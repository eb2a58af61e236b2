//! What a plugin asks for, in the words of the rule that grants it.
//!
//! Nothing can be asked for that a rule cannot grant: a capability is taken from its
//! words by making the rule of them and reading that as any other. So the rule that
//! grants what is asked for *is* what is asked for.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::SourceFile;

use crate::explain::{Granted, in_words};
use crate::policy::{Level, PolicyFile};
use crate::rule::{Conditions, Rule};
use crate::suggest::{list, text};

/// The longest reason, in characters.
const MOST_REASON: usize = 500;

/// The most combinations of host, scheme and method, and the like.
const MOST_PIECES: usize = 1000;

/// The arguments of rules, as they are written one after the other.
const ORDER: [&str; 11] = [
    "hosts",
    "directories",
    "names",
    "program",
    "arguments",
    "access",
    "schemes",
    "ports",
    "methods",
    "addresses",
    "reason",
];

/// The value of an argument of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// `"..."`
    Text(String),
    /// `["...", "..."]`
    List(Vec<String>),
}

/// A capability that is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    capability: String,
    arguments: Vec<(String, String)>,
    rule: Arc<Rule>,
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        self.capability == other.capability && self.arguments == other.arguments
    }
}

impl Eq for Asked {}

/// Why something cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskedProblem {
    /// The capability's or an argument's name is none.
    #[error("{0:?} is no word of policies")]
    Name(String),
    /// A text that no policy can hold or that misleads its reader, as one with a control
    /// character.
    #[error("the value of \"{0}\" holds what no policy can")]
    Text(String),
    /// There is no reason, or too much of one.
    #[error("a reason is to be given, of {MOST_REASON} characters at most")]
    Reason,
    /// It lists so much that nobody reads it.
    #[error("it lists more than {MOST_PIECES} combinations of hosts, methods and the like")]
    TooMuch,
    /// The rule that would grant it is none.
    #[error("{0}")]
    Rule(String),
}

impl Asked {
    /// A capability by its name in policies, with the arguments of its rule; `reason` is
    /// one of them and must be there. Relative directories begin at `root_module`, which
    /// is absolute.
    ///
    /// # Errors
    /// Where no rule can be made of it.
    pub fn new(
        capability: &str,
        arguments: impl IntoIterator<Item = (String, Words)>,
        root_module: &Path,
    ) -> Result<Self, AskedProblem> {
        let asked = Self::by_person(capability, arguments, root_module)?;
        if asked.reason().trim().is_empty() { Err(AskedProblem::Reason) } else { Ok(asked) }
    }

    /// As [`Asked::new`], for a person who need not say why.
    ///
    /// # Errors
    /// Where no rule can be made of it.
    pub fn by_person(
        capability: &str,
        arguments: impl IntoIterator<Item = (String, Words)>,
        root_module: &Path,
    ) -> Result<Self, AskedProblem> {
        let mut written = Vec::new();
        for (name, words) in arguments {
            check_name(&name)?;
            let value = match &words {
                Words::Text(reason) if name == "reason" && reason.chars().nth(MOST_REASON).is_some() => {
                    return Err(AskedProblem::Reason);
                }
                Words::Text(one) => Some(one).filter(|one| shows_itself(one)).and_then(|one| text(one)),
                Words::List(all) if all.iter().all(|one| shows_itself(one)) => {
                    list(all.iter().map(String::as_str))
                }
                Words::List(_) => None,
            };
            let Some(value) = value else { return Err(AskedProblem::Text(name)) };
            written.push((name, value));
        }
        // However it is declared, it reads the same.
        written.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name));
        check_name(capability)?;
        let rule = read(&block("allow", capability, &written), root_module)?;
        let asked = Self { capability: capability.to_owned(), arguments: written, rule };
        if asked.combinations() > MOST_PIECES { Err(AskedProblem::TooMuch) } else { Ok(asked) }
    }

    /// `network`, `filesystem`, ...
    pub fn capability(&self) -> &str {
        &self.capability
    }

    /// What of it, in words.
    pub fn what(&self) -> String {
        in_words(&self.rule.conditions)
    }

    /// What for, as the plugin's author says it.
    pub fn reason(&self) -> &str {
        self.rule.reason.as_deref().unwrap_or_default()
    }

    /// The block that states it, `verb` being `allow` in a policy, without indentation.
    pub fn block(&self, verb: &str) -> String {
        block(verb, &self.capability, &self.arguments)
    }

    /// Whether these include all of it. May say no where that is so.
    pub fn is_covered_by<'a>(&self, others: impl IntoIterator<Item = &'a Self>) -> bool {
        let others: Vec<Granted> =
            others.into_iter().flat_map(|other| Granted::of(&other.rule.conditions)).collect();
        self.pieces().iter().all(|piece| others.iter().any(|other| other.covers(piece)))
    }

    /// How many pieces there are, before any is made.
    fn combinations(&self) -> usize {
        let granted = Granted::of(&self.rule.conditions);
        let methods = match &self.rule.conditions {
            Conditions::Network(rule) => rule.methods.as_ref().map_or(1, BTreeSet::len),
            Conditions::Filesystem(_)
            | Conditions::Environment(_)
            | Conditions::Process(_)
            | Conditions::Communicator(_) => 1,
        };
        granted.len().saturating_mul(methods)
    }

    pub(crate) fn pieces(&self) -> Vec<Granted> {
        let all: BTreeSet<Granted> =
            Granted::of(&self.rule.conditions).into_iter().flat_map(Granted::pieces).collect();
        all.into_iter().collect()
    }
}

/// Whether a reader sees what is there: letters that turn others around, or are not seen,
/// make a text look like another one.
fn shows_itself(text: &str) -> bool {
    !text.chars().any(|character| {
        matches!(
            character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
    })
}

/// What stands in a text without quotes must be a word.
fn check_name(name: &str) -> Result<(), AskedProblem> {
    let is_word = (1..=32).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_word { Ok(()) } else { Err(AskedProblem::Name(name.chars().take(32).collect())) }
}

fn block(verb: &str, capability: &str, arguments: &[(String, String)]) -> String {
    let width = arguments.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut block = format!("{verb} {capability} {{\n");
    for (name, value) in arguments {
        let _ = writeln!(block, "  {name:width$} = {value}");
    }
    block.push_str("}\n");
    block
}

fn read(block: &str, root_module: &Path) -> Result<Arc<Rule>, AskedProblem> {
    let file = SourceFile::new("", format!("plugin \"*\" {{\n{block}}}\n"));
    let policy = PolicyFile::parse(Level::RootModule, &file, root_module).map_err(|problems| {
        let first = problems.iter().next();
        AskedProblem::Rule(first.map_or(String::new(), |first| {
            format!("{}: {}", first.summary, first.detail.trim_end_matches('.'))
        }))
    })?;
    let rules: Vec<&Arc<Rule>> = policy.plugins.iter().flat_map(|plugin| &plugin.rules).collect();
    match rules.as_slice() {
        [rule] => Ok(Arc::clone(rule)),
        _ => Err(AskedProblem::Rule("it is more than one rule".to_owned())),
    }
}

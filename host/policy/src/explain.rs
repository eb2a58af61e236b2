//! What the files come to for a plugin, line by line, for people who ask.
//!
//! The rules of the files that have the last word are put together one by one: what two
//! rules both grant is listed with both lines ([`combined`]). What cannot be put into
//! one pattern is listed as both patterns, joined by "and".

mod combined;
mod coverage;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use wardian_address::ProviderAddress;

use crate::confinement::GrantedPorts;
use crate::credential::{CredentialBinding, CredentialSource};
use crate::place::Place;
use crate::policy::{FileView, Level, Otherwise, PluginPolicy};
use crate::request::{Access, Extent, FileAccess, Request};
use crate::rule::{Effect, Rule};
use crate::settings::{NativePlugins, Set, Settings};

pub(crate) use combined::Granted;
pub(crate) use words::conditions as in_words;

/// The most pairs of grants that are held against each other.
const MOST_PAIRS: usize = 1_000_000;

/// All that there is to say about a plugin.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Which.
    pub plugin: ProviderAddress,
    /// The files, from the highest level down.
    pub files: Vec<ExplainedFile>,
    /// What is granted in effect, but for what is denied.
    pub allowed: Vec<Explained>,
    /// What is denied by a line.
    pub denied: Vec<Explained>,
    /// Lines that grant something and have no effect, as other files do not grant it.
    pub without_effect: Vec<Explained>,
    /// The rules are too many to be put together; the list of what is granted ends early.
    pub is_cut_short: bool,
    /// Limits and determinism.
    pub settings: Settings,
    /// What becomes of native code, and by which line; without one, because of what files
    /// do with what they do not mention.
    pub native: (NativePlugins, Option<Place>),
    /// Credentials that the host adds.
    pub credentials: Vec<ExplainedCredential>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedFile {
    /// Whose.
    pub level: Level,
    /// As people know it.
    pub name: String,
    /// What it does with what it does not mention.
    pub otherwise: Otherwise,
}

/// A grant or a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// `network`, `filesystem`, ...
    pub capability: &'static str,
    /// What of it, in words.
    pub what: String,
    /// The lines, from the highest level down.
    pub rules: Vec<Place>,
    /// What their author said about it.
    pub reason: Option<String>,
}

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedCredential {
    /// The header.
    pub header: String,
    /// Where the secret is; never the secret.
    pub source: CredentialSource,
    /// The hosts that it is sent to.
    pub hosts: Vec<String>,
    /// The line.
    pub rule: Place,
}

impl PluginPolicy {
    /// What the files come to, line by line.
    pub fn explain(&self) -> Explanation {
        let effective = self.effective();
        let reasons: BTreeMap<&Place, &str> =
            self.rules().filter_map(|rule| Some((&rule.place, rule.reason.as_deref()?))).collect();
        let allowed: Vec<Explained> = effective
            .grants
            .iter()
            .map(|(granted, rules)| Explained {
                capability: granted.capability(),
                what: granted.to_string(),
                rules: rules.iter().map(|(_, place)| place.clone()).collect(),
                reason: rules
                    .iter()
                    .rev()
                    .find_map(|(_, place)| reasons.get(place))
                    .map(|text| (*text).to_owned()),
            })
            .collect();
        let used: BTreeSet<&Place> = effective.grants.values().flatten().map(|(_, place)| place).collect();
        let of = |rule: &Rule| Explained {
            capability: words::capability(&rule.conditions),
            what: words::conditions(&rule.conditions),
            rules: vec![rule.place.clone()],
            reason: rule.reason.as_deref().map(str::to_owned),
        };
        let with = |effect: Effect| self.rules().filter(move |rule| rule.effect == effect);
        let without_effect = if effective.is_cut_short {
            Vec::new()
        } else {
            with(Effect::Allow).filter(|rule| !used.contains(&rule.place)).map(of).collect()
        };
        let native = self.native();
        let native_place = self
            .settings
            .native
            .as_ref()
            .filter(|set| set.value == native)
            .map(|set: &Set<_>| set.place.clone());
        Explanation {
            plugin: self.plugin.clone(),
            files: self.files.iter().map(explained_file).collect(),
            allowed,
            denied: with(Effect::Deny).map(of).collect(),
            without_effect,
            is_cut_short: effective.is_cut_short,
            settings: self.settings.clone(),
            native: (native, native_place),
            credentials: self.credentials.iter().map(|binding| explained_credential(binding)).collect(),
        }
    }

    /// The directories that are granted in effect. What is denied within them is still to
    /// be asked for, access by access.
    pub fn directories(&self) -> Vec<(PathBuf, BTreeSet<Access>)> {
        let granted = self.effective().grants.into_keys().filter_map(Granted::into_directory);
        granted.filter_map(|(path, access)| self.believed(path, access)).collect()
    }

    /// What of it still holds for a configuration of a stranger.
    fn believed(&self, path: PathBuf, access: BTreeSet<Access>) -> Option<(PathBuf, BTreeSet<Access>)> {
        let is_allowed = |access: &Access| {
            let file = FileAccess { path: path.clone(), access: *access, extent: Extent::Path };
            self.decide(&Request::File(file)).is_allowed()
        };
        let access: BTreeSet<Access> =
            access.into_iter().filter(|access| !self.is_untrusted() || is_allowed(access)).collect();
        (!access.is_empty()).then_some((path, access))
    }

    /// The ports that are granted in effect.
    pub(crate) fn granted_ports(&self) -> Vec<GrantedPorts> {
        self.effective().grants.keys().filter_map(Granted::ports).collect()
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.files.iter().flat_map(|file| file.rules.iter()).map(|rule| &**rule)
    }

    /// What all files with the last word grant; where none has it, what any grants.
    fn effective(&self) -> Effective {
        let files = || self.files.iter().enumerate();
        let mut strict = files().filter(|(_, file)| file.otherwise == Otherwise::Deny);
        let Some((index, first)) = strict.next() else {
            return Effective::of(files().flat_map(|(index, file)| granted(index, file)));
        };
        let mut effective = Effective::of(granted(index, first));
        for (index, file) in strict {
            effective = effective.within(&Effective::of(granted(index, file)));
        }
        effective
    }
}

/// The lines that grant something, each behind the number of its file.
type Lines = BTreeSet<(usize, Place)>;

#[derive(Default)]
struct Effective {
    grants: BTreeMap<Granted, Lines>,
    is_cut_short: bool,
}

impl Effective {
    fn of(grants: impl IntoIterator<Item = (Granted, (usize, Place))>) -> Self {
        let mut result = Self::default();
        for (granted, line) in grants {
            result.grants.entry(granted).or_default().insert(line);
        }
        result
    }

    /// What both grant.
    fn within(self, other: &Self) -> Self {
        let mut result = Self { grants: BTreeMap::new(), is_cut_short: self.is_cut_short };
        let mut pairs = 0_usize;
        for (one, lines) in &self.grants {
            for (two, further) in &other.grants {
                // Every line of both is looked at.
                pairs += lines.len() + further.len();
                if pairs > MOST_PAIRS {
                    result.is_cut_short = true;
                    return result;
                }
                if let Some(both) = one.and(two) {
                    let all = result.grants.entry(both).or_default();
                    all.extend(lines.iter().chain(further).cloned());
                }
            }
        }
        result
    }
}

fn granted(index: usize, file: &FileView) -> impl Iterator<Item = (Granted, (usize, Place))> {
    file.rules.iter().filter(|rule| rule.effect == Effect::Allow).flat_map(move |rule| {
        Granted::of(&rule.conditions).into_iter().map(move |granted| (granted, (index, rule.place.clone())))
    })
}

fn explained_file(file: &FileView) -> ExplainedFile {
    ExplainedFile { level: file.level, name: file.name.to_string(), otherwise: file.otherwise }
}

fn explained_credential(binding: &CredentialBinding) -> ExplainedCredential {
    ExplainedCredential {
        header: binding.header.to_string(),
        source: binding.source.clone(),
        hosts: binding.destinations(),
        rule: binding.place.clone(),
    }
}

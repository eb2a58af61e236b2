//! Explains the effective policy of a plugin, line by line.
//!
//! The rules of all files that do not defer are intersected in pairs: an access that is granted by
//! two rules is listed with the lines of both rules ([`combined`]). If the intersection of two
//! patterns cannot be written as one pattern, both are listed, joined by "and".

mod combined;
mod coverage;
mod describe;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use wardian_access::{AccessRequest, FileAccess, FileOperation};
use wardian_address::ProviderAddress;

use crate::credential::{CredentialBinding, CredentialSource};
use crate::level::Level;
use crate::policy::{DefaultAction, FileView, PluginPolicy};
use crate::rule::{Effect, Rule};
use crate::settings::{NativePlugins, PolicySetting, Settings};
use crate::source_location::SourceLocation;
use crate::unenforceable::UnenforceableRule;

pub(crate) use combined::{GrantedAccess, GrantedPorts};
pub(crate) use describe::conditions as describe_conditions;

/// Maximum number of compared pairs of grants.
const MAX_PAIRS: usize = 1_000_000;

/// The effective policy of a plugin.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub plugin: ProviderAddress,
    /// The files, from the highest level down.
    pub files: Vec<ExplainedFile>,
    /// Effective grants. Denials apply in addition.
    pub allowed: Vec<Explained>,
    pub denied: Vec<Explained>,
    /// Grants without effect, since another file does not grant the access.
    pub without_effect: Vec<Explained>,
    /// Whether the list of grants is incomplete, because there are too many rules to combine.
    pub is_cut_short: bool,
    /// Limits and deterministic mode.
    pub settings: Settings,
    /// The treatment of native plugins, and the line that sets it. If there is no such line, the
    /// files' default actions determine the treatment.
    pub native: (NativePlugins, Option<SourceLocation>),
    pub credentials: Vec<ExplainedCredential>,
    /// Rules and settings that cannot be enforced if the plugin is a native plugin that must be
    /// confined.
    pub unenforceable: Vec<UnenforceableRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedFile {
    pub level: Level,
    pub name: String,
    /// The file's default action.
    pub default_action: DefaultAction,
}

/// A grant or a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The capability: `network`, `filesystem`, ...
    pub capability: &'static str,
    /// Description of the access.
    pub description: String,
    /// The lines, from the highest level down.
    pub rules: Vec<SourceLocation>,
    /// The rule's `reason` argument.
    pub reason: Option<String>,
}

/// A credential that the host adds to requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedCredential {
    pub header: String,
    /// The source of the secret, never the secret itself.
    pub source: CredentialSource,
    /// The hosts to which the credential is sent.
    pub hosts: Vec<String>,
    pub rule: SourceLocation,
}

impl PluginPolicy {
    /// Explains the effective policy, line by line.
    pub fn explain(&self) -> Explanation {
        let effective = self.effective();
        let reasons: BTreeMap<&SourceLocation, &str> =
            self.rules().filter_map(|rule| Some((&rule.location, rule.reason.as_deref()?))).collect();
        let allowed: Vec<Explained> = effective
            .grants
            .iter()
            .map(|(granted, rules)| Explained {
                capability: granted.capability(),
                description: granted.to_string(),
                rules: rules.iter().map(|(_, location)| location.clone()).collect(),
                reason: rules
                    .iter()
                    .rev()
                    .find_map(|(_, location)| reasons.get(location))
                    .map(|text| (*text).to_owned()),
            })
            .collect();
        let used: BTreeSet<&SourceLocation> =
            effective.grants.values().flatten().map(|(_, location)| location).collect();
        let of = |rule: &Rule| Explained {
            capability: describe::capability(&rule.conditions),
            description: describe::conditions(&rule.conditions),
            rules: vec![rule.location.clone()],
            reason: rule.reason.as_deref().map(str::to_owned),
        };
        let with = |effect: Effect| self.rules().filter(move |rule| rule.effect == effect);
        let without_effect = if effective.is_cut_short {
            Vec::new()
        } else {
            with(Effect::Allow).filter(|rule| !used.contains(&rule.location)).map(of).collect()
        };
        let native = self.native();
        let native_place = self
            .settings
            .native
            .as_ref()
            .filter(|set| set.value == native)
            .map(|set: &PolicySetting<_>| set.location.clone());
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
            unenforceable: match native {
                NativePlugins::Confine | NativePlugins::ConfineOrWarn => self.unenforceable_for_native_code(),
                NativePlugins::Allow
                | NativePlugins::Warn
                | NativePlugins::ConfineFiles
                | NativePlugins::Deny => Vec::new(),
            },
        }
    }

    /// Returns the effectively granted directories and sockets. Denials within them apply to each
    /// access.
    pub fn directories(&self) -> Vec<(PathBuf, BTreeSet<FileOperation>)> {
        let granted = self.effective().grants.into_keys().filter_map(GrantedAccess::into_directory);
        granted.filter_map(|(path, access)| self.applicable(path, access)).collect()
    }

    /// Returns the part of a grant that applies to an untrusted configuration.
    fn applicable(
        &self,
        path: PathBuf,
        access: BTreeSet<FileOperation>,
    ) -> Option<(PathBuf, BTreeSet<FileOperation>)> {
        let is_allowed = |access: &FileOperation| {
            let file = FileAccess::from_normalized(path.clone(), *access);
            self.decide(&AccessRequest::File(file)).is_allowed()
        };
        let access: BTreeSet<FileOperation> =
            access.into_iter().filter(|access| !self.is_untrusted() || is_allowed(access)).collect();
        (!access.is_empty()).then_some((path, access))
    }

    /// Returns the effectively granted ports.
    pub(crate) fn granted_ports(&self) -> Vec<GrantedPorts> {
        self.effective().grants.keys().filter_map(GrantedAccess::ports).collect()
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.files.iter().flat_map(|file| file.rules.iter()).map(|rule| &**rule)
    }

    /// Returns the intersection of the grants of all files that do not defer; if all defer, the
    /// union.
    fn effective(&self) -> Effective {
        let files = || self.files.iter().enumerate();
        let mut strict = files().filter(|(_, file)| file.default_action == DefaultAction::Deny);
        let Some((index, first)) = strict.next() else {
            return Effective::from_grants(files().flat_map(|(index, file)| granted(index, file)));
        };
        let mut effective = Effective::from_grants(granted(index, first));
        for (index, file) in strict {
            effective = effective.intersect(&Effective::from_grants(granted(index, file)));
        }
        effective
    }
}

/// Lines with a grant, each with the index of its file.
type GrantingLines = BTreeSet<(usize, SourceLocation)>;

#[derive(Default)]
struct Effective {
    grants: BTreeMap<GrantedAccess, GrantingLines>,
    is_cut_short: bool,
}

impl Effective {
    fn from_grants(grants: impl IntoIterator<Item = (GrantedAccess, (usize, SourceLocation))>) -> Self {
        let mut result = Self::default();
        for (granted, line) in grants {
            result.grants.entry(granted).or_default().insert(line);
        }
        result
    }

    /// Returns the intersection of two sets of grants.
    fn intersect(self, other: &Self) -> Self {
        let mut result = Self { grants: BTreeMap::new(), is_cut_short: self.is_cut_short };
        let mut pairs = 0_usize;
        for (one, lines) in &self.grants {
            for (two, further) in &other.grants {
                // Each combination copies all lines of both grants, so the limit counts lines.
                pairs += lines.len() + further.len();
                if pairs > MAX_PAIRS {
                    result.is_cut_short = true;
                    return result;
                }
                if let Some(both) = one.intersection(two) {
                    let all = result.grants.entry(both).or_default();
                    all.extend(lines.iter().chain(further).cloned());
                }
            }
        }
        result
    }
}

fn granted(index: usize, file: &FileView) -> impl Iterator<Item = (GrantedAccess, (usize, SourceLocation))> {
    file.rules.iter().filter(|rule| rule.effect == Effect::Allow).flat_map(move |rule| {
        GrantedAccess::from_conditions(&rule.conditions)
            .into_iter()
            .map(move |granted| (granted, (index, rule.location.clone())))
    })
}

fn explained_file(file: &FileView) -> ExplainedFile {
    ExplainedFile { level: file.level, name: file.name.to_string(), default_action: file.default_action }
}

fn explained_credential(binding: &CredentialBinding) -> ExplainedCredential {
    ExplainedCredential {
        header: binding.header.to_string(),
        source: binding.source.clone(),
        hosts: binding.destinations(),
        rule: binding.location.clone(),
    }
}

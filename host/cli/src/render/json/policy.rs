//! Renders the effective policy of a plugin as JSON.

use serde::Serialize;
use wardian_app::native_confinement::displayed_level;
use wardian_policy::{
    CredentialSource, Explained, ExplainedCredential, Explanation, SourceLocation, UnenforceableRule,
};

/// The output of `policy explain -json`.
#[derive(Serialize)]
pub(crate) struct PolicyDocument<'a> {
    format_version: &'static str,
    plugin: String,
    files: Vec<File<'a>>,
    allowed: Vec<Rule<'a>>,
    denied: Vec<Rule<'a>>,
    without_effect: Vec<Rule<'a>>,
    /// Whether `allowed` is complete.
    complete: bool,
    limits: Vec<Limit<'a>>,
    native: Setting<'a, &'static str>,
    /// The level of confinement on this machine, if the plugin is native and is confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    confinement: Option<&'static str>,
    deterministic: Setting<'a, bool>,
    credentials: Vec<Credential<'a>>,
    unenforceable: Vec<Unenforceable<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    level: &'static str,
    path: &'a str,
    otherwise: &'static str,
}

#[derive(Serialize)]
struct Rule<'a> {
    capability: &'static str,
    what: &'a str,
    rules: Vec<Line<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    line: usize,
}

#[derive(Serialize)]
struct Limit<'a> {
    name: &'static str,
    value: String,
    rule: Line<'a>,
}

#[derive(Serialize)]
struct Setting<'a, T> {
    value: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Line<'a>>,
}

#[derive(Serialize)]
struct Credential<'a> {
    header: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    hosts: &'a [String],
    rule: Line<'a>,
}

#[derive(Serialize)]
struct Unenforceable<'a> {
    what: &'static str,
    reason: &'static str,
    rule: Line<'a>,
}

impl<'a> PolicyDocument<'a> {
    pub(crate) fn new(explanation: &'a Explanation) -> Self {
        let files = explanation.files.iter().map(|file| File {
            level: file.level.name(),
            path: &file.name,
            otherwise: file.default_action.as_str(),
        });
        let limits = explanation.settings.limits.entries().into_iter();
        let deterministic = explanation.settings.deterministic.as_ref();
        let (native, native_rule) = &explanation.native;
        Self {
            format_version: "1.0",
            plugin: explanation.plugin.to_string(),
            files: files.collect(),
            allowed: rules(&explanation.allowed),
            denied: rules(&explanation.denied),
            without_effect: rules(&explanation.without_effect),
            complete: !explanation.is_cut_short,
            limits: limits.map(|(name, value, place)| Limit { name, value, rule: line(place) }).collect(),
            native: Setting { value: native.as_str(), rule: native_rule.as_ref().map(line) },
            confinement: displayed_level(*native).map(|level| level.as_str()),
            deterministic: Setting {
                value: deterministic.is_some_and(|set| set.value),
                rule: deterministic.map(|set| line(&set.location)),
            },
            credentials: explanation.credentials.iter().map(credential).collect(),
            unenforceable: explanation.unenforceable.iter().map(unenforceable).collect(),
        }
    }
}

fn rules(all: &[Explained]) -> Vec<Rule<'_>> {
    all.iter()
        .map(|one| Rule {
            capability: one.capability,
            what: &one.description,
            rules: one.rules.iter().map(line).collect(),
            reason: one.reason.as_deref(),
        })
        .collect()
}

fn line(place: &SourceLocation) -> Line<'_> {
    Line { file: &place.file, line: place.line }
}

fn unenforceable(one: &UnenforceableRule) -> Unenforceable<'_> {
    Unenforceable { what: one.subject, reason: one.reason, rule: line(&one.location) }
}

fn credential(one: &ExplainedCredential) -> Credential<'_> {
    let (environment, file) = match &one.source {
        CredentialSource::Environment(name) => (Some(&**name), None),
        CredentialSource::File(path) => (None, Some(path.display().to_string())),
    };
    Credential { header: &one.header, environment, file, hosts: &one.hosts, rule: line(&one.rule) }
}

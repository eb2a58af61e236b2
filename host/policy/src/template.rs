//! Policy templates for well-known native providers.
//!
//! A template is a file in `templates/` with the rules that a provider needs. It is never applied
//! silently: the user adds it to a policy, and reviews its rules. A template contains rules like a
//! `plugin` block, and:
//!
//! | in a template | meaning |
//! |---|---|
//! | `providers` | the providers whose rules are equal |
//! | `notes`, `warning` | text for the user |
//! | `hosts`, `directories` (blocks) | values that the user specifies, with a description and a default |
//! | `instance_credentials` | rules for the credentials that a cloud serves to a machine |
//! | `"{hosts}"`, `"{directories}"` | the values that the user specifies |
//! | `"~/PATH"` | a path in the user's home directory |
//! | `"$VARIABLE"` | the absolute paths in an environment variable |
//!
//! A rule whose list of hosts or directories becomes empty is omitted.

mod catalog;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_lang::{Attribute, Block, Body, parse_body};

use crate::capability_request::{CapabilityRequest, CapabilityRequestError, RuleArgument};
use crate::host_pattern::HostPattern;
use crate::suggest::string_literal;
use catalog::TEMPLATES;

/// The placeholders for the user's values.
const HOSTS: &str = "{hosts}";
const DIRECTORIES: &str = "{directories}";

/// The rules that a well-known provider needs.
#[derive(Clone, Debug)]
pub struct PolicyTemplate {
    plugin: ProviderAddress,
    body: Body,
}

/// The user's values for the placeholders of a template.
#[derive(Clone, Copy)]
pub struct TemplateValues<'a> {
    /// Hosts that only the user knows. If this list is empty, the template's default is used.
    pub hosts: &'a [String],
    /// The ports of these hosts. If this list is empty, the template's default is used.
    pub ports: &'a [String],
    /// Directories that only the user knows.
    pub directories: &'a [String],
    /// Whether to include the addresses at which clouds serve credentials.
    pub instance_credentials: bool,
    pub home: Option<&'a Path>,
    /// Returns the value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The root module's directory, an absolute path.
    pub root_module: &'a Path,
}

/// The reason why a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    #[error("it needs {description}. Add the option -{option}=LIST")]
    MissingValue {
        /// The option of the command: `hosts`.
        option: &'static str,
        /// The values that are needed.
        description: String,
    },
    #[error("its {0} are fixed, so the option -{0} has no effect")]
    UnusedValue(&'static str),
    #[error("it has no rules for -instance-credentials")]
    NoInstanceCredentials,
    #[error("it contains files of your home directory, which is unknown: HOME is not set")]
    UnknownHome,
    #[error(transparent)]
    Rule(#[from] CapabilityRequestError),
    /// The template itself is invalid.
    #[error("it is invalid")]
    Invalid,
}

impl PolicyTemplate {
    /// Returns the template for a provider, if there is one.
    pub fn for_plugin(plugin: &ProviderAddress) -> Option<Self> {
        let bodies = TEMPLATES.iter().filter_map(|text| parse(text));
        let body = bodies.into_iter().find(|body| providers(body).any(|provider| provider == *plugin))?;
        Some(Self { plugin: plugin.clone(), body })
    }

    /// Returns the providers that have a template, sorted.
    pub fn plugins() -> Vec<ProviderAddress> {
        let bodies: Vec<Body> = TEMPLATES.iter().filter_map(|text| parse(text)).collect();
        let mut all: Vec<ProviderAddress> = bodies.iter().flat_map(providers).collect();
        all.sort();
        all
    }

    /// Returns sentences that help the user review the rules.
    pub fn notes(&self) -> Vec<String> {
        self.body.attribute("notes").and_then(strings).unwrap_or_default()
    }

    /// Returns the reason why the rules are dangerous, if they are.
    pub fn warning(&self) -> Option<&str> {
        self.body.attribute("warning")?.expression.as_quoted()
    }

    /// Returns the rules with all values inserted.
    ///
    /// # Errors
    /// Returns an error if a value is missing, not used or not valid.
    pub fn requests(&self, values: &TemplateValues<'_>) -> Result<Vec<CapabilityRequest>, TemplateError> {
        let values = Insertion {
            hosts: self.specified("hosts", values.hosts)?,
            directories: self.specified("directories", values.directories)?,
            values,
        };
        if values.hosts.is_none() && !values.values.ports.is_empty() {
            return Err(TemplateError::UnusedValue("ports"));
        }
        let mut rules: Vec<&Block> = self.body.blocks_of("allow").collect();
        if values.values.instance_credentials {
            let mut credentials = self.body.blocks_of("instance_credentials").peekable();
            if credentials.peek().is_none() {
                return Err(TemplateError::NoInstanceCredentials);
            }
            rules.extend(credentials.flat_map(|block| block.body.blocks_of("allow")));
        }
        let requests = rules.into_iter().map(|rule| values.request(rule));
        requests.filter_map(Result::transpose).collect()
    }

    /// Returns the files and directories that the provider reads, with all values inserted. Values
    /// that only the user knows are omitted.
    pub fn readable_files(&self, values: &TemplateValues<'_>) -> Vec<PathBuf> {
        let insertion = Insertion { hosts: None, directories: None, values };
        let rules = self.body.blocks_of("allow");
        let files = rules.filter(|rule| matches!(&*rule.labels, [label] if &*label.text == "filesystem"));
        let only_reads = |rule: &&Block| {
            let access = rule.body.attribute("access").and_then(strings);
            access.is_none_or(|access| access == ["read"])
        };
        let listed = files.filter(only_reads).filter_map(|rule| {
            let directories = rule.body.attribute("directories").and_then(strings)?;
            insertion.inserted(directories).ok()
        });
        listed.flatten().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
    }

    /// Returns the patterns of hosts in the rules, without those that only the user knows.
    pub(crate) fn host_patterns(&self) -> Vec<HostPattern> {
        let rules = self.body.blocks_of("allow");
        let hosts = rules.filter_map(|rule| rule.body.attribute("hosts").and_then(strings)).flatten();
        hosts.filter_map(|host| HostPattern::parse(&host).ok()).collect()
    }

    /// Renders the block that a policy gets: with the notes as comments, and confined.
    pub fn block(&self, requests: &[&CapabilityRequest]) -> Result<String, TemplateError> {
        let plugin = self.plugin.for_display().to_string();
        let mut text =
            format!("# From Wardian's template for {plugin}. Remove the rules that you do not need.\n");
        let plugin = string_literal(&plugin).ok_or(TemplateError::Invalid)?;
        // Writing into a string cannot fail.
        for note in self.notes() {
            let _ = writeln!(text, "# {note}");
        }
        let _ = writeln!(text, "plugin {plugin} {{\n  native = \"confine\"");
        for request in requests {
            text.push('\n');
            for line in request.block("allow").lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text.push_str("}\n");
        Ok(text)
    }

    /// Returns the user's values for a placeholder, or the template's default; `None` if the
    /// template has no such placeholder.
    fn specified(
        &self,
        option: &'static str,
        values: &[String],
    ) -> Result<Option<Vec<String>>, TemplateError> {
        let Some(block) = self.body.blocks_of(option).next() else {
            return if values.is_empty() { Ok(None) } else { Err(TemplateError::UnusedValue(option)) };
        };
        if !values.is_empty() {
            return Ok(Some(values.to_vec()));
        }
        match block.body.attribute("default") {
            Some(default) => strings(default).map(Some).ok_or(TemplateError::Invalid),
            None => {
                let description =
                    block.body.attribute("description").and_then(|text| text.expression.as_quoted());
                let description = description.unwrap_or_default().to_owned();
                Err(TemplateError::MissingValue { option, description })
            }
        }
    }
}

/// The values that are inserted into rules.
struct Insertion<'a> {
    hosts: Option<Vec<String>>,
    directories: Option<Vec<String>>,
    values: &'a TemplateValues<'a>,
}

impl Insertion<'_> {
    /// Returns a rule as a request; `None` if it applies to nothing.
    fn request(&self, rule: &Block) -> Result<Option<CapabilityRequest>, TemplateError> {
        let [capability] = rule.labels.as_slice() else { return Err(TemplateError::Invalid) };
        let hosts = rule.body.attribute("hosts").and_then(strings).unwrap_or_default();
        let has_users_hosts = hosts.iter().any(|host| host == HOSTS);
        let users_ports = Some(self.values.ports).filter(|ports| has_users_hosts && !ports.is_empty());
        let mut arguments = Vec::new();
        for attribute in &rule.body.attributes {
            let name = &*attribute.name;
            let value = match name {
                "hosts" | "directories" => {
                    let list = self.inserted(strings(attribute).ok_or(TemplateError::Invalid)?)?;
                    if list.is_empty() {
                        return Ok(None);
                    }
                    RuleArgument::List(list)
                }
                "ports" if users_ports.is_some() => continue,
                _ => argument(attribute).ok_or(TemplateError::Invalid)?,
            };
            arguments.push((name.to_owned(), value));
        }
        arguments.extend(users_ports.map(|ports| ("ports".to_owned(), RuleArgument::List(ports.to_vec()))));
        let root_module = self.values.root_module;
        Ok(Some(CapabilityRequest::without_reason(&capability.text, arguments, root_module)?))
    }

    fn inserted(&self, list: Vec<String>) -> Result<Vec<String>, TemplateError> {
        let mut inserted = Vec::new();
        for text in list {
            match text.as_str() {
                HOSTS => inserted.extend(self.hosts.iter().flatten().cloned()),
                DIRECTORIES => inserted.extend(self.directories.iter().flatten().cloned()),
                other => match (other.strip_prefix("~/"), other.strip_prefix('$')) {
                    (Some(below), _) => inserted.push(self.in_home(below)?),
                    (_, Some(name)) => inserted.extend(self.paths_in(name)),
                    (None, None) => inserted.push(text),
                },
            }
        }
        Ok(inserted)
    }

    fn in_home(&self, below: &str) -> Result<String, TemplateError> {
        let home = self.values.home.filter(|home| home.is_absolute()).ok_or(TemplateError::UnknownHome)?;
        home.join(below).into_os_string().into_string().map_err(|_| TemplateError::UnknownHome)
    }

    /// Returns the absolute paths in a variable, which is a list in some cases.
    fn paths_in(&self, variable: &str) -> Vec<String> {
        let value = (self.values.variable)(variable).unwrap_or_default();
        let paths = value.split(':').filter(|path| Path::new(path).is_absolute());
        paths.map(str::to_owned).collect()
    }
}

fn parse(text: &str) -> Option<Body> {
    let (body, problems) = parse_body(&SourceFile::new("template", text));
    (!problems.has_errors()).then_some(body)
}

fn providers(body: &Body) -> impl Iterator<Item = ProviderAddress> {
    let listed = body.attribute("providers").and_then(strings).unwrap_or_default();
    listed.into_iter().filter_map(|address| ProviderAddress::parse(&address).ok())
}

fn strings(attribute: &Attribute) -> Option<Vec<String>> {
    let items = attribute.expression.as_tuple_items()?;
    items.iter().map(|item| item.as_quoted().map(str::to_owned)).collect()
}

fn argument(attribute: &Attribute) -> Option<RuleArgument> {
    match attribute.expression.as_quoted() {
        Some(text) => Some(RuleArgument::String(text.to_owned())),
        None => strings(attribute).map(RuleArgument::List),
    }
}

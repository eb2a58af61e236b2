//! All policy files together, and what they come to for one plugin.
//!
//! ```text
//! organisation ──> user ──> root module
//! ```
//!
//! Each file says of a request that it allows it, that it denies it, or nothing. Within
//! a file a denial wins over everything; the order of rules means nothing. A file that
//! says nothing denies, unless it has `otherwise = "defer"`: then it leaves the matter
//! to the others. A request is allowed if no file denies it and at least one allows it.
//! So a file that is added can forbid, and it can grant what all above it left open, but
//! never what one of them denies.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::ProviderAddress;

use crate::credential::CredentialBinding;
use crate::decision::{Decision, Denial, DenialReason, Grant};
use crate::defaults;
use crate::path::is_within;
use crate::plugin_pattern::PluginPattern;
use crate::request::{Access, NetworkRequest, Request};
use crate::rule::{Conditions, Effect, Rule};
use crate::settings::{Limits, NativePlugins, Settings};
use crate::untrusted::Untrusted;

/// The name of a policy file.
pub const POLICY_FILE_NAME: &str = "wardian.policy.hcl";

/// The name of the file beside the lock file that says which declarations of plugins were
/// agreed to.
pub const AGREEMENTS_FILE_NAME: &str = ".wardian.lock.hcl";

/// What stands beside the configuration and says what runs: no plugin may write there.
const PROTECTED: [&str; 4] = [POLICY_FILE_NAME, AGREEMENTS_FILE_NAME, ".terraform.lock.hcl", ".terraform"];

/// Whose a file is. What comes first stands above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Of the organisation: a fixed place of the system, or where the environment says.
    Organisation,
    /// Of the person.
    User,
    /// Of the configuration; whoever can change that can change this.
    RootModule,
    /// Of the host itself: what the plugins that it carries plainly need. It grants where
    /// all others left a matter open, and denies nothing.
    Host,
}

impl Level {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::User => "user",
            Self::RootModule => "root module",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What a file does with what none of its rules is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// It denies.
    #[default]
    Deny,
    /// It leaves that to the other files.
    Defer,
}

impl Otherwise {
    /// The word in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Defer => "defer",
        }
    }
}

/// One file, read and compiled.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    pub(crate) level: Level,
    pub(crate) name: Arc<str>,
    pub(crate) otherwise: Otherwise,
    pub(crate) plugins: Vec<PluginRules>,
}

impl PolicyFile {
    /// Whose it is.
    pub fn level(&self) -> Level {
        self.level
    }

    /// As people know it.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn blocks(&self, plugin: &ProviderAddress) -> impl Iterator<Item = &PluginRules> {
        self.plugins.iter().filter(|block| block.pattern.matches(plugin))
    }

    /// What it says of one plugin.
    fn view(&self, plugin: &ProviderAddress) -> FileView {
        let settings = self.blocks(plugin).map(|block| (block.pattern.specificity(), &block.settings));
        FileView {
            level: self.level,
            name: Arc::clone(&self.name),
            otherwise: self.otherwise,
            rules: self.blocks(plugin).flat_map(|block| block.rules.iter().cloned()).collect(),
            settings: Settings::of_file(settings),
        }
    }

    /// How many rules there are: blocks that allow or deny.
    pub fn rule_count(&self) -> usize {
        self.plugins.iter().map(|plugin| plugin.rules.len()).sum()
    }
}

/// A block `plugin`.
#[derive(Clone, Debug)]
pub(crate) struct PluginRules {
    pub(crate) pattern: PluginPattern,
    pub(crate) rules: Vec<Arc<Rule>>,
    pub(crate) settings: Settings,
    pub(crate) credentials: Vec<Arc<CredentialBinding>>,
}

/// All files that there are.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    files: Vec<PolicyFile>,
    protected: Arc<[PathBuf]>,
    root_module: PathBuf,
    untrusted: Option<Arc<Untrusted>>,
}

impl Policy {
    /// Puts files together. `root_module` is the absolute path that relative ones of
    /// requests begin at. Further `protected` paths, such as those of the files
    /// themselves, can be written by no plugin, whatever rules say.
    pub fn new(
        root_module: &Path,
        files: impl IntoIterator<Item = PolicyFile>,
        protected: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let mut files: Vec<PolicyFile> = files.into_iter().collect();
        files.sort_by_key(|file| file.level);
        let beside = PROTECTED.iter().map(|name| root_module.join(name));
        let protected = beside.chain(protected).collect();
        Self { files, protected, root_module: root_module.to_owned(), untrusted: None }
    }

    /// What holds for a configuration of a stranger: its own file grants nothing, requests
    /// go only where the organisation's files say, nothing is started or written, no native
    /// plugin runs, and what is at or below `unreadable` paths is not read.
    pub fn distrust(&mut self, unreadable: impl IntoIterator<Item = PathBuf>) {
        self.untrusted = Some(Arc::new(Untrusted::new(unreadable)));
    }

    /// Protects a further path, such as that of the log: no plugin can write it.
    pub fn protect(&mut self, path: &Path) {
        self.protected = self.protected.iter().cloned().chain([path.to_owned()]).collect();
    }

    /// The files, from the highest level down.
    pub fn files(&self) -> &[PolicyFile] {
        &self.files
    }

    /// What the files come to for a plugin. Who asks often asks once for this.
    pub fn of(&self, plugin: &ProviderAddress) -> PluginPolicy {
        let mut settings = Settings::default();
        let mut credentials = Vec::new();
        let mut files = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let view = file.view(plugin);
            settings.narrowed(&view.settings);
            credentials.extend(file.blocks(plugin).flat_map(|block| block.credentials.iter().cloned()));
            files.push(view);
        }
        let (protected, untrusted) = (Arc::clone(&self.protected), self.untrusted.clone());
        PluginPolicy { plugin: plugin.clone(), files, settings, credentials, protected, untrusted }
    }

    /// What the files come to for a plugin whose code the host carries itself, or that
    /// the person named a place for: the host grants it what it plainly needs, where no
    /// file says otherwise. It is code that this is granted to, not a name.
    pub fn of_trusted_code(&self, plugin: &ProviderAddress) -> PluginPolicy {
        let mut policy = self.of(plugin);
        let defaults = defaults::of_host(&self.root_module);
        policy.files.extend(defaults.map(|file| file.view(plugin)).filter(|view| !view.rules.is_empty()));
        policy
    }

    /// Whether a plugin may do something. For requests by name this is the first wall;
    /// [`PluginPolicy::decide_at`] is the second.
    pub fn decide(&self, plugin: &ProviderAddress, request: &Request) -> Decision {
        self.of(plugin).decide(request)
    }
}

/// What all files say of one plugin.
#[derive(Clone, Debug)]
pub struct PluginPolicy {
    pub(crate) plugin: ProviderAddress,
    pub(crate) files: Vec<FileView>,
    pub(crate) settings: Settings,
    pub(crate) credentials: Vec<Arc<CredentialBinding>>,
    protected: Arc<[PathBuf]>,
    untrusted: Option<Arc<Untrusted>>,
}

/// What one file says of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct FileView {
    pub(crate) level: Level,
    pub(crate) name: Arc<str>,
    pub(crate) otherwise: Otherwise,
    pub(crate) rules: Vec<Arc<Rule>>,
    pub(crate) settings: Settings,
}

enum Verdict<'a> {
    Allowed(&'a Rule),
    Denied(Option<&'a Rule>),
    Deferred,
}

impl FileView {
    fn verdict(&self, request: &Request, address: Option<IpAddr>) -> Verdict<'_> {
        let mut allowing = None;
        for rule in &self.rules {
            match rule.effect {
                Effect::Deny if rule.matches(request, address) => return Verdict::Denied(Some(rule)),
                Effect::Allow if allowing.is_none() && rule.matches(request, address) => {
                    allowing = Some(rule);
                }
                Effect::Allow | Effect::Deny => {}
            }
        }
        match (allowing, self.otherwise) {
            (Some(rule), _) => Verdict::Allowed(rule),
            (None, Otherwise::Deny) => Verdict::Denied(None),
            (None, Otherwise::Defer) => Verdict::Deferred,
        }
    }
}

impl PluginPolicy {
    /// The plugin.
    pub fn plugin(&self) -> &ProviderAddress {
        &self.plugin
    }

    /// Whether the plugin may do something, as far as that can be told without knowing
    /// where a name leads.
    pub fn decide(&self, request: &Request) -> Decision {
        self.decision(request, None)
    }

    /// Whether the plugin may do something at an address that the request's host turned
    /// out to have. This is a wall of its own, to be asked for each address right before
    /// it is connected to: names lead wherever their owner likes, and elsewhere a moment
    /// later.
    pub fn decide_at(&self, request: &Request, address: IpAddr) -> Decision {
        self.decision(request, Some(address))
    }

    fn decision(&self, request: &Request, address: Option<IpAddr>) -> Decision {
        let denied = |reason| Decision::Denied(Denial::new(&self.plugin, request, reason));
        if let Request::File(access) = request
            && access.access == Access::Write
            && let Some(path) = self
                .protected
                .iter()
                .find(|path| is_within(&access.path, path) || is_within(path, &access.path))
        {
            return denied(DenialReason::Protected(path.clone()));
        }
        if let Some(why) = self.untrusted.as_ref().and_then(|untrusted| untrusted.forbids(request)) {
            return denied(DenialReason::Untrusted(why));
        }
        let is_believed =
            |file: &FileView| self.untrusted.is_none() || Untrusted::believes(file.level, request);
        let mut places = Vec::new();
        for file in &self.files {
            match file.verdict(request, address) {
                Verdict::Allowed(rule) if is_believed(file) => places.push(rule.place.clone()),
                Verdict::Allowed(_) => {}
                Verdict::Deferred => {}
                Verdict::Denied(Some(rule)) => {
                    let (place, reason) = (rule.place.clone(), rule.reason.clone());
                    return denied(DenialReason::Rule { place, reason });
                }
                Verdict::Denied(None) => {
                    let by_name = address.map(|address| (address, file.verdict(request, None)));
                    return denied(match by_name {
                        Some((address, Verdict::Allowed(rule))) => {
                            DenialReason::Address { address, place: Some(rule.place.clone()) }
                        }
                        _ => DenialReason::NotGranted { level: file.level, file: Arc::clone(&file.name) },
                    });
                }
            }
        }
        if !places.is_empty() {
            return Decision::Allowed(Grant { rules: places });
        }
        denied(match address {
            _ if self.untrusted.is_some() => DenialReason::Untrusted(match request {
                Request::Network(_) | Request::LookUp(_) => {
                    "only the organisation's policy grants the network"
                }
                Request::File(_) => "of what the configuration names, only files of its directory are read",
                _ => "the configuration's own policy grants nothing",
            }),
            _ if self.files.is_empty() => DenialReason::NoPolicy,
            Some(address) if self.decision(request, None).is_allowed() => {
                DenialReason::Address { address, place: None }
            }
            _ => DenialReason::NobodyGrants,
        })
    }

    /// Whether the configuration is a stranger's.
    pub fn is_untrusted(&self) -> bool {
        self.untrusted.is_some()
    }

    /// Every path that the files or the host say something of: granted, denied or
    /// protected. Whoever opens files finds out with this under which other names what is
    /// there is meant.
    pub fn named_paths(&self) -> BTreeSet<&Path> {
        let rules = self.files.iter().flat_map(|file| &file.rules);
        let named = rules.filter_map(|rule| match &rule.conditions {
            Conditions::Filesystem(rule) => rule.directories.as_deref(),
            _ => None,
        });
        named.flatten().chain(self.protected.iter()).map(PathBuf::as_path).collect()
    }

    /// Limits, determinism, and what is said of native code.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The limits that organisation and user set, whatever the root module says. They
    /// answer for the machine, and may set larger ones than the host would.
    pub fn limits_of_the_machine(&self) -> Limits {
        let mut settings = Settings::default();
        let theirs = self.files.iter().filter(|file| matches!(file.level, Level::Organisation | Level::User));
        theirs.for_each(|file| settings.narrowed(&file.settings));
        settings.limits
    }

    /// What becomes of the plugin if it is native code. A file that denies what it does
    /// not mention denies that too, since native code is bound by no other rule; where no
    /// file has a say, a warning is told.
    pub fn native(&self) -> NativePlugins {
        if self.untrusted.is_some() {
            return NativePlugins::Deny;
        }
        let silent =
            self.files.iter().any(|file| file.otherwise == Otherwise::Deny && file.settings.native.is_none());
        match &self.settings.native {
            _ if silent => NativePlugins::Deny,
            Some(native) => native.value,
            None => NativePlugins::Warn,
        }
    }

    /// The credentials that the host adds to a request, one for each header: where two
    /// files bind the same header, the higher one's. Their headers are not the plugin's to
    /// set.
    pub fn credentials(&self, request: &NetworkRequest) -> Vec<&CredentialBinding> {
        let mut found: Vec<&CredentialBinding> = Vec::new();
        for binding in self.credentials.iter().filter(|binding| binding.matches(request)) {
            if !found.iter().any(|earlier| earlier.header == binding.header) {
                found.push(binding);
            }
        }
        found
    }
}

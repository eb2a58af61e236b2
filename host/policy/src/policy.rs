//! Combines the policy files of all levels.
//!
//! ```text
//! organisation ──> user ──> root module
//! ```
//!
//! Each file allows a request, denies it, or defers. Within a file, a denial takes precedence over
//! all grants, and the order of rules does not matter. A file without a matching rule denies the
//! request, unless the file has `otherwise = "defer"`. In that case, the other files determine the
//! decision. A request is allowed if no file denies it and at least one file allows it. Therefore,
//! an additional file can deny accesses, and can grant accesses for which all higher levels defer,
//! but it can never grant accesses that a higher level denies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_access::{
    AccessExtent, AccessRequest, FileAccess, FileOperation, NetworkRequest, ProtectedClass, ProtectedClasses,
    is_within,
};
use wardian_address::ProviderAddress;
use wardian_diagnostic::Diagnostics;

use crate::credential::CredentialBinding;
use crate::decision::{Decision, Denial, DenialReason, Grant};
use crate::defaults;
use crate::identity_requirement::{IdentityRequirement, SignatureRequirement};
use crate::learning::Learning;
use crate::level::Level;
use crate::plugin_pattern::PluginPattern;
use crate::protected::ProtectedFiles;
use crate::rule::{Conditions, Effect, Rule};
use crate::settings::{EvaluationSettings, PluginLimits, Settings};
use crate::untrusted::UntrustedRestrictions;
use crate::untrusted_service::ServiceRule;

pub const POLICY_FILE_NAME: &str = "wardian.policy.hcl";

/// Name of the consent lock file, which is next to the dependency lock file and records the
/// approved declarations.
pub const CONSENT_LOCK_FILE_NAME: &str = ".wardian.lock.hcl";

/// The names of other files that are protected even before they exist.
const DEPENDENCY_LOCK_FILE_NAME: &str = ".terraform.lock.hcl";
const DATA_DIRECTORY_NAME: &str = ".terraform";

/// The decision of a file on a request that no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultAction {
    #[default]
    Deny,
    /// The other files determine the decision.
    Defer,
}

impl DefaultAction {
    /// Returns the name in a policy.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Defer => "defer",
        }
    }
}

#[derive(Clone, Debug)]
pub struct PolicyFile {
    pub(crate) level: Level,
    pub(crate) name: Arc<str>,
    pub(crate) default_action: DefaultAction,
    pub(crate) evaluation: EvaluationSettings,
    pub(crate) plugins: Vec<PluginRules>,
    pub(crate) signatures: Vec<IdentityRequirement>,
    /// The services that untrusted configurations may use.
    pub(crate) services: Vec<ServiceRule>,
    pub(crate) contradictions: Diagnostics,
}

impl PolicyFile {
    pub fn level(&self) -> Level {
        self.level
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns an error for each rule that cannot be enforced although its block has
    /// `native = "confine"`. Such a rule is enforced for components, so the file is valid.
    pub fn contradictions(&self) -> &Diagnostics {
        &self.contradictions
    }

    fn blocks(&self, plugin: &ProviderAddress) -> impl Iterator<Item = &PluginRules> {
        self.plugins.iter().filter(|block| block.pattern.matches(plugin))
    }

    /// Returns the part of the file that applies to a plugin.
    fn view(&self, plugin: &ProviderAddress) -> FileView {
        let settings = self.blocks(plugin).map(|block| (block.pattern.specificity(), &block.settings));
        FileView {
            level: self.level,
            name: Arc::clone(&self.name),
            default_action: self.default_action,
            rules: self.blocks(plugin).flat_map(|block| block.rules.iter().cloned()).collect(),
            settings: Settings::from_blocks(settings),
        }
    }

    /// Returns the number of `allow` and `deny` blocks.
    pub fn rule_count(&self) -> usize {
        self.plugins.iter().map(|plugin| plugin.rules.len()).sum()
    }
}

/// A `plugin` block.
#[derive(Clone, Debug)]
pub(crate) struct PluginRules {
    pub(crate) pattern: PluginPattern,
    pub(crate) rules: Vec<Arc<Rule>>,
    pub(crate) settings: Settings,
    pub(crate) credentials: Vec<Arc<CredentialBinding>>,
}

/// The policy files of all levels.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    files: Vec<PolicyFile>,
    protected: Arc<ProtectedFiles>,
    /// Paths that no plugin can write, regardless of the rules.
    read_only: Arc<[PathBuf]>,
    root_module: PathBuf,
    untrusted: Option<Arc<UntrustedRestrictions>>,
    pub(crate) learning: Option<Arc<Learning>>,
    targets: Arc<BTreeMap<PathBuf, PathBuf>>,
    all_plugins: Arc<PathsOfAllPlugins>,
}

/// The paths in the rules for all plugins, and in the default grants of one plugin.
#[derive(Clone, Debug, Default)]
struct PathsOfAllPlugins {
    named: BTreeSet<PathBuf>,
    writable: BTreeSet<PathBuf>,
}

impl PathsOfAllPlugins {
    fn add<'a>(&mut self, rules: impl IntoIterator<Item = &'a Arc<Rule>>) {
        for rule in rules {
            let Conditions::Filesystem(conditions) = &rule.conditions else { continue };
            self.named.extend(conditions.directories.iter().flatten().cloned());
            self.writable.extend(rule.writable_directories().into_iter().flatten().cloned());
        }
    }
}

/// A directory that a rule of a policy file grants.
#[derive(Clone, Copy, Debug)]
pub struct GrantedDirectory<'a> {
    pub level: Level,
    /// Display name of the file.
    pub file: &'a str,
    pattern: &'a PluginPattern,
    /// The path as in the rule: absolute and normalized.
    pub path: &'a Path,
}

impl<'a> GrantedDirectory<'a> {
    /// Returns the pattern of plugin addresses.
    pub fn plugin(&self) -> impl fmt::Display + use<'a> {
        self.pattern
    }

    /// Whether the rule applies to a plugin.
    pub fn is_for(&self, address: &ProviderAddress) -> bool {
        self.pattern.matches(address)
    }
}

impl Policy {
    /// Combines files. `root_module` is the absolute base path for relative paths in requests.
    /// `policies` contains the paths of all policy files, including those that do not exist.
    pub fn new(
        root_module: &Path,
        files: impl IntoIterator<Item = PolicyFile>,
        policies: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let mut files: Vec<PolicyFile> = files.into_iter().collect();
        files.sort_by_key(|file| file.level);
        let mut protected = ProtectedFiles::new(root_module);
        let data = root_module.join(DATA_DIRECTORY_NAME);
        for (class, name) in [
            (ProtectedClass::Policies, POLICY_FILE_NAME),
            (ProtectedClass::Policies, CONSENT_LOCK_FILE_NAME),
            (ProtectedClass::Plugins, DEPENDENCY_LOCK_FILE_NAME),
        ] {
            protected.protect(class, &root_module.join(name));
        }
        protected.protect(ProtectedClass::Data, &data);
        policies.into_iter().for_each(|path| protected.protect(ProtectedClass::Policies, &path));
        let mut all_plugins = PathsOfAllPlugins::default();
        all_plugins.add(files.iter().flat_map(|file| &file.plugins).flat_map(|plugin| &plugin.rules));
        Self {
            files,
            protected: Arc::new(protected),
            read_only: Arc::default(),
            root_module: root_module.to_owned(),
            untrusted: None,
            learning: None,
            targets: Arc::default(),
            all_plugins: Arc::new(all_plugins),
        }
    }

    /// Applies the restrictions for untrusted configurations: the configuration's own policy grants
    /// nothing, only the organisation's files grant network access, no programs are started, no
    /// files are written, no native plugins run, and `unreadable` paths and everything below them
    /// cannot be read.
    pub fn distrust(&mut self, unreadable: impl IntoIterator<Item = PathBuf>) {
        self.untrusted = Some(Arc::new(UntrustedRestrictions::new(unreadable)));
    }

    /// Like [`Policy::distrust`], but a directory in the data directory can be read: the directory of
    /// installed modules, which are part of the configuration.
    pub fn distrust_except(&mut self, unreadable: impl IntoIterator<Item = PathBuf>, readable_data: PathBuf) {
        let restrictions = UntrustedRestrictions::new(unreadable).with_readable_data(readable_data);
        self.untrusted = Some(Arc::new(restrictions));
    }

    /// Protects a file, or a directory with everything below it, from all plugins without a rule
    /// that names the class. The path need not exist.
    pub fn protect(&mut self, class: ProtectedClass, path: &Path) {
        Arc::make_mut(&mut self.protected).protect(class, path);
    }

    /// Prevents every plugin from writing a path, such as the path of the audit log.
    pub fn make_read_only(&mut self, path: &Path) {
        self.read_only = self.read_only.iter().cloned().chain([path.to_owned()]).collect();
    }

    /// Returns the directories that the files grant, for reading or writing.
    pub fn granted_directories(&self) -> impl Iterator<Item = GrantedDirectory<'_>> {
        self.files.iter().flat_map(|file| {
            file.plugins.iter().flat_map(move |plugin| {
                let granted = plugin.rules.iter().filter_map(|rule| match &rule.conditions {
                    Conditions::Filesystem(conditions) if rule.effect == Effect::Allow => {
                        conditions.directories.as_deref()
                    }
                    _ => None,
                });
                granted.flatten().map(move |path| GrantedDirectory {
                    level: file.level,
                    file: &file.name,
                    pattern: &plugin.pattern,
                    path,
                })
            })
        })
    }

    /// Returns the directories that a rule grants to any plugin for writing.
    pub fn writable_directories(&self) -> impl Iterator<Item = &Path> {
        self.all_plugins.writable.iter().map(PathBuf::as_path)
    }

    /// Sets the directories to which granted paths must resolve: `targets` maps each path in a rule
    /// to its path without symbolic links.
    pub fn fix_targets(&mut self, targets: BTreeMap<PathBuf, PathBuf>) {
        self.targets = Arc::new(targets);
    }

    pub fn files(&self) -> &[PolicyFile] {
        &self.files
    }

    /// Returns the limits of expressions in the organisation's and the user's files, and the limits
    /// in all files. The organisation and the user are responsible for the machine, so they may set
    /// limits above the host's defaults.
    pub fn evaluation_settings(&self) -> (EvaluationSettings, EvaluationSettings) {
        let (mut machine, mut all) = (EvaluationSettings::default(), EvaluationSettings::default());
        for file in &self.files {
            if matches!(file.level, Level::Organisation | Level::User) {
                machine.narrow_to(&file.evaluation);
            }
            all.narrow_to(&file.evaluation);
        }
        (machine, all)
    }

    /// Returns the requirements on the signatures of a plugin. Each file adds requirements, and no
    /// file removes one.
    pub fn required_signature(&self, plugin: &ProviderAddress) -> Option<SignatureRequirement<'_>> {
        let blocks = self.files.iter().flat_map(|file| &file.signatures);
        SignatureRequirement::new(blocks.filter(|block| block.is_for(plugin)).collect())
    }

    /// Returns the policy for a plugin. Callers with many requests should call this once.
    pub fn for_plugin(&self, plugin: &ProviderAddress) -> PluginPolicy {
        let mut settings = Settings::default();
        let mut credentials = Vec::new();
        let mut files = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let view = file.view(plugin);
            settings.narrow_to(&view.settings);
            credentials.extend(file.blocks(plugin).flat_map(|block| block.credentials.iter().cloned()));
            files.push(view);
        }
        PluginPolicy {
            plugin: plugin.clone(),
            files,
            settings,
            credentials,
            protected: Arc::clone(&self.protected),
            read_only: Arc::clone(&self.read_only),
            untrusted: self.untrusted.clone(),
            learning: self.learning.clone(),
            targets: Arc::clone(&self.targets),
            all_plugins: Arc::clone(&self.all_plugins),
            root_module: self.root_module.clone(),
        }
    }

    /// Returns the policy for a plugin whose code is shipped with the host, which includes the
    /// host's default grants. These grants depend on the plugin's code, not on its name.
    pub fn for_trusted_code(&self, plugin: &ProviderAddress) -> PluginPolicy {
        let mut policy = self.for_plugin(plugin);
        let defaults = defaults::host_policy(&self.root_module).map(|file| file.view(plugin));
        if let Some(view) = defaults.filter(|view| !view.rules.is_empty()) {
            Arc::make_mut(&mut policy.all_plugins).add(&view.rules);
            policy.files.push(view);
        }
        policy
    }

    /// Returns whether a plugin's access is allowed. For an access by host name, this is the first
    /// check; [`PluginPolicy::decide_at`] is the second check.
    pub fn decide(&self, plugin: &ProviderAddress, request: &AccessRequest) -> Decision {
        self.for_plugin(plugin).decide(request)
    }
}

/// The policies of all files for one plugin.
#[derive(Clone, Debug)]
pub struct PluginPolicy {
    pub(crate) plugin: ProviderAddress,
    pub(crate) files: Vec<FileView>,
    pub(crate) settings: Settings,
    pub(crate) credentials: Vec<Arc<CredentialBinding>>,
    protected: Arc<ProtectedFiles>,
    /// Paths that no plugin can write, regardless of the rules.
    read_only: Arc<[PathBuf]>,
    untrusted: Option<Arc<UntrustedRestrictions>>,
    pub(crate) learning: Option<Arc<Learning>>,
    targets: Arc<BTreeMap<PathBuf, PathBuf>>,
    all_plugins: Arc<PathsOfAllPlugins>,
    root_module: PathBuf,
}

/// A request with the classes of the files that it concerns.
#[derive(Clone, Copy)]
struct ClassifiedRequest<'a> {
    request: &'a AccessRequest,
    classes: ProtectedClasses,
    /// The resolved address of the request's host, if known.
    address: Option<IpAddr>,
}

/// The part of a file that applies to one plugin.
#[derive(Clone, Debug)]
pub(crate) struct FileView {
    pub(crate) level: Level,
    pub(crate) name: Arc<str>,
    pub(crate) default_action: DefaultAction,
    pub(crate) rules: Vec<Arc<Rule>>,
    pub(crate) settings: Settings,
}

enum Verdict<'a> {
    Allowed(&'a Rule),
    Denied(Option<&'a Rule>),
    Deferred,
}

impl FileView {
    fn verdict(&self, asked: ClassifiedRequest<'_>) -> Verdict<'_> {
        let matches = |rule: &Rule| rule.matches(asked.request, asked.classes, asked.address);
        let mut allowing = None;
        for rule in &self.rules {
            match rule.effect {
                Effect::Deny if matches(rule) => return Verdict::Denied(Some(rule)),
                Effect::Allow if allowing.is_none() && matches(rule) => {
                    allowing = Some(rule);
                }
                Effect::Allow | Effect::Deny => {}
            }
        }
        match (allowing, self.default_action) {
            (Some(rule), _) => Verdict::Allowed(rule),
            (None, DefaultAction::Deny) => Verdict::Denied(None),
            (None, DefaultAction::Defer) => Verdict::Deferred,
        }
    }
}

fn required_classes(asked: ClassifiedRequest<'_>) -> ProtectedClasses {
    match asked.request {
        AccessRequest::File(access) if access.extent() != AccessExtent::Metadata => {
            asked.classes.against(access.operation())
        }
        _ => ProtectedClasses::NONE,
    }
}

/// Returns the rule in a policy file that would grant a request if the requested files were not
/// protected.
fn grant_without_classes<'a>(
    file: &'a FileView,
    asked: ClassifiedRequest<'_>,
    required: ProtectedClasses,
) -> Option<&'a Rule> {
    if required.is_empty() {
        return None;
    }
    match file.verdict(ClassifiedRequest { classes: ProtectedClasses::NONE, ..asked }) {
        Verdict::Allowed(rule) => Some(rule),
        Verdict::Denied(_) | Verdict::Deferred => None,
    }
}

impl PluginPolicy {
    pub fn plugin(&self) -> &ProviderAddress {
        &self.plugin
    }

    /// Returns the path of the root module's policy, which may not exist.
    pub fn root_module_file(&self) -> PathBuf {
        self.root_module.join(POLICY_FILE_NAME)
    }

    pub fn has_root_module_file(&self) -> bool {
        self.files.iter().any(|file| file.level == Level::RootModule)
    }

    /// Returns whether the plugin's access is allowed, without resolving the host name.
    pub fn decide(&self, request: &AccessRequest) -> Decision {
        self.decision(request, None)
    }

    /// Returns whether the plugin may access an address to which the request's host resolves. This
    /// check is required for each address right before connecting to it, since the owner of a name
    /// can change its addresses at any time.
    pub fn decide_at(&self, request: &AccessRequest, address: IpAddr) -> Decision {
        self.decision(request, Some(address))
    }

    fn decision(&self, request: &AccessRequest, address: Option<IpAddr>) -> Decision {
        let asked = ClassifiedRequest { request, classes: self.classes(request), address };
        let protected = required_classes(asked);
        let denial = |reason| Denial::new(&self.plugin, request, protected, reason);
        let denied = |reason| Decision::Denied(denial(reason));
        if let AccessRequest::File(access) = request
            && let Some(path) = self.read_only_path(access)
        {
            return denied(DenialReason::ReadOnly(path.to_owned()));
        }
        if let Some(reason) =
            self.untrusted.as_ref().and_then(|untrusted| untrusted.denial_reason(request, asked.classes))
        {
            return denied(DenialReason::Untrusted(reason));
        }
        let is_trusted = |file: &FileView| {
            self.untrusted.is_none() || UntrustedRestrictions::accepts_grants_of(file.level, request)
        };
        // Protected files are never learnt.
        let may_learn = protected.is_empty() && self.may_learn(request, address);
        let mut locations = Vec::new();
        for file in &self.files {
            match file.verdict(asked) {
                Verdict::Allowed(rule) if is_trusted(file) => locations.push(rule.location.clone()),
                Verdict::Allowed(_) => {}
                Verdict::Deferred => {}
                Verdict::Denied(None) if may_learn && file.level == Level::RootModule => {}
                Verdict::Denied(Some(rule)) => {
                    let (location, reason) = (rule.location.clone(), rule.reason.clone());
                    return denied(DenialReason::Rule { location, reason });
                }
                Verdict::Denied(None) => {
                    let by_name = ClassifiedRequest { address: None, ..asked };
                    let decision_by_name = address.map(|address| (address, file.verdict(by_name)));
                    let reason = match (grant_without_classes(file, asked, protected), decision_by_name) {
                        (Some(rule), _) => DenialReason::ProtectedClass { location: rule.location.clone() },
                        (None, Some((address, Verdict::Allowed(rule)))) => {
                            DenialReason::Address { address, location: Some(rule.location.clone()) }
                        }
                        _ => DenialReason::NotGranted { level: file.level, file: Arc::clone(&file.name) },
                    };
                    return Decision::Denied(denial(reason).with_higher_file(file.level, &file.name));
                }
            }
        }
        if may_learn || !locations.is_empty() {
            return Decision::Allowed(Grant { rules: locations, protected });
        }
        let ungranted =
            self.files.iter().rev().find_map(|file| grant_without_classes(file, asked, protected));
        denied(match address {
            _ if self.untrusted.is_some() => DenialReason::Untrusted(match request {
                AccessRequest::Network(_) | AccessRequest::LookUp(_) => {
                    "only the organisation's policy can grant network access"
                }
                AccessRequest::File(_) => "only files of the configuration's directory can be read",
                _ => "the configuration's own policy cannot grant access",
            }),
            _ if let Some(rule) = ungranted => {
                DenialReason::ProtectedClass { location: rule.location.clone() }
            }
            _ if self.files.is_empty() => DenialReason::NoPolicy,
            Some(address) if self.decision(request, None).is_allowed() => {
                DenialReason::Address { address, location: None }
            }
            _ => DenialReason::NoGrant,
        })
    }

    /// Returns the classes of the files that a request concerns.
    pub(crate) fn classes(&self, request: &AccessRequest) -> ProtectedClasses {
        match request {
            AccessRequest::File(access) => self.protected.classes(access),
            _ => ProtectedClasses::NONE,
        }
    }

    /// Returns the classes that a rule must name to allow a request.
    pub(crate) fn required_classes(&self, request: &AccessRequest) -> ProtectedClasses {
        required_classes(ClassifiedRequest { request, classes: self.classes(request), address: None })
    }

    fn read_only_path(&self, access: &FileAccess) -> Option<&Path> {
        let changes = access.operation() != FileOperation::Read;
        let path = self.read_only.iter().filter(|_| changes).find(|path| {
            is_within(access.path(), path)
                || is_within(path, access.path()) && access.extent() != AccessExtent::NewDirectory
        });
        path.map(PathBuf::as_path)
    }

    pub fn is_untrusted(&self) -> bool {
        self.untrusted.is_some()
    }

    /// Returns every path that policy files or the host's defaults contain, granted or denied. Code
    /// that opens files uses these paths to detect other names of the same file.
    pub fn named_paths(&self) -> BTreeSet<&Path> {
        let rules = self.files.iter().flat_map(|file| &file.rules);
        let named = rules.filter_map(|rule| match &rule.conditions {
            Conditions::Filesystem(rule) => rule.directories.as_deref(),
            _ => None,
        });
        named.flatten().chain(self.read_only.iter()).map(PathBuf::as_path).collect()
    }

    /// Returns the locations of protected files, for the detection of hard links to them. Their
    /// paths without symbolic links are included.
    pub fn protected_paths(&self) -> &[PathBuf] {
        self.protected.paths()
    }

    /// Returns the recorded target of a granted path, without symbolic links, if there is one.
    pub fn target(&self, path: &Path) -> Option<&Path> {
        self.targets.get(path).map(PathBuf::as_path)
    }

    /// Returns the directories that a rule grants to any plugin for writing, or to this plugin by
    /// default. Their content is not trustworthy. The default grants of other plugins are omitted,
    /// since embedded plugins write only files that the configuration specifies.
    pub fn writable_directories(&self) -> impl Iterator<Item = &Path> {
        self.all_plugins.writable.iter().map(PathBuf::as_path)
    }

    /// Returns every path in a rule for any plugin, and in the default grants of this plugin. A
    /// plugin must not change the file to which such a path resolves.
    pub fn paths_of_all_plugins(&self) -> &BTreeSet<PathBuf> {
        &self.all_plugins.named
    }

    /// Returns limits, deterministic mode, and the setting for native code.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the limits in the organisation's and the user's files, without the root module's
    /// limits. The organisation and the user are responsible for the machine, so they may set
    /// limits above the host's defaults.
    pub fn machine_limits(&self) -> PluginLimits {
        let mut settings = Settings::default();
        let files = self.files.iter().filter(|file| matches!(file.level, Level::Organisation | Level::User));
        files.for_each(|file| settings.narrow_to(&file.settings));
        settings.limits
    }

    /// Returns the credentials that the host adds to a request, one for each header. If two files
    /// bind the same header, the credential of the higher level is used. The plugin must not set
    /// these headers.
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

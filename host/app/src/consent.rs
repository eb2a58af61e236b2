//! Consent: the user reviews and approves plugins' capability requests.
//!
//! If a plugin that `init` selects declares requests to which no rule of the policy applies, the
//! user is asked for approval. A request that the policy grants was approved by the policy's
//! author; consent cannot override a denial. If the session is not interactive, nothing is
//! installed.
//!
//! The publisher of a signed release is reviewed together with the requests, see
//! `publisher_consent`.

use std::collections::BTreeMap;
use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_declaration::{Approval, ApprovedCapabilities, Declaration};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_install::package::{ComponentArtifact, PluginArtifact, PluginOrigin};
use wardian_install::selection::Selection;
use wardian_policy::{
    CONSENT_LOCK_FILE_NAME, CapabilityRequest, DenialSource, GrantStatus, POLICY_FILE_NAME, Policy,
    add_block, add_grants, grant_block, load,
};

use crate::consent_lock::{self, component_name};
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::{AppEvent, CapabilityChange, Confirmation, NativeReplacement, RequestedCapability};
use crate::plugin_name::plugin_name;
use crate::policy_file::{read_policy, write_policy};
use crate::publisher_consent::{self, PublisherChange};

/// Options for obtaining consent.
#[derive(Clone, Copy, Debug)]
pub struct ConsentOptions<'a> {
    /// Whether to ask the user.
    pub input: bool,
    /// Whether the newest versions were selected. Commands in messages depend on this.
    pub upgrade: bool,
    /// Whether lock files must not change.
    pub is_lock_file_read_only: bool,
    /// Whether the consent to plugins that are not selected remains.
    pub keeps_others: bool,
    /// The plugins whose publishers and requests the user accepts without a prompt.
    pub accepted: &'a [ProviderAddress],
}

impl ConsentOptions<'_> {
    /// Returns the command that accepts a plugin.
    fn accepting(&self, address: &ProviderAddress) -> String {
        let upgrade = if self.upgrade { " -upgrade" } else { "" };
        format!("wardian init{upgrade} -accept={}", address.for_display())
    }
}

/// A plugin's capability requests with the decisions of the policy.
pub struct ConsentRequest<'a> {
    standings: Vec<(&'a CapabilityRequest, GrantStatus)>,
}

impl<'a> ConsentRequest<'a> {
    /// Applies the policy to each request.
    pub fn new(address: &ProviderAddress, asked: &'a [CapabilityRequest], policy: &Policy) -> Self {
        let policy = policy.for_plugin(address);
        Self { standings: asked.iter().map(|one| (one, policy.grant_status(one))).collect() }
    }

    /// Returns the requests to which no rule applies. A rule of the root module can grant these
    /// requests.
    pub fn open(&self) -> Vec<&'a CapabilityRequest> {
        let open = self.standings.iter().filter(|(_, standing)| *standing == GrantStatus::Undecided);
        open.map(|(asked, _)| *asked).collect()
    }

    /// Returns the requests that no rule of the root module can grant, each with the source of its
    /// denial.
    pub fn denied(&self) -> impl Iterator<Item = (&'a CapabilityRequest, &DenialSource)> {
        self.standings.iter().filter_map(|(asked, standing)| match standing {
            GrantStatus::Denied(by) => Some((*asked, by)),
            GrantStatus::Granted | GrantStatus::Undecided => None,
        })
    }

    /// Returns the requests for the user to review, including former requests that the new version
    /// no longer makes.
    fn changes<'b>(&'b self, agreed: Option<&'b Approval>) -> Vec<RequestedCapability<'b>> {
        let before = agreed.map_or(&[][..], |agreed| &agreed.requests);
        let mut requests: Vec<RequestedCapability<'b>> = self
            .standings
            .iter()
            .map(|(asked, standing)| {
                let is_known = asked.is_covered_by(before);
                let change = if is_known { CapabilityChange::Unchanged } else { CapabilityChange::Added };
                RequestedCapability { asked, change, standing: Some(standing) }
            })
            .collect();
        let now: Vec<&CapabilityRequest> = self.standings.iter().map(|(asked, _)| *asked).collect();
        let gone = before.iter().filter(|old| !old.is_covered_by(now.iter().copied()));
        requests.extend(gone.map(|asked| RequestedCapability {
            asked,
            change: CapabilityChange::Removed,
            standing: None,
        }));
        requests
    }
}

/// A selected component whose declaration requires consent.
struct Candidate<'a> {
    component: &'a ComponentArtifact,
    declaration: Declaration,
}

/// Shows the requests of the selected plugins, obtains the user's approval, and returns the consent
/// in effect. Writes only the policy, and only if the user approves.
///
/// # Errors
/// Returns an error if a plugin imports an interface whose capability it does not declare, or if a
/// request is not granted.
pub async fn obtain(
    context: &AppContext,
    selection: &Selection,
    options: &ConsentOptions<'_>,
) -> Result<ApprovedCapabilities, AppError> {
    let policy = load(&context.environment.policy_places(&context.directory, &context.started_in))?;
    let before = consent_lock::load(&context.directory)?;
    let candidates = candidates(context, selection)?;
    let publishers = publisher_consent::examine(context, selection, &policy, &before)?;
    let is_fixed = options.is_lock_file_read_only || context.confinement.is_some();
    let stops = refused_publishers(selection, &publishers, options, is_fixed);
    let mut after = ApprovedCapabilities {
        publishers: before.publishers.clone(),
        modules: before.modules.clone(),
        ..ApprovedCapabilities::default()
    };
    if options.keeps_others {
        let is_selected = |address: &ProviderAddress| selection.plugins.contains_key(address);
        let others = before.plugins.iter().filter(|(address, _)| !is_selected(address));
        after.plugins.extend(others.map(|(address, approval)| (address.clone(), approval.clone())));
    }
    let mut refused = Diagnostics::new();
    let mut granted = Vec::new();
    for (address, chosen) in &selection.plugins {
        let is_accepted = options.accepted.contains(address);
        let publisher = publishers.get(address);
        if let Some(change) = publisher {
            let version = &chosen.version;
            context.frontend.report(AppEvent::PublisherChanged { address, version, change });
            change.record(address, &mut after);
        }
        let needs_publisher = publisher.filter(|change| change.needs_consent() && !is_accepted);
        let Some(Candidate { component, declaration, .. }) = candidates.get(address) else {
            if let Some(change) = needs_publisher.filter(|_| stops.is_none()) {
                if !may_ask(context, *options) {
                    let name = plugin_name(address, Some(&chosen.version));
                    refused.push(change.refusal(&name, &options.accepting(address)));
                } else if !confirm_publisher(context, address, false).await? {
                    return Err(publisher_not_accepted(address));
                }
            }
            continue;
        };
        let agreed = before.plugins.get(address);
        let asking = ConsentRequest::new(address, &declaration.requests, &policy);
        let open = asking.open();
        let is_known = agreed.is_some_and(|agreed| agreed.requests == declaration.requests);
        if !is_known || !open.is_empty() {
            context.frontend.report(AppEvent::CapabilitiesRequested {
                plugin: &component_name(component),
                approved_version: agreed.filter(|_| !is_known).map(|agreed| &agreed.version),
                requests: &asking.changes(agreed),
            });
        }
        if stops.is_some() {
            continue;
        }
        if may_ask(context, *options) && !is_accepted {
            let is_confirmed = match (needs_publisher, open.is_empty()) {
                (None, true) => true,
                (None, false) => confirm_grant(context, address).await?,
                (Some(_), no_grants) => confirm_publisher(context, address, !no_grants).await?,
            };
            if !is_confirmed {
                return Err(if open.is_empty() {
                    publisher_not_accepted(address)
                } else {
                    not_granted(component)
                });
            }
        } else if !is_accepted {
            if let Some(change) = needs_publisher {
                refused.push(change.refusal(&component_name(component), &options.accepting(address)));
            }
            if !open.is_empty() {
                refused.push(refusal(component, &open, *options));
            }
        }
        if !open.is_empty() {
            granted.push((address, open));
        }
        let agreement = component.version.clone().map(|version| Approval {
            version,
            sha256: component.sha256.to_string(),
            requests: declaration.requests.clone(),
        });
        after.plugins.extend(agreement.map(|agreement| (address.clone(), agreement)));
    }
    refused.extend(stops.into_iter().flatten());
    if refused.has_errors() {
        return Err(AppError::for_consent(refused));
    }
    for (address, open) in granted {
        write(context, address, &open)?;
    }
    retain_overridden(selection, &before, &mut after);
    if options.is_lock_file_read_only && after != before {
        return Err(AppError::new(
            "Consent lock file would change",
            format!(
                "-lockfile=readonly prevents changes to {CONSENT_LOCK_FILE_NAME}, which does not record \
                 consent to the capability requests of the selected plugins. Run `wardian init` without \
                 -lockfile=readonly, and commit the file to version control."
            ),
        ));
    }
    Ok(after)
}

/// Asks the user to confirm each native program that would replace a component, because it would
/// run outside of the sandbox. `allowed` contains the plugins that the user has confirmed by an
/// option.
///
/// # Errors
/// Returns an error if a replacement is not confirmed. In this case, nothing is installed.
pub async fn confirm_native_programs(
    context: &AppContext,
    selection: &Selection,
    options: ConsentOptions<'_>,
    allowed: &[ProviderAddress],
) -> Result<(), AppError> {
    let approved = consent_lock::load(&context.directory)?;
    let mut replacements = Vec::new();
    for (address, chosen) in &selection.plugins {
        let PluginArtifact::Native(program) = &chosen.artifact else { continue };
        let component = selection.replaced_components.get(address);
        let component = component.or_else(|| approved.plugins.get(address).map(|agreed| &agreed.version));
        if let Some(component) = component.filter(|_| !allowed.contains(address)) {
            let (version, file) = (&chosen.version, program.file.as_path());
            replacements.push(NativeReplacement { address, version, file, component });
        }
    }
    if replacements.is_empty() {
        return Ok(());
    }
    if may_ask(context, options) {
        let question = Confirmation::NativePrograms(&replacements);
        match context.frontend.confirm(question).await {
            Ok(Some(true)) => return Ok(()),
            Ok(_) => {}
            Err(error) => {
                return Err(AppError::new("No answer", format!("The answer cannot be read: {error}.")));
            }
        }
    }
    let refused = replacements.iter().map(|one| native_not_confirmed(one, options));
    Err(refused.collect::<Diagnostics>().into())
}

fn native_not_confirmed(replacement: &NativeReplacement<'_>, options: ConsentOptions<'_>) -> Diagnostic {
    let NativeReplacement { address, version, file, component } = replacement;
    let (address, upgrade) = (address.for_display(), if options.upgrade { " -upgrade" } else { "" });
    let detail = format!(
        "{address} v{version} in {} is a native program, which runs outside of the sandbox with all of your \
         permissions. It would replace the component v{component}, which runs in the sandbox. Nothing was \
         installed.\n\nTo keep the component, remove the program or exclude its version with a version \
         constraint. To run the program, confirm it with `wardian init{upgrade} -allow-native={address}`.",
        file.display()
    );
    Diagnostic::error("Native program would replace a component", detail)
}

/// Records the consent, if it has changed.
pub fn record(context: &AppContext, agreements: &ApprovedCapabilities) -> Result<(), AppError> {
    let before = consent_lock::load(&context.directory)?;
    if before == *agreements {
        return Ok(());
    }
    consent_lock::save(agreements)?;
    context.frontend.report(if before.plugins == agreements.plugins {
        AppEvent::PublishersRecorded
    } else {
        AppEvent::ConsentRecorded
    });
    Ok(())
}

/// Returns the components whose declaration requires consent. All other components are checked as
/// well.
fn candidates<'a>(
    context: &AppContext,
    selection: &'a Selection,
) -> Result<BTreeMap<&'a ProviderAddress, Candidate<'a>>, AppError> {
    let mut problems = Diagnostics::new();
    let mut candidates = BTreeMap::new();
    for (address, chosen) in &selection.plugins {
        let PluginArtifact::Component(component) = &chosen.artifact else { continue };
        if matches!(component.origin, PluginOrigin::Embedded) {
            continue;
        }
        let found = match consent_lock::inspect_component(component, &context.directory) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        for unused in found.verify_imports().unused {
            let detail = format!(
                "{} declares that it needs {unused}, but imports no interface that uses it.",
                component_name(component)
            );
            let warning = Diagnostic::warning("Plugin declares an unused capability", detail);
            context.frontend.warn(&warning.into());
        }
        if !matches!(component.origin, PluginOrigin::DevelopmentOverride(_))
            && !found.declaration.requests.is_empty()
        {
            candidates.insert(address, Candidate { component, declaration: found.declaration });
        }
    }
    Ok(problems.into_result(candidates)?)
}

/// Retains the consent for a plugin that is replaced by a development override, for runs without
/// the override.
fn retain_overridden(selection: &Selection, before: &ApprovedCapabilities, after: &mut ApprovedCapabilities) {
    for (address, chosen) in &selection.plugins {
        if let PluginOrigin::DevelopmentOverride(_) = chosen.artifact.origin()
            && let Some(agreement) = before.plugins.get(address)
        {
            after.plugins.insert(address.clone(), agreement.clone());
        }
    }
}

/// Returns an error for each publisher that the user has not accepted and cannot accept at a
/// prompt. If the pins must not change, no publisher can be accepted at a prompt.
fn refused_publishers(
    selection: &Selection,
    publishers: &BTreeMap<ProviderAddress, PublisherChange>,
    options: &ConsentOptions<'_>,
    is_fixed: bool,
) -> Option<Diagnostics> {
    let mut refused = Diagnostics::new();
    for (address, change) in publishers {
        let is_refused = is_fixed || change.stops() && !options.accepted.contains(address);
        if is_refused {
            let version = selection.plugins.get(address).map(|chosen| &chosen.version);
            let mut command = options.accepting(address);
            if is_fixed {
                command.push_str(" (without -lockfile=readonly and -untrusted)");
            }
            refused.push(change.refusal(&plugin_name(address, version), &command));
        }
    }
    refused.has_errors().then_some(refused)
}

async fn confirm_publisher(
    context: &AppContext,
    address: &ProviderAddress,
    grants: bool,
) -> Result<bool, AppError> {
    match context.frontend.confirm(Confirmation::Publisher { address, grants }).await {
        Ok(answer) => Ok(answer == Some(true)),
        Err(error) => Err(AppError::new("No answer", format!("The answer cannot be read: {error}."))),
    }
}

fn publisher_not_accepted(address: &ProviderAddress) -> AppError {
    let detail =
        format!("The publisher of {} was not accepted, so nothing was installed.", address.for_display());
    AppError::new("Publisher not accepted", detail)
}

fn may_ask(context: &AppContext, options: ConsentOptions<'_>) -> bool {
    options.input && context.environment.may_ask() && context.frontend.can_ask()
}

/// Asks the user to grant a plugin the access that it requests.
///
/// # Errors
/// Returns an error if the answer cannot be read.
pub async fn confirm_grant(context: &AppContext, address: &ProviderAddress) -> Result<bool, AppError> {
    match context.frontend.confirm(Confirmation::Grant(address)).await {
        Ok(answer) => Ok(answer == Some(true)),
        Err(error) => Err(AppError::new("No answer", format!("The answer cannot be read: {error}."))),
    }
}

fn not_granted(component: &ComponentArtifact) -> AppError {
    let detail = format!(
        "The capability requests of {} were not granted, so nothing was installed. To use the plugin \
        without this access, deny the requests in a policy; the plugin may fail when it needs the access.",
        component_name(component)
    );
    AppError::new("Not granted", detail)
}

fn refusal(
    component: &ComponentArtifact,
    open: &[&CapabilityRequest],
    options: ConsentOptions<'_>,
) -> Diagnostic {
    let address = &component.address;
    let upgrade = if options.upgrade { " -upgrade" } else { "" };
    let detail = format!(
        "{} requests access that no policy grants or denies, and Wardian cannot ask, because the session is \
         not interactive. Nothing was installed. Review the requests; to grant them, run `wardian policy \
         grant {}{upgrade} -yes`, or add this to {POLICY_FILE_NAME}:\n\n{}",
        component_name(component),
        address.for_display(),
        grant_block(address, open).trim_end()
    );
    Diagnostic::error("Plugin requests access that is not granted", detail)
}

/// Adds rules to the root module's policy.
///
/// # Errors
/// Returns an error if the file cannot be read, parsed or written.
pub fn write(
    context: &AppContext,
    address: &ProviderAddress,
    asked: &[&CapabilityRequest],
) -> Result<(), AppError> {
    rewrite_policy(|old| add_grants(old, address, asked, &context.directory))?;
    context.frontend.report(AppEvent::RulesAdded { address, count: asked.len() });
    Ok(())
}

/// Adds a `plugin` block with a number of rules to the root module's policy.
///
/// # Errors
/// Returns an error if the file cannot be read, parsed or written.
pub fn write_block(
    context: &AppContext,
    address: &ProviderAddress,
    block: &str,
    count: usize,
) -> Result<(), AppError> {
    rewrite_policy(|old| add_block(old, block, &context.directory))?;
    context.frontend.report(AppEvent::RulesAdded { address, count });
    Ok(())
}

fn rewrite_policy(change: impl FnOnce(Option<&str>) -> Result<String, Diagnostics>) -> Result<(), AppError> {
    let path = Path::new(POLICY_FILE_NAME);
    let old = read_policy(path)?;
    let new = change(old.as_deref())?;
    write_policy(path, &new)
}

//! What plugins ask for, shown to a person who grants it or not.
//!
//! A plugin that `init` chooses is asked about where it declares what policies leave
//! open: what they grant was agreed to by whoever wrote them, and what they deny no
//! answer changes. Where nobody can be asked, nothing is installed.

use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_declaration::{Agreement, Agreements, Declaration};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_install::package::{ComponentArtifact, PluginArtifact, PluginOrigin};
use wardian_install::selection::Selection;
use wardian_policy::{
    AGREEMENTS_FILE_NAME, Asked, DeniedBy, POLICY_FILE_NAME, Policy, Standing, granting_block, load,
    with_grants,
};

use crate::agreements::{self, named};
use crate::arguments::InitArguments;
use crate::failure::{Failure, Outcome};
use crate::render::asking::{Mark, Told, asking_text};
use crate::replacement;
use crate::session::Session;
use crate::shell::Paint;

/// What a plugin asks for, and where that stands.
pub(crate) struct Asking<'a> {
    standings: Vec<(&'a Asked, Standing)>,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(address: &ProviderAddress, asked: &'a [Asked], policy: &Policy) -> Self {
        let policy = policy.of(address);
        Self { standings: asked.iter().map(|one| (one, policy.standing(one))).collect() }
    }

    /// What a rule of the root module would grant.
    pub(crate) fn open(&self) -> Vec<&'a Asked> {
        let open = self.standings.iter().filter(|(_, standing)| *standing == Standing::Open);
        open.map(|(asked, _)| *asked).collect()
    }

    /// What no rule of the root module would grant, and who denies it.
    pub(crate) fn denied(&self) -> impl Iterator<Item = (&'a Asked, &DeniedBy)> {
        self.standings.iter().filter_map(|(asked, standing)| match standing {
            Standing::Denied(by) => Some((*asked, by)),
            Standing::Granted | Standing::Open => None,
        })
    }

    /// All of it for people; `+` marks what `agreed` does not include, `-` what is asked
    /// for no more.
    fn text(&self, agreed: Option<&Agreement>, session: &Session) -> String {
        let before = agreed.map_or(&[][..], |agreed| &agreed.asked);
        let mut told: Vec<Told<'_>> = self
            .standings
            .iter()
            .map(|(asked, standing)| {
                let mark = if asked.is_covered_by(before) { Mark::Kept } else { Mark::Added };
                Told { asked, mark, standing: Some(standing) }
            })
            .collect();
        let now: Vec<&Asked> = self.standings.iter().map(|(asked, _)| *asked).collect();
        let gone = before.iter().filter(|old| !old.is_covered_by(now.iter().copied()));
        told.extend(gone.map(|asked| Told { asked, mark: Mark::Removed, standing: None }));
        asking_text(&told, session.shell.render_options())
    }
}

/// A component that was chosen and is to be agreed to.
struct Candidate<'a> {
    address: &'a ProviderAddress,
    component: &'a ComponentArtifact,
    declaration: Declaration,
}

/// Shows what chosen plugins ask for, has it granted, and returns what is agreed to now.
/// Nothing is written but the policy, and that only with the person's consent.
///
/// # Errors
/// Where a plugin does not declare what it imports, or asks for something that is not
/// granted in the end.
pub(crate) async fn agree(
    session: &Session,
    selection: &Selection,
    arguments: &InitArguments,
) -> Outcome<Agreements> {
    let policy = load(&session.environment.policy_places(&session.directory, &session.started_in))?;
    let before = agreements::load(session)?;
    let candidates = candidates(session, selection)?;
    let mut after = Agreements::default();
    let mut refused = Diagnostics::new();
    let mut granted = Vec::new();
    for Candidate { address, component, declaration } in &candidates {
        let agreed = before.plugins.get(*address);
        let asking = Asking::new(address, &declaration.asked, &policy);
        let open = asking.open();
        let is_known = agreed.is_some_and(|agreed| agreed.asked == declaration.asked);
        if !is_known || !open.is_empty() {
            let name = named(component);
            let heading = match agreed {
                Some(agreed) if !is_known => {
                    format!("- {name} asks for other things than v{} did:", agreed.version)
                }
                _ => format!("- {name} asks for:"),
            };
            session.shell.say(heading);
            session.shell.print(&asking.text(agreed, session));
        }
        if !open.is_empty() {
            if may_ask(session, arguments) {
                if !consents(session, &format!("Grant this to {}?", address.for_display())).await? {
                    return Err(not_granted(component));
                }
                granted.push((*address, open));
            } else {
                refused.push(refusal(component, &open, arguments));
            }
        }
        let agreement = component.version.clone().map(|version| Agreement {
            version,
            sha256: component.sha256.to_string(),
            asked: declaration.asked.clone(),
        });
        after.plugins.extend(agreement.map(|agreement| ((*address).clone(), agreement)));
    }
    refused.into_result(())?;
    for (address, open) in granted {
        write(session, address, &open)?;
    }
    keep_of_overridden(selection, &before, &mut after);
    if arguments.lockfile.is_some() && after != before {
        return Err(Failure::error(
            "Agreements would change",
            format!(
                "With -lockfile=readonly the file {AGREEMENTS_FILE_NAME} stays as it is, and it does not say that what \
                 the chosen plugins ask for was agreed to. Run `wardian init` without that option, and keep the file \
                 under version control."
            ),
        ));
    }
    Ok(after)
}

/// Records what is agreed to, if that has changed.
pub(crate) fn record(session: &Session, agreements: &Agreements) -> Outcome<()> {
    if agreements::load(session)? == *agreements {
        return Ok(());
    }
    agreements::save(agreements)?;
    session.shell.say(format_args!(
        "\nWhat the plugins ask for, as it was agreed to, is recorded in {AGREEMENTS_FILE_NAME}.\nKeep it under version \
         control, as the lock file."
    ));
    Ok(())
}

/// The components whose declaration is to be agreed to. All others are looked at too.
fn candidates<'a>(session: &Session, selection: &'a Selection) -> Outcome<Vec<Candidate<'a>>> {
    let mut problems = Diagnostics::new();
    let mut candidates = Vec::new();
    for (address, chosen) in &selection.plugins {
        let PluginArtifact::Component(component) = &chosen.artifact else { continue };
        if matches!(component.origin, PluginOrigin::Embedded) {
            continue;
        }
        let found = match agreements::inspected(component, &session.directory) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        for unused in found.check().unused {
            let detail = format!(
                "{} declares that it needs {unused}, and imports nothing that it could use that with.",
                named(component)
            );
            session
                .shell
                .diagnostics(&Diagnostic::warning("Plugin asks for what it cannot use", detail).into());
        }
        if !matches!(component.origin, PluginOrigin::DevelopmentOverride(_))
            && !found.declaration.asked.is_empty()
        {
            candidates.push(Candidate { address, component, declaration: found.declaration });
        }
    }
    Ok(problems.into_result(candidates)?)
}

/// What was agreed to is still so when a plugin is not under development any more.
fn keep_of_overridden(selection: &Selection, before: &Agreements, after: &mut Agreements) {
    for (address, chosen) in &selection.plugins {
        if let PluginOrigin::DevelopmentOverride(_) = chosen.artifact.origin()
            && let Some(agreement) = before.plugins.get(address)
        {
            after.plugins.insert(address.clone(), agreement.clone());
        }
    }
}

fn may_ask(session: &Session, arguments: &InitArguments) -> bool {
    arguments.backend.input && session.environment.may_ask() && session.shell.can_ask()
}

/// Asks a person who is there.
pub(crate) async fn consents(session: &Session, question: &str) -> Outcome<bool> {
    let shell = &session.shell;
    let question = format!(
        "\n{}\n  The rules go to {POLICY_FILE_NAME}. Only 'yes' will be accepted to approve.\n\n  {} ",
        shell.paint(Paint::Bold, question),
        shell.paint(Paint::Bold, "Enter a value:")
    );
    match shell.ask(&question).await {
        Ok(answer) => Ok(answer.is_some_and(|answer| answer.trim() == "yes")),
        Err(error) => Err(Failure::error("No answer", format!("The answer cannot be read: {error}."))),
    }
}

fn not_granted(component: &ComponentArtifact) -> Failure {
    let detail = format!(
        "{} was not granted what it asks for. Nothing was installed. To use it without, deny that to it in a policy; it \
         may fail where it needs it.",
        named(component)
    );
    Failure::error("Not granted", detail)
}

fn refusal(component: &ComponentArtifact, open: &[&Asked], arguments: &InitArguments) -> Diagnostic {
    let address = &component.address;
    let upgrade = if arguments.upgrade { " -upgrade" } else { "" };
    let detail = format!(
        "{} asks for what no policy grants or denies, and nobody can be asked. Nothing was installed. Review it; to grant \
         it, run `wardian policy grant {}{upgrade} -yes`, or add this to {POLICY_FILE_NAME}:\n\n{}",
        named(component),
        address.for_display(),
        granting_block(address, open).trim_end()
    );
    Diagnostic::error("Plugin asks for what is not granted", detail)
}

/// Adds rules to the root module's policy.
///
/// # Errors
/// Where the file cannot be read, understood or written.
pub(crate) fn write(session: &Session, address: &ProviderAddress, asked: &[&Asked]) -> Outcome<()> {
    let path = Path::new(POLICY_FILE_NAME);
    let cannot = |verb: &str, error: std::io::Error| {
        Failure::error(
            format!("Policy file cannot be {verb}"),
            format!("The file {POLICY_FILE_NAME} cannot be {verb}: {error}."),
        )
    };
    let old = agreements::read_text(path).map_err(|error| cannot("read", error))?;
    let new = with_grants(old.as_deref(), address, asked, &session.directory)?;
    replacement::write(path, new.as_bytes()).map_err(|error| cannot("written", error))?;
    let rules = if asked.len() == 1 { "One rule was" } else { "Rules were" };
    session.shell.say(format_args!("\n{rules} added to {POLICY_FILE_NAME} for {}.", address.for_display()));
    Ok(())
}

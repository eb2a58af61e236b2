//! `wardian policy grant`: adds rules to the root module's policy.

mod from_template;

use async_trait::async_trait;
use wardian_address::{Constraints, ProviderAddress};
use wardian_app::consent::{ConsentRequest, confirm_grant, write};
use wardian_app::consent_lock;
use wardian_app::requirements;
use wardian_app::sentence;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_download::NetworkAccess;
use wardian_install::package::{ComponentArtifact, PluginArtifact, open_override};
use wardian_install::selection::{
    LockFilePolicy, Requirements, SelectionError, SelectionOptions, VersionPolicy, select,
};
use wardian_policy::{CapabilityRequest, PolicyTemplate, RuleArgument, grant_block, load};

use crate::arguments::PolicyGrantArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status, Usage};
use crate::shell::ViewOptions;
use wardian_printable::{PrintableText, printable};

#[async_trait(?Send)]
impl CommandSpec for PolicyGrantArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &PolicyGrantArguments) -> Outcome {
    if arguments.template {
        return from_template::run(context, arguments).await;
    }
    if arguments.instance_credentials {
        return Err(usage("Template required", "-instance-credentials can be used only with -template."));
    }
    let asked = match &arguments.capability {
        Some(capability) => vec![stated(context, capability, arguments)?],
        None => {
            refuse_arguments(arguments)?;
            declared(context, arguments).await?
        }
    };
    let address = &arguments.plugin;
    let policy =
        load(&context.app.environment.policy_places(&context.app.directory, &context.app.started_in))?;
    let asking = ConsentRequest::new(address, &asked, &policy);
    let denied = denials(&asking);
    let open = asking.open();
    if open.is_empty() {
        denied.into_result(())?;
        let what = if asked.is_empty() { "requests no access" } else { "already has these grants" };
        context.shell.say(printable!("{} {what}.", address.for_display()));
        return Ok(Status::Success);
    }
    context.shell.print(PrintableText::from_lines(&grant_block(address, &open)));
    // A user who names the capability does not need its description.
    if arguments.capability.is_none() && !is_approved(context, arguments).await? {
        return Ok(Status::Failed);
    }
    write(&context.app, address, &open)?;
    context.app.record_grants_to(address)?;
    denied.into_result(())?;
    Ok(Status::Success)
}

/// Returns an error for each request that no rule of the root module can grant.
fn denials(asking: &ConsentRequest<'_>) -> Diagnostics {
    let denied = asking.denied().map(|(asked, by)| {
        let detail = format!("A grant would have no effect: {by}.\n\n{}", asked.block("allow").trim_end());
        Diagnostic::error("Denied by policy", detail)
    });
    denied.collect()
}

/// Asks whether to add the rules that were printed, unless the user has approved them on the command
/// line.
async fn is_approved(context: &CommandContext, arguments: &PolicyGrantArguments) -> Outcome<bool> {
    if arguments.yes {
        return Ok(true);
    }
    if !context.shell.can_ask() || !context.app.environment.may_ask() {
        return Err(Failure::error(
            "Approval required",
            "Review the grant shown above, and approve it with the option -yes.",
        ));
    }
    let is_approved = confirm_grant(&context.app, &arguments.plugin).await?;
    if !is_approved {
        context.shell.say("Nothing was granted.");
    }
    Ok(is_approved)
}

fn usage(summary: &str, detail: &str) -> Failure {
    Failure::Usage(Usage {
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        command: "policy grant".to_owned(),
    })
}

/// Returns the options that correspond to arguments of rules, each with the name of its argument.
fn rule_arguments(arguments: &PolicyGrantArguments) -> Vec<(String, RuleArgument)> {
    let lists = [
        ("hosts", &arguments.hosts),
        ("schemes", &arguments.schemes),
        ("ports", &arguments.ports),
        ("methods", &arguments.methods),
        ("addresses", &arguments.addresses),
        ("directories", &arguments.directories),
        ("access", &arguments.access),
        ("protected", &arguments.protected),
        ("names", &arguments.names),
        ("environment", &arguments.environment),
    ];
    let texts = [("program", &arguments.program), ("reason", &arguments.reason)];
    let mut all = Vec::new();
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        all.push((name.to_owned(), RuleArgument::List(list.clone())));
    }
    if let Some(list) = &arguments.arguments {
        let list = list.iter().filter(|text| !text.is_empty()).cloned().collect();
        all.push(("arguments".to_owned(), RuleArgument::List(list)));
    }
    for (name, text) in texts {
        all.extend(text.clone().map(|text| (name.to_owned(), RuleArgument::String(text))));
    }
    all
}

/// Returns the request specified on the command line.
fn stated(
    context: &CommandContext,
    capability: &str,
    arguments: &PolicyGrantArguments,
) -> Outcome<CapabilityRequest> {
    CapabilityRequest::without_reason(capability, rule_arguments(arguments), &context.app.directory)
        .map_err(|problem| Failure::error("Invalid grant", sentence(&problem.to_string())))
}

fn native_detail(address: &ProviderAddress) -> String {
    let name = address.for_display();
    let template = match PolicyTemplate::for_plugin(address) {
        Some(_) => {
            format!(" To confine it to the access that it needs, run `policy grant {name} -template`.")
        }
        None => String::new(),
    };
    format!(
        "{name} is a native program and requests no access. It runs outside the sandbox: unless a policy \
         confines it, it can do anything you can, whatever the policies grant.{template}"
    )
}

fn refuse_arguments(arguments: &PolicyGrantArguments) -> Outcome<()> {
    let Some((name, _)) = rule_arguments(arguments).into_iter().next() else { return Ok(()) };
    let detail = format!(
        "-{name} applies to a capability. Specify the capability as an argument after the address: network, \
         filesystem, environment, process or communicator."
    );
    Err(usage("Capability required", &detail))
}

/// Returns the declared requests of the version that `init` would select.
async fn declared(
    context: &CommandContext,
    arguments: &PolicyGrantArguments,
) -> Outcome<Vec<CapabilityRequest>> {
    let component = chosen(context, arguments).await?;
    let found = consent_lock::inspect_component(&component, &context.app.directory)?;
    Ok(found.declaration.requests)
}

async fn chosen(context: &CommandContext, arguments: &PolicyGrantArguments) -> Outcome<ComponentArtifact> {
    let address = &arguments.plugin;
    let mut wanted = Requirements::default();
    let configuration = context.app.configuration()?;
    match requirements(&configuration, None).providers.remove(address) {
        Some(required) => {
            wanted.providers.insert(address.clone(), required);
        }
        None => wanted.add(address.clone(), Constraints::default(), "the command line"),
    }
    let lock = context.app.lock_file()?;
    let sources = context.app.network_sources(&context.app.network(NetworkAccess::Online)?)?;
    if let Some(path) = sources.overrides.get(address) {
        let opened = open_override(address, path).map_err(|error| {
            let detail = sentence(&format!("{}: {error}", path.display()));
            Failure::error("Unusable development override", detail)
        })?;
        return match opened {
            PluginArtifact::Component(component) => Ok(component),
            PluginArtifact::Native(_) => Err(Failure::error("Nothing to grant", native_detail(address))),
        };
    }
    let options = SelectionOptions {
        versions: if arguments.upgrade { VersionPolicy::Upgrade } else { VersionPolicy::KeepLocked },
        lock_file: LockFilePolicy::Update,
    };
    let selection =
        select(&wanted, &lock, &sources, &context.app.data_directory(), options).await.map_err(|errors| {
            let told =
                |error: &SelectionError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
            errors.iter().map(told).collect::<Diagnostics>()
        })?;
    match selection.plugins.into_values().next().map(|chosen| chosen.artifact) {
        Some(PluginArtifact::Component(component)) => Ok(component),
        Some(PluginArtifact::Native(_)) => Err(Failure::error("Nothing to grant", native_detail(address))),
        None => Err(Failure::error(
            "Nothing to grant",
            format!("{} is built in to Wardian and requests no access.", address.for_display()),
        )),
    }
}

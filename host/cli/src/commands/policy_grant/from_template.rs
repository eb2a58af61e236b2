//! `wardian policy grant -template`: adds the rules that a well-known native provider needs.

use wardian_address::ProviderAddress;
use wardian_app::consent::{ConsentRequest, write_block};
use wardian_app::sentence;
use wardian_diagnostic::Diagnostic;
use wardian_policy::{NativePlugins, Policy, PolicyTemplate, TemplateError, TemplateValues, load};
use wardian_printable::{PrintableText, printable};

use super::{denials, is_approved, rule_arguments, usage};
use crate::arguments::PolicyGrantArguments;
use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome, Status};

/// The options of rules that a template uses.
const OPTIONS: [&str; 3] = ["hosts", "ports", "directories"];

pub(super) async fn run(context: &CommandContext, arguments: &PolicyGrantArguments) -> Outcome {
    refuse_other_arguments(arguments)?;
    let address = &arguments.plugin;
    let template = PolicyTemplate::for_plugin(address).ok_or_else(|| unknown(address))?;
    let invalid = |error: TemplateError| {
        let name = address.for_display();
        Failure::error(
            "Template cannot be used",
            sentence(&format!("The template for {name} cannot be used: {error}")),
        )
    };
    let environment = &context.app.environment;
    let home = environment.home();
    let requests = template.requests(&TemplateValues {
        hosts: &arguments.hosts,
        ports: &arguments.ports,
        directories: &arguments.directories,
        instance_credentials: arguments.instance_credentials,
        home: home.as_deref(),
        variable: &|name| environment.get(name),
        root_module: &context.app.directory,
    });
    let requests = requests.map_err(invalid)?;
    let policy = load_policy(context)?;
    let asking = ConsentRequest::new(address, &requests, &policy);
    let denied = denials(&asking);
    let open = asking.open();
    if open.is_empty() && is_confined(&policy, address) {
        denied.into_result(())?;
        context.shell.say(printable!("{} already has these grants.", address.for_display()));
        return Ok(Status::Success);
    }
    let block = template.block(&open).map_err(invalid)?;
    context.shell.print(PrintableText::from_lines(&block));
    if let Some(danger) = template.warning() {
        context.app.frontend.warn(&Diagnostic::warning("Dangerous grant", danger).into());
    }
    if !is_approved(context, arguments).await? {
        return Ok(Status::Failed);
    }
    write_block(&context.app, address, &block, open.len())?;
    context.app.record_grants_to(address)?;
    warn_of_denial(context, address)?;
    denied.into_result(())?;
    Ok(Status::Success)
}

fn load_policy(context: &CommandContext) -> Outcome<Policy> {
    Ok(load(&context.app.environment.policy_places(&context.app.directory, &context.app.started_in))?)
}

fn is_confined(policy: &Policy, address: &ProviderAddress) -> bool {
    matches!(policy.for_plugin(address).native(), NativePlugins::Confine | NativePlugins::Deny)
}

/// Warns if the plugin does not run although the template's block confines it.
fn warn_of_denial(context: &CommandContext, address: &ProviderAddress) -> Outcome<()> {
    let policy = load_policy(context)?.for_plugin(address);
    if policy.native() == NativePlugins::Deny {
        let by = match policy.settings().native.as_ref().filter(|set| set.value == NativePlugins::Deny) {
            Some(set) => format!("{} denies native plugins", set.location),
            None => "a policy does not mention native plugins, which denies them".to_owned(),
        };
        let detail = format!("{} does not run with these rules: {by}.", address.for_display());
        context.app.frontend.warn(&Diagnostic::warning("Native plugin denied by policy", detail).into());
    }
    Ok(())
}

fn refuse_other_arguments(arguments: &PolicyGrantArguments) -> Outcome<()> {
    if arguments.capability.is_some() {
        return Err(usage(
            "Capability and template",
            "A template contains rules for several capabilities. Specify either a capability or -template.",
        ));
    }
    let others = rule_arguments(arguments).into_iter().map(|(name, _)| name);
    let upgrade = arguments.upgrade.then(|| "upgrade".to_owned());
    match others.filter(|name| !OPTIONS.contains(&name.as_str())).chain(upgrade).next() {
        Some(name) => {
            Err(usage("Unsupported option", &format!("-{name} cannot be combined with -template.")))
        }
        None => Ok(()),
    }
}

fn unknown(address: &ProviderAddress) -> Failure {
    let known: Vec<String> =
        PolicyTemplate::plugins().iter().map(|plugin| format!("  {}", plugin.for_display())).collect();
    Failure::error(
        "No template for this plugin",
        format!(
            "Wardian has no template for {}. These plugins have one:\n\n{}",
            address.for_display(),
            known.join("\n")
        ),
    )
}

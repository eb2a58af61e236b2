//! Renders the effective policy as text.

use wardian_app::native_confinement::displayed_level;
use wardian_policy::{
    CredentialSource, DefaultAction, Explained, ExplainedCredential, Explanation, NativePlugins, PolicyFile,
    UnenforceableRule,
};

use super::RenderOptions;
use super::counted::counted;
use super::style::{Page, Style};
use wardian_printable::{PrintableText, append_line, printable};

/// Returns the list of valid policy files.
pub(crate) fn files_text(files: &[PolicyFile], options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    for file in files {
        let count = file.rule_count();
        append_line!(page, "{:<12}  {}: {}", file.level().name(), file.name(), counted(count, "rule"));
    }
    if files.is_empty() {
        page.push(
            "There is no policy file. Embedded plugins have their default grants, which\n`policy explain ADDRESS` \
             shows; no other plugin has access.\n\n",
        );
    } else {
        page.push("\n");
        page.paint(Style::BoldGreen, "Success!");
        page.push(" The policies are valid.\n\n");
    }
    page.finish()
}

/// Returns the complete explanation for a plugin.
pub(crate) fn explanation_text(explanation: &Explanation, options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    page.paint(Style::Bold, printable!("{}", explanation.plugin.for_display()));
    page.push("\n\n");
    files(explanation, &mut page);
    if explanation.allowed.is_empty() && !explanation.files.is_empty() {
        page.push("No access is allowed.\n\n");
    }
    rules("Allowed, unless denied below:", &explanation.allowed, &mut page);
    rules("Denied:", &explanation.denied, &mut page);
    rules(
        "Without effect, because another policy does not allow it:",
        &explanation.without_effect,
        &mut page,
    );
    if explanation.is_cut_short {
        page.push("There are too many rules to compare all of them: the lists are incomplete.\n\n");
    }
    unenforceable(&explanation.unenforceable, &mut page);
    limits(explanation, &mut page);
    native(explanation, &mut page);
    if !explanation.credentials.is_empty() {
        page.paint(Style::Bold, "Credentials that are added to requests:");
        page.push("\n");
        explanation.credentials.iter().for_each(|one| credential(one, &mut page));
        page.push("\n");
    }
    page.finish()
}

fn files(explanation: &Explanation, page: &mut Page) {
    if explanation.files.is_empty() {
        page.push("There is no policy, so no access is granted.\n\n");
        return;
    }
    page.paint(Style::Bold, "Policies:");
    page.push("\n");
    for file in &explanation.files {
        let otherwise = match file.default_action {
            DefaultAction::Deny => "",
            DefaultAction::Defer => " (defers to other policies for anything that it does not mention)",
        };
        append_line!(page, "  {:<12}  {}{otherwise}", file.level.name(), file.name);
    }
    page.push("\n");
}

fn rules(title: &'static str, rules: &[Explained], page: &mut Page) {
    if rules.is_empty() {
        return;
    }
    page.paint(Style::Bold, title);
    page.push("\n");
    for rule in rules {
        let places: Vec<String> = rule.rules.iter().map(ToString::to_string).collect();
        let reason = rule.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        append_line!(page, "  {:<12}  {}", rule.capability, rule.description);
        append_line!(page, "  {:<12}  {}{reason}", "", places.join(", "));
    }
    page.push("\n");
}

fn unenforceable(rules: &[UnenforceableRule], page: &mut Page) {
    if rules.is_empty() {
        return;
    }
    page.paint(Style::Bold, "Cannot be enforced if the plugin is native:");
    page.push("\n");
    for rule in rules {
        append_line!(page, "  {:<13} {}", rule.subject, rule.reason);
        append_line!(page, "  {:<13} {}", "", rule.location);
    }
    page.push("\n");
}

fn limits(explanation: &Explanation, page: &mut Page) {
    let limits = explanation.settings.limits.entries();
    if limits.is_empty() {
        return;
    }
    page.paint(Style::Bold, "Limits:");
    page.push("\n");
    for (name, value, place) in limits {
        append_line!(page, "  {name:<20}  {value:<10}  {place}");
    }
    page.push("\n");
}

fn native(explanation: &Explanation, page: &mut Page) {
    let (native, place) = &explanation.native;
    let told = match native {
        NativePlugins::Allow => "runs",
        NativePlugins::Warn => "runs, with a warning",
        NativePlugins::ConfineOrWarn => {
            "runs, confined to the access above as far as possible, with a warning if confinement is \
             incomplete"
        }
        NativePlugins::ConfineFiles => {
            "runs only if the kernel can confine it to the directories and TCP ports above; any host is \
             allowed at these ports"
        }
        NativePlugins::Confine => {
            "runs only if it can be confined to the files, hosts, sockets and programs above"
        }
        NativePlugins::Deny => "does not run",
    };
    let by = match place {
        Some(place) => format!(" ({place})"),
        None if *native == NativePlugins::Deny => " (a policy does not mention it)".to_owned(),
        None => String::new(),
    };
    append_line!(page, "As native code it {told}{by}.");
    if let Some(level) = displayed_level(*native) {
        append_line!(page, "The level of confinement on this machine is \"{level}\".");
    }
    if let Some(set) = explanation.settings.deterministic.as_ref().filter(|set| set.value) {
        append_line!(
            page,
            "The clock is fixed, and the random values are the same in each run ({}).",
            set.location
        );
    }
    page.push("\n");
}

fn credential(one: &ExplainedCredential, page: &mut Page) {
    let source = match &one.source {
        CredentialSource::Environment(name) => format!("the environment variable {name}"),
        CredentialSource::File(path) => format!("the file {}", path.display()),
    };
    append_line!(page, "  {} from {source}, to {}", one.header, one.hosts.join(", "));
    append_line!(page, "    {}", one.rule);
}

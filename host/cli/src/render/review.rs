//! Renders the summary of a plan: the counts, and the changes that destroy or replace objects.

use wardian_printable::{PrintableText, append, append_line, printable};
use wardian_review::{ChangeClass, ChangeGroup, GroupedInvocations, Review, ReviewedChange};
use wardian_review_document::{Fragment, group_explanations, member_explanations};

use super::RenderOptions;
use super::isolation::isolated;
use super::style::{Page, Style};
use super::wrapping::wrap;

/// Maximum number of addresses that are listed for a group.
const MAX_ADDRESSES: usize = 10;
/// Maximum number of failed checks that are listed.
const MAX_FINDINGS: usize = 5;
/// Maximum number of actions that are listed.
const MAX_ACTIONS: usize = 10;
/// Maximum number of columns, also if the terminal is wider.
const MAX_WIDTH: usize = 80;

/// Returns the summary of a plan. Begins with an empty line and ends with a line break.
pub(crate) fn render_summary(review: &Review, options: RenderOptions) -> PrintableText {
    let width = options.width.min(MAX_WIDTH);
    let mut page = Page::new(options.color);
    page.push("\n");
    write_counts(&mut page, review, width);
    if review.errored {
        page.paint(Style::BoldRed, "An error ended planning early, so the plan is incomplete.");
        page.push("\n");
    }
    for class in ChangeClass::ALL.into_iter().filter(|class| class.destroys()) {
        let mut groups = review.groups.iter().filter(|group| group.class() == class).peekable();
        if groups.peek().is_some() {
            page.push("\n");
            page.paint(style(class), heading(class));
            page.push("\n");
        }
        for group in groups {
            write_group(&mut page, review, group, width);
        }
    }
    write_actions(&mut page, review, width);
    write_findings(&mut page, review, width);
    page.push("\n");
    let (add, change, destroy) = review.totals();
    page.paint(Style::Bold, "Plan:");
    let imported = match review.imports() {
        0 => PrintableText::new(),
        count => printable!("{count} to import, "),
    };
    let invoked = match review.invocations.len() {
        0 => PrintableText::new(),
        count => printable!(" Actions: {count} to invoke."),
    };
    append_line!(page, " {imported}{add} to add, {change} to change, {destroy} to destroy.{invoked}");
    page.finish()
}

fn style(class: ChangeClass) -> Style {
    if class.destroys() { Style::BoldRed } else { Style::Bold }
}

fn heading(class: ChangeClass) -> &'static str {
    if class == ChangeClass::Destroy { "Destroy:" } else { "Replace:" }
}

fn write_counts(page: &mut Page, review: &Review, width: usize) {
    let mut line = PrintableText::new();
    for class in ChangeClass::ALL {
        let count = review.counts.count(class);
        if count > 0 {
            append!(line, "{}{count} to {}", if line.is_empty() { "" } else { ", " }, class.name());
        }
    }
    let outputs = review.outputs.len();
    if outputs > 0 {
        append!(line, "{}outputs that change: {outputs}", if line.is_empty() { "" } else { ", " });
    }
    match review.invocations.len() {
        0 => {}
        count => {
            let comma = if line.is_empty() { "" } else { ", " };
            append!(line, "{comma}{count} {} to invoke", if count == 1 { "action" } else { "actions" });
        }
    }
    if line.is_empty() {
        line.push("No changes.");
    }
    page.paint(Style::Bold, wrap(&line, width, 0));
    page.push("\n");
}

fn write_group(page: &mut Page, review: &Review, group: &ChangeGroup, width: usize) {
    let count = group.members.len();
    let symbol = group.class().symbol();
    let first = review.members(group).next().map(|(_, change)| change);
    let Some(first) = first else { return };
    let mut line = PrintableText::new();
    if count == 1 {
        append!(line, "  {symbol} {}", isolated(&first.address));
    } else {
        append!(line, "  {symbol} {count} x {}:", isolated(&group.type_name));
        for (index, (_, change)) in review.members(group).take(MAX_ADDRESSES).enumerate() {
            append!(line, "{} {}", if index == 0 { "" } else { "," }, isolated(&change.address));
            // The causes with links to other changes are a part of the group's explanations.
            let own = member_explanations(group, change).into_iter().filter(|clause| !has_link(clause));
            let own = clauses(own);
            if !own.is_empty() {
                append!(line, " ({own})");
            }
        }
        if count > MAX_ADDRESSES {
            append!(line, " and {} more", count - MAX_ADDRESSES);
        }
    }
    append_line!(page, "{}", wrap(&line, width, 4));
    let reasons = reasons(group, first);
    if !reasons.is_empty() {
        append_line!(page, "{}", wrap(&printable!("      {reasons}"), width, 0));
    }
}

fn has_link(clause: &[Fragment<'_>]) -> bool {
    clause.iter().any(|fragment| matches!(fragment, Fragment::Change(..)))
}

/// Returns the reasons that all members of a group have in common.
fn reasons(group: &ChangeGroup, first: &ReviewedChange) -> PrintableText {
    let mut text = clauses(group_explanations(group, first).into_iter());
    if let Some(source) = first.source.as_ref().filter(|_| group.has_one_source) {
        append!(
            text,
            "{}({}:{})",
            if text.is_empty() { "" } else { " " },
            isolated(&source.file),
            source.line
        );
    }
    text
}

fn clauses<'a>(clauses: impl Iterator<Item = Vec<Fragment<'a>>>) -> PrintableText {
    let mut text = PrintableText::new();
    for clause in clauses {
        if !text.is_empty() {
            text.push("; ");
        }
        for fragment in clause {
            match fragment {
                Fragment::Words(words) => text.push(words),
                Fragment::Name(name) => append!(text, "{}", isolated(&name)),
                Fragment::Change(_, address) => append!(text, "{}", isolated(address)),
            }
        }
    }
    text
}

fn write_actions(page: &mut Page, review: &Review, width: usize) {
    if review.invocation_groups.is_empty() {
        return;
    }
    page.push("\n");
    page.paint(Style::Bold, "Actions:");
    page.push("\n");
    for group in review.invocation_groups.iter().take(MAX_ACTIONS) {
        append_line!(page, "{}", wrap(&action_line(review, group), width, 4));
    }
    if review.invocation_groups.len() > MAX_ACTIONS {
        append_line!(page, "  and {} more", review.invocation_groups.len() - MAX_ACTIONS);
    }
}

fn action_line(review: &Review, group: &GroupedInvocations) -> PrintableText {
    let count = group.members.len();
    let times = if count == 1 { PrintableText::new() } else { printable!("{count} x ") };
    let mut line = printable!("  {times}{}", isolated(&group.action));
    match &group.event {
        Some(event) => append!(line, ", {}", event.description()),
        None => line.push(", requested with -invoke"),
    }
    let invocations = group.members.iter().filter_map(|id| review.invocation(*id));
    let triggers = invocations.filter_map(|invocation| invocation.trigger.as_ref());
    for (index, trigger) in triggers.take(MAX_ADDRESSES).enumerate() {
        append!(line, "{} {}", if index == 0 { ":" } else { "," }, isolated(&trigger.object));
    }
    if count > MAX_ADDRESSES {
        append!(line, " and {} more", count - MAX_ADDRESSES);
    }
    line
}

fn write_findings(page: &mut Page, review: &Review, width: usize) {
    if review.findings.is_empty() {
        return;
    }
    page.push("\n");
    page.paint(Style::BoldRed, "Failed checks:");
    page.push("\n");
    for finding in review.findings.iter().take(MAX_FINDINGS) {
        let mut line = printable!("  {}: {}", finding.title(), isolated(&finding.address));
        if let Some(message) = finding.messages.first() {
            append!(line, ": {}", isolated(message));
        }
        append_line!(page, "{}", wrap(&line, width, 4));
    }
    if review.findings.len() > MAX_FINDINGS {
        append_line!(page, "  and {} more", review.findings.len() - MAX_FINDINGS);
    }
}

#[cfg(test)]
mod tests {
    use wardian_review::{ConfigurationFacts, testing};

    use super::*;

    fn summary(name: &str, json: &str) -> String {
        let review = Review::from_json(name, json.as_bytes(), &ConfigurationFacts::default()).unwrap();
        render_summary(&review, RenderOptions::default()).into_string()
    }

    #[test]
    fn dangerous_change_is_in_the_first_twenty_lines() {
        for plan in testing::five_plans() {
            let text = summary(plan.name, &plan.json);
            let start: Vec<&str> = text.lines().take(20).collect();
            assert!(start.iter().any(|line| line.contains(plan.dangerous)), "{}:\n{text}", plan.name);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn summary_contains_causes_and_no_updates() {
        let plan = testing::five_plans().into_iter().find(|plan| plan.name == "cascade").unwrap();
        let text = summary(plan.name, &plan.json);
        assert!(
            text.starts_with(
                "\n30 to replace\n\nReplace:\n  -/+ aws_vpc.main\n      cidr_block forces the replacement; \
                 cidr_block depends on var.cidr\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("      vpc_id forces the replacement; vpc_id depends on aws_vpc.main\n"),
            "{text}"
        );
        assert!(text.ends_with("\nPlan: 30 to add, 0 to change, 30 to destroy.\n"), "{text}");
        let plan = testing::five_plans().into_iter().find(|plan| plan.name == "small").unwrap();
        assert!(!summary(plan.name, &plan.json).contains("aws_instance.web"));
    }

    #[test]
    fn summary_contains_actions_and_checks() {
        let text = summary("p", &testing::plan_with_actions());
        for part in [
            "\n1 to replace, 30 to update, 30 actions to invoke\n",
            "\nActions:\n  action.aws_lambda_invoke.restore, after it is created: aws_db_instance.main\n",
            "\n  29 x action.aws_ssm_command.restart, after it is updated:\n      aws_instance.node[0], ",
            " and 19 more\n",
            "\n  Check failed: check.website: The website does not respond.\n",
            "\nPlan: 1 to add, 30 to change, 1 to destroy. Actions: 30 to invoke.\n",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains("topsecret"));
        let text = summary("p", &testing::requested_invocation());
        assert!(text.starts_with("\n1 action to invoke\n"), "{text}");
    }

    #[test]
    fn members_have_their_own_facts() {
        let text = summary("p", &testing::plan_with_differing_members());
        for part in [
            "  - aws_iam_user.gone\n      the resource is not in the configuration\n",
            "  - aws_iam_user.team[\"x\"]\n      the key is not in for_each\n",
            "  - 3 x aws_instance: aws_instance.moved[0] (it is the deposed object\n      00000000), ",
            "(it is the deposed object 00000002)\n",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn right_to_left_text_is_isolated() {
        let json = testing::wide_plan().replace("[\"update\"]", "[\"delete\"]");
        let text = summary("p", &json);
        assert!(text.contains("aws_instance.web[\"שלום"), "{text}");
        for line in text.lines().filter(|line| line.contains("שלום")) {
            let before = line.split("שלום").next().unwrap();
            let opened = before.matches('\u{2068}').count();
            assert!(opened > before.matches('\u{2069}').count(), "{line}");
        }
    }

    #[test]
    fn hostile_text_is_escaped_and_has_no_secrets() {
        let text = summary("p", &testing::hostile_plan());
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}', '\u{9b}']));
        assert!(!text.contains("topsecret"));
        assert!(!text.lines().any(|line| line.starts_with("Plan: 0 to add,")));
    }
}

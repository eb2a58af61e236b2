//! Comments in Markdown for pull requests and merge requests.
//!
//! The comment starts with a marker that a later run finds. The lines of the changes that destroy or replace
//! objects in all plans come first, then the findings, the other changes, actions, outputs and changes
//! outside of the configuration of each plan. Differences are added as far as the limit allows, and a note
//! at the end counts everything that is omitted. Text from plans is only in code spans, code blocks and
//! `<code>` elements, in which Markdown is not active.

mod actions;
mod budget;
mod details;
mod findings;
mod head;
mod lines;
mod text;

use wardian_review::{ChangeClass, ChangeGroup, Review};

use budget::{Budget, Omissions, Part};
use text::MarkdownText;

/// Number of characters that are kept free for the note at the end.
const RESERVE: usize = Omissions::MAX_NOTE;
/// Maximum number of groups whose differences are tried after one has exceeded the limit.
const MAX_MISSES: usize = 20;
/// The part of the budget for findings, as a divisor.
const FINDINGS_SHARE: usize = 4;

/// The service that displays a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentFormat {
    GitHub,
    GitLab,
}

/// The form of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommentOptions {
    pub format: CommentFormat,
    /// The maximum number of characters.
    pub limit: usize,
}

impl CommentOptions {
    /// The smallest limit with which a comment can be written.
    pub const MIN_LIMIT: usize = 2_000;

    /// Returns the options for a service, with its limit.
    pub fn for_service(format: CommentFormat) -> Self {
        // Programs that post comments add a few lines.
        let limit = match format {
            CommentFormat::GitHub => 65_536 - 1_536,
            CommentFormat::GitLab => 1_000_000 - 1_536,
        };
        Self { format, limit }
    }
}

/// The parts of a comment about one plan. Those with changes that destroy objects precede those of all plans.
struct Section<'a> {
    review: &'a Review,
    /// The heading of the plan's own section, until something is added to it; empty for the only plan.
    heading: MarkdownText,
    /// The name of the plan above its changes that destroy objects; empty for the only plan.
    name: MarkdownText,
    start: Part,
    lines: [Part; ChangeClass::ALL.len()],
    details: [Part; ChangeClass::ALL.len()],
    tail: [Part; 4],
}

impl<'a> Section<'a> {
    fn new(review: &'a Review, is_only: bool) -> Self {
        let mut name = MarkdownText::new();
        if !is_only {
            name.push("\nIn ");
            name.push_code(&review.title);
            name.push(":\n\n");
        }
        Self {
            review,
            heading: if is_only { MarkdownText::new() } else { head::plan_heading(review) },
            name,
            start: Part::default(),
            lines: Default::default(),
            details: Default::default(),
            tail: Default::default(),
        }
    }

    fn groups(&self, class: ChangeClass) -> impl Iterator<Item = &'a ChangeGroup> + use<'a> {
        self.review.groups.iter().filter(move |group| group.class() == class)
    }

    /// Adds the plan's own heading, unless it was added. Returns whether it fits.
    fn start(&mut self, budget: &mut Budget) -> bool {
        self.heading.is_empty()
            || self.start.add(&[], &self.heading, budget) && {
                self.heading = MarkdownText::new();
                true
            }
    }
}

/// Returns a comment about plans. It is not longer than the limit, which must be at least
/// [`CommentOptions::MIN_LIMIT`].
pub fn markdown_comment(reviews: &[Review], options: CommentOptions) -> String {
    let mut comment = head::marker(reviews);
    comment.append(&head::title(reviews, options));
    let mut budget = Budget::new(options.limit.saturating_sub(RESERVE + comment.len()));
    comment.append(&head::table(reviews, &mut budget));
    let mut sections: Vec<Section<'_>> =
        reviews.iter().map(|review| Section::new(review, reviews.len() == 1)).collect();
    let mut omitted = Omissions::default();
    let mut for_findings = budget.split(budget.left() / FINDINGS_SHARE);
    add_destroying_lines(&mut sections, &mut budget, &mut omitted);
    let entries: Vec<findings::Entries> =
        sections.iter().map(|section| findings::entries(section.review)).collect();
    let unused = for_findings.left().saturating_sub(length_of_findings(&sections, &entries));
    budget.add(for_findings.split(unused));
    for (section, entries) in sections.iter_mut().zip(entries) {
        add_findings(section, entries, &mut for_findings, &mut omitted);
    }
    budget.add(for_findings);
    for section in sections.iter_mut().filter(|section| head::is_incomplete(section.review)) {
        // Otherwise, only the table of the plans contains this.
        section.start(&mut budget);
    }
    for class in ChangeClass::ALL.into_iter().filter(|class| !class.destroys()) {
        for section in &mut sections {
            add_lines(section, class, &mut budget, &mut omitted);
        }
    }
    for section in &mut sections {
        add_tail(section, &mut budget, &mut omitted);
    }
    add_details(&mut sections, &mut budget, &mut omitted);
    for class in ChangeClass::ALL.into_iter().filter(|class| class.destroys()) {
        for section in &sections {
            append_class(&mut comment, section, class);
        }
    }
    for section in &sections {
        comment.append(section.start.text());
        for class in ChangeClass::ALL.into_iter().filter(|class| !class.destroys()) {
            append_class(&mut comment, section, class);
        }
        section.tail.iter().for_each(|part| comment.append(part.text()));
    }
    comment.append(&omitted.note());
    comment.into_string()
}

fn append_class(comment: &mut MarkdownText, section: &Section<'_>, class: ChangeClass) {
    for parts in [&section.lines, &section.details] {
        if let Some(part) = parts.get(class as usize) {
            comment.append(part.text());
        }
    }
}

fn literal(text: &'static str) -> MarkdownText {
    let mut literal = MarkdownText::new();
    literal.push(text);
    literal
}

fn heading(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::Destroy => "\n#### Destroy\n\n",
        ChangeClass::Replace => "\n#### Replace\n\n",
        ChangeClass::Update => "\n#### Update\n\n",
        ChangeClass::Create => "\n#### Create\n\n",
        ChangeClass::Move => "\n#### Move\n\n",
        ChangeClass::Import => "\n#### Import\n\n",
        ChangeClass::Forget => "\n#### Forget\n\n",
        ChangeClass::Read => "\n#### Read\n\n",
    }
}

/// Adds the lines of the changes that destroy objects in all plans.
fn add_destroying_lines(sections: &mut [Section<'_>], budget: &mut Budget, omitted: &mut Omissions) {
    for class in ChangeClass::ALL.into_iter().filter(|class| class.destroys()) {
        let mut title = literal(heading(class));
        for section in &mut *sections {
            let name = section.name.clone();
            add_groups(section, class, &[&title, &name], budget, omitted);
            if section.lines.get(class as usize).is_some_and(|part| !part.is_empty()) {
                title = MarkdownText::new();
            }
        }
    }
}

fn add_lines(section: &mut Section<'_>, class: ChangeClass, budget: &mut Budget, omitted: &mut Omissions) {
    if section.groups(class).next().is_none() {
        return;
    }
    // Without its heading, the section has no lines.
    let mut none = Budget::new(0);
    let budget = if section.start(budget) { budget } else { &mut none };
    add_groups(section, class, &[&literal(heading(class))], budget, omitted);
}

/// Adds the lines of groups. A line that does not fit is replaced by a short one.
fn add_groups(
    section: &mut Section<'_>,
    class: ChangeClass,
    headings: &[&MarkdownText],
    budget: &mut Budget,
    omitted: &mut Omissions,
) {
    let review = section.review;
    let groups = section.groups(class);
    let Some(part) = section.lines.get_mut(class as usize) else { return };
    for group in groups {
        let fits = budget.left() > MIN_LINE_LENGTH
            && (part.add(headings, &lines::group(review, group), budget)
                || part.add(headings, &lines::short_group(review, group), budget));
        if !fits {
            omitted.groups += 1;
            omitted.changes += group.members.len();
        }
    }
}

/// Every line is longer than this.
const MIN_LINE_LENGTH: usize = 5;

fn length_of_findings(sections: &[Section<'_>], entries: &[findings::Entries]) -> usize {
    let length = |(section, entries): (&Section<'_>, &findings::Entries)| {
        let length: usize = entries.iter().map(|(entry, _)| entry.len()).sum();
        if length > 0 { section.heading.len() + FINDINGS_HEADING.len() + length } else { 0 }
    };
    sections.iter().zip(entries).map(length).sum()
}

const FINDINGS_HEADING: &str = "\n#### Checks, warnings and accesses\n\n";

fn add_findings(
    section: &mut Section<'_>,
    entries: findings::Entries,
    budget: &mut Budget,
    omitted: &mut Omissions,
) {
    omitted.findings += findings::unlisted(section.review);
    if entries.is_empty() {
        return;
    }
    let has_start = section.start(budget);
    let title = literal(FINDINGS_HEADING);
    let mut part = Part::default();
    for (entry, count) in entries {
        if !(has_start && part.add(&[&title], &entry, budget)) {
            omitted.findings += count;
        }
    }
    section.start.append(&part);
}

/// Adds actions, outputs, changes outside of the configuration, and the providers of all changes.
fn add_tail(section: &mut Section<'_>, budget: &mut Budget, omitted: &mut Omissions) {
    let review = section.review;
    let actions = review.invocation_groups.iter().map(|group| actions::group(review, group));
    let outputs = review.outputs.iter().map(lines::output);
    let drift = review.drift.iter().map(|change| lines::drift(review, change));
    add_entries(section, 0, "\n#### Actions\n\n", actions, budget, omitted);
    add_entries(section, 1, "\n#### Outputs\n\n", outputs, budget, omitted);
    add_entries(section, 2, "\n#### Changed outside of the configuration\n\n", drift, budget, omitted);
    let providers = lines::providers(review).into_iter();
    add_entries(section, 3, "\n#### Providers\n\n", providers, budget, omitted);
}

fn add_entries(
    section: &mut Section<'_>,
    index: usize,
    title: &'static str,
    entries: impl ExactSizeIterator<Item = MarkdownText>,
    budget: &mut Budget,
    omitted: &mut Omissions,
) {
    if entries.len() == 0 {
        return;
    }
    let (count, has_start) = (entries.len(), section.start(budget));
    let Some(part) = section.tail.get_mut(index) else { return };
    let title = literal(title);
    let (mut added, mut misses) = (0, 0);
    for entry in entries {
        if !has_start || misses >= MAX_MISSES {
            break;
        }
        let fits = part.add(&[&title], &entry, budget);
        added += usize::from(fits);
        misses += usize::from(!fits);
    }
    omitted.others += count - added;
}

/// Adds the differences of groups whose class has lines.
fn add_details(sections: &mut [Section<'_>], budget: &mut Budget, omitted: &mut Omissions) {
    let blank = literal("\n");
    let mut misses = 0;
    for class in ChangeClass::ALL {
        for section in &mut *sections {
            let has_lines = section.lines.get(class as usize).is_some_and(|part| !part.is_empty());
            let review = section.review;
            let groups = section.groups(class);
            let Some(part) = section.details.get_mut(class as usize) else { continue };
            for group in groups {
                let fits = has_lines && misses < MAX_MISSES && {
                    let left = budget.left().saturating_sub(blank.len());
                    match details::group_details(review, group, left) {
                        Some(details) => details.is_empty() || part.add(&[&blank], &details, budget),
                        None => false,
                    }
                };
                if !fits {
                    misses += 1;
                    omitted.differences += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

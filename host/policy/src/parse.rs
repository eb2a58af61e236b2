//! From the text of a policy file to rules.
//!
//! A file is read strictly: what is not known is an error, never passed over, since a
//! word that was misspelt would be a hole or a riddle. So a file that uses what a later
//! version of the program knows is refused by this one, and nothing runs. Values are
//! written out: nothing refers, nothing is computed.

mod capability;
mod settings;
mod values;

use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, closest};
use wardian_lang::{Attribute, Block, Body, parse_body};

use crate::place::Lines;
use crate::plugin_pattern::PluginPattern;
use crate::policy::{Level, Otherwise, PluginRules, PolicyFile};
use crate::rule::{Effect, Rule};
use crate::settings::Settings;

/// Of a file that is no policy at all, nearly every line is wrong.
const MOST_PROBLEMS: usize = 50;

impl PolicyFile {
    /// Reads a file's text. Relative directories in it begin at `root_module`, which is
    /// absolute.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn parse(level: Level, file: &Arc<SourceFile>, root_module: &Path) -> Result<Self, Diagnostics> {
        let (body, problems) = parse_body(file);
        if problems.has_errors() {
            return Err(problems);
        }
        let mut reader =
            Reader { level, root_module, lines: Lines::of(file), problems: Vec::new(), found: 0 };
        let (otherwise, plugins) = reader.file(&body);
        let name = Arc::clone(reader.lines.file_name());
        Diagnostics::from(reader.finish()).into_result(Self { level, name, otherwise, plugins })
    }
}

struct Reader<'a> {
    level: Level,
    root_module: &'a Path,
    lines: Lines,
    problems: Vec<Diagnostic>,
    found: usize,
}

impl Reader<'_> {
    /// What was found, in the order of the text.
    fn finish(mut self) -> Vec<Diagnostic> {
        self.problems.sort_by_key(|problem| problem.subject.as_ref().map(|span| span.start));
        if let Some(more) = self.found.checked_sub(MOST_PROBLEMS).filter(|more| *more > 0) {
            let detail = format!("There are {more} further problems in {}.", self.lines.file_name());
            self.problems.push(Diagnostic::error("More problems in the policy", detail));
        }
        self.problems
    }

    fn problem(&mut self, summary: &str, detail: impl Into<String>, at: &Span) {
        self.found += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Diagnostic::error(summary, detail).at(at.clone()));
        }
    }

    fn file(&mut self, body: &Body) -> (Otherwise, Vec<PluginRules>) {
        self.refuse_unknown(body, "A policy", &["otherwise"], &["plugin"]);
        let words = [Otherwise::Deny, Otherwise::Defer].map(|one| (one.word(), one));
        let otherwise = body.attribute("otherwise").and_then(|attribute| self.word(attribute, &words));
        let plugins = body.blocks_of("plugin").filter_map(|block| self.plugin(block)).collect();
        (otherwise.unwrap_or_default(), plugins)
    }

    fn plugin(&mut self, block: &Block) -> Option<PluginRules> {
        let body = &block.body;
        let noun = "A plugin block";
        self.refuse_unknown(
            body,
            noun,
            &["native", "deterministic"],
            &["allow", "deny", "limits", "credential"],
        );
        let pattern = self.plugin_pattern(block);
        let mut settings = Settings::default();
        self.plugin_settings(body, &mut settings);
        let mut rules = Vec::new();
        let mut credentials = Vec::new();
        let mut limits: Option<&Span> = None;
        for inner in &body.blocks {
            match &*inner.kind {
                "allow" => rules.extend(self.rule(inner, Effect::Allow).map(Arc::new)),
                "deny" => rules.extend(self.rule(inner, Effect::Deny).map(Arc::new)),
                "limits" if limits.is_some() => self.problem(
                    "Duplicate limits block",
                    "A plugin block has one limits block. Write all limits into that.",
                    &inner.header_span,
                ),
                "limits" => {
                    limits = Some(&inner.header_span);
                    self.limits(inner, &mut settings.limits);
                }
                "credential" => credentials.extend(self.credential(inner).map(Arc::new)),
                _ => {}
            }
        }
        Some(PluginRules { pattern: pattern?, rules, settings, credentials })
    }

    fn plugin_pattern(&mut self, block: &Block) -> Option<PluginPattern> {
        let [label] = block.labels.as_slice() else {
            self.problem(
                "Plugin address required",
                "A plugin block has one label: the address of a plugin, such as \"hashicorp/http\", or a pattern such \
                 as \"acme/*\"; \"*\" is every plugin.",
                &block.header_span,
            );
            return None;
        };
        match PluginPattern::parse(&label.text) {
            Ok(pattern) => Some(pattern),
            Err(problem) => {
                let detail = format!("{} cannot be used: {problem}.", values::quoted(&label.text));
                self.problem("Invalid plugin address", detail, &label.span);
                None
            }
        }
    }

    fn rule(&mut self, block: &Block, effect: Effect) -> Option<Rule> {
        let place = self.lines.place(&block.kind_span);
        let (reason, conditions) = self.conditions(block, effect)?;
        Some(Rule { effect, place, reason, conditions })
    }

    /// What does not belong there.
    fn refuse_unknown(&mut self, body: &Body, noun: &str, arguments: &[&str], blocks: &[&str]) {
        for attribute in &body.attributes {
            let name = &*attribute.name;
            if arguments.contains(&name) {
                continue;
            }
            let detail = if blocks.contains(&name) {
                format!("\"{name}\" is a block. Write it without the equals sign.")
            } else {
                format!("{noun} has no argument \"{name}\".{}", hint(name, arguments, blocks))
            };
            self.problem("Unsupported argument", detail, &attribute.name_span);
        }
        for block in &body.blocks {
            let kind = &*block.kind;
            if blocks.contains(&kind) {
                continue;
            }
            let detail = if arguments.contains(&kind) {
                format!("\"{kind}\" is an argument. Write it with an equals sign.")
            } else {
                format!("{noun} has no blocks of type \"{kind}\".{}", hint(kind, blocks, arguments))
            };
            self.problem("Unsupported block type", detail, &block.kind_span);
        }
    }

    fn missing(&mut self, name: &str, block: &Block, example: &str) {
        let detail = format!("The argument \"{name}\" is missing: {example}.");
        self.problem("Missing required argument", detail, &block.header_span);
    }

    fn required<'b>(&mut self, block: &'b Block, name: &str, example: &str) -> Option<&'b Attribute> {
        let attribute = block.body.attribute(name);
        if attribute.is_none() {
            self.missing(name, block, example);
        }
        attribute
    }
}

/// The name that was meant, or those that there are.
fn hint(name: &str, same: &[&str], other: &[&str]) -> String {
    match closest(name, same.iter().chain(other).copied()) {
        Some(near) => format!(" Did you mean \"{near}\"?"),
        None if same.is_empty() => String::new(),
        None => format!(" There are: {}.", same.join(", ")),
    }
}

//! Parses policy files.
//!
//! Parsing is strict: an unknown name causes an error, since a policy with a misspelled rule could
//! allow too much or mislead its readers. Therefore, a file that uses features of a later version
//! is rejected, and no plugin runs. Values are literals: there are no references and no
//! computations.

mod capability;
mod identity;
mod settings;
mod untrusted_service;
mod values;

use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, closest};
use wardian_lang::{Attribute, Block, Body, parse_body};

use self::identity::REQUIRE_SIGNATURE;
use crate::level::Level;
use crate::plugin_pattern::PluginPattern;
use crate::policy::{DefaultAction, PluginRules, PolicyFile};
use crate::rule::{Effect, Rule};
use crate::settings::{NativePlugins, Settings};
use crate::source_location::LineIndex;
use crate::unenforceable::Unenforceable;
use crate::untrusted_service::ServiceKind;

/// Maximum number of reported problems; a file that is not a policy has a problem on almost every line.
const MAX_PROBLEMS: usize = 50;

impl PolicyFile {
    /// Parses a file. Relative directories in it are relative to `root_module`, which must be
    /// absolute.
    ///
    /// # Errors
    /// Returns all problems, with their source spans.
    pub fn parse(level: Level, file: &Arc<SourceFile>, root_module: &Path) -> Result<Self, Diagnostics> {
        let (body, problems) = parse_body(file);
        if problems.has_errors() {
            return Err(problems);
        }
        let mut reader = Reader {
            level,
            root_module,
            lines: LineIndex::new(file),
            problems: Vec::new(),
            found: 0,
            contradictions: Vec::new(),
        };
        let evaluation = reader.evaluation(&body);
        let (default_action, plugins) = reader.file(&body);
        let blocks = body.blocks_of(REQUIRE_SIGNATURE);
        let signatures = blocks.filter_map(|block| reader.identity_requirement(block)).collect();
        let services = reader.services(&body);
        let name = Arc::clone(reader.lines.file_name());
        let contradictions = std::mem::take(&mut reader.contradictions).into();
        Diagnostics::from(reader.finish()).into_result(Self {
            level,
            name,
            default_action,
            evaluation,
            plugins,
            signatures,
            services,
            contradictions,
        })
    }
}

struct Reader<'a> {
    level: Level,
    root_module: &'a Path,
    lines: LineIndex,
    problems: Vec<Diagnostic>,
    found: usize,
    /// Rules that cannot be enforced in blocks with `native = "confine"`.
    contradictions: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Returns the problems in source order.
    fn finish(mut self) -> Vec<Diagnostic> {
        self.problems.sort_by_key(|problem| problem.subject.as_ref().map(|span| span.start));
        if let Some(more) = self.found.checked_sub(MAX_PROBLEMS).filter(|more| *more > 0) {
            let detail = format!("There are {more} more problems in {}.", self.lines.file_name());
            self.problems.push(Diagnostic::error("More problems in the policy", detail));
        }
        self.problems
    }

    fn problem(&mut self, summary: &str, detail: impl Into<String>, at: &Span) {
        self.found += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Diagnostic::error(summary, detail).at(at.clone()));
        }
    }

    fn file(&mut self, body: &Body) -> (DefaultAction, Vec<PluginRules>) {
        let [backend, key_provider] = ServiceKind::ALL.map(ServiceKind::block);
        let blocks = ["plugin", "evaluation", REQUIRE_SIGNATURE, backend, key_provider];
        self.reject_unknown(body, "A policy", &["otherwise"], &blocks);
        let words = [DefaultAction::Deny, DefaultAction::Defer].map(|one| (one.as_str(), one));
        let default_action =
            body.attribute("otherwise").and_then(|attribute| self.keyword(attribute, &words));
        let plugins = body.blocks_of("plugin").filter_map(|block| self.plugin(block)).collect();
        (default_action.unwrap_or_default(), plugins)
    }

    fn plugin(&mut self, block: &Block) -> Option<PluginRules> {
        let body = &block.body;
        let noun = "A plugin block";
        self.reject_unknown(
            body,
            noun,
            &["native", "untrusted", "deterministic"],
            &["allow", "deny", "limits", "credential"],
        );
        let pattern = self.plugin_pattern(block);
        let mut settings = Settings::default();
        self.plugin_settings(body, &mut settings);
        if let Some(attribute) = body.attribute("deterministic")
            && settings.deterministic.as_ref().is_some_and(|set| set.value)
        {
            self.contradiction(&settings, Unenforceable::Deterministic, &attribute.name_span);
        }
        let mut rules = Vec::new();
        let mut credentials = Vec::new();
        let mut limits: Option<&Span> = None;
        for inner in &body.blocks {
            match &*inner.kind {
                "allow" => rules.extend(self.rule(inner, Effect::Allow, &settings).map(Arc::new)),
                "deny" => rules.extend(self.rule(inner, Effect::Deny, &settings).map(Arc::new)),
                "limits" if limits.is_some() => self.problem(
                    "Duplicate limits block",
                    "A plugin block can have only one limits block.",
                    &inner.header_span,
                ),
                "limits" => {
                    limits = Some(&inner.header_span);
                    self.limits(inner, &mut settings.limits);
                }
                "credential" => {
                    self.contradiction(&settings, Unenforceable::Credential, &inner.header_span);
                    credentials.extend(self.credential(inner).map(Arc::new));
                }
                _ => {}
            }
        }
        Some(PluginRules { pattern: pattern?, rules, settings, credentials })
    }

    fn plugin_pattern(&mut self, block: &Block) -> Option<PluginPattern> {
        let [label] = block.labels.as_slice() else {
            self.problem(
                "Plugin address required",
                format!(
                    "A {} block has one label: the address of a plugin, such as \"hashicorp/http\", or a pattern \
                     such as \"acme/*\"; \"*\" matches every plugin.",
                    block.kind
                ),
                &block.header_span,
            );
            return None;
        };
        match PluginPattern::parse(&label.text) {
            Ok(pattern) => Some(pattern),
            Err(problem) => {
                let detail = format!("{} cannot be used: {problem}.", values::quote(&label.text));
                self.problem("Invalid plugin address", detail, &label.span);
                None
            }
        }
    }

    fn rule(&mut self, block: &Block, effect: Effect, settings: &Settings) -> Option<Rule> {
        let location = self.lines.location(&block.kind_span);
        let (reason, conditions) = self.conditions(block, effect)?;
        let rule = Rule { effect, location, reason, conditions };
        for part in Unenforceable::in_rule(&rule) {
            let argument = match part {
                Unenforceable::Datagrams => "schemes",
                other => other.subject(),
            };
            let span = block.body.attribute(argument).map_or(&block.header_span, |one| &one.name_span);
            self.contradiction(settings, part, span);
        }
        Some(rule)
    }

    /// Reports a part of a block that cannot be enforced, if the block requires its enforcement for
    /// native plugins.
    fn contradiction(&mut self, settings: &Settings, part: Unenforceable, at: &Span) {
        let confines = settings.native.as_ref().is_some_and(|native| native.value == NativePlugins::Confine);
        if confines && self.contradictions.len() < MAX_PROBLEMS {
            let detail = format!(
                "The block has native = \"confine\", but \"{}\" cannot be enforced for native plugins: {}. \
                 Remove it, or write it in the block of a plugin that is a component.",
                part.subject(),
                part.reason()
            );
            let summary = "Rule cannot be enforced for native plugins";
            self.contradictions.push(Diagnostic::error(summary, detail).at(at.clone()));
        }
    }

    /// Reports unsupported arguments and blocks.
    fn reject_unknown(&mut self, body: &Body, noun: &str, arguments: &[&str], blocks: &[&str]) {
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

/// Returns a hint: the most similar name, or the list of supported names.
fn hint(name: &str, same: &[&str], other: &[&str]) -> String {
    match closest(name, same.iter().chain(other).copied()) {
        Some(near) => format!(" Did you mean \"{near}\"?"),
        None if same.is_empty() => String::new(),
        None => format!(" Supported names: {}.", same.join(", ")),
    }
}

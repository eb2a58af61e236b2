//! The file that says which declarations of plugins somebody has agreed to.
//!
//! It is beside the dependency lock file and none of Terraform's business. For each
//! plugin that declares anything it holds the version, the component's hash, and what it
//! declares, so that a later version's declaration can be held against it. It grants
//! nothing: that policies do.
//!
//! How old and new meet: what is not known here is an error, so that no program drops
//! what a newer one has noted. What is declared has its digest beside it, so that a
//! change by hand is noticed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use wardian_address::{ProviderAddress, Version};
use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_lang::{Attribute, Block, Body, parse_body};
use wardian_policy::{AGREEMENTS_FILE_NAME, Asked, Words};

use crate::declaration::digest;

const HEADER: &str = "# \"wardian init\" keeps this file. It says what each plugin declared when that was agreed to;\n\
                      # what plugins may do, policies say. Keep it under version control.\n";

/// All that was agreed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreements {
    /// One for each plugin that declares anything.
    pub plugins: BTreeMap<ProviderAddress, Agreement>,
}

/// What was agreed to for one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The plugin's version.
    pub version: Version,
    /// The component's SHA-256, in hexadecimal.
    pub sha256: String,
    /// What it declared.
    pub asked: Vec<Asked>,
}

impl Agreements {
    /// Reads the file's text. Relative directories begin at `root_module`, which is
    /// absolute.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn parse(text: &str, root_module: &Path) -> Result<Self, Diagnostics> {
        let (body, problems) = parse_body(&SourceFile::new(AGREEMENTS_FILE_NAME, text));
        if problems.has_errors() {
            return Err(problems);
        }
        let mut reader = Reader { root_module, problems: Diagnostics::new() };
        reader.refuse_unknown(&body, &[], &["plugin"]);
        let mut plugins = BTreeMap::new();
        for block in body.blocks_of("plugin") {
            let Some(address) = reader.address(block) else { continue };
            let Some(agreement) = reader.agreement(block) else { continue };
            if plugins.insert(address, agreement).is_some() {
                reader.problem(
                    "There is an entry for this plugin already. Remove one of both.",
                    &block.header_span,
                );
            }
        }
        reader.problems.into_result(Self { plugins })
    }

    /// The text of the file.
    pub fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        for (address, agreement) in &self.plugins {
            let _ = writeln!(text, "\nplugin \"{address}\" {{");
            let _ = writeln!(text, "  version     = \"{}\"", agreement.version);
            let _ = writeln!(text, "  sha256      = \"{}\"", agreement.sha256);
            let _ = writeln!(text, "  declaration = \"{}\"", digest(&agreement.asked));
            for asked in &agreement.asked {
                text.push('\n');
                for line in asked.block("asks").lines() {
                    let _ = writeln!(text, "  {line}");
                }
            }
            text.push_str("}\n");
        }
        text
    }
}

struct Reader<'a> {
    root_module: &'a Path,
    problems: Diagnostics,
}

impl Reader<'_> {
    fn problem(&mut self, detail: impl Into<String>, at: &Span) {
        self.problems.push(Diagnostic::error("Invalid agreement", detail).at(at.clone()));
    }

    fn refuse_unknown(&mut self, body: &Body, arguments: &[&str], blocks: &[&str]) {
        for attribute in body.attributes.iter().filter(|one| !arguments.contains(&&*one.name)) {
            self.problem(
                format!("There is no argument \"{}\" here that this program knows.", attribute.name),
                &attribute.name_span,
            );
        }
        for block in body.blocks.iter().filter(|one| !blocks.contains(&&*one.kind)) {
            self.problem(
                format!("There is no block \"{}\" here that this program knows.", block.kind),
                &block.kind_span,
            );
        }
    }

    fn address(&mut self, block: &Block) -> Option<ProviderAddress> {
        let address = match block.labels.as_slice() {
            [label] => ProviderAddress::parse_full(&label.text).ok(),
            _ => None,
        };
        if address.is_none() {
            self.problem("A block has one label, the plugin's whole address.", &block.header_span);
        }
        address
    }

    fn agreement(&mut self, block: &Block) -> Option<Agreement> {
        self.refuse_unknown(&block.body, &["version", "sha256", "declaration"], &["asks"]);
        let version = self.text(block, "version", |text| Version::parse(text).ok());
        let sha256 = self.text(block, "sha256", hash);
        let declared = self.text(block, "declaration", hash);
        let mut asked = Vec::new();
        for inner in block.body.blocks_of("asks") {
            asked.push(self.asked(inner)?);
        }
        if declared? != digest(&asked) {
            self.problem(
                "What is written here is not what was agreed to: it was changed by hand. Remove the block and run \
                 `wardian init`.",
                &block.header_span,
            );
            return None;
        }
        Some(Agreement { version: version?, sha256: sha256?, asked })
    }

    fn text<T>(&mut self, block: &Block, name: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let attribute = block.body.attribute(name);
        let value = attribute.and_then(|attribute| attribute.expression.as_quoted()).and_then(read);
        if value.is_none() {
            let at = attribute.map_or(&block.header_span, |attribute| attribute.expression.span());
            self.problem(format!("\"{name}\" is missing or is none."), at);
        }
        value
    }

    fn asked(&mut self, block: &Block) -> Option<Asked> {
        let [label] = block.labels.as_slice() else {
            self.problem("Such a block has one label, the capability.", &block.header_span);
            return None;
        };
        let mut arguments = Vec::new();
        for attribute in &block.body.attributes {
            let Some(words) = words(attribute) else {
                self.problem("There is a text or a list of texts here.", attribute.expression.span());
                return None;
            };
            arguments.push((attribute.name.to_string(), words));
        }
        match Asked::new(&label.text, arguments, self.root_module) {
            Ok(asked) => Some(asked),
            Err(problem) => {
                self.problem(format!("No plugin can have asked for this: {problem}."), &block.header_span);
                None
            }
        }
    }
}

fn hash(text: &str) -> Option<String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| text.to_owned())
}

fn words(attribute: &Attribute) -> Option<Words> {
    if let Some(text) = attribute.expression.as_quoted() {
        return Some(Words::Text(text.to_owned()));
    }
    let items = attribute.expression.as_tuple_items()?;
    items.iter().map(|item| item.as_quoted().map(str::to_owned)).collect::<Option<_>>().map(Words::List)
}

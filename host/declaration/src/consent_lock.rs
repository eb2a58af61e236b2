//! The consent lock file: the declarations and publishers of plugins that a user has approved, and
//! the pins of modules.
//!
//! The file is stored next to the dependency lock file; Terraform ignores it. For each plugin with
//! a declaration, a `plugin` block contains the version, the component's hash, and the capability
//! requests. The declaration of a later version is compared with these requests. The file grants
//! nothing: only policies grant access.
//!
//! For each plugin whose release was signed, a `publisher` block contains the identity of the
//! publisher, with which the signature of a later release is compared. The blocks are separate
//! because a plugin without a declaration, such as a native plugin, can be signed.
//!
//! For each module package that was installed, a `module` block pins its content: the hash of its
//! tree and, for a repository, the commit. The address contains no credentials.
//!
//! Compatibility: an unknown argument or block causes an error. Therefore, no version of Wardian
//! drops an entry that a newer version has written. The format of a file without `publisher` blocks
//! is the same as in earlier versions. Each entry about a plugin contains a digest of the entry's
//! content, to detect manual changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use wardian_address::{ProviderAddress, Version};
use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_lang::{Attribute, Block, Body, parse_body, quote_string};
use wardian_module_source::{CommitId, ModulePin, ModulePins, TreeHash};
use wardian_policy::{
    CONSENT_LOCK_FILE_NAME, CapabilityRequest, IdentityPart, PublisherIdentity, RuleArgument,
};

use crate::declaration::{digest, text_digest};

const HEADER: &str = "# \"wardian init\" maintains this file. It records the approved declarations of \
    plugins;\n# policies grant the access. Keep this file under version control.\n";

/// The approved declarations and publishers of a configuration's plugins, and the pins of its modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovedCapabilities {
    /// One entry for each plugin with a declaration.
    pub plugins: BTreeMap<ProviderAddress, Approval>,
    /// One entry for each plugin whose release was signed. A later release must be signed by the
    /// same publisher.
    pub publishers: BTreeMap<ProviderAddress, PublisherIdentity>,
    /// One entry for each module package that was installed.
    pub modules: ModulePins,
}

/// The approved declaration of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub version: Version,
    /// SHA-256 of the component, in hexadecimal.
    pub sha256: String,
    /// The approved capability requests.
    pub requests: Vec<CapabilityRequest>,
}

impl ApprovedCapabilities {
    /// Parses the file. Relative directories are relative to `root_module`, which must be
    /// absolute.
    ///
    /// # Errors
    /// Returns all errors in the file, with their source spans.
    pub fn parse(text: &str, root_module: &Path) -> Result<Self, Diagnostics> {
        let (body, problems) = parse_body(&SourceFile::new(CONSENT_LOCK_FILE_NAME, text));
        if problems.has_errors() {
            return Err(problems);
        }
        let mut reader = Reader { root_module, problems: Diagnostics::new() };
        reader.reject_unknown(&body, &[], &["plugin", "publisher", "module"]);
        let mut plugins = BTreeMap::new();
        for block in body.blocks_of("plugin") {
            let Some(address) = reader.address(block) else { continue };
            let Some(approval) = reader.approval(block) else { continue };
            if plugins.insert(address, approval).is_some() {
                reader.problem("This plugin has two entries. Remove one of them.", &block.header_span);
            }
        }
        let mut publishers = BTreeMap::new();
        for block in body.blocks_of("publisher") {
            let Some(address) = reader.address(block) else { continue };
            let Some(publisher) = reader.publisher(block) else { continue };
            if publishers.insert(address, publisher).is_some() {
                reader.problem("This plugin has two publishers. Remove one of them.", &block.header_span);
            }
        }
        let mut modules = ModulePins::default();
        for block in body.blocks_of("module") {
            let Some(pin) = reader.module_pin(block) else { continue };
            if modules.insert(pin).is_some() {
                reader.problem("This module has two pins. Remove one of them.", &block.header_span);
            }
        }
        reader.problems.into_result(Self { plugins, publishers, modules })
    }

    /// Returns the content of the file.
    pub fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        for (address, approval) in &self.plugins {
            let _ = writeln!(text, "\nplugin \"{address}\" {{");
            let _ = writeln!(text, "  version     = \"{}\"", approval.version);
            let _ = writeln!(text, "  sha256      = \"{}\"", approval.sha256);
            let _ = writeln!(text, "  declaration = \"{}\"", digest(&approval.requests));
            for request in &approval.requests {
                text.push('\n');
                for line in request.block("asks").lines() {
                    let _ = writeln!(text, "  {line}");
                }
            }
            text.push_str("}\n");
        }
        for (address, publisher) in &self.publishers {
            let arguments = publisher.arguments();
            let _ = writeln!(text, "\npublisher \"{address}\" {{");
            for line in arguments.lines() {
                let _ = writeln!(text, "  {line}");
            }
            let _ = writeln!(text, "\n  digest = \"{}\"\n}}", text_digest(&arguments));
        }
        for pin in self.modules.iter() {
            let _ = writeln!(text, "\nmodule {{\n  package = {}", quote_string(&pin.package));
            if let Some(version) = &pin.version {
                let _ = writeln!(text, "  version = \"{version}\"");
            }
            let _ = writeln!(text, "  hash    = \"{}\"", pin.hash);
            if let Some(commit) = &pin.commit {
                let _ = writeln!(text, "  commit  = \"{commit}\"");
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
        self.problems.push(Diagnostic::error("Invalid consent lock file", detail).at(at.clone()));
    }

    fn reject_unknown(&mut self, body: &Body, arguments: &[&str], blocks: &[&str]) {
        for attribute in body.attributes.iter().filter(|one| !arguments.contains(&&*one.name)) {
            self.problem(
                format!("An argument \"{}\" is not supported here.", attribute.name),
                &attribute.name_span,
            );
        }
        for block in body.blocks.iter().filter(|one| !blocks.contains(&&*one.kind)) {
            self.problem(format!("A block \"{}\" is not supported here.", block.kind), &block.kind_span);
        }
    }

    fn address(&mut self, block: &Block) -> Option<ProviderAddress> {
        let address = match block.labels.as_slice() {
            [label] => ProviderAddress::parse_full(&label.text).ok(),
            _ => None,
        };
        if address.is_none() {
            self.problem(
                "The block must have one label: the full address of the plugin.",
                &block.header_span,
            );
        }
        address
    }

    fn approval(&mut self, block: &Block) -> Option<Approval> {
        self.reject_unknown(&block.body, &["version", "sha256", "declaration"], &["asks"]);
        let version = self.text(block, "version", |text| Version::parse(text).ok());
        let sha256 = self.text(block, "sha256", parse_hash);
        let declared = self.text(block, "declaration", parse_hash);
        let mut requests = Vec::new();
        for inner in block.body.blocks_of("asks") {
            requests.push(self.request(inner)?);
        }
        if declared? != digest(&requests) {
            self.manual_change(block);
            return None;
        }
        Some(Approval { version: version?, sha256: sha256?, requests })
    }

    fn publisher(&mut self, block: &Block) -> Option<PublisherIdentity> {
        let mut arguments = IdentityPart::ALL.map(IdentityPart::as_str).to_vec();
        arguments.push("digest");
        self.reject_unknown(&block.body, &arguments, &[]);
        let recorded = self.text(block, "digest", parse_hash);
        let mut parts = Vec::new();
        for part in IdentityPart::ALL {
            if block.body.attribute(part.as_str()).is_some() {
                parts.push((part, self.text(block, part.as_str(), |text| Some(text.to_owned()))?));
            }
        }
        let publisher = match PublisherIdentity::new(parts) {
            Ok(publisher) => publisher,
            Err(problem) => {
                self.problem(format!("This is not a valid publisher: {problem}."), &block.header_span);
                return None;
            }
        };
        if recorded? != text_digest(&publisher.arguments()) {
            self.manual_change(block);
            return None;
        }
        Some(publisher)
    }

    fn module_pin(&mut self, block: &Block) -> Option<ModulePin> {
        self.reject_unknown(&block.body, &["package", "version", "hash", "commit"], &[]);
        if !block.labels.is_empty() {
            self.problem("The block must have no label.", &block.header_span);
            return None;
        }
        let package = self.text(block, "package", |text| Some(text.to_owned()));
        let hash = self.text(block, "hash", TreeHash::parse);
        let version = match block.body.attribute("version") {
            Some(_) => Some(self.text(block, "version", |text| Version::parse(text).ok())?),
            None => None,
        };
        let commit = match block.body.attribute("commit") {
            Some(_) => Some(self.text(block, "commit", CommitId::parse)?),
            None => None,
        };
        Some(ModulePin { package: package?, version, hash: hash?, commit })
    }

    fn manual_change(&mut self, block: &Block) {
        self.problem(
            "This entry does not match its digest, so it was changed manually. Remove the block and run \
             `wardian init`.",
            &block.header_span,
        );
    }

    fn text<T>(&mut self, block: &Block, name: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let attribute = block.body.attribute(name);
        let value = attribute.and_then(|attribute| attribute.expression.as_quoted()).and_then(read);
        if value.is_none() {
            let at = attribute.map_or(&block.header_span, |attribute| attribute.expression.span());
            self.problem(format!("The argument \"{name}\" is missing or invalid."), at);
        }
        value
    }

    fn request(&mut self, block: &Block) -> Option<CapabilityRequest> {
        let [label] = block.labels.as_slice() else {
            self.problem("The block must have one label: the capability.", &block.header_span);
            return None;
        };
        let mut arguments = Vec::new();
        for attribute in &block.body.attributes {
            let Some(argument) = rule_argument(attribute) else {
                self.problem("The value must be a string or a list of strings.", attribute.expression.span());
                return None;
            };
            arguments.push((attribute.name.to_string(), argument));
        }
        match CapabilityRequest::new(&label.text, arguments, self.root_module) {
            Ok(request) => Some(request),
            Err(problem) => {
                self.problem(
                    format!("This is not a valid capability request: {problem}."),
                    &block.header_span,
                );
                None
            }
        }
    }
}

fn parse_hash(text: &str) -> Option<String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| text.to_owned())
}

fn rule_argument(attribute: &Attribute) -> Option<RuleArgument> {
    if let Some(text) = attribute.expression.as_quoted() {
        return Some(RuleArgument::String(text.to_owned()));
    }
    let items = attribute.expression.as_tuple_items()?;
    items
        .iter()
        .map(|item| item.as_quoted().map(str::to_owned))
        .collect::<Option<_>>()
        .map(RuleArgument::List)
}

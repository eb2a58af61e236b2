//! Parses `untrusted_backend` and `untrusted_key_provider` blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_lang::{Attribute, Block, Body};

use super::Reader;
use super::values::reject_control_characters;
use crate::glob::Glob;
use crate::level::Level;
use crate::untrusted_service::{ArgumentPattern, ArgumentPatterns, ServiceKind, ServiceRule};

/// Maximum nesting of arguments.
const MAX_DEPTH: usize = 4;

impl Reader<'_> {
    pub(super) fn services(&mut self, body: &Body) -> Vec<ServiceRule> {
        let mut rules = Vec::new();
        for kind in ServiceKind::ALL {
            for block in body.blocks_of(kind.block()) {
                rules.extend(self.service(kind, block));
            }
        }
        rules
    }

    fn service(&mut self, kind: ServiceKind, block: &Block) -> Option<ServiceRule> {
        if self.level != Level::Organisation {
            let detail = format!(
                "Only a policy of the organisation can contain \"{}\": the block allows untrusted configurations to \
                 use the operator's credentials for a service.",
                block.kind
            );
            self.problem("Block of the organisation", detail, &block.header_span);
            return None;
        }
        let [label] = block.labels.as_slice() else {
            let detail = format!("The block has one label: the type of a {}, such as \"s3\".", kind.noun());
            self.problem("Type required", detail, &block.header_span);
            return None;
        };
        let refused = match (kind, &*label.text) {
            (ServiceKind::Backend, "local") => {
                Some("Untrusted configurations read states in local files only in their own directory.")
            }
            (ServiceKind::KeyProvider, "external") => {
                Some("Untrusted configurations cannot start a program.")
            }
            _ => None,
        };
        if let Some(refused) = refused {
            self.problem("Service not permitted", refused, &label.span);
            return None;
        }
        let arguments: &[&str] = match kind {
            ServiceKind::Backend => &["workspaces", "reason"],
            ServiceKind::KeyProvider => &["reason"],
        };
        let noun = format!("An {} block", kind.block());
        self.reject_unknown(&block.body, &noun, arguments, &["require", "accept"]);
        let reason = match block.body.attribute("reason") {
            Some(attribute) => Some(self.one(attribute, "Invalid reason", |text| {
                reject_control_characters(text).map(Arc::<str>::from)
            })?),
            None => None,
        };
        let workspaces = match block.body.attribute("workspaces") {
            Some(attribute) => Some(self.each(attribute, "Invalid workspace", Glob::parse)?),
            None => None,
        };
        let (mut required, mut accepted) = (BTreeMap::new(), BTreeMap::new());
        for inner in &block.body.blocks {
            match &*inner.kind {
                "require" => self.argument_patterns(&inner.body, "", 0, &mut required),
                "accept" => self.argument_patterns(&inner.body, "", 0, &mut accepted),
                _ => {}
            }
        }
        if let Some(name) = required.keys().find(|name| accepted.contains_key(*name)) {
            let detail =
                format!("The argument \"{name}\" is both required and accepted. Remove one of them.");
            self.problem("Duplicate argument", detail, &block.header_span);
        }
        let location = self.lines.location(&block.kind_span);
        Some(ServiceRule {
            kind,
            type_name: label.text.as_str().into(),
            required,
            accepted,
            workspaces,
            location,
            reason,
        })
    }

    fn argument_patterns(
        &mut self,
        body: &Body,
        prefix: &str,
        depth: usize,
        patterns: &mut ArgumentPatterns,
    ) {
        for attribute in &body.attributes {
            let name = format!("{prefix}{}", attribute.name);
            let Some(found) = self.patterns_of(&name, attribute) else { continue };
            if patterns.insert(name.clone(), found).is_some() {
                let detail = format!("The argument \"{name}\" has patterns already. Write one list.");
                self.problem("Duplicate argument", detail, &attribute.name_span);
            }
        }
        for block in &body.blocks {
            if depth == MAX_DEPTH || !block.labels.is_empty() {
                let detail = "A block of nested arguments has no labels, and cannot be nested deeply.";
                self.problem("Invalid block of arguments", detail, &block.header_span);
                continue;
            }
            let prefix = format!("{prefix}{}.", block.kind);
            self.argument_patterns(&block.body, &prefix, depth + 1, patterns);
        }
    }

    fn patterns_of(&mut self, name: &str, attribute: &Attribute) -> Option<Vec<ArgumentPattern>> {
        const SUMMARY: &str = "Invalid pattern";
        let parse = |text: &str| ArgumentPattern::parse(name, text);
        if attribute.expression.as_quoted().is_some() {
            return self.one(attribute, SUMMARY, parse).map(|one| vec![one]);
        }
        self.each(attribute, SUMMARY, parse)
    }
}

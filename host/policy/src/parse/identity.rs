//! Parses `require_signature` blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_lang::{Attribute, Block};

use super::Reader;
use super::values::reject_control_characters;
use crate::glob::Glob;
use crate::identity_requirement::IdentityRequirement;
use crate::level::Level;
use crate::publisher::IdentityPart;

/// The name of the block.
pub(super) const REQUIRE_SIGNATURE: &str = "require_signature";

impl Reader<'_> {
    pub(super) fn identity_requirement(&mut self, block: &Block) -> Option<IdentityRequirement> {
        let mut known = IdentityPart::ALL.map(IdentityPart::as_str).to_vec();
        known.push("reason");
        self.reject_unknown(&block.body, "A require_signature block", &known, &[]);
        if self.level == Level::RootModule {
            self.problem(
                "Signature requirement in the root module's policy",
                "This file is part of the configuration, and everyone who can change the configuration can \
                 change it. Require signatures in the user's policy or in the organisation's policy. Without \
                 a requirement, the consent lock file records the publisher of a signed plugin.",
                &block.header_span,
            );
            return None;
        }
        let pattern = self.plugin_pattern(block);
        let reason = match block.body.attribute("reason") {
            Some(attribute) => Some(self.one(attribute, "Invalid reason", |text| {
                reject_control_characters(text).map(Arc::<str>::from)
            })?),
            None => None,
        };
        let mut parts = BTreeMap::new();
        for part in IdentityPart::ALL {
            if let Some(attribute) = block.body.attribute(part.as_str()) {
                parts.insert(part, self.identity_pattern(part, attribute)?);
            }
        }
        let of_repository = parts.keys().any(|part| part.belongs_to_repository());
        if let Some(subject) = block.body.attribute(IdentityPart::Subject.as_str()).filter(|_| of_repository)
        {
            let detail = "A publisher has either a repository or a subject, so no signature meets this \
                          requirement. Remove the subject, or the arguments about the repository.";
            self.problem("Contradictory requirement", detail, &subject.name_span);
            return None;
        }
        // A name has a meaning only together with its issuer: another provider may assign it to
        // another person.
        if !parts.is_empty() && !parts.contains_key(&IdentityPart::Issuer) {
            let example = "it identifies the OpenID Connect provider that confirms the other arguments, for \
                           example issuer = \"https://token.actions.githubusercontent.com\"";
            self.missing(IdentityPart::Issuer.as_str(), block, example);
            return None;
        }
        let location = self.lines.location(&block.kind_span);
        Some(IdentityRequirement { pattern: pattern?, location, reason, parts })
    }

    /// Parses a pattern. Issuers and identifiers are compared exactly.
    fn identity_pattern(&mut self, part: IdentityPart, attribute: &Attribute) -> Option<Glob> {
        let accepts_wildcards =
            matches!(part, IdentityPart::Repository | IdentityPart::Workflow | IdentityPart::Subject);
        self.one(attribute, "Invalid identity", |text| {
            let pattern = Glob::parse(text).map_err(|problem| problem.to_string())?;
            if pattern.literal().is_none() && !accepts_wildcards {
                return Err(format!("wildcards are not supported in \"{part}\""));
            }
            Ok(pattern)
        })
    }
}

//! The `repository_template` of an `oci_mirror` block, which maps provider addresses to repositories.
//!
//! A template is text with the interpolations `${hostname}`, `${namespace}` and `${type}`. `$${`
//! and `%%{` are the literal characters `${` and `%{`. Other expressions and template directives
//! are rejected.

use std::collections::BTreeSet;
use std::fmt;

use url::Host;
use wardian_address::ProviderAddress;

use crate::reference::{ReferenceError, Repository};

/// A component of a provider address that a template can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressPart {
    Hostname,
    Namespace,
    Type,
}

impl AddressPart {
    const ALL: [Self; 3] = [Self::Hostname, Self::Namespace, Self::Type];

    fn name(self) -> &'static str {
        match self {
            Self::Hostname => "hostname",
            Self::Namespace => "namespace",
            Self::Type => "type",
        }
    }
}

impl fmt::Display for AddressPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A parsed `repository_template`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryTemplate {
    text: String,
    segments: Vec<TemplateSegment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplateSegment {
    Literal(String),
    Part(AddressPart),
}

impl RepositoryTemplate {
    /// Parses a template. `fixed` contains the address components for which the block's `include`
    /// argument selects exactly one value; the template must contain all other components, which
    /// ensures that two providers never have the same repository.
    ///
    /// # Errors
    /// Returns an error if the template has a different form, lacks a component, or cannot result
    /// in a repository.
    pub fn parse(text: &str, fixed: &BTreeSet<AddressPart>) -> Result<Self, TemplateError> {
        let template = Self { text: text.to_owned(), segments: parse_segments(text)? };
        for part in AddressPart::ALL {
            if !fixed.contains(&part) && !template.segments.contains(&TemplateSegment::Part(part)) {
                return Err(TemplateError::MissingPart { part });
            }
        }
        template.evaluate("example.com", "example-namespace", "example-type")?;
        Ok(template)
    }

    /// Returns the repository of a provider.
    ///
    /// # Errors
    /// Returns an error if the result is not a repository, for example because the registry's host
    /// has a port, which the path of a repository cannot contain.
    pub fn repository(&self, address: &ProviderAddress) -> Result<Repository, TemplateError> {
        let hostname = ascii_hostname(address.hostname());
        self.evaluate(&hostname, address.namespace(), address.type_name())
    }

    fn evaluate(
        &self,
        hostname: &str,
        namespace: &str,
        type_name: &str,
    ) -> Result<Repository, TemplateError> {
        let text: String = self
            .segments
            .iter()
            .map(|segment| match segment {
                TemplateSegment::Literal(text) => text.as_str(),
                TemplateSegment::Part(AddressPart::Hostname) => hostname,
                TemplateSegment::Part(AddressPart::Namespace) => namespace,
                TemplateSegment::Part(AddressPart::Type) => type_name,
            })
            .collect();
        Repository::parse(&text).map_err(|source| TemplateError::Result {
            template: self.text.clone(),
            result: text,
            source,
        })
    }
}

impl fmt::Display for RepositoryTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Returns the ASCII form of a host. Addresses display the Unicode form.
fn ascii_hostname(hostname: &str) -> String {
    let (name, port) = hostname.split_once(':').map_or((hostname, None), |(name, port)| (name, Some(port)));
    let ascii = Host::parse(name).map_or_else(|_| name.to_owned(), |host| host.to_string());
    match port {
        Some(port) => format!("{ascii}:{port}"),
        None => ascii,
    }
}

fn parse_segments(text: &str) -> Result<Vec<TemplateSegment>, TemplateError> {
    let mut segments = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("$${").or_else(|| rest.strip_prefix("%%{")) {
            literal.push(first);
            literal.push('{');
            rest = after;
        } else if rest.starts_with("%{") {
            return Err(TemplateError::Directive);
        } else if let Some(after) = rest.strip_prefix("${") {
            let (expression, after) = after.split_once('}').ok_or(TemplateError::Unclosed)?;
            let name = expression.trim_matches([' ', '\t', '\n', '\r']);
            let part = AddressPart::ALL.into_iter().find(|part| part.name() == name);
            let part = part.ok_or_else(|| TemplateError::Expression { expression: name.to_owned() })?;
            if !literal.is_empty() {
                segments.push(TemplateSegment::Literal(std::mem::take(&mut literal)));
            }
            segments.push(TemplateSegment::Part(part));
            rest = after;
        } else {
            literal.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    if !literal.is_empty() {
        segments.push(TemplateSegment::Literal(literal));
    }
    Ok(segments)
}

/// A template that does not map provider addresses to repositories.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    #[error("an interpolation in the repository template is not closed; a \"}}\" is missing")]
    Unclosed,
    #[error(
        "the repository template contains a directive (\"%{{\"); only ${{hostname}}, ${{namespace}} and ${{type}} are supported"
    )]
    Directive,
    #[error(
        "the repository template contains ${{{expression}}}; only ${{hostname}}, ${{namespace}} and ${{type}} are supported"
    )]
    Expression { expression: String },
    #[error(
        "the repository template must contain ${{{part}}}, unless the \"include\" argument selects exactly one {part}"
    )]
    MissingPart { part: AddressPart },
    #[error("the repository template {template:?} results in {result:?}: {source}")]
    Result { template: String, result: String, source: ReferenceError },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn repository(template: &str, fixed: &[AddressPart], address: &str) -> Result<String, TemplateError> {
        let template = RepositoryTemplate::parse(template, &fixed.iter().copied().collect())?;
        Ok(template.repository(&ProviderAddress::parse(address).unwrap())?.to_string())
    }

    #[test]
    fn template_variables_are_replaced_with_address_components() {
        let fixed = [AddressPart::Hostname];
        assert_eq!(
            repository("ghcr.io/acme/${namespace}-${ type }", &fixed, "example.com/a/b").unwrap(),
            "ghcr.io/acme/a-b"
        );
        assert_eq!(
            repository("h:5000/${hostname}/${namespace}/${type}", &[], "Bücher.example/a/b").unwrap(),
            "h:5000/xn--bcher-kva.example/a/b"
        );
        assert_eq!(
            repository("${hostname}/opentofu/${namespace}/${type}", &[], "example.com:8443/a/b").unwrap(),
            "example.com:8443/opentofu/a/b"
        );
    }

    #[test]
    fn template_must_distinguish_providers() {
        let error = repository("h/${namespace}/${type}", &[], "a/b").unwrap_err();
        assert_eq!(error, TemplateError::MissingPart { part: AddressPart::Hostname });
        assert!(error.to_string().contains("${hostname}"), "{error}");
        assert!(repository("h/x", &AddressPart::ALL, "a/b").is_ok());
    }

    #[test]
    fn invalid_templates_are_rejected() {
        let all = AddressPart::ALL;
        for (template, expected) in [
            ("h/${name}", "${name}"),
            ("h/${upper(type)}", "${upper(type)}"),
            ("h/${type", "not closed"),
            ("h/%{ if true }x%{ endif }", "directive"),
            ("h/$${type}", "results in \"h/${type}\""),
            ("h", "must have the form"),
            ("h/${type}:1.0", "results in"),
            ("", "must have the form"),
        ] {
            let error = repository(template, &all, "a/b").unwrap_err().to_string();
            assert!(error.contains(expected), "{template}: {error}");
        }
        let error =
            repository("h/${hostname}/${namespace}/${type}", &[], "example.com:8443/a/b").unwrap_err();
        assert!(error.to_string().contains("example.com:8443"), "{error}");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[h/${}%a-z ]{0,30}") {
            let _ = RepositoryTemplate::parse(&text, &AddressPart::ALL.into_iter().collect());
        }
    }
}

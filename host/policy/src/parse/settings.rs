//! Parses the settings of a plugin: `native`, `untrusted`, `deterministic`, and the blocks `limits` and
//! `credential`.

use std::path::Path;
use std::time::Duration;

use wardian_access::{EnvironmentName, Scheme, is_token_byte};
use wardian_lang::{Attribute, Block, Body};

use super::Reader;
use super::values::reject_control_characters;
use crate::credential::{CredentialBinding, CredentialSource};
use crate::level::Level;
use crate::rule::{Effect, Ports};
use crate::settings::{
    EvaluationSettings, NativePlugins, PluginLimits, PolicySetting, Settings, UntrustedNative,
};
use crate::units::{parse_duration, parse_size};

/// Headers that determine the destination or the framing of a request.
const FRAMING_HEADERS: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Maximum length of the prefix of a secret.
const MAX_PREFIX_LENGTH: usize = 256;

impl Reader<'_> {
    pub(super) fn plugin_settings(&mut self, body: &Body, settings: &mut Settings) {
        if let Some(attribute) = body.attribute("native") {
            let words = NativePlugins::ALL.map(|native| (native.as_str(), native));
            let value = self.keyword(attribute, &words);
            settings.native = self.set(value, attribute);
        }
        if let Some(attribute) = body.attribute("untrusted") {
            let words = UntrustedNative::ALL.map(|one| (one.as_str(), one));
            let value = self.keyword(attribute, &words);
            settings.untrusted = self.set(value, attribute);
            if self.level != Level::Organisation {
                self.problem(
                    "Setting of the organisation",
                    "Only a policy of the organisation can contain \"untrusted\": this setting allows \
                     untrusted configurations to use the credentials of a plugin.",
                    &attribute.name_span,
                );
            }
        }
        if let Some(attribute) = body.attribute("deterministic") {
            let value = self.boolean(attribute);
            settings.deterministic = self.set(value, attribute);
        }
    }

    fn set<T>(&self, value: Option<T>, attribute: &Attribute) -> Option<PolicySetting<T>> {
        value.map(|value| PolicySetting { value, location: self.lines.location(&attribute.name_span) })
    }

    pub(super) fn limits(&mut self, block: &Block, limits: &mut PluginLimits) {
        self.reject_labels(block);
        self.reject_unknown(&block.body, "A limits block", &PluginLimits::NAMES, &[]);
        for attribute in &block.body.attributes {
            match &*attribute.name {
                "memory" => limits.memory = self.size(attribute, MinimumSize::One),
                "cpu_time" => limits.cpu_time = self.time(attribute),
                "wall_time" => limits.wall_time = self.time(attribute),
                "concurrent_requests" => limits.concurrent_requests = self.number(attribute),
                "response_size" => limits.response_size = self.size(attribute, MinimumSize::One),
                "bytes_written" => limits.bytes_written = self.size(attribute, MinimumSize::Zero),
                "compile_time" => limits.compile_time = self.time(attribute),
                "compile_memory" => limits.compile_memory = self.size(attribute, MinimumSize::One),
                _ => {}
            }
        }
    }

    /// Parses the limits of expressions. If several blocks set a limit, the smallest value applies.
    pub(super) fn evaluation(&mut self, body: &Body) -> EvaluationSettings {
        let mut all = EvaluationSettings::default();
        for block in body.blocks_of("evaluation") {
            self.reject_labels(block);
            self.reject_unknown(&block.body, "An evaluation block", &EvaluationSettings::NAMES, &[]);
            let mut settings = EvaluationSettings::default();
            for attribute in &block.body.attributes {
                match &*attribute.name {
                    "expression_size" => {
                        settings.expression_size = self.size(attribute, MinimumSize::One);
                    }
                    "total_size" => settings.total_size = self.size(attribute, MinimumSize::One),
                    _ => {}
                }
            }
            all.narrow_to(&settings);
        }
        all
    }

    fn size(&mut self, attribute: &Attribute, least: MinimumSize) -> Option<PolicySetting<u64>> {
        let value = self.one(attribute, "Invalid size", |text| match parse_size(text) {
            Ok(0) if least == MinimumSize::One => Err("it must be greater than zero".to_owned()),
            Ok(bytes) => Ok(bytes),
            Err(problem) => Err(problem.to_string()),
        });
        self.set(value, attribute)
    }

    fn time(&mut self, attribute: &Attribute) -> Option<PolicySetting<Duration>> {
        let value = self.one(attribute, "Invalid time", |text| match parse_duration(text) {
            Ok(Duration::ZERO) => Err("it must be greater than zero".to_owned()),
            Ok(duration) => Ok(duration),
            Err(problem) => Err(problem.to_string()),
        });
        self.set(value, attribute)
    }

    fn number(&mut self, attribute: &Attribute) -> Option<PolicySetting<u64>> {
        let text = attribute.expression.span().text();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = text.parse().ok().filter(|number| is_number && *number > 0);
        if value.is_none() {
            let detail = format!("\"{}\" must be an integer of at least 1, without quotes.", attribute.name);
            self.problem("Invalid number", detail, attribute.expression.span());
        }
        self.set(value, attribute)
    }

    fn reject_labels(&mut self, block: &Block) {
        if let Some(label) = block.labels.first() {
            let detail = format!("A {} block cannot have labels.", block.kind);
            self.problem("Unexpected label", detail, &label.span);
        }
    }

    pub(super) fn credential(&mut self, block: &Block) -> Option<CredentialBinding> {
        self.reject_labels(block);
        let known = ["header", "prefix", "environment", "file", "hosts", "schemes", "ports"];
        self.reject_unknown(&block.body, "A credential block", &known, &[]);
        if self.level == Level::RootModule {
            self.problem(
                "Credential in the root module's policy",
                "This file is part of the configuration, and everyone who can change it could send a \
                 secret anywhere. Bind credentials in the user's policy or in the \
                 organisation's policy.",
                &block.header_span,
            );
            return None;
        }
        let header =
            self.required(block, "header", "header = \"Authorization\"").and_then(|one| self.header(one));
        let prefix = match block.body.attribute("prefix") {
            Some(attribute) => self.one(attribute, "Invalid prefix", prefix),
            None => Some(Box::default()),
        };
        let source = self.source(block);
        let schemes = self.schemes(block, &[Scheme::Https, Scheme::Http], &[Scheme::Https])?;
        let destination = self.destination(block, Effect::Allow, Ports::SchemeDefault)?;
        if destination.hosts.as_ref().is_some_and(|hosts| hosts.patterns().any(|one| one.is_every_name())) {
            let at = block.body.attribute("hosts").map_or(&block.header_span, |one| one.expression.span());
            let detail = "\"**\" matches every host on the internet. List the hosts for which the credential \
                is intended.";
            self.problem("Invalid host", detail, at);
            return None;
        }
        Some(CredentialBinding {
            header: header?,
            prefix: prefix?,
            source: source?,
            location: self.lines.location(&block.kind_span),
            schemes,
            destination,
        })
    }

    fn header(&mut self, attribute: &Attribute) -> Option<Box<str>> {
        self.one(attribute, "Invalid header", |text| {
            let name = text.to_ascii_lowercase();
            if name.is_empty() || !name.bytes().all(is_token_byte) {
                Err("it is not a header name")
            } else if FRAMING_HEADERS.contains(&&*name) {
                Err("the host sets this header, so it cannot contain a credential")
            } else {
                Ok(name.into())
            }
        })
    }

    fn source(&mut self, block: &Block) -> Option<CredentialSource> {
        match (block.body.attribute("environment"), block.body.attribute("file")) {
            (Some(attribute), None) => self
                .one(attribute, "Invalid variable", |text| {
                    reject_control_characters(text)?;
                    EnvironmentName::new(text)
                        .map(|name| name.as_str().into())
                        .map_err(|error| error.to_string())
                })
                .map(CredentialSource::Environment),
            (None, Some(attribute)) => self
                .one(attribute, "Invalid file", |text| {
                    let path = Path::new(reject_control_characters(text)?);
                    if path.is_absolute() { Ok(path.to_owned()) } else { Err("use an absolute path") }
                })
                .map(CredentialSource::File),
            (None, None) => {
                self.missing(
                    "environment",
                    block,
                    "name the source of the secret, environment = \"...\" or file = \"...\"",
                );
                None
            }
            (Some(_), Some(second)) => {
                let detail = "A credential has either an environment variable or a file. Remove one of \
                    them.";
                self.problem("Two sources of a credential", detail, &second.name_span);
                None
            }
        }
    }
}

/// The smallest valid value of a size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MinimumSize {
    Zero,
    One,
}

fn prefix(text: &str) -> Result<Box<str>, &'static str> {
    if text.len() > MAX_PREFIX_LENGTH {
        Err("it is too long")
    } else if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        Ok(text.into())
    } else {
        Err("a header can contain only printable ASCII characters")
    }
}

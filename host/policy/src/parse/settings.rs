//! What is set for a plugin: `native`, `deterministic`, and the blocks `limits` and
//! `credential`.

use std::path::Path;
use std::time::Duration;

use wardian_lang::{Attribute, Block, Body};

use super::Reader;
use super::values::without_control;
use crate::credential::{CredentialBinding, CredentialSource};
use crate::policy::Level;
use crate::request::{EnvironmentName, Scheme, is_token_byte};
use crate::rule::{Effect, Ports};
use crate::settings::{Limits, NativePlugins, Set, Settings};
use crate::units::{size, time};

/// Headers that say where a request goes or where it ends.
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

/// The longest text before a secret.
const MOST_PREFIX: usize = 256;

impl Reader<'_> {
    pub(super) fn plugin_settings(&mut self, body: &Body, settings: &mut Settings) {
        if let Some(attribute) = body.attribute("native") {
            let words = NativePlugins::ALL.map(|native| (native.word(), native));
            let value = self.word(attribute, &words);
            settings.native = self.set(value, attribute);
        }
        if let Some(attribute) = body.attribute("deterministic") {
            let value = self.truth(attribute);
            settings.deterministic = self.set(value, attribute);
        }
    }

    fn set<T>(&self, value: Option<T>, attribute: &Attribute) -> Option<Set<T>> {
        value.map(|value| Set { value, place: self.lines.place(&attribute.name_span) })
    }

    pub(super) fn limits(&mut self, block: &Block, limits: &mut Limits) {
        self.refuse_labels(block);
        self.refuse_unknown(&block.body, "A limits block", &Limits::NAMES, &[]);
        for attribute in &block.body.attributes {
            match &*attribute.name {
                "memory" => limits.memory = self.size(attribute, Least::One),
                "cpu_time" => limits.cpu_time = self.time(attribute),
                "wall_time" => limits.wall_time = self.time(attribute),
                "concurrent_requests" => limits.concurrent_requests = self.number(attribute),
                "response_size" => limits.response_size = self.size(attribute, Least::One),
                "bytes_written" => limits.bytes_written = self.size(attribute, Least::Zero),
                _ => {}
            }
        }
    }

    fn size(&mut self, attribute: &Attribute, least: Least) -> Option<Set<u64>> {
        let value = self.one(attribute, "Invalid size", |text| match size(text) {
            Ok(0) if least == Least::One => Err("nothing works with none".to_owned()),
            Ok(bytes) => Ok(bytes),
            Err(problem) => Err(problem.to_string()),
        });
        self.set(value, attribute)
    }

    fn time(&mut self, attribute: &Attribute) -> Option<Set<Duration>> {
        let value = self.one(attribute, "Invalid time", |text| match time(text) {
            Ok(Duration::ZERO) => Err("nothing is done in no time".to_owned()),
            Ok(duration) => Ok(duration),
            Err(problem) => Err(problem.to_string()),
        });
        self.set(value, attribute)
    }

    fn number(&mut self, attribute: &Attribute) -> Option<Set<u64>> {
        let text = attribute.expression.span().text();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = text.parse().ok().filter(|number| is_number && *number > 0);
        if value.is_none() {
            let detail = format!("\"{}\" is a whole number from 1 on, without quotes.", attribute.name);
            self.problem("Invalid number", detail, attribute.expression.span());
        }
        self.set(value, attribute)
    }

    fn refuse_labels(&mut self, block: &Block) {
        if let Some(label) = block.labels.first() {
            let detail = format!("A {} block has no label.", block.kind);
            self.problem("Unexpected label", detail, &label.span);
        }
    }

    pub(super) fn credential(&mut self, block: &Block) -> Option<CredentialBinding> {
        self.refuse_labels(block);
        let known = ["header", "prefix", "environment", "file", "hosts", "schemes", "ports"];
        self.refuse_unknown(&block.body, "A credential block", &known, &[]);
        if self.level == Level::RootModule {
            self.problem(
                "Credential in the root module's policy",
                "This file comes with the configuration, and whoever changes that could have a secret sent anywhere. \
                 Bind credentials in your own policy or in the organisation's.",
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
        let destination = self.destination(block, Effect::Allow, Ports::OfScheme)?;
        if destination.hosts.as_ref().is_some_and(|hosts| hosts.patterns().any(|one| one.is_every_name())) {
            let at = block.body.attribute("hosts").map_or(&block.header_span, |one| one.expression.span());
            let detail = "A credential is for some hosts, and \"**\" is the whole internet. Name them.";
            self.problem("Invalid host", detail, at);
            return None;
        }
        Some(CredentialBinding {
            header: header?,
            prefix: prefix?,
            source: source?,
            place: self.lines.place(&block.kind_span),
            schemes,
            destination,
        })
    }

    fn header(&mut self, attribute: &Attribute) -> Option<Box<str>> {
        self.one(attribute, "Invalid header", |text| {
            let name = text.to_ascii_lowercase();
            if name.is_empty() || !name.bytes().all(is_token_byte) {
                Err("it is no name of a header")
            } else if FRAMING_HEADERS.contains(&&*name) {
                Err("that header is the host's own, and no place for a credential")
            } else {
                Ok(name.into())
            }
        })
    }

    fn source(&mut self, block: &Block) -> Option<CredentialSource> {
        match (block.body.attribute("environment"), block.body.attribute("file")) {
            (Some(attribute), None) => self
                .one(attribute, "Invalid variable", |text| {
                    without_control(text)?;
                    EnvironmentName::new(text).map(|name| name.0).map_err(|error| error.to_string())
                })
                .map(CredentialSource::Environment),
            (None, Some(attribute)) => self
                .one(attribute, "Invalid file", |text| {
                    let path = Path::new(without_control(text)?);
                    if path.is_absolute() { Ok(path.to_owned()) } else { Err("write the absolute path") }
                })
                .map(CredentialSource::File),
            (None, None) => {
                self.missing(
                    "environment",
                    block,
                    "say where the secret is, environment = \"...\" or file = \"...\"",
                );
                None
            }
            (Some(_), Some(second)) => {
                let detail = "A secret is in a variable or in a file. Remove one of both.";
                self.problem("Two sources of a credential", detail, &second.name_span);
                None
            }
        }
    }
}

/// The least that a size may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Least {
    Zero,
    One,
}

fn prefix(text: &str) -> Result<Box<str>, &'static str> {
    if text.len() > MOST_PREFIX {
        Err("it is too long")
    } else if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        Ok(text.into())
    } else {
        Err("a header takes letters, digits and signs of ASCII")
    }
}

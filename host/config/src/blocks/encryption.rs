//! Reads `encryption` blocks, and the same content in the variable `TF_ENCRYPTION`.

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_lang::{Block, Body, Expression, Label, parse_body, parse_json_body};
use wardian_value::Str;

use crate::content::{Content, Shape, labels, one_too_many};
use crate::names::duplicate;
use crate::walk::check_body;

/// The name of the variable in error messages.
const VARIABLE: &str = "TF_ENCRYPTION";

/// The configuration of the encryption of states and plans.
#[derive(Clone, Debug, Default)]
pub struct EncryptionConfig {
    pub key_providers: Vec<KeyProviderBlock>,
    pub methods: Vec<EncryptionMethod>,
    pub state: Option<EncryptionTarget>,
    pub plan: Option<EncryptionTarget>,
    /// The target of all states that `terraform_remote_state` reads, except for those in `remote_states`.
    pub remote_state_default: Option<EncryptionTarget>,
    /// The targets of single data sources, by name, such as `network`, `module.network` or `network[0]`.
    pub remote_states: Vec<(Str, EncryptionTarget)>,
}

/// The source of a part of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionOrigin {
    /// The `encryption` block, even if the variable overrides some of its arguments.
    Block,
    /// Only the variable `TF_ENCRYPTION`.
    Environment,
}

/// A `key_provider` block.
#[derive(Clone, Debug)]
pub struct KeyProviderBlock {
    pub type_name: Str,
    pub name: Str,
    /// The name under which the provider's metadata is stored, if it is not the provider's address.
    pub metadata_alias: Option<String>,
    pub body: Body,
    pub origin: EncryptionOrigin,
    /// The span of the header.
    pub span: Span,
}

/// A `method` block.
#[derive(Clone, Debug)]
pub struct EncryptionMethod {
    pub type_name: Str,
    pub name: Str,
    pub body: Body,
    pub origin: EncryptionOrigin,
    /// The span of the header.
    pub span: Span,
}

/// A block that selects a method: `state`, `plan`, `default` or `remote_state_data_source`.
#[derive(Clone, Debug)]
pub struct EncryptionTarget {
    /// True if the content must be encrypted.
    pub is_enforced: bool,
    /// A reference to a method.
    pub method: Option<Expression>,
    /// The target whose method is used for reading if this target's method fails.
    pub fallback: Option<Box<Self>>,
    /// The span of the header.
    pub span: Span,
}

const KEY_PROVIDER: &str = "key_provider";
const METHOD: &str = "method";
const REMOTE: &str = "remote_state_data_sources";
const REMOTE_STATE: &str = "remote_state_data_source";

impl EncryptionConfig {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        labels(block, [], problems)?;
        Some(Self::from_body(&block.body, EncryptionOrigin::Block, problems))
    }

    /// Parses the value of the variable `TF_ENCRYPTION`, which is JSON if it begins with a brace.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid configuration.
    pub fn from_variable(text: &str) -> Result<Self, Diagnostics> {
        let file = SourceFile::new(VARIABLE, text.to_owned());
        let (body, mut problems) =
            if text.trim_start().starts_with('{') { parse_json_body(&file) } else { parse_body(&file) };
        let encryption = Self::from_body(&body, EncryptionOrigin::Environment, &mut problems);
        problems.into_result(encryption)
    }

    fn from_body(body: &Body, origin: EncryptionOrigin, problems: &mut Diagnostics) -> Self {
        const SHAPE: Shape = Shape {
            noun: "an encryption configuration",
            required: &[],
            optional: &[],
            blocks: &[KEY_PROVIDER, METHOD, "state", "plan", REMOTE],
        };
        const REMOTE_SHAPE: Shape = Shape {
            noun: "a remote_state_data_sources block",
            required: &[],
            optional: &[],
            blocks: &["default", REMOTE_STATE],
        };
        let content = SHAPE.read(body, problems);
        let mut encryption = Self::default();
        for block in &content.blocks {
            match &*block.kind {
                KEY_PROVIDER => {
                    let Some(named) = names(block, "key provider", problems) else { continue };
                    let provider = KeyProviderBlock::read(block, named, origin, problems);
                    encryption.add_key_provider(provider, problems);
                }
                METHOD => {
                    let Some((type_name, name)) = names(block, "encryption method", problems) else {
                        continue;
                    };
                    check_body(&block.body, problems);
                    let span = block.header_span.clone();
                    let body = block.body.clone();
                    encryption.add_method(EncryptionMethod { type_name, name, body, origin, span }, problems);
                }
                _ => {}
            }
        }
        encryption.state = target(&content, "state", true, problems);
        encryption.plan = target(&content, "plan", true, problems);
        if let Some(block) = content.only_block(REMOTE, "Duplicate remote_state_data_sources block", problems)
        {
            let content = REMOTE_SHAPE.read(&block.body, problems);
            encryption.remote_state_default = target(&content, "default", false, problems);
            for block in content.blocks.iter().filter(|block| &*block.kind == REMOTE_STATE) {
                let Some([label]) = labels(block, ["name"], problems) else { continue };
                let target = EncryptionTarget::read(block, false, problems);
                match encryption.remote_states.iter().find(|(name, _)| *name == label.text) {
                    Some((name, first)) => problems.push(duplicate(
                        "Duplicate remote_data_source".to_owned(),
                        &format!("The remote_state_data_source \"{name}\""),
                        &first.span,
                        &target.span,
                    )),
                    None => encryption.remote_states.push((label.text.clone(), target)),
                }
            }
        }
        encryption
    }

    fn add_key_provider(&mut self, provider: KeyProviderBlock, problems: &mut Diagnostics) {
        match self.key_provider(&provider.type_name, &provider.name) {
            Some(first) => {
                let what = format!("key_provider.{}.{}", first.type_name, first.name);
                let summary = "Duplicate key_provider".to_owned();
                problems.push(duplicate(summary, &what, &first.span, &provider.span));
            }
            None => self.key_providers.push(provider),
        }
    }

    fn add_method(&mut self, method: EncryptionMethod, problems: &mut Diagnostics) {
        match self.method(&method.type_name, &method.name) {
            Some(first) => {
                let what = format!("method.{}.{}", first.type_name, first.name);
                problems.push(duplicate("Duplicate method".to_owned(), &what, &first.span, &method.span));
            }
            None => self.methods.push(method),
        }
    }

    pub fn key_provider(&self, type_name: &str, name: &str) -> Option<&KeyProviderBlock> {
        self.key_providers
            .iter()
            .find(|provider| &*provider.type_name == type_name && &*provider.name == name)
    }

    pub fn method(&self, type_name: &str, name: &str) -> Option<&EncryptionMethod> {
        self.methods.iter().find(|method| &*method.type_name == type_name && &*method.name == name)
    }

    /// Returns this configuration with the content of another one, which has precedence.
    #[must_use]
    pub fn overridden_by(mut self, over: Self) -> Self {
        for provider in over.key_providers {
            let known = self
                .key_providers
                .iter_mut()
                .find(|known| known.type_name == provider.type_name && known.name == provider.name);
            match known {
                Some(known) => known.body = known.body.clone().overridden_by(provider.body),
                None => self.key_providers.push(provider),
            }
        }
        for method in over.methods {
            let known = self
                .methods
                .iter_mut()
                .find(|known| known.type_name == method.type_name && known.name == method.name);
            match known {
                Some(known) => known.body = known.body.clone().overridden_by(method.body),
                None => self.methods.push(method),
            }
        }
        self.state = merged(self.state, over.state);
        self.plan = merged(self.plan, over.plan);
        self.remote_state_default = merged(self.remote_state_default, over.remote_state_default);
        for (name, target) in over.remote_states {
            match self.remote_states.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = known.clone().overridden_by(target),
                None => self.remote_states.push((name, target)),
            }
        }
        self
    }
}

fn merged(base: Option<EncryptionTarget>, over: Option<EncryptionTarget>) -> Option<EncryptionTarget> {
    match (base, over) {
        (Some(base), Some(over)) => Some(base.overridden_by(over)),
        (base, over) => over.or(base),
    }
}

impl KeyProviderBlock {
    fn read(
        block: &Block,
        (type_name, name): (Str, Str),
        origin: EncryptionOrigin,
        problems: &mut Diagnostics,
    ) -> Self {
        const SHAPE: Shape = Shape {
            noun: "a key_provider block",
            required: &[],
            optional: &["encrypted_metadata_alias"],
            blocks: &[],
        };
        check_body(&block.body, problems);
        let (content, body) = SHAPE.split(&block.body, problems);
        let alias = content.nullable_text("encrypted_metadata_alias", problems).map(|(text, _)| text);
        let metadata_alias = alias.filter(|text| !text.is_empty());
        let span = block.header_span.clone();
        Self { type_name, name, metadata_alias, body, origin, span }
    }

    /// Returns the address: `key_provider.TYPE.NAME`.
    pub fn address(&self) -> String {
        format!("key_provider.{}.{}", self.type_name, self.name)
    }

    /// Returns the name under which the provider's metadata is stored.
    pub fn metadata_key(&self) -> String {
        self.metadata_alias.clone().unwrap_or_else(|| self.address())
    }
}

impl EncryptionMethod {
    /// Returns the address: `method.TYPE.NAME`.
    pub fn address(&self) -> String {
        format!("method.{}.{}", self.type_name, self.name)
    }
}

impl EncryptionTarget {
    fn read(block: &Block, has_enforced: bool, problems: &mut Diagnostics) -> Self {
        const ENFORCEABLE: Shape = Shape {
            noun: "this block",
            required: &[],
            optional: &["method", "enforced"],
            blocks: &["fallback"],
        };
        const ORDINARY: Shape =
            Shape { noun: "this block", required: &[], optional: &["method"], blocks: &["fallback"] };
        let shape = if has_enforced { &ENFORCEABLE } else { &ORDINARY };
        let content = shape.read(&block.body, problems);
        let is_enforced = has_enforced && content.flag("enforced", problems).unwrap_or(false);
        Self {
            is_enforced,
            method: content.expression("method"),
            fallback: target(&content, "fallback", false, problems).map(Box::new),
            span: block.header_span.clone(),
        }
    }

    fn overridden_by(self, over: Self) -> Self {
        Self {
            is_enforced: self.is_enforced || over.is_enforced,
            method: over.method.or(self.method),
            fallback: over.fallback.or(self.fallback),
            span: self.span,
        }
    }
}

/// Returns the only target of a type.
fn target(
    content: &Content<'_>,
    kind: &'static str,
    has_enforced: bool,
    problems: &mut Diagnostics,
) -> Option<EncryptionTarget> {
    let summary = format!("Duplicate {kind} block");
    let blocks = content.unlabeled(kind, problems);
    let (first, others) = blocks.split_first()?;
    for other in others {
        problems.push(one_too_many(&summary, &first.header_span, &other.header_span));
    }
    Some(EncryptionTarget::read(first, has_enforced, problems))
}

/// Returns the type and the name of a block.
fn names(block: &Block, noun: &str, problems: &mut Diagnostics) -> Option<(Str, Str)> {
    let labels = labels(block, ["type", "name"], problems)?;
    let is_valid = |label: &Label| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        !label.text.is_empty() && label.text.bytes().all(is_plain)
    };
    for (label, what) in labels.iter().zip(["type", "name"]) {
        if !is_valid(label) {
            let summary = format!("The provided {noun} {what} is invalid");
            let detail = format!(
                "The {what} \"{}\" contains other characters than letters, digits, \"_\" and \"-\".",
                label.text
            );
            problems.push(Diagnostic::error(summary, detail).at(label.span.clone()));
            return None;
        }
    }
    let [type_name, name] = labels.map(|label| label.text.clone());
    Some((type_name, name))
}

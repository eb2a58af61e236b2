//! Parses addresses in Terraform's syntax.

use wardian_value::Str;

use super::{
    ActionAddress, ActionInstanceAddress, InstanceKey, ModuleInstance, ModulePath, ModuleStep,
    ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, ResourceMode, quote,
};
use crate::{ProviderAddress, ProviderAddressError};

/// The error for text that is not an address of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {wanted}: {problem}")]
pub struct InstanceAddressError {
    pub text: String,
    /// The expected kind, such as "a resource address".
    pub wanted: &'static str,
    pub problem: InstanceAddressProblem,
}

/// The reason why an address is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceAddressProblem {
    /// The text ends too early.
    #[error("{0} is missing at the end")]
    Missing(&'static str),
    /// The text contains something other than a name where a name is expected.
    #[error("a name is expected before \"{0}\"")]
    Name(String),
    /// The text after `[` is neither a whole number nor a constant string.
    #[error("an instance key must be a whole number or a quoted string in brackets")]
    Key,
    /// The address of a block contains an instance key.
    #[error("it must not contain an instance key")]
    UnexpectedKey,
    /// The address is followed by other text.
    #[error("unexpected \"{0}\"")]
    Rest(String),
    /// The provider's address is not valid.
    #[error(transparent)]
    Provider(#[from] ProviderAddressError),
}

use InstanceAddressProblem as Problem;

pub(super) fn module_instance(text: &str) -> Result<ModuleInstance, InstanceAddressError> {
    parse_all(text, "a module address", |parser| {
        let module = parser.modules()?;
        if parser.rest.is_empty() { Ok(module) } else { Err(Problem::Rest(parser.rest.to_owned())) }
    })
}

pub(super) fn resource_instance(text: &str) -> Result<ResourceInstanceAddress, InstanceAddressError> {
    parse_all(text, "a resource instance address", |parser| {
        let module = parser.modules()?;
        let (mode, type_name, name) = parser.resource()?;
        let key = parser.key()?;
        Ok(module.resource(mode, type_name, name).instance(key))
    })
}

pub(super) fn resource(text: &str) -> Result<ResourceAddress, InstanceAddressError> {
    parse_all(text, "a resource address", |parser| {
        let module = parser.unkeyed_modules()?;
        let (mode, type_name, name) = parser.resource()?;
        if !parser.key()?.is_none() {
            return Err(Problem::UnexpectedKey);
        }
        Ok(ResourceAddress { module, mode, type_name, name })
    })
}

pub(super) fn action_instance(text: &str) -> Result<ActionInstanceAddress, InstanceAddressError> {
    parse_all(text, "an action instance address", |parser| {
        let module = parser.modules()?;
        let (type_name, name) = parser.action()?;
        let key = parser.key()?;
        Ok(ActionInstanceAddress { module, type_name, name, key })
    })
}

pub(super) fn action(text: &str) -> Result<ActionAddress, InstanceAddressError> {
    parse_all(text, "an action address", |parser| {
        let module = parser.unkeyed_modules()?;
        let (type_name, name) = parser.action()?;
        Ok(ActionAddress { module, type_name, name })
    })
}

pub(super) fn provider_config(text: &str) -> Result<ProviderConfigAddress, InstanceAddressError> {
    parse_all(text, "a provider configuration address", |parser| {
        let module = parser.unkeyed_modules()?;
        if &*parser.name()? != "provider" {
            return Err(Problem::Missing("provider[\"...\"]"));
        }
        let provider = match parser.key()? {
            InstanceKey::String(provider) => ProviderAddress::parse_full(&provider)?,
            InstanceKey::Int(_) => return Err(Problem::Key),
            InstanceKey::None => {
                parser.dot("the provider's name")?;
                ProviderAddress::legacy(&parser.name()?)?
            }
        };
        let alias = if parser.rest.is_empty() {
            None
        } else {
            parser.dot("an alias")?;
            Some(parser.name()?)
        };
        Ok(ProviderConfigAddress { module, provider, alias })
    })
}

fn parse_all<T>(
    text: &str,
    wanted: &'static str,
    read: impl FnOnce(&mut Parser<'_>) -> Result<T, Problem>,
) -> Result<T, InstanceAddressError> {
    let mut parser = Parser { rest: text };
    read(&mut parser)
        .and_then(|address| match parser.rest {
            "" => Ok(address),
            rest => Err(Problem::Rest(rest.to_owned())),
        })
        .map_err(|problem| InstanceAddressError { text: text.to_owned(), wanted, problem })
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn name(&mut self) -> Result<Str, Problem> {
        let is_name_start = |character: char| character.is_alphabetic() || character == '_';
        let is_name_character =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
        if self.rest.is_empty() {
            return Err(Problem::Missing("a name"));
        }
        if !self.rest.starts_with(is_name_start) {
            return Err(Problem::Name(self.rest.to_owned()));
        }
        let end = self.rest.find(|character| !is_name_character(character)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(Str::new(name))
    }

    fn dot(&mut self, following: &'static str) -> Result<(), Problem> {
        match self.rest.strip_prefix('.') {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None if self.rest.is_empty() => Err(Problem::Missing(following)),
            None => Err(Problem::Rest(self.rest.to_owned())),
        }
    }

    fn key(&mut self) -> Result<InstanceKey, Problem> {
        let Some(inside) = self.rest.strip_prefix('[') else {
            return Ok(InstanceKey::None);
        };
        let (key, length) = if inside.starts_with('"') {
            let (text, length) = quote::unquote(inside).ok_or(Problem::Key)?;
            (InstanceKey::String(text.into()), length)
        } else {
            let length = inside.bytes().take_while(u8::is_ascii_digit).count();
            let number = inside[..length].parse().map_err(|_| Problem::Key)?;
            (InstanceKey::Int(number), length)
        };
        self.rest = inside[length..].strip_prefix(']').ok_or(Problem::Key)?;
        Ok(key)
    }

    /// Parses all module steps, and the dot that separates them from the following text.
    fn modules(&mut self) -> Result<ModuleInstance, Problem> {
        let mut steps = Vec::new();
        while let Some(rest) = self.rest.strip_prefix("module.") {
            self.rest = rest;
            let name = self.name()?;
            let key = self.key()?;
            steps.push(ModuleStep { name, key });
            if self.rest.is_empty() {
                break;
            }
            self.dot("a name")?;
            if self.rest.is_empty() {
                return Err(Problem::Missing("a name"));
            }
        }
        Ok(steps.into_iter().collect())
    }

    fn unkeyed_modules(&mut self) -> Result<ModulePath, Problem> {
        let instance = self.modules()?;
        if instance.steps().iter().any(|step| !step.key.is_none()) {
            return Err(Problem::UnexpectedKey);
        }
        Ok(instance.path())
    }

    fn action(&mut self) -> Result<(Str, Str), Problem> {
        match self.rest.strip_prefix("action.") {
            Some(rest) => self.rest = rest,
            None if self.rest.is_empty() => return Err(Problem::Missing("action.TYPE.NAME")),
            None => return Err(Problem::Rest(self.rest.to_owned())),
        }
        let type_name = self.name()?;
        self.dot("the action's name")?;
        Ok((type_name, self.name()?))
    }

    fn resource(&mut self) -> Result<(ResourceMode, Str, Str), Problem> {
        let mut mode = ResourceMode::Managed;
        for (prefix, prefixed) in [
            ("data.", ResourceMode::Data),
            ("ephemeral.", ResourceMode::Ephemeral),
            ("resource.", ResourceMode::Managed),
        ] {
            if let Some(rest) = self.rest.strip_prefix(prefix) {
                self.rest = rest;
                mode = prefixed;
                break;
            }
        }
        if self.rest.is_empty() {
            return Err(Problem::Missing("a resource type"));
        }
        let type_name = self.name()?;
        self.dot("the resource's name")?;
        Ok((mode, type_name, self.name()?))
    }
}

//! Reading addresses from text.

use wardian_value::Str;

use super::{
    InstanceKey, ModuleInstance, ModulePath, ModuleStep, ProviderConfigAddress, ResourceAddress,
    ResourceInstanceAddress, ResourceMode, quote,
};
use crate::address::{AddressError, ProviderAddress};

/// A text that is not an address of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {wanted}: {problem}")]
pub struct InstanceAddressError {
    /// What was written.
    pub text: String,
    /// What it should have been, such as "a resource address".
    pub wanted: &'static str,
    /// What is wrong with it.
    pub problem: InstanceAddressProblem,
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceAddressProblem {
    /// It ends too early.
    #[error("{0} is missing at its end")]
    Missing(&'static str),
    /// Something else stands where a name must.
    #[error("a name is needed before \"{0}\"")]
    Name(String),
    /// `[` with neither a whole number nor a constant string behind it.
    #[error("an instance key is a whole number or a quoted string in brackets")]
    Key,
    /// A key where only a block can be named.
    #[error("it must not hold an instance key")]
    UnexpectedKey,
    /// More than an address.
    #[error("nothing can follow before \"{0}\"")]
    Rest(String),
    /// The provider's own address is wrong.
    #[error(transparent)]
    Provider(#[from] AddressError),
}

use InstanceAddressProblem as Problem;

pub(super) fn module_instance(text: &str) -> Result<ModuleInstance, InstanceAddressError> {
    whole(text, "a module address", |parser| {
        let module = parser.modules()?;
        if parser.rest.is_empty() { Ok(module) } else { Err(Problem::Rest(parser.rest.to_owned())) }
    })
}

pub(super) fn resource_instance(text: &str) -> Result<ResourceInstanceAddress, InstanceAddressError> {
    whole(text, "a resource instance address", |parser| {
        let module = parser.modules()?;
        let (mode, type_name, name) = parser.resource()?;
        let key = parser.key()?;
        Ok(module.resource(mode, type_name, name).instance(key))
    })
}

pub(super) fn resource(text: &str) -> Result<ResourceAddress, InstanceAddressError> {
    whole(text, "a resource address", |parser| {
        let module = parser.unkeyed_modules()?;
        let (mode, type_name, name) = parser.resource()?;
        if !parser.key()?.is_none() {
            return Err(Problem::UnexpectedKey);
        }
        Ok(ResourceAddress { module, mode, type_name, name })
    })
}

pub(super) fn provider_config(text: &str) -> Result<ProviderConfigAddress, InstanceAddressError> {
    whole(text, "a provider configuration address", |parser| {
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

fn whole<T>(
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
        let starts = |character: char| character.is_alphabetic() || character == '_';
        let goes_on = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
        if self.rest.is_empty() {
            return Err(Problem::Missing("a name"));
        }
        if !self.rest.starts_with(starts) {
            return Err(Problem::Name(self.rest.to_owned()));
        }
        let end = self.rest.find(|character| !goes_on(character)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(Str::new(name))
    }

    fn dot(&mut self, what_follows: &'static str) -> Result<(), Problem> {
        match self.rest.strip_prefix('.') {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None if self.rest.is_empty() => Err(Problem::Missing(what_follows)),
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

    /// Steps as long as there are any, with the dot before what follows them.
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

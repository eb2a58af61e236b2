//! What an attribute does to its planned value.

use serde::Serialize;
use wardian_value::{Path, Value};

use crate::model::to_value;
use crate::{Diagnostics, Result};

pub(crate) type Condition = Box<dyn Fn(&AttributeChange<'_>) -> bool>;
pub(crate) type Modify = Box<dyn Fn(&mut AttributeChange<'_>) -> Result<()>>;

pub(crate) enum Modifier {
    ForceNew,
    ForceNewIfConfigured,
    ForceNewIf(Condition),
    UseStateForUnknown,
    Custom(Modify),
}

/// The configuration, the prior state and the plan of a whole object.
pub(crate) struct Roots {
    pub(crate) config: Value,
    pub(crate) prior: Value,
    pub(crate) planned: Value,
}

/// The plan of one attribute, as a plan modifier sees and changes it.
pub struct AttributeChange<'a> {
    pub(crate) path: &'a Path,
    pub(crate) config: &'a Value,
    pub(crate) prior: &'a Value,
    pub(crate) planned: Value,
    pub(crate) roots: &'a Roots,
    pub(crate) requires_replace: bool,
}

impl AttributeChange<'_> {
    /// Where the attribute is. It stops at a set.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// What the configuration says; null where it says nothing.
    pub fn config(&self) -> &Value {
        self.config
    }

    /// What the state says; null where there is none.
    pub fn prior(&self) -> &Value {
        self.prior
    }

    /// What is planned so far.
    pub fn planned(&self) -> &Value {
        &self.planned
    }

    /// Whether the object is to be created.
    pub fn is_create(&self) -> bool {
        self.roots.prior.is_null()
    }

    /// The configuration of the whole object.
    pub fn root_config(&self) -> &Value {
        &self.roots.config
    }

    /// The state of the whole object; null where it is to be created.
    pub fn root_prior(&self) -> &Value {
        &self.roots.prior
    }

    /// The plan of the whole object before any modifier ran.
    pub fn root_planned(&self) -> &Value {
        &self.roots.planned
    }

    /// Plans a value.
    pub fn set<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.planned = to_value(value, self.planned.ty()).map_err(Diagnostics::from)?;
        Ok(())
    }

    /// Plans a value, which must be of the attribute's type.
    pub fn set_value(&mut self, value: Value) {
        self.planned = value;
    }

    /// Plans "known after apply".
    pub fn set_unknown(&mut self) {
        self.planned = Value::unknown(self.planned.ty().clone());
    }

    /// The change needs a new object.
    pub fn require_replace(&mut self) {
        self.requires_replace = true;
    }
}

impl Modifier {
    pub(crate) fn run(&self, change: &mut AttributeChange<'_>) -> Result<()> {
        match self {
            Self::ForceNew => change.requires_replace |= is_changed(change),
            Self::ForceNewIfConfigured => {
                change.requires_replace |= is_changed(change) && !change.config.is_null();
            }
            Self::ForceNewIf(condition) => {
                change.requires_replace |= is_changed(change) && condition(change);
            }
            Self::UseStateForUnknown => {
                let may_keep = !change.prior.is_null() && change.config.is_known();
                if may_keep && !change.planned.is_known() {
                    change.planned = change.prior.clone();
                }
            }
            Self::Custom(modify) => modify(change)?,
        }
        Ok(())
    }

    pub(crate) fn is_force_new(&self) -> bool {
        matches!(self, Self::ForceNew | Self::ForceNewIfConfigured | Self::ForceNewIf(_))
    }
}

fn is_changed(change: &AttributeChange<'_>) -> bool {
    !change.is_create() && change.planned != *change.prior
}

//! Plan modifiers, which change the plan of an attribute.

use serde::Serialize;
use wardian_value::{Path, Value};

use crate::model::to_value;
use crate::{Diagnostics, Result};

pub(crate) type Condition = Box<dyn Fn(&AttributePlan<'_>) -> bool>;
pub(crate) type Modify = Box<dyn Fn(&mut AttributePlan<'_>) -> Result<()>>;

pub(crate) enum Modifier {
    ForceNew,
    ForceNewIfConfigured,
    ForceNewIf(Condition),
    UseStateForUnknown,
    Custom(Modify),
}

/// The configuration, the prior state and the plan of the complete object.
pub(crate) struct Roots {
    pub(crate) config: Value,
    pub(crate) prior: Value,
    pub(crate) planned: Value,
}

/// The plan of one attribute, which plan modifiers read and change.
///
/// ```
/// use wardian_sdk::{Attribute, AttributePlan, Result, Value};
///
/// /// Keeps the name of an object whose name is not configured any more.
/// fn keep_prior(plan: &mut AttributePlan<'_>) -> Result<()> {
///     if plan.config().is_null() && !plan.is_create() {
///         let prior = plan.prior().clone();
///         plan.set_value(prior);
///     }
///     Ok(())
/// }
///
/// let attribute = Attribute::string("name").optional().computed().modify_plan(keep_prior);
/// ```
pub struct AttributePlan<'a> {
    pub(crate) path: &'a Path,
    pub(crate) config: &'a Value,
    pub(crate) prior: &'a Value,
    pub(crate) planned: Value,
    pub(crate) roots: &'a Roots,
    pub(crate) requires_replace: bool,
}

impl AttributePlan<'_> {
    /// Returns the path of the attribute, which ends at the outermost set.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// Returns the configured value; null if the attribute is not configured.
    pub fn config(&self) -> &Value {
        self.config
    }

    /// Returns the value in the prior state; null if the object is created.
    pub fn prior(&self) -> &Value {
        self.prior
    }

    /// Returns the value that is currently planned.
    pub fn planned(&self) -> &Value {
        &self.planned
    }

    /// Returns whether the plan creates the object.
    pub fn is_create(&self) -> bool {
        self.roots.prior.is_null()
    }

    /// Returns the configuration of the complete object.
    pub fn root_config(&self) -> &Value {
        &self.roots.config
    }

    /// Returns the prior state of the complete object; null if the object is created.
    pub fn root_prior(&self) -> &Value {
        &self.roots.prior
    }

    /// Returns the plan of the complete object before any plan modifier was applied.
    pub fn root_planned(&self) -> &Value {
        &self.roots.planned
    }

    /// Sets the planned value.
    pub fn set<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.planned = to_value(value, self.planned.ty()).map_err(Diagnostics::from)?;
        Ok(())
    }

    /// Sets the planned value, which must have the attribute's type.
    pub fn set_value(&mut self, value: Value) {
        self.planned = value;
    }

    /// Sets the planned value to unknown ("known after apply").
    pub fn set_unknown(&mut self) {
        self.planned = Value::unknown(self.planned.ty().clone());
    }

    /// Requires that the change replaces the object.
    pub fn require_replace(&mut self) {
        self.requires_replace = true;
    }
}

impl Modifier {
    pub(crate) fn run(&self, change: &mut AttributePlan<'_>) -> Result<()> {
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

fn is_changed(change: &AttributePlan<'_>) -> bool {
    !change.is_create() && change.planned != *change.prior
}

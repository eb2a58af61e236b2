//! Which call it is: for diagnostics, log lines and records.

use std::fmt;
use std::sync::Arc;

use wardian_value::Str;

/// One call of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct CallContext {
    pub(crate) plugin: Arc<str>,
    /// The function's name in `wit/`.
    pub(crate) call: &'static str,
    /// The resource type, data source, function or action, where it is about one.
    pub(crate) type_name: Option<Str>,
    /// On whose behalf it is made: a resource's address.
    pub(crate) subject: Option<Arc<str>>,
}

impl CallContext {
    /// A call on behalf of whom the current future works for.
    pub(crate) fn new(plugin: &Arc<str>, call: &'static str, type_name: Option<&Str>) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            call,
            type_name: type_name.cloned(),
            subject: wardian_plugin::current_subject(),
        }
    }

    /// What an instance does when no call is in flight.
    pub(crate) fn outside_of_calls(plugin: &Arc<str>) -> Self {
        Self { plugin: Arc::clone(plugin), call: "start", type_name: None, subject: None }
    }

    /// The most that is known about the resource concerned; maybe empty.
    pub(crate) fn resource(&self) -> &str {
        self.subject.as_deref().or(self.type_name.as_deref()).unwrap_or_default()
    }
}

/// `hashicorp/random in plan-resource-change of random_id.a (random_id)`.
impl fmt::Display for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.plugin, self.call)?;
        match (&self.subject, &self.type_name) {
            (Some(subject), Some(name)) => write!(f, " of {subject} ({name})"),
            (Some(subject), None) => write!(f, " of {subject}"),
            (None, Some(name)) => write!(f, " of {name}"),
            (None, None) => Ok(()),
        }
    }
}

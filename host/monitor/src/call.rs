//! Which call it is: for diagnostics, log lines and records.

use std::fmt;
use std::sync::Arc;

use wardian_plugin::Secrets;
use wardian_value::Str;

/// One call of one plugin.
#[derive(Clone, Debug)]
pub struct Call {
    /// What people know the plugin by.
    pub plugin: Arc<str>,
    /// The function's name in `wit/`.
    pub function: &'static str,
    /// The resource type, data source, function or action, where it is about one.
    pub type_name: Option<Str>,
    /// On whose behalf it is made: a resource's address.
    pub subject: Option<Arc<str>>,
    /// What must not be repeated of it, in log lines and records.
    pub secrets: Secrets,
}

impl Call {
    /// A call on behalf of whom the current future works for.
    pub fn new(plugin: &Arc<str>, function: &'static str, type_name: Option<&Str>) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            function,
            type_name: type_name.cloned(),
            subject: wardian_plugin::current_subject(),
            secrets: wardian_plugin::current_secrets(),
        }
    }

    /// What an instance does when no call is in flight.
    pub fn outside_of_calls(plugin: &Arc<str>) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            function: "start",
            type_name: None,
            subject: None,
            secrets: Secrets::default(),
        }
    }

    /// The most that is known about the resource concerned; maybe empty.
    pub fn resource(&self) -> &str {
        self.subject.as_deref().or(self.type_name.as_deref()).unwrap_or_default()
    }
}

/// `hashicorp/random in plan-resource-change of random_id.a (random_id)`.
impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in {}", self.plugin, self.function)?;
        match (&self.subject, &self.type_name) {
            (Some(subject), Some(name)) => write!(formatter, " of {subject} ({name})"),
            (Some(subject), None) => write!(formatter, " of {subject}"),
            (None, Some(name)) => write!(formatter, " of {name}"),
            (None, None) => Ok(()),
        }
    }
}

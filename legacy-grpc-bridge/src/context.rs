//! Which call it is: for diagnostics.

use std::fmt;
use std::sync::Arc;

use wardian_value::Str;

/// One call of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct CallContext {
    plugin: Arc<str>,
    call: &'static str,
    /// The resource type, data source, function or action, where it is about one.
    type_name: Option<Str>,
    /// On whose behalf it is made: a resource's address.
    subject: Option<Arc<str>>,
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
}

/// `hashicorp/aws v5.100.0 in PlanResourceChange of aws_vpc.a (aws_vpc)`.
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

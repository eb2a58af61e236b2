//! Queries: their options and results.

use std::fmt;

use wardian_address::{InstanceKey, ProviderConfigAddress};
use wardian_config::RootVariables;
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_value::{Str, Value};

use crate::context::EngineContext;
use crate::query_walk;
use crate::stop::StopSignal;
use crate::{reference_check, validate};

/// The number of results of a list without `limit`.
pub const DEFAULT_LIMIT: u64 = 100;

/// The address of one query of a list block: `list.aws_instance.web[0]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListInstance {
    /// The resource type.
    pub type_name: Str,
    pub name: Str,
    pub key: InstanceKey,
}

impl fmt::Display for ListInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "list.{}.{}{}", self.type_name, self.name, self.key)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct QueryOptions {
    /// Whether the configuration of the objects is generated.
    pub generate: bool,
    /// Maximum number of concurrent provider operations, at least 1.
    pub parallelism: usize,
}

/// An object that a list found.
#[derive(Clone, Debug)]
pub struct ListedObject {
    pub identity: Value,
    /// The object's name, for display to users.
    pub display_name: String,
    /// The object, if it was requested. Sensitive attributes are marked.
    pub object: Option<Value>,
    /// The configuration that imports the object, if it was requested.
    pub generated: Option<GeneratedImport>,
}

/// The configuration that imports an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedImport {
    /// The resource block.
    pub resource: String,
    /// The import block.
    pub import: String,
}

/// The results of one list.
#[derive(Clone, Debug)]
pub struct QueriedList {
    pub address: ListInstance,
    pub provider: ProviderConfigAddress,
    pub found: Vec<ListedObject>,
}

impl EngineContext {
    /// Runs the lists in the configuration's query files. The results are sorted by address. A query
    /// uses no state: the values of resources are unknown.
    pub async fn query(
        &self,
        variables: RootVariables,
        options: QueryOptions,
        stop: StopSignal,
    ) -> Diagnosed<Vec<QueriedList>> {
        self.budget.end_with(stop.now_flag());
        let schemas = match self.schemas(None).await {
            Ok(schemas) => schemas,
            Err(found) => return Diagnosed::failed(found),
        };
        let (mut problems, reported) = reference_check::check(&self.configuration, &schemas);
        problems.extend(validate::validate_lists(self, &schemas, reported).await);
        let queried = if problems.has_errors() {
            Diagnosed::failed(problems)
        } else {
            let mut queried = query_walk::query(self, &schemas, variables, options, stop).await;
            let mut all: Diagnostics = problems;
            all.extend(std::mem::take(&mut queried.diagnostics));
            Diagnosed { diagnostics: all, ..queried }
        };
        schemas.close().await;
        queried
    }
}

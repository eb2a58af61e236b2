//! The object of an operation.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{
    CallContext, PluginDiagnostics, PrivateBytes, Provider, ProviderSchema, RawState, Schema,
    UpgradeStateRequest,
};
use wardian_state::{Attributes, Dependencies, Object, ObjectStatus};
use wardian_value::{Marks, Path, PathMarks, Str, Type, Value};

use crate::events::{Event, Events};
use crate::object::conforming::type_mismatch;
use crate::object::plan_valid::Violation;
use crate::object::sensitive::mark_by_schema;
use crate::object::stale_attributes::{is_as_stored_now, without_stale};
use crate::object::write_only::set_write_only_paths;
use crate::plan::Action;
use crate::plugin_diagnostics::from_plugin_about;

pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// An object, its provider and its schema.
#[derive(Clone)]
pub struct Subject {
    pub address: ResourceInstanceAddress,
    pub provider_config: ProviderConfigAddress,
    pub provider: Arc<dyn Provider>,
    pub schema: Arc<Schema>,
    /// The `provider_meta` value of the module.
    pub provider_meta: Option<Value>,
    /// The call context that is passed with each provider call.
    pub context: CallContext,
    /// The receiver of progress events.
    pub events: Arc<dyn Events>,
}

/// The metadata of a resource's configuration that is stored with its objects.
#[derive(Clone, Debug, Default)]
pub struct PersistedMeta {
    /// The resources that the object depends on.
    pub dependencies: Dependencies,
    /// Whether a replacement is created before the object is destroyed.
    pub create_before_destroy: bool,
}

/// The encoding in which an object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredEncoding {
    /// The encoding of the current schema.
    Current,
    Other,
}

impl Subject {
    /// Returns the subject for another object of the same provider; `None` if the provider has no
    /// such resource type.
    pub fn for_type(&self, type_name: &Str, name: Str, schema: &ProviderSchema) -> Option<Self> {
        let mut address = self.address.clone();
        address.resource.type_name = type_name.clone();
        address.resource.name = name;
        let schema = Arc::clone(schema.resources.get(type_name)?);
        Some(Self { address, schema, ..self.clone() })
    }

    pub fn ty(&self) -> &Type {
        self.schema.implied_type()
    }

    pub fn null(&self) -> Value {
        Value::null(self.ty().clone())
    }

    /// Converts the provider's diagnostics about this object.
    pub fn about(&self, diagnostics: &PluginDiagnostics) -> Diagnostics {
        if diagnostics.is_empty() {
            return Diagnostics::new();
        }
        from_plugin_about(diagnostics, &self.address.to_string())
    }

    /// Returns an error about this object.
    pub fn error(&self, summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic::error(summary, detail).for_address(self.address.to_string())
    }

    /// Returns an error that was caused by the provider.
    pub fn provider_error(&self, summary: &str, problem: &str) -> Diagnostic {
        let detail = format!(
            "Provider \"{}\" {problem}\n\nThis is a bug in the provider; please report it to its \
             maintainers.",
            self.provider_config.provider
        );
        self.error(summary, detail)
    }

    /// Returns one error that lists all protocol violations in a response.
    ///
    /// Values were compared without their marks. Therefore the message about a path contains no
    /// values if a path in `marked` is equal to it, a prefix of it, or an extension of it.
    pub fn protocol_violations(
        &self,
        summary: &str,
        opening: &str,
        violations: &[Violation],
        marked: &PathMarks,
    ) -> Diagnostic {
        let is_secret = |path: &Path| marked.iter().any(|(m, _)| m.starts_with(path) || path.starts_with(m));
        let mut problem = format!("{opening} {}:", self.address);
        for (path, violation) in violations {
            let place = path.to_string();
            let place = if place.is_empty() { "the complete object".to_owned() } else { place };
            let violation = if is_secret(path) { "a sensitive value is not valid" } else { violation };
            // Writing to a string cannot fail.
            let _ = write!(problem, "\n  - {place}: {violation}");
        }
        self.provider_error(summary, &problem)
    }

    /// Checks that a response has the type of the schema and contains no write-only values.
    ///
    /// # Errors
    /// Returns an error for each violation. `did` is the verb in the message.
    pub fn check_conformance(&self, answer: &Value, summary: &str, did: &str) -> Result<(), Diagnostic> {
        if self.schema.has_secret()
            && let Some(path) = set_write_only_paths(&self.schema.block, answer).first()
        {
            let problem = format!(
                "{did} an object for {} that has a value for the write-only attribute {path}. Write-only \
                 values are passed to a provider and must not be returned.",
                self.address
            );
            return Err(self.provider_error("Write-only attribute set", &problem));
        }
        match type_mismatch(answer.ty(), self.ty()) {
            None => Ok(()),
            Some((path, problem)) => {
                let place = path.to_string();
                let place = if place.is_empty() { "as a whole".to_owned() } else { format!("at {place}") };
                let problem = format!(
                    "{did} an object for {} that does not match its schema: {place}, {problem}.",
                    self.address
                );
                Err(self.provider_error(summary, &problem))
            }
        }
    }

    /// Logs protocol violations of a legacy SDK. These are allowed.
    pub fn warn_legacy_sdk(&self, summary: &str, violations: &[Violation]) {
        // Values can be sensitive, so only paths are logged.
        let places: Vec<String> = violations.iter().map(|(path, _)| path.to_string()).collect();
        tracing::warn!(
            address = %self.address,
            provider = %self.provider_config.provider,
            places = places.join(", "),
            "{summary}, which is tolerated because the provider uses a legacy SDK"
        );
    }

    /// Decodes the stored object; the provider upgrades it to the current schema.
    pub async fn decode(&self, object: &Object, encoding: StoredEncoding) -> Result<Value, Diagnostics> {
        let current = u64::try_from(self.schema.version).unwrap_or(0);
        if object.schema_version > current {
            return Err(self
                .error(
                    "Resource instance managed by newer provider version",
                    format!(
                        "The object {} was stored by a newer version of its provider than the current one: \
                         it has schema version {}, and the current version supports schema versions \
                         up to {current}. Select a newer version of the provider {}.",
                        self.address,
                        object.schema_version,
                        self.provider_config.provider.type_name(),
                    ),
                )
                .into());
        }
        let raw = match &object.attributes {
            Attributes::Json(json) if encoding == StoredEncoding::Current => RawState::Json(Arc::clone(json)),
            // A provider with an unchanged schema version may not recognize removed attributes.
            Attributes::Json(json) if object.schema_version == current => {
                RawState::Json(match without_stale(json, self.ty()) {
                    Cow::Borrowed(_) => Arc::clone(json),
                    Cow::Owned(json) => json.into(),
                })
            }
            Attributes::Json(json) => RawState::Json(Arc::clone(json)),
            Attributes::Flat(flat) => RawState::Flatmap(Arc::clone(flat)),
        };
        let request = UpgradeStateRequest {
            type_name: self.address.type_name().clone(),
            version: i64::try_from(object.schema_version).unwrap_or(i64::MAX),
            raw,
        };
        self.context.sensitive_values().add_stored_parts(&request.raw, &object.sensitive_paths);
        let response = self.provider.upgrade_resource_state(&self.context, request).await;
        let diagnostics = self.about(&response.diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        if let Some(value) = &response.upgraded {
            self.check_conformance(value, "Invalid resource state upgrade", "upgraded")?;
        }
        match response.upgraded {
            Some(value) if !value.is_null() && value.is_wholly_known() => {
                Ok(self.mark_stored(object, &value))
            }
            _ => Err(self
                .provider_error(
                    "Invalid resource state upgrade",
                    &format!("upgraded the state of {} to a null or partly unknown object.", self.address),
                )
                .into()),
        }
    }

    /// Returns whether an object is stored in the encoding of the current schema.
    pub fn stored_encoding(&self, object: &Object) -> StoredEncoding {
        match &object.attributes {
            Attributes::Json(json)
                if i64::try_from(object.schema_version) == Ok(self.schema.version)
                    && is_as_stored_now(json, self.ty()) =>
            {
                StoredEncoding::Current
            }
            Attributes::Json(_) | Attributes::Flat(_) => StoredEncoding::Other,
        }
    }

    /// Adds the stored marks and the marks of the schema to a value.
    pub fn mark_stored(&self, object: &Object, value: &Value) -> Value {
        let stored: Vec<(Path, Marks)> =
            object.sensitive_paths.iter().map(|path| (path.clone(), Marks::SENSITIVE)).collect();
        mark_by_schema(&self.schema.block, &value.mark_at(&stored))
    }

    /// Encodes an object for the state. The value must be wholly known; its marks are stored as
    /// sensitive paths.
    pub fn encode(
        &self,
        value: &Value,
        private: PrivateBytes,
        status: ObjectStatus,
        meta: &PersistedMeta,
    ) -> Result<Object, Diagnostics> {
        let plain = value.unmark_deep();
        let json = wardian_value::json::encode(&plain, self.ty()).map_err(|error| {
            self.provider_error(
                "Provider produced invalid object",
                &format!("produced an object for {} that cannot be saved: {error}.", self.address),
            )
        })?;
        let mut sensitive: Vec<Path> = value
            .mark_paths()
            .into_iter()
            .filter(|(_, marks)| marks.is_sensitive())
            .map(|(path, _)| path)
            .collect();
        sensitive.sort();
        let mut object = Object::new(u64::try_from(self.schema.version).unwrap_or(0), json);
        object.sensitive_paths = sensitive;
        object.private = private;
        object.status = status;
        object.dependencies = Arc::clone(&meta.dependencies);
        object.create_before_destroy = meta.create_before_destroy;
        Ok(object)
    }

    /// Runs an operation and reports its start, progress and end; `ended` returns its
    /// completion.
    pub async fn with_progress<T>(
        &self,
        action: Action,
        deposed: Option<&str>,
        id: Option<String>,
        work: impl Future<Output = T>,
        ended: impl FnOnce(&T) -> Completion,
    ) -> T {
        let progress = self.start_progress(action, deposed, id);
        let result = progress.during(work).await;
        progress.end(ended(&result));
        result
    }

    /// Reports the start of an operation that may have several steps.
    pub fn start_progress(
        &self,
        action: Action,
        deposed: Option<&str>,
        id: Option<String>,
    ) -> ProgressReporter {
        self.events.event(&Event::Started { address: &self.address, deposed, action, id: id.clone() });
        ProgressReporter {
            events: Arc::clone(&self.events),
            address: self.address.clone(),
            action,
            id,
            started: Instant::now(),
        }
    }
}

/// The progress of an operation with one or more steps.
pub struct ProgressReporter {
    events: Arc<dyn Events>,
    address: ResourceInstanceAddress,
    action: Action,
    id: Option<String>,
    started: Instant,
}

impl ProgressReporter {
    /// Runs a step of the operation and reports its progress.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let since = u32::try_from(self.started.elapsed().as_secs() / PROGRESS_INTERVAL.as_secs());
            let next = self.started + PROGRESS_INTERVAL * since.unwrap_or_default().saturating_add(1);
            match tokio::time::timeout_at(next.into(), &mut work).await {
                Ok(result) => return result,
                Err(_) => self.events.event(&Event::InProgress {
                    address: &self.address,
                    action: self.action,
                    id: self.id.clone(),
                    elapsed: self.started.elapsed(),
                }),
            }
        }
    }

    pub fn end(self, ended: Completion) {
        let Self { events, address, action, id: _, started } = self;
        let (address, elapsed) = (&address, started.elapsed());
        match ended {
            Completion::Succeeded(id) => events.event(&Event::Completed { address, action, id, elapsed }),
            Completion::Failed => events.event(&Event::Failed { address, action, elapsed }),
        }
    }
}

pub enum Completion {
    /// The operation succeeded. Contains the provider's ID of the object.
    Succeeded(Option<String>),
    Failed,
}

/// Returns the provider's ID of an object: its `id`, or else its `name`, if not sensitive.
pub fn object_id(value: &Value) -> Option<String> {
    ["id", "name"].iter().find_map(|name| {
        let part = value.get(name)?;
        if part.inside_marks().is_sensitive() || value.marks().is_sensitive() {
            return None;
        }
        part.as_str().filter(|text| !text.is_empty()).map(|text| format!("{name}={text}"))
    })
}

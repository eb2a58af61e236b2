//! The object of an operation.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{
    PluginDiagnostics, PrivateBytes, Provider, ProviderSchema, RawState, Schema, UpgradeStateRequest,
    current_secrets,
};
use wardian_state::{Attributes, Dependencies, Object, ObjectStatus};
use wardian_value::{Marks, Path, PathMarks, Str, Type, Value};

use crate::events::{Event, Events};
use crate::object::conforming::misfit;
use crate::object::plan_valid::Violation;
use crate::object::sensitive::mark_by_schema;
use crate::object::stale_attributes::{is_as_stored_now, without_stale};
use crate::object::write_only::written;
use crate::plan::Action;
use crate::providers::about;

/// How often work that goes on is told of.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// An object, its provider and its schema.
#[derive(Clone)]
pub struct Subject {
    /// Which object.
    pub address: ResourceInstanceAddress,
    /// The provider configuration.
    pub provider_config: ProviderConfigAddress,
    /// The configured provider.
    pub provider: Arc<dyn Provider>,
    /// The resource's schema.
    pub schema: Arc<Schema>,
    /// What the module tells the provider about itself.
    pub provider_meta: Option<Value>,
    /// Who hears what happens.
    pub events: Arc<dyn Events>,
}

/// What is kept of a resource's configuration for its stored object.
#[derive(Clone, Debug, Default)]
pub struct Replan {
    /// Resources that the object is made from.
    pub dependencies: Dependencies,
    /// Whether a replacement is created before the object is destroyed.
    pub create_before_destroy: bool,
}

impl Subject {
    /// The subject of another object that the same provider has, beside this one;
    /// `None` where it has no such type.
    pub fn for_type(&self, type_name: &Str, name: Str, schema: &ProviderSchema) -> Option<Self> {
        let mut address = self.address.clone();
        address.resource.type_name = type_name.clone();
        address.resource.name = name;
        let schema = Arc::clone(schema.resources.get(type_name)?);
        Some(Self { address, schema, ..self.clone() })
    }

    /// The type of the object.
    pub fn ty(&self) -> &Type {
        self.schema.implied_type()
    }

    /// Null of the object's type.
    pub fn null(&self) -> Value {
        Value::null(self.ty().clone())
    }

    /// The provider's diagnostics as about this object.
    pub fn about(&self, diagnostics: &PluginDiagnostics) -> Diagnostics {
        about(diagnostics, &self.address.to_string())
    }

    /// An error about this object.
    pub fn error(&self, summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic::error(summary, detail).for_address(self.address.to_string())
    }

    /// An error of which the provider is the cause.
    pub fn provider_error(&self, summary: &str, problem: &str) -> Diagnostic {
        let detail = format!(
            "Provider \"{}\" {problem}\n\nThe mistake is the provider's: whoever maintains it should hear of it.",
            self.provider_config.provider
        );
        self.error(summary, detail)
    }

    /// One error that lists how an answer breaks the protocol's rules.
    ///
    /// Values were compared without their marks: what is said of a place that is
    /// marked in `marked`, or that holds or lies in one, is said without values.
    pub fn violations(
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
            let place = if place.is_empty() { "the object as a whole".to_owned() } else { place };
            let violation =
                if is_secret(path) { "a sensitive value is not as it must be" } else { violation };
            // A string that cannot be written to is no string of ours.
            let _ = write!(problem, "\n  - {place}: {violation}");
        }
        self.provider_error(summary, &problem)
    }

    /// That an answer is of the type that the schema says, with nothing in what is
    /// write-only.
    ///
    /// # Errors
    /// Then, naming the provider: it `did` that.
    pub fn conforming(&self, answer: &Value, summary: &str, did: &str) -> Result<(), Diagnostic> {
        if let Some(path) = written(&self.schema.block, answer).first() {
            let told = format!(
                "{did} an object for {} that has a value for the write-only attribute {path}. What is write-only \
                 is given to a provider, and never given back.",
                self.address
            );
            return Err(self.provider_error("Write-only attribute set", &told));
        }
        match misfit(answer.ty(), self.ty()) {
            None => Ok(()),
            Some((path, problem)) => {
                let place = path.to_string();
                let place = if place.is_empty() { "as a whole".to_owned() } else { format!("at {place}") };
                let told = format!(
                    "{did} an object for {} that is not as its schema says: {place}, {problem}.",
                    self.address
                );
                Err(self.provider_error(summary, &told))
            }
        }
    }

    /// Notes what an old provider SDK does against the rules, which it is allowed.
    pub fn excuse(&self, summary: &str, violations: &[Violation]) {
        // Without values: they may be secret.
        let places: Vec<String> = violations.iter().map(|(path, _)| path.to_string()).collect();
        tracing::warn!(
            address = %self.address,
            provider = %self.provider_config.provider,
            places = places.join(", "),
            "{summary}, which is tolerated since it uses an old SDK"
        );
    }

    /// The stored object as a value of the current schema, brought there by the
    /// provider.
    pub async fn decode(&self, object: &Object) -> Result<Value, Diagnostics> {
        let current = u64::try_from(self.schema.version).unwrap_or(0);
        if object.schema_version > current {
            return Err(self
                .error(
                    "Resource instance managed by newer provider version",
                    format!(
                        "The object {} was stored by a newer version of its provider than the one in use: it has schema version {}, and this one knows versions up to {current}. Select a newer version of the provider {}.",
                        self.address,
                        object.schema_version,
                        self.provider_config.provider.type_name(),
                    ),
                )
                .into());
        }
        let raw = match &object.attributes {
            // A provider that raises no version need not know what it dropped.
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
        current_secrets().add_stored_parts(&request.raw, &object.sensitive_paths);
        let response = self.provider.upgrade_resource_state(request).await;
        let diagnostics = self.about(&response.diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        if let Some(value) = &response.upgraded {
            self.conforming(value, "Invalid resource state upgrade", "upgraded")?;
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

    /// Whether an object is stored just as it would be with the current schema.
    pub fn is_as_stored_now(&self, object: &Object) -> bool {
        match &object.attributes {
            Attributes::Json(json) => {
                i64::try_from(object.schema_version) == Ok(self.schema.version)
                    && is_as_stored_now(json, self.ty())
            }
            Attributes::Flat(_) => false,
        }
    }

    /// The value with the marks that it was stored with and those of its schema.
    pub fn mark_stored(&self, object: &Object, value: &Value) -> Value {
        let stored: Vec<(Path, Marks)> =
            object.sensitive_paths.iter().map(|path| (path.clone(), Marks::SENSITIVE)).collect();
        mark_by_schema(&self.schema.block, &value.mark_at(&stored))
    }

    /// The object as it is stored. The value is wholly known; its marks become
    /// sensitive paths.
    pub fn encode(
        &self,
        value: &Value,
        private: PrivateBytes,
        status: ObjectStatus,
        replan: &Replan,
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
        object.dependencies = Arc::clone(&replan.dependencies);
        object.create_before_destroy = replan.create_before_destroy;
        Ok(object)
    }

    /// Does some work and tells of its beginning, its going on and its end. The
    /// work says whether it failed.
    pub async fn told<T>(
        &self,
        action: Action,
        deposed: Option<&str>,
        id: Option<String>,
        work: impl Future<Output = T>,
        ended: impl FnOnce(&T) -> Ended,
    ) -> T {
        let telling = self.begin_telling(action, deposed, id);
        let result = telling.during(work).await;
        telling.end(ended(&result));
        result
    }

    /// Tells that work begins, of which further steps are told by what is returned.
    pub fn begin_telling(&self, action: Action, deposed: Option<&str>, id: Option<String>) -> Telling {
        self.events.event(&Event::Started { address: &self.address, deposed, action, id: id.clone() });
        Telling {
            events: Arc::clone(&self.events),
            address: self.address.clone(),
            action,
            id,
            started: Instant::now(),
        }
    }
}

/// Work on an object, of one step or several, that is told as one.
pub struct Telling {
    events: Arc<dyn Events>,
    address: ResourceInstanceAddress,
    action: Action,
    id: Option<String>,
    started: Instant,
}

impl Telling {
    /// Does a step of the work, and tells that it goes on.
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

    /// Tells that all of it is over.
    pub fn end(self, ended: Ended) {
        let Self { events, address, action, id: _, started } = self;
        let (address, elapsed) = (&address, started.elapsed());
        match ended {
            Ended::Well(id) => events.event(&Event::Completed { address, action, id, elapsed }),
            Ended::Badly => events.event(&Event::Failed { address, action, elapsed }),
        }
    }
}

/// How work ended.
pub enum Ended {
    /// Well, and what the provider calls the object.
    Well(Option<String>),
    /// With an error.
    Badly,
}

/// What the provider calls an object: its `id`, or else its `name`, where that
/// may be shown.
pub fn object_id(value: &Value) -> Option<String> {
    ["id", "name"].iter().find_map(|name| {
        let part = value.get(name)?;
        if part.inside_marks().is_sensitive() || value.marks().is_sensitive() {
            return None;
        }
        part.as_str().filter(|text| !text.is_empty()).map(|text| format!("{name}={text}"))
    })
}

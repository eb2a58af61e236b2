//! Imports an existing object.

use std::fmt::Write as _;
use std::sync::Arc;

use wardian_config::ProviderReference;
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_plugin::{ClientCapabilities, ImportRequest, ImportTarget, ImportedResource, PrivateBytes};
use wardian_state::{Object, ObjectStatus};
use wardian_value::{Str, Value};

use super::plan::{IgnoredAttributes, PlanInput, plan_change};
use super::refresh::{Refreshed, read};
use super::subject::{PersistedMeta, Subject};
use crate::events::Event;
use crate::import::generate;
use crate::object::sensitive::mark_by_schema;
use crate::plan::{Action, Importing, ResourceChange};

/// An object that the provider found for an import.
#[derive(Debug)]
pub struct FoundObject {
    pub type_name: Str,
    /// The value of the object, which may be incomplete.
    pub value: Value,
    pub private: PrivateBytes,
}

/// An object that was imported and read.
#[derive(Debug)]
pub struct Imported {
    pub current: Value,
    /// The object to store.
    pub object: Arc<Object>,
}

/// An imported object with generated configuration.
#[derive(Debug)]
pub struct GeneratedOutcome {
    /// The change that the configuration causes; a no-op if the configuration is incomplete.
    pub change: ResourceChange,
    /// The object to store.
    pub object: Arc<Object>,
}

/// The source of the arguments in a generated configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationBy {
    /// The schema. Every argument is set to its current value.
    Schema,
    /// The provider. It selects the arguments.
    Provider,
}

/// Returns the identification of an imported object for the plan.
pub fn importing(target: &ImportTarget) -> Importing {
    match target {
        ImportTarget::Id(id) => Importing::Id(Str::new(id)),
        ImportTarget::Identity(identity) => Importing::Identity(identity.clone()),
    }
}

/// Returns the identification of the object on one line: `id=x`.
pub fn shown(target: &ImportTarget) -> String {
    match target {
        ImportTarget::Id(id) => format!("id={id}"),
        ImportTarget::Identity(identity) => {
            let mut text = String::from("identity=");
            for (index, (name, part)) in identity.as_mapping().into_iter().flatten().enumerate() {
                let separator = if index > 0 { "," } else { "" };
                let part = wardian_value::json::to_json_value(part);
                // Writing to a string cannot fail.
                let _ = write!(text, "{separator}{name}:{part}");
            }
            text
        }
    }
}

/// Finds the object to import and reads it. It must be the only object found.
pub async fn import(subject: &Subject, target: &ImportTarget) -> Diagnosed<Imported> {
    Diagnosed::from_result(try_import(subject, target).await)
}

async fn try_import(
    subject: &Subject,
    target: &ImportTarget,
) -> Result<(Imported, Diagnostics), Diagnostics> {
    let (mut found, mut diagnostics) = find(subject, target).await.into_result()?;
    let (Some(one), true) = (found.pop(), found.is_empty()) else {
        let detail = format!(
            "The provider found several objects for {}, but a block imports only one. Identify the object \
             uniquely.",
            subject.address
        );
        return Err(subject.error("Multiple import states not supported", detail).into());
    };
    if one.type_name != *subject.address.type_name() {
        let problem =
            format!("found an object of type {} for the import to {}.", one.type_name, subject.address);
        return Err(subject.provider_error("Import returned another resource type", &problem).into());
    }
    let (imported, found) = read_found(subject, one, target).await.into_result()?;
    diagnostics.extend(found);
    Ok((imported, diagnostics))
}

/// Imports an object, generates its configuration and plans its change. If an error occurs after
/// the import, the configuration is still returned, and the user can complete it.
pub async fn generate(
    subject: &Subject,
    target: ImportTarget,
    provider: &ProviderReference,
    by: ConfigurationBy,
) -> Diagnosed<GeneratedOutcome> {
    let Diagnosed { value: imported, mut diagnostics } = import(subject, &target).await;
    let Some(Imported { current, object }) = imported else { return Diagnosed::failed(diagnostics) };
    let plain = subject.context.unmark_and_register(&current);
    let model = match by {
        ConfigurationBy::Schema => plain,
        ConfigurationBy::Provider => {
            let type_name = subject.address.type_name().clone();
            let answer =
                subject.provider.generate_resource_config(&subject.context, type_name, plain.clone()).await;
            diagnostics.extend(subject.about(&answer.diagnostics));
            answer.config.filter(|config| !config.is_null() && config.is_wholly_known()).unwrap_or(plain)
        }
    };
    let made = generate::generate(&subject.address, provider, &subject.schema.block, &model);
    diagnostics.extend(made.problems.for_address(&subject.address.to_string()));
    let input = PlanInput {
        stored: None,
        import: Some(target.clone()),
        refresh: true,
        config: made.value,
        ignore_changes: IgnoredAttributes::Nothing,
        force_replace: None,
        meta: PersistedMeta::default(),
    };
    let planned = if diagnostics.has_errors() {
        None
    } else {
        plan_change(subject, &input, Some(&*object), &current).await.take(&mut diagnostics)
    };
    let unchanged = || {
        ResourceChange::new(
            subject.address.clone(),
            subject.provider_config.clone(),
            Action::NoOp,
            (current.clone(), current.clone()),
            Arc::clone(&subject.schema),
        )
    };
    let change = ResourceChange {
        importing: Some(importing(&target)),
        generated_config: Some(made.text),
        ..planned.unwrap_or_else(unchanged)
    };
    Diagnosed::with_diagnostics(GeneratedOutcome { change, object }, diagnostics)
}

/// Requests all objects to import from the provider. At least one must be found.
pub async fn find(subject: &Subject, target: &ImportTarget) -> Diagnosed<Vec<FoundObject>> {
    let result = try_find(subject, target).await;
    if result.is_err() {
        subject.events.event(&Event::ReadFailed { address: &subject.address });
    }
    Diagnosed::from_result(result)
}

async fn try_find(
    subject: &Subject,
    target: &ImportTarget,
) -> Result<(Vec<FoundObject>, Diagnostics), Diagnostics> {
    let address = &subject.address;
    let id = shown(target);
    subject.events.event(&Event::ImportStarted { address, id: &id });
    let request = ImportRequest {
        type_name: address.type_name().clone(),
        target: target.clone(),
        capabilities: ClientCapabilities::default(),
    };
    let response = subject.provider.import_resource_state(&subject.context, request).await;
    let diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    if response.deferred.is_some() {
        let problem = format!("deferred the import of {address}, which was not allowed.");
        let summary = "Provider deferred changes without being allowed to";
        return Err(subject.provider_error(summary, &problem).into());
    }
    if response.imported.is_empty() {
        let problem =
            format!("returned no object for the import of [{id}] to {address}, without reporting an error.");
        return Err(subject.provider_error("Import returned no resources", &problem).into());
    }
    let found =
        response.imported.into_iter().map(|one| accept(subject, one)).collect::<Result<Vec<_>, _>>()?;
    subject.events.event(&Event::ImportFound { address, count: found.len() });
    Ok((found, diagnostics))
}

fn accept(subject: &Subject, one: ImportedResource) -> Result<FoundObject, Diagnostics> {
    let address = &subject.address;
    if one.state.is_null() {
        let problem = format!("returned a null object for the import to {address}.");
        return Err(subject.provider_error("Import returned null resource", &problem).into());
    }
    if !one.state.is_wholly_known() {
        let problem = format!("returned an object for the import to {address} that is not wholly known.");
        return Err(subject.provider_error("Provider produced invalid object", &problem).into());
    }
    Ok(FoundObject { type_name: one.type_name, value: one.state, private: one.private })
}

/// Reads an object that was found and has the subject's type. This is necessary because the found
/// object may be incomplete.
pub async fn read_found(subject: &Subject, found: FoundObject, target: &ImportTarget) -> Diagnosed<Imported> {
    Diagnosed::from_result(try_read_found(subject, found, target).await)
}

async fn try_read_found(
    subject: &Subject,
    found: FoundObject,
    target: &ImportTarget,
) -> Result<(Imported, Diagnostics), Diagnostics> {
    subject.check_conformance(&found.value, "Provider produced invalid object", "imported")?;
    let FoundObject { value, private, .. } = found;
    // The stored object has the schema's marks even if reading changes nothing.
    let stored = mark_by_schema(&subject.schema.block, &value);
    let object =
        Arc::new(subject.encode(&stored, private, ObjectStatus::Ready, &PersistedMeta::default())?);
    let (Refreshed { current, object, .. }, diagnostics) =
        read(subject, &object, stored).await.into_result()?;
    match object {
        Some(object) => Ok((Imported { current, object }, diagnostics)),
        None => {
            let detail = format!(
                "Nothing was imported to {}: the provider found no object [{}]. Only existing objects can be \
                 imported: check the ID, and the region or account that the provider is configured for.",
                subject.address,
                shown(target)
            );
            Err(subject.error("Cannot import non-existent remote object", detail).into())
        }
    }
}

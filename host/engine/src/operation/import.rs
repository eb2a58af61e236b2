//! Taking an object that exists under management.

use std::fmt::Write as _;
use std::sync::Arc;

use wardian_config::ProviderReference;
use wardian_diagnostic::Diagnostics;
use wardian_plugin::{
    ClientCapabilities, ImportRequest, ImportTarget, ImportedResource, PrivateBytes, hand_over,
};
use wardian_state::{Object, ObjectStatus};
use wardian_value::{Str, Value};

use super::plan::{IgnoreChanges, PlanInput, plan_change};
use super::refresh::{Refreshed, read};
use super::subject::{Replan, Subject};
use crate::events::Event;
use crate::import::generate;
use crate::object::sensitive::mark_by_schema;
use crate::plan::{Action, Importing, ResourceChange};

/// An object that an import found, as the provider gave it.
#[derive(Debug)]
pub struct Found {
    /// Its type.
    pub type_name: Str,
    /// The object, maybe partial.
    pub value: Value,
    /// What the provider wants to have kept.
    pub private: PrivateBytes,
}

/// An object that was imported and read.
#[derive(Debug)]
pub struct Imported {
    /// The object as it is.
    pub current: Value,
    /// The object as it is stored.
    pub object: Arc<Object>,
    /// Warnings.
    pub diagnostics: Diagnostics,
}

/// An object that was imported, with a configuration that was made for it.
#[derive(Debug)]
pub struct GeneratedOutcome {
    /// The change that the configuration leads to: none where the configuration is not
    /// complete.
    pub change: ResourceChange,
    /// The object as it is stored.
    pub object: Arc<Object>,
    /// What there is to say. With errors, the configuration has to be completed.
    pub diagnostics: Diagnostics,
}

/// Who says what the configuration of an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationBy {
    /// The schema alone: all that can be set is set to what it is.
    Schema,
    /// The provider, which knows what belongs together.
    Provider,
}

/// What a plan says of the object's origin.
pub fn importing(target: &ImportTarget) -> Importing {
    match target {
        ImportTarget::Id(id) => Importing::Id(Str::new(id)),
        ImportTarget::Identity(identity) => Importing::Identity(identity.clone()),
    }
}

/// What identifies the object, as one line for people: `id=x`.
pub fn shown(target: &ImportTarget) -> String {
    match target {
        ImportTarget::Id(id) => format!("id={id}"),
        ImportTarget::Identity(identity) => {
            let mut text = String::from("identity=");
            for (index, (name, part)) in identity.as_mapping().into_iter().flatten().enumerate() {
                let separator = if index > 0 { "," } else { "" };
                let part = wardian_value::json::to_json_value(part);
                // A string that cannot be written to is no string of ours.
                let _ = write!(text, "{separator}{name}:{part}");
            }
            text
        }
    }
}

/// Asks the provider for the one object that is meant, and reads it.
pub async fn import(subject: &Subject, target: &ImportTarget) -> Result<Imported, Diagnostics> {
    let (mut found, mut diagnostics) = find(subject, target).await?;
    let (Some(one), true) = (found.pop(), found.is_empty()) else {
        let detail = format!(
            "The provider found several objects for {}, and a block imports one. Say more precisely which one is \
             meant.",
            subject.address
        );
        return Err(subject.error("Multiple import states not supported", detail).into());
    };
    if one.type_name != *subject.address.type_name() {
        let problem = format!(
            "found an object of type {} where {} was to be imported.",
            one.type_name, subject.address
        );
        return Err(subject.provider_error("Import returned another resource type", &problem).into());
    }
    let imported = read_found(subject, one, target).await?;
    diagnostics.extend(imported.diagnostics);
    Ok(Imported { diagnostics, ..imported })
}

/// Imports an object, makes a configuration for it and plans it by that. What goes
/// wrong after the import leaves the configuration, for the person to complete.
pub async fn generate(
    subject: &Subject,
    target: ImportTarget,
    provider: &ProviderReference,
    by: ConfigurationBy,
) -> Result<GeneratedOutcome, Diagnostics> {
    let Imported { current, object, mut diagnostics } = import(subject, &target).await?;
    let plain = hand_over(&current);
    let model = match by {
        ConfigurationBy::Schema => plain,
        ConfigurationBy::Provider => {
            let type_name = subject.address.type_name().clone();
            let answer = subject.provider.generate_resource_config(type_name, plain.clone()).await;
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
        ignore_changes: IgnoreChanges::Nothing,
        force_replace: None,
        replan: Replan::default(),
    };
    let planned = if diagnostics.has_errors() {
        None
    } else {
        plan_change(subject, &input, Some(&*object), &current, &mut diagnostics).await
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
    Ok(GeneratedOutcome { change, object, diagnostics })
}

/// Asks the provider for all objects that are meant: at least one.
pub async fn find(
    subject: &Subject,
    target: &ImportTarget,
) -> Result<(Vec<Found>, Diagnostics), Diagnostics> {
    let address = &subject.address;
    let id = shown(target);
    subject.events.event(&Event::ImportStarted { address, id: &id });
    let request = ImportRequest {
        type_name: address.type_name().clone(),
        target: target.clone(),
        capabilities: ClientCapabilities::default(),
    };
    let response = subject.provider.import_resource_state(request).await;
    let diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    if response.deferred.is_some() {
        let problem = format!("put off the import of {address}, though it was not told that it may.");
        let summary = "Provider deferred changes without being allowed to";
        return Err(subject.provider_error(summary, &problem).into());
    }
    if response.imported.is_empty() {
        let problem = format!("found nothing to import to {address} by [{id}], and reported no error.");
        return Err(subject.provider_error("Import returned no resources", &problem).into());
    }
    let found =
        response.imported.into_iter().map(|one| accept(subject, one)).collect::<Result<Vec<_>, _>>()?;
    subject.events.event(&Event::ImportFound { address, count: found.len() });
    Ok((found, diagnostics))
}

fn accept(subject: &Subject, one: ImportedResource) -> Result<Found, Diagnostics> {
    let address = &subject.address;
    if one.state.is_null() {
        let problem = format!("gave a null object for the import to {address}.");
        return Err(subject.provider_error("Import returned null resource", &problem).into());
    }
    if !one.state.is_wholly_known() {
        let problem = format!("gave an object for the import to {address} that is not wholly known.");
        return Err(subject.provider_error("Provider produced invalid object", &problem).into());
    }
    Ok(Found { type_name: one.type_name, value: one.state, private: one.private })
}

/// Reads an object that was found, and which is of the subject's type: what an import
/// gives may be partial.
pub async fn read_found(
    subject: &Subject,
    found: Found,
    target: &ImportTarget,
) -> Result<Imported, Diagnostics> {
    subject.conforming(&found.value, "Provider produced invalid object", "imported")?;
    let Found { value, private, .. } = found;
    // What the schema calls sensitive is stored as such, also if reading changes nothing.
    let stored = mark_by_schema(&subject.schema.block, &value);
    let object = Arc::new(subject.encode(&stored, private, ObjectStatus::Ready, &Replan::default())?);
    let Refreshed { current, object, diagnostics, .. } = read(subject, &object, stored).await?;
    match object {
        Some(object) => Ok(Imported { current, object, diagnostics }),
        None => {
            let detail = format!(
                "The provider knows no object that could become {} by [{}]. Only what exists can be imported: see \
                 whether this is what identifies it, and whether the provider looks in the right place.",
                subject.address,
                shown(target)
            );
            Err(subject.error("Cannot import non-existent remote object", detail).into())
        }
    }
}

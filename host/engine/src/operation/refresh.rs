//! Reading a managed object as it is now.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_plugin::{ClientCapabilities, ReadResourceRequest, hand_over};
use wardian_state::Object;
use wardian_value::Value;

use super::subject::{Replan, Subject, object_id};
use crate::events::Event;
use crate::object::legacy::without_null_blocks;

/// A managed object before and after it was read.
#[derive(Debug)]
pub struct Refreshed {
    /// As it was stored.
    pub stored: Value,
    /// As it is, null where it is gone.
    pub current: Value,
    /// What to store; `None` where it is gone.
    pub object: Option<Arc<Object>>,
    /// Warnings.
    pub diagnostics: Diagnostics,
}

/// Decodes a stored object and, where `read` says so, reads it.
pub async fn refresh(subject: &Subject, object: &Arc<Object>, read: bool) -> Result<Refreshed, Diagnostics> {
    let stored = subject.decode(object).await?;
    if !read {
        let object = if subject.is_as_stored_now(object) {
            Arc::clone(object)
        } else {
            let private = Arc::clone(&object.private);
            Arc::new(subject.encode(&stored, private, object.status, &replan_of(object))?)
        };
        let diagnostics = Diagnostics::new();
        return Ok(Refreshed { current: stored.clone(), stored, object: Some(object), diagnostics });
    }
    self::read(subject, object, stored).await
}

/// Reads an object whose stored form is known as a value.
pub async fn read(subject: &Subject, object: &Arc<Object>, stored: Value) -> Result<Refreshed, Diagnostics> {
    let (address, id) = (&subject.address, object_id(&stored));
    subject.events.event(&Event::RefreshStarted { address, id: id.clone() });
    let request = ReadResourceRequest {
        type_name: address.type_name().clone(),
        current_state: hand_over(&stored),
        private: Arc::clone(&object.private),
        provider_meta: subject.provider_meta.as_ref().map(hand_over),
        current_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = subject.provider.read_resource(request).await;
    let diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    subject.events.event(&Event::RefreshCompleted { address, id });
    let Some(read) = response.new_state else {
        return Err(subject
            .provider_error("Provider produced invalid object", &format!("gave no object for {address}."))
            .into());
    };
    subject.conforming(&read, "Provider produced invalid object", "read")?;
    if read.is_null() {
        return Ok(Refreshed { stored, current: subject.null(), object: None, diagnostics });
    }
    if !read.is_wholly_known() {
        return Err(subject
            .provider_error(
                "Provider produced invalid object",
                &format!("produced an object for {address} during refresh that is not wholly known."),
            )
            .into());
    }
    let current = subject.mark_stored(object, &without_null_blocks(&subject.schema.block, &read));
    let unchanged = current == stored && *response.private == *object.private;
    let object = if unchanged && subject.is_as_stored_now(object) {
        Arc::clone(object)
    } else {
        Arc::new(subject.encode(&current, response.private, object.status, &replan_of(object))?)
    };
    Ok(Refreshed { stored, current, object: Some(object), diagnostics })
}

/// What an object is made from, as it was stored.
fn replan_of(object: &Object) -> Replan {
    Replan {
        dependencies: Arc::clone(&object.dependencies),
        create_before_destroy: object.create_before_destroy,
    }
}

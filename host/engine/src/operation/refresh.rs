//! Reads a managed object.

use std::sync::Arc;

use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_plugin::{ClientCapabilities, ReadResourceRequest};
use wardian_state::Object;
use wardian_value::Value;

use super::subject::{PersistedMeta, StoredEncoding, Subject, object_id};
use crate::events::Event;
use crate::object::legacy::without_null_blocks;

/// A managed object before and after it was read.
#[derive(Debug)]
pub struct Refreshed {
    /// The stored object, before it was read.
    pub stored: Value,
    /// The current object; null if it no longer exists.
    pub current: Value,
    /// The object to store; `None` if it no longer exists.
    pub object: Option<Arc<Object>>,
}

/// Decodes a stored object and, if `read` is set, reads it.
pub async fn refresh(subject: &Subject, object: &Arc<Object>, read: bool) -> Diagnosed<Refreshed> {
    let encoding = subject.stored_encoding(object);
    let stored = match subject.decode(object, encoding).await {
        Ok(stored) => stored,
        Err(found) => return Diagnosed::failed(found),
    };
    if read {
        read_stored(subject, object, encoding, stored).await
    } else {
        as_stored(subject, object, encoding, stored).into()
    }
}

fn as_stored(
    subject: &Subject,
    object: &Arc<Object>,
    encoding: StoredEncoding,
    stored: Value,
) -> Result<Refreshed, Diagnostics> {
    let object = if encoding == StoredEncoding::Current {
        Arc::clone(object)
    } else {
        let private = Arc::clone(&object.private);
        Arc::new(subject.encode(&stored, private, object.status, &meta_of(object))?)
    };
    Ok(Refreshed { current: stored.clone(), stored, object: Some(object) })
}

/// Reads an object whose stored value has already been decoded.
pub async fn read(subject: &Subject, object: &Arc<Object>, stored: Value) -> Diagnosed<Refreshed> {
    read_stored(subject, object, subject.stored_encoding(object), stored).await
}

async fn read_stored(
    subject: &Subject,
    object: &Arc<Object>,
    encoding: StoredEncoding,
    stored: Value,
) -> Diagnosed<Refreshed> {
    let result = try_read(subject, object, encoding, stored).await;
    if result.is_err() {
        subject.events.event(&Event::ReadFailed { address: &subject.address });
    }
    Diagnosed::from_result(result)
}

async fn try_read(
    subject: &Subject,
    object: &Arc<Object>,
    encoding: StoredEncoding,
    stored: Value,
) -> Result<(Refreshed, Diagnostics), Diagnostics> {
    let (address, id) = (&subject.address, object_id(&stored));
    subject.events.event(&Event::RefreshStarted { address, id: id.clone() });
    let request = ReadResourceRequest {
        type_name: address.type_name().clone(),
        current_state: subject.context.unmark_and_register(&stored),
        private: Arc::clone(&object.private),
        provider_meta: subject.provider_meta.as_ref().map(|meta| subject.context.unmark_and_register(meta)),
        current_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = subject.provider.read_resource(&subject.context, request).await;
    let diagnostics = subject.about(&response.diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    subject.events.event(&Event::RefreshCompleted { address, id });
    let Some(read) = response.new_state else {
        return Err(subject
            .provider_error("Provider produced invalid object", &format!("returned no object for {address}."))
            .into());
    };
    subject.check_conformance(&read, "Provider produced invalid object", "read")?;
    if read.is_null() {
        return Ok((Refreshed { stored, current: subject.null(), object: None }, diagnostics));
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
    let object = if unchanged && encoding == StoredEncoding::Current {
        Arc::clone(object)
    } else {
        Arc::new(subject.encode(&current, response.private, object.status, &meta_of(object))?)
    };
    Ok((Refreshed { stored, current, object: Some(object) }, diagnostics))
}

/// Returns the metadata that is stored with an object.
fn meta_of(object: &Object) -> PersistedMeta {
    PersistedMeta {
        dependencies: Arc::clone(&object.dependencies),
        create_before_destroy: object.create_before_destroy,
    }
}

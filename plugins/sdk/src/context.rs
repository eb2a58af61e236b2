//! What an operation has beside its state.

use std::any::Any;
use std::rc::Rc;

use serde::Serialize;
use wardian_value::{Type, Value};

use crate::{Diagnostic, Diagnostics, Model, Object, Result};

/// Why a change is put off to a later run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferredReason {
    /// No particular reason.
    Unknown,
    /// The resource's configuration is not known enough.
    ResourceConfigUnknown,
    /// The provider's configuration is not known enough.
    ProviderConfigUnknown,
    /// Something that must exist first does not.
    AbsentPrerequisite,
}

/// One call, without the types of the resource that it is for.
pub(crate) struct Call {
    pub(crate) client: Rc<dyn Any>,
    pub(crate) state_type: Type,
    pub(crate) config: Option<Object>,
    pub(crate) provider_meta: Option<Object>,
    pub(crate) private: Vec<u8>,
    pub(crate) identity: Option<Object>,
    pub(crate) happened: Option<Value>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) deferral_allowed: bool,
    pub(crate) deferred: Option<DeferredReason>,
}

impl Call {
    pub(crate) fn new(client: Rc<dyn Any>, state_type: Type) -> Self {
        Self {
            client,
            state_type,
            config: None,
            provider_meta: None,
            private: Vec::new(),
            identity: None,
            happened: None,
            diagnostics: Diagnostics::new(),
            deferral_allowed: false,
            deferred: None,
        }
    }
}

/// What an operation has beside its state: the provider's client, the
/// configuration, private bytes, and a place for what it wants to tell.
pub struct Context<'a, Client = ()> {
    client: &'a Client,
    call: &'a mut Call,
}

impl<'a, Client: 'static> Context<'a, Client> {
    /// Runs an operation with the client in its own type.
    pub(crate) fn run<T>(
        call: &'a mut Call,
        operation: impl FnOnce(&mut Context<'_, Client>) -> Result<T>,
    ) -> Result<T> {
        let client = Rc::clone(&call.client);
        // The provider's builder ties all its parts to one type of client.
        let Some(client) = client.downcast_ref::<Client>() else {
            return Err(Diagnostics::error(
                "Provider not configured",
                "The provider was asked for an operation before it was configured.",
            ));
        };
        operation(&mut Context { client, call }).map_err(|mut said| {
            if !said.has_errors() {
                said.push(Diagnostic::error("Operation failed", "The provider did not say why."));
            }
            said
        })
    }
}

impl<Client> Context<'_, Client> {
    /// What the provider made of its configuration.
    pub fn client(&self) -> &Client {
        self.client
    }

    /// The configuration as it is written, with write-only values and without
    /// defaults. There is none for reads and deletes.
    pub fn config(&self) -> Option<&Object> {
        self.call.config.as_ref()
    }

    /// Records what has happened so far. If the operation fails afterwards, exactly
    /// this is stored: nothing of what was planned but not done, and nothing that
    /// was done is lost. Unknown values in it are stored as null.
    ///
    /// An operation that fails without having said anything leaves the state as it
    /// was before: no object for a create, the prior state for an update or delete.
    pub fn happened<T: Model>(&mut self, state: &T) -> Result<()> {
        self.call.happened = Some(state.as_value_of(&self.call.state_type).map_err(Diagnostics::from)?);
        Ok(())
    }

    /// Records that nothing is left of the object, for a delete (or an update that
    /// deletes first) that may yet fail.
    pub fn happened_delete(&mut self) {
        self.call.happened = Some(Value::null(self.call.state_type.clone()));
    }

    /// Bytes that are stored with the object and mean something to the provider
    /// alone.
    pub fn private(&self) -> &[u8] {
        &self.call.private
    }

    /// Replaces the private bytes.
    pub fn set_private(&mut self, bytes: Vec<u8>) {
        self.call.private = bytes;
    }

    /// The object's identity, if the resource has an identity schema.
    pub fn identity(&self) -> Option<&Object> {
        self.call.identity.as_ref()
    }

    /// Sets an attribute of the identity.
    pub fn set_identity<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        match &mut self.call.identity {
            Some(identity) => identity.set(name, value),
            None => Err(Diagnostics::error("No identity", "The resource has no identity schema.")),
        }
    }

    /// What the calling module tells the provider about itself.
    pub fn provider_meta(&self) -> Option<&Object> {
        self.call.provider_meta.as_ref()
    }

    /// Tells the person something without failing.
    pub fn warn(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.call.diagnostics.push(Diagnostic::warning(summary, detail));
    }

    /// Adds an error or warning. An error fails the operation even if it answers.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.call.diagnostics.push(diagnostic);
    }

    /// Whether the host understands that a change is put off to a later run.
    pub fn deferral_allowed(&self) -> bool {
        self.call.deferral_allowed
    }

    /// Puts the change off to a later run. Ignored where the host does not
    /// understand that.
    pub fn defer(&mut self, reason: DeferredReason) {
        if self.call.deferral_allowed {
            self.call.deferred = Some(reason);
        }
    }
}

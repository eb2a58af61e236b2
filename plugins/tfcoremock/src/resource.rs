//! The resource types, whose objects are stored as files.

use std::rc::Rc;

use wardian_sdk::{Context, Explain as _, Import, Object, Resource, Result, Schema, Update, Value};

use crate::completion::complete;
use crate::configuration::{MockClient, Operation};
use crate::definition::{Contents, Definition};
use crate::schema;
use crate::stored_value::{self, stored_object};

/// A resource type.
pub(crate) struct MockResource {
    definition: Rc<Definition>,
}

impl MockResource {
    pub(crate) fn new(definition: Rc<Definition>) -> Self {
        Self { definition }
    }

    fn contents(&self) -> &Contents {
        &self.definition.contents
    }

    fn completed(&self, plan: &Object) -> Result<Object> {
        let value = complete(plan.as_value(), self.contents()).explain("Identifier not generated")?;
        Object::from_value(value, plan.ty().clone())
    }
}

fn id(object: &Object) -> Result<String> {
    object.get("id")
}

impl Resource<MockClient> for MockResource {
    type State = Object;

    fn schema(&self) -> Schema {
        schema::resource_schema(&self.definition)
    }

    fn create(&self, plan: Object, context: &mut Context<'_, MockClient>) -> Result<Object> {
        let object = self.completed(&plan)?;
        let id = id(&object)?;
        if let Some(directory) = context.client().resource_directory()? {
            let stored = stored_object(object.as_value(), self.contents());
            directory.create(&id, &stored).explain("Resource not created")?;
        }
        context.save_partial(&object)?;
        context.client().configured_failure(Operation::Create, &id)?;
        Ok(object)
    }

    fn read(&self, state: Object, context: &mut Context<'_, MockClient>) -> Result<Option<Object>> {
        let id = id(&state)?;
        context.client().configured_failure(Operation::Read, &id)?;
        let Some(directory) = context.client().resource_directory()? else { return Ok(Some(state)) };
        let Some(stored) = directory.read(&id).explain("Resource not read")? else { return Ok(None) };
        let value = stored_value::object(&stored, self.contents(), state.ty())
            .explain(&format!("Resource {id:?} does not match its type"))?;
        let named = value.get("id").is_some_and(|id| !id.is_null());
        let value = if named { value } else { value.with_attribute("id", Value::string(id)) };
        Object::from_value(value, state.ty().clone()).map(Some)
    }

    fn delete(&self, state: Object, context: &mut Context<'_, MockClient>) -> Result<()> {
        let id = id(&state)?;
        if let Some(directory) = context.client().resource_directory()? {
            directory.remove(&id).explain("Resource not deleted")?;
        }
        context.client().configured_failure(Operation::Delete, &id)
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_, MockClient>) -> Result<()> {
        import.passthrough("id")
    }
}

impl Update<MockClient> for MockResource {
    fn update(&self, _: Object, plan: Object, context: &mut Context<'_, MockClient>) -> Result<Object> {
        let object = self.completed(&plan)?;
        let id = id(&object)?;
        if let Some(directory) = context.client().resource_directory()? {
            let stored = stored_object(object.as_value(), self.contents());
            directory.replace(&id, &stored).explain("Resource not updated")?;
        }
        context.save_partial(&object)?;
        context.client().configured_failure(Operation::Update, &id)?;
        Ok(object)
    }
}

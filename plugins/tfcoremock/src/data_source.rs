//! Every type of data sources: a file that is read.

use std::rc::Rc;

use wardian_sdk::{Context, DataSource, Diagnostics, Explain as _, Object, Result, Schema, Value};

use crate::configuration::Client;
use crate::definition::Definition;
use crate::schema;
use crate::stored_value;

/// A type of data sources.
pub(crate) struct MockDataSource {
    definition: Rc<Definition>,
}

impl MockDataSource {
    pub(crate) fn new(definition: Rc<Definition>) -> Self {
        Self { definition }
    }
}

impl DataSource<Client> for MockDataSource {
    type State = Object;

    fn schema(&self) -> Schema {
        schema::of_data_source(&self.definition)
    }

    fn read(&self, config: Object, context: &mut Context<'_, Client>) -> Result<Object> {
        let id: String = config.get("id")?;
        let directory = context.client().data()?;
        let stored = directory.read(&id).explain("Data source not read")?.ok_or_else(|| {
            Diagnostics::error(
                "Data source not found",
                format!("There is no file \"{id}.json\" in {}.", directory.0.display()),
            )
        })?;
        let value = stored_value::object(&stored, &self.definition.contents, config.ty())
            .explain(&format!("Data source {id:?} does not fit its type"))?;
        Object::of(value.with_attribute("id", Value::string(id)), config.ty().clone())
    }
}

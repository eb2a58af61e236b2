//! The data source types, which read the content of a file.

use std::rc::Rc;

use wardian_sdk::{Context, DataSource, Diagnostics, Explain as _, Object, Result, Schema, Value};

use crate::configuration::MockClient;
use crate::definition::Definition;
use crate::schema;
use crate::stored_value;

pub(crate) struct MockDataSource {
    definition: Rc<Definition>,
}

impl MockDataSource {
    pub(crate) fn new(definition: Rc<Definition>) -> Self {
        Self { definition }
    }
}

impl DataSource<MockClient> for MockDataSource {
    type State = Object;

    fn schema(&self) -> Schema {
        schema::data_source_schema(&self.definition)
    }

    fn read(&self, config: Object, context: &mut Context<'_, MockClient>) -> Result<Object> {
        let id: String = config.get("id")?;
        let directory = context.client().data_directory()?;
        let stored = directory.read(&id).explain("Failed to read the data source")?.ok_or_else(|| {
            Diagnostics::error(
                "Data source not found",
                format!("The file \"{id}.json\" does not exist in {}.", directory.0.display()),
            )
        })?;
        let value = stored_value::object(&stored, &self.definition.contents, config.ty())
            .explain(&format!("Data source {id:?} does not match its type"))?;
        Object::from_value(value.with_attribute("id", Value::string(id)), config.ty().clone())
    }
}

//! Reads a data source.

use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_plugin::{ClientCapabilities, ConfigKind, ReadDataSourceRequest, ValidateConfigRequest};
use wardian_value::{Marks, Path, Value};

use super::subject::{Completion, Subject, object_id};
use crate::object::sensitive::mark_by_schema;
use crate::plan::Action;

/// Validates a data source's configuration with the provider.
pub async fn validate(subject: &Subject, config: &Value) -> Diagnostics {
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: subject.context.unmark_and_register(config),
        capabilities: ClientCapabilities::default(),
    };
    subject.about(&subject.provider.validate_config(&subject.context, ConfigKind::DataSource, request).await)
}

/// Reads a data source whose configuration is wholly known. The result has the marks of the
/// configuration and the schema.
pub async fn read(subject: &Subject, config: &Value) -> Diagnosed<Value> {
    let work = async {
        let mut diagnostics = validate(subject, config).await;
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        let request = ReadDataSourceRequest {
            type_name: subject.address.type_name().clone(),
            config: subject.context.unmark_and_register(config),
            provider_meta: subject
                .provider_meta
                .as_ref()
                .map(|meta| subject.context.unmark_and_register(meta)),
            capabilities: ClientCapabilities::default(),
        };
        let response = subject.provider.read_data_source(&subject.context, request).await;
        diagnostics.extend(subject.about(&response.diagnostics));
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        if let Some(value) = &response.state {
            subject.check_conformance(value, "Provider produced invalid object", "read")?;
        }
        match response.state {
            Some(value) if value.is_null() => Err(subject
                .provider_error(
                    "Provider produced null object",
                    &format!("produced a null object for {}.", subject.address),
                )
                .into()),
            Some(value) if value.is_wholly_known() => Ok((marked(subject, config, &value), diagnostics)),
            _ => Err(subject
                .provider_error(
                    "Provider produced invalid object",
                    &format!("produced an object for {} that is not wholly known.", subject.address),
                )
                .into()),
        }
    };
    let completion = |result: &Result<(Value, Diagnostics), Diagnostics>| match result {
        Ok((value, _)) => Completion::Succeeded(object_id(value)),
        Err(_) => Completion::Failed,
    };
    Diagnosed::from_result(subject.with_progress(Action::Read, None, None, work, completion).await)
}

/// Returns a value with the marks of its configuration and schema.
pub fn marked(subject: &Subject, config: &Value, value: &Value) -> Value {
    mark_by_schema(&subject.schema.block, &marked_by_configuration(config, value))
}

/// Marks a result at the paths at which its configuration has marks, except for ephemeral marks.
pub fn marked_by_configuration(config: &Value, value: &Value) -> Value {
    let marks: Vec<(Path, Marks)> = config
        .mark_paths()
        .into_iter()
        .map(|(path, marks)| (path, marks.without(Marks::EPHEMERAL)))
        .filter(|(_, marks)| !marks.is_empty())
        .collect();
    value.mark_at(&marks)
}

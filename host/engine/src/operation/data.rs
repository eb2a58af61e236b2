//! Reading a data source.

use wardian_diagnostic::Diagnostics;
use wardian_plugin::{
    ClientCapabilities, ConfigKind, ReadDataSourceRequest, ValidateConfigRequest, hand_over,
};
use wardian_value::{Marks, Path, Value};

use super::subject::{Ended, Subject, object_id};
use crate::object::sensitive::mark_by_schema;
use crate::plan::Action;

/// Asks the provider whether a data source's configuration is valid.
pub async fn validate(subject: &Subject, config: &Value) -> Diagnostics {
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: hand_over(config),
        capabilities: ClientCapabilities::default(),
    };
    subject.about(&subject.provider.validate_config(ConfigKind::DataSource, request).await)
}

/// Reads a data source whose configuration is wholly known. The result bears the
/// configuration's marks and the schema's.
pub async fn read(subject: &Subject, config: &Value) -> Result<(Value, Diagnostics), Diagnostics> {
    let work = async {
        let mut diagnostics = validate(subject, config).await;
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        let request = ReadDataSourceRequest {
            type_name: subject.address.type_name().clone(),
            config: hand_over(config),
            provider_meta: subject.provider_meta.as_ref().map(hand_over),
            capabilities: ClientCapabilities::default(),
        };
        let response = subject.provider.read_data_source(request).await;
        diagnostics.extend(subject.about(&response.diagnostics));
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        if let Some(value) = &response.state {
            subject.conforming(value, "Provider produced invalid object", "read")?;
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
    subject
        .told(Action::Read, None, None, work, |result| match result {
            Ok((value, _)) => Ended::Well(object_id(value)),
            Err(_) => Ended::Badly,
        })
        .await
}

/// A value with the marks of the configuration that it was made from.
pub fn marked(subject: &Subject, config: &Value, value: &Value) -> Value {
    // What is ephemeral in a configuration goes where nothing is stored.
    let marks: Vec<(Path, Marks)> = config
        .mark_paths()
        .into_iter()
        .map(|(path, marks)| (path, marks.without(Marks::EPHEMERAL)))
        .filter(|(_, marks)| !marks.is_empty())
        .collect();
    mark_by_schema(&subject.schema.block, &value.mark_at(&marks))
}

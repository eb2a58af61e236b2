//! Reads data sources that could not be read while planning, or whose planned values were not
//! final.

use std::sync::Arc;

use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_state::{Instance, Object, ObjectStatus};
use wardian_value::Value;

use super::{ApplyWalk, Outcome};
use crate::checks::{ConditionResult, as_warnings};
use crate::diagnostic_spans::{in_resource, resource_of};
use crate::object::proposed::placeholder;
use crate::operation::apply::without_unknowns;
use crate::operation::data;
use crate::operation::{PersistedMeta, Subject};
use crate::scheduler::StartResult;

impl ApplyWalk<'_> {
    pub(super) fn start_read(&mut self, index: usize) -> StartResult<Outcome> {
        let plan = self.plan;
        let Some(subject) = self.subject(&plan.changes[index]) else { return StartResult::Failed };
        let Some(config) = self.config(&subject) else { return StartResult::Failed };
        if let Some(check) = self.evaluator.checks.check_around(&subject.address.config()) {
            self.evaluator.checks.report_data(&check, subject.address.module(), ConditionResult::Pass);
        }
        StartResult::running(async move {
            let result = data::read(&subject, &config).await;
            Outcome::Read { subject: Box::new(subject), config, result }
        })
    }

    pub(super) fn read(&mut self, subject: &Subject, config: &Value, result: Diagnosed<Value>) -> bool {
        let address = &subject.address;
        let (read, reported) =
            match (result.into_result(), self.evaluator.checks.check_around(&address.config())) {
                (Ok(read), _) => read,
                (Err(found), None) => return self.record_unreadable(subject, found),
                (Err(found), Some(check)) => {
                    self.evaluator.checks.report_data(
                        &check,
                        address.module(),
                        ConditionResult::unreadable(&found),
                    );
                    (
                        placeholder(&subject.schema.block, &config.unmark_deep()),
                        as_warnings(found, &check, address.module()),
                    )
                }
            };
        let value = data::marked(subject, config, &read);
        let known = without_unknowns(&value);
        let meta = PersistedMeta::default();
        let object = match subject.encode(&known, Arc::default(), ObjectStatus::Ready, &meta) {
            Ok(object) => Object { schema_version: 0, ..object },
            Err(found) => return self.record_unreadable(subject, found),
        };
        self.applied.diagnostics.extend(in_resource(&self.context.configuration, address, reported));
        let stored = self.store(address, &subject.provider_config, Instance::with_current(object));
        self.evaluator.values.set_instance(address, value.clone());
        let hold = resource_of(&self.context.configuration, address)
            .is_none_or(|resource| self.parts().postconditions_hold(resource, address, value));
        stored && hold
    }

    fn record_unreadable(&mut self, subject: &Subject, found: Diagnostics) -> bool {
        let located = in_resource(&self.context.configuration, &subject.address, found);
        self.applied.diagnostics.extend(located);
        false
    }
}

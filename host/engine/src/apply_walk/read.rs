//! Data sources that could not be read, or not for good, while planning.

use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_state::{Instance, Object, ObjectStatus};
use wardian_value::Value;

use super::{ApplyWalk, Outcome};
use crate::checks::{Found, advice};
use crate::located::{in_resource, resource_of};
use crate::object::proposed::placeholder;
use crate::operation::apply::without_unknowns;
use crate::operation::data;
use crate::operation::{Replan, Subject};
use crate::scheduler::Start;

impl ApplyWalk<'_> {
    pub(super) fn start_read(&mut self, index: usize) -> Start<Outcome> {
        let plan = self.plan;
        let Some(subject) = self.subject(&plan.changes[index]) else { return Start::Failed };
        let Some(config) = self.config(&subject) else { return Start::Failed };
        if let Some(check) = self.evaluator.checks.check_around(&subject.address.config()) {
            self.evaluator.checks.report_data(&check, subject.address.module(), Found::Pass);
        }
        Start::running(subject.address.to_string(), async move {
            let result = data::read(&subject, &config).await;
            Outcome::Read { subject: Box::new(subject), config, result }
        })
    }

    pub(super) fn read(
        &mut self,
        subject: &Subject,
        config: &Value,
        result: Result<(Value, Diagnostics), Diagnostics>,
    ) -> bool {
        let address = &subject.address;
        let (read, told) = match (result, self.evaluator.checks.check_around(&address.config())) {
            (Ok(read), _) => read,
            (Err(found), None) => return self.unread(subject, found),
            (Err(found), Some(check)) => {
                self.evaluator.checks.report_data(&check, address.module(), Found::unreadable(&found));
                (placeholder(&subject.schema.block, &config.unmark_deep()), advice(found))
            }
        };
        let value = data::marked(subject, config, &read);
        let known = without_unknowns(&value);
        let replan = Replan::default();
        let object = match subject.encode(&known, Arc::default(), ObjectStatus::Ready, &replan) {
            Ok(object) => Object { schema_version: 0, ..object },
            Err(found) => return self.unread(subject, found),
        };
        self.applied.diagnostics.extend(in_resource(&self.run.configuration, address, told));
        let stored = self.store(address, &subject.provider_config, Instance::with_current(object));
        self.evaluator.values.set_instance(address, value.clone());
        let hold = resource_of(&self.run.configuration, address)
            .is_none_or(|resource| self.postconditions_hold(resource, address, value));
        stored && hold
    }

    fn unread(&mut self, subject: &Subject, found: Diagnostics) -> bool {
        let located = in_resource(&self.run.configuration, &subject.address, found);
        self.applied.diagnostics.extend(located);
        false
    }
}

//! Provisioners of objects that have just been created or will be destroyed.
//!
//! A created object is stored as tainted until its provisioners have finished; if the run ends
//! before then, the object remains tainted. Each provisioner is a separate step. Its configuration
//! is evaluated when the step starts, and can therefore use the results of the previous steps.

use std::sync::Arc;

use wardian_address::{InstanceKey, ResourceInstanceAddress};
use wardian_config::{Provisioner as Block, decode_body};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_lang::Body;
use wardian_plugin::SharedByObject;
use wardian_state::{Object, ObjectStatus};
use wardian_value::{Marks, Type, Value};

use super::{ApplyWalk, Outcome, Pending};
use crate::diagnostic_spans::{in_provisioner, resource_of};
use crate::operation::apply::begin_destruction;
use crate::operation::provision::{ProvisionStep, provision};
use crate::operation::{Completion, ProgressReporter, Subject, object_id};
use crate::plan::{Action, ResourceChange};
use crate::provisioners::connection_schema;
use crate::scheduler::{StartResult, StepResult};
use crate::values::RepetitionData;

/// An object with provisioners that have not run yet.
pub(super) struct Provisioning {
    subject: Subject,
    progress: ProgressReporter,
    occasion: Occasion,
    /// The value of `self`.
    value: Value,
    /// The number of finished provisioners.
    done: usize,
    shared: SharedByObject,
}

/// The event for which provisioners run.
enum Occasion {
    /// The change with this index created the object.
    Creation { index: usize, object: Arc<Object> },
    /// The object will be destroyed.
    Destruction(Box<Destruction>),
}

/// A destruction that waits for provisioners.
struct Destruction {
    index: usize,
    change: ResourceChange,
    object: Arc<Object>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Creation,
    Destruction,
}

/// The provisioner blocks of an object.
struct Blocks<'a> {
    provisioners: Vec<&'a Block>,
    connection: Option<&'a Body>,
    context: String,
}

impl Provisioning {
    fn when(&self) -> When {
        match self.occasion {
            Occasion::Creation { .. } => When::Creation,
            Occasion::Destruction(_) => When::Destruction,
        }
    }

    fn failed(self) -> StepResult<Pending> {
        self.progress.end(Completion::Failed);
        StepResult::Failed
    }
}

impl<'a> ApplyWalk<'a> {
    fn blocks(&self, address: &ResourceInstanceAddress, when: When) -> Blocks<'a> {
        let context = self.context;
        let (all, connection, context) = match resource_of(&context.configuration, address) {
            Some(resource) => {
                (&*resource.provisioners, resource.connection.as_ref(), Some(resource.context()))
            }
            None => match self.removed.get(&address.config()) {
                Some(block) => (&*block.provisioners, block.connection.as_ref(), None),
                None => (&[][..], None, None),
            },
        };
        let on_destroy = when == When::Destruction;
        Blocks {
            provisioners: all.iter().filter(|block| block.on_destroy == on_destroy).collect(),
            connection,
            context: context.unwrap_or_else(|| "removed".to_owned()),
        }
    }

    /// Whether an object has create-time provisioners.
    pub(super) fn is_provisioned(&self, address: &ResourceInstanceAddress) -> bool {
        // Most resources have no provisioners, and `blocks` formats the location of the block.
        resource_of(&self.context.configuration, address)
            .is_none_or(|resource| !resource.provisioners.is_empty())
            && !self.blocks(address, When::Creation).provisioners.is_empty()
    }

    /// Starts the provisioners of a created object.
    pub(super) fn provision_created(
        &mut self,
        index: usize,
        subject: Subject,
        object: Arc<Object>,
        value: Value,
        progress: ProgressReporter,
    ) -> StepResult<Pending> {
        let address = &subject.address;
        let mut instance = self.applied.state.instance(address).cloned().unwrap_or_default();
        instance.current = Some(Arc::new(Object { status: ObjectStatus::Tainted, ..Object::clone(&object) }));
        let is_stored = self.store(address, &subject.provider_config, instance) && self.commit();
        self.evaluator.values.set_instance(address, value.clone());
        let occasion = Occasion::Creation { index, object };
        let provisioning =
            Provisioning { subject, progress, occasion, value, done: 0, shared: SharedByObject::default() };
        if !is_stored {
            return provisioning.failed();
        }
        StepResult::Continue(Pending::Provision(Box::new(provisioning)))
    }

    /// Whether provisioners run before an object is destroyed. They do not run for an object that
    /// has already been replaced, or for a tainted object, because its creation may be incomplete.
    pub(super) fn is_provisioned_before_destruction(
        &self,
        subject: &Subject,
        change: &ResourceChange,
        object: &Object,
    ) -> bool {
        let is_left_over = change.deposed.is_some() || change.action == Action::CreateThenDelete;
        !is_left_over
            && !object.is_tainted()
            && !self.blocks(&subject.address, When::Destruction).provisioners.is_empty()
    }

    /// Runs the provisioners of an object and then destroys it.
    pub(super) fn provision_before_destruction(
        &mut self,
        index: usize,
        subject: Subject,
        change: ResourceChange,
        object: Arc<Object>,
    ) -> StartResult<Outcome> {
        let progress = begin_destruction(&subject, &change);
        let value = change.before.clone();
        let occasion = Occasion::Destruction(Box::new(Destruction { index, change, object }));
        self.start_provision(Provisioning {
            subject,
            progress,
            occasion,
            value,
            done: 0,
            shared: SharedByObject::default(),
        })
    }

    /// Runs the next provisioner of an object.
    pub(super) fn start_provision(&mut self, provisioning: Provisioning) -> StartResult<Outcome> {
        let blocks = self.blocks(&provisioning.subject.address, provisioning.when());
        let is_last = blocks.provisioners.len() <= provisioning.done + 1;
        let step = blocks.provisioners.get(provisioning.done).map(|block| {
            let Diagnosed { value: step, diagnostics } = self.step(&provisioning, block, blocks.connection);
            self.report(&provisioning.subject.address, &blocks, block, diagnostics);
            step.map(|step| (step, block.continue_on_failure))
        });
        let Some(Some((step, goes_on_after_failure))) = step else {
            provisioning.progress.end(Completion::Failed);
            return StartResult::Failed;
        };
        StartResult::running(async move {
            let diagnostics = provisioning.progress.during(provision(&provisioning.subject, step)).await;
            if is_last || diagnostics.has_errors() && !goes_on_after_failure {
                provisioning.shared.close().await;
            }
            Outcome::Provisioned { provisioning: Box::new(provisioning), diagnostics }
        })
    }

    /// Evaluates the configuration of a provisioner; `None` after an error.
    fn step(
        &self,
        provisioning: &Provisioning,
        block: &Block,
        around: Option<&Body>,
    ) -> Diagnosed<ProvisionStep> {
        let Some(known) = self.evaluator.schemas.provisioners().get(&block.type_name) else {
            return Diagnosed::failed(self.evaluator.schemas.provisioners().missing(block));
        };
        let address = &provisioning.subject.address;
        let repetition = match provisioning.when() {
            When::Creation => self.evaluator.values.repetition_data(address),
            When::Destruction => repetition_by_key(&address.key),
        };
        let scope = self.evaluator.scope(address.module(), repetition).with_self(provisioning.value.clone());
        let (config, mut found) = decode_body(&block.body, &known.schema.block, &scope);
        let connection = match block.connection_within(around) {
            Some(connection) => {
                let (connection, problems) = decode_body(&connection, &connection_schema().block, &scope);
                found.extend(problems);
                connection
            }
            None => Value::null(connection_schema().implied_type().clone()),
        };
        let marks = config.mark_paths().into_iter().fold(Marks::NONE, |all, (_, marks)| all | marks);
        let is_known = config.is_wholly_known() && connection.is_wholly_known();
        if !found.has_errors() && !is_known {
            found.push(
                Diagnostic::bug(
                    "Configuration contains unknown value",
                    format!(
                        "The configuration of the provisioner {} for {address} contains unknown values, \
                         although all its dependencies are applied. This is a bug in Wardian; please \
                         report it.",
                        block.type_name
                    ),
                )
                .at(block.span.clone()),
            );
        }
        let step = ProvisionStep {
            type_name: block.type_name.clone(),
            provisioner: Arc::clone(&known.provisioner),
            config,
            connection,
            shared: provisioning.shared.clone(),
            marks,
        };
        Diagnosed::unless_errors(step, found)
    }

    fn report(
        &mut self,
        address: &ResourceInstanceAddress,
        blocks: &Blocks<'_>,
        block: &Block,
        found: Diagnostics,
    ) {
        let located = in_provisioner(block, found).in_block(&blocks.context);
        self.applied.diagnostics.extend(located.for_address(&address.to_string()));
    }

    /// Records the result of a provisioner and starts the next step.
    pub(super) fn provisioned(
        &mut self,
        mut provisioning: Provisioning,
        found: Diagnostics,
    ) -> StepResult<Pending> {
        let blocks = self.blocks(&provisioning.subject.address, provisioning.when());
        if let Some(block) = blocks.provisioners.get(provisioning.done) {
            let is_failed = found.has_errors();
            let is_let_pass = is_failed && block.continue_on_failure;
            if is_let_pass {
                tracing::warn!(address = %provisioning.subject.address, provisioner = &*block.type_name, "failed, ignored because of \
                    on_failure");
            } else {
                self.report(&provisioning.subject.address, &blocks, block, found);
            }
            if is_failed && !is_let_pass {
                return provisioning.failed();
            }
        }
        provisioning.done += 1;
        if provisioning.done < blocks.provisioners.len() {
            return StepResult::Continue(Pending::Provision(Box::new(provisioning)));
        }
        let Provisioning { subject, progress, occasion, value, .. } = provisioning;
        match occasion {
            Occasion::Destruction(destruction) => {
                let Destruction { index, change, object } = *destruction;
                let change = Box::new(change);
                let subject = Box::new(subject);
                StepResult::Continue(Pending::DestroyProvisioned { index, subject, change, object, progress })
            }
            Occasion::Creation { index, object } => {
                let mut instance = self.applied.state.instance(&subject.address).cloned().unwrap_or_default();
                instance.current = Some(object);
                let is_stored =
                    self.store(&subject.address, &subject.provider_config, instance) && self.commit();
                progress.end(if is_stored {
                    Completion::Succeeded(object_id(&value))
                } else {
                    Completion::Failed
                });
                (self.finish_change(index, &subject.address, value) && is_stored).into()
            }
        }
    }
}

/// Returns the values of `count` and `each` for an object whose configuration may have changed. In
/// this case, only its key is known.
fn repetition_by_key(key: &InstanceKey) -> RepetitionData {
    match key {
        InstanceKey::None => RepetitionData::None,
        InstanceKey::Int(index) => RepetitionData::Count(*index),
        InstanceKey::String(key) => {
            RepetitionData::Each { key: Value::string(key.clone()), value: Value::null(Type::Dynamic) }
        }
    }
}

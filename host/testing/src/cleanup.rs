//! Destroys the objects of a state at the end of its file.

use std::sync::Arc;

use wardian_config::{TestRun, variables_for_run};
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_engine::{Mode, PlanOptions, TestPlanned};
use wardian_state::State;

use crate::run::{RecordedApply, Setup};

/// An object that a test could not destroy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftObject {
    /// The address of the resource instance.
    pub address: String,
    /// The key of a deposed object.
    pub deposed: Option<String>,
}

/// A state that an earlier test has left.
#[derive(Clone, Debug)]
pub struct LeftState {
    /// The path of the test file.
    pub file: String,
    /// The key of the state within the file.
    pub key: String,
    /// The run that changed the state last.
    pub run: String,
    pub state: State,
    /// The addresses of objects whose operation was interrupted. They may exist although the state does
    /// not contain them.
    pub unfinished: Vec<String>,
}

/// A state that runs of a file share.
pub(crate) struct TestState<'a> {
    pub(crate) state: State,
    /// The last run that changed the state, and its setup.
    pub(crate) last: Option<(&'a TestRun, Arc<Setup>)>,
    /// The last run that changed the state and has `skip_cleanup`.
    pub(crate) kept: Option<(&'a TestRun, Arc<Setup>)>,
    /// The position of that run in the file.
    pub(crate) position: usize,
}

/// Destroys all objects of a state. Returns the state afterwards.
pub(crate) async fn destroy(apply: RecordedApply<'_>, state: &State, setup: &Setup) -> (State, Diagnostics) {
    plan_and_apply(apply, state, setup, Mode::Destroy).await
}

/// Applies the configuration of an earlier run again.
pub(crate) async fn apply_again(apply: RecordedApply<'_>, state: &State, setup: &Setup) -> Diagnostics {
    plan_and_apply(apply, state, setup, Mode::Normal).await.1
}

async fn plan_and_apply(
    apply: RecordedApply<'_>,
    state: &State,
    setup: &Setup,
    mode: Mode,
) -> (State, Diagnostics) {
    let engine = setup.engine();
    let module = &setup.prepared.configuration().root().module;
    let variables = match variables_for_run(module, &setup.run_name, &setup.given) {
        Ok(variables) => variables,
        Err(problems) => return (state.clone(), problems),
    };
    let options = PlanOptions { mode, parallelism: apply.parallelism, ..PlanOptions::default() };
    let Diagnosed { value: planned, mut diagnostics } = engine
        .plan_for_test(
            &setup.schemas,
            Diagnostics::new(),
            state.clone(),
            variables,
            &options,
            apply.stop.clone(),
        )
        .await;
    let Some(TestPlanned { plan, .. }) = planned else { return (state.clone(), diagnostics) };
    if diagnostics.has_errors() {
        return (state.clone(), diagnostics);
    }
    match apply.apply(setup, &engine, &plan, state).await {
        Ok(tested) => {
            diagnostics.extend(tested.applied.diagnostics);
            (tested.applied.state, diagnostics)
        }
        Err(problems) => {
            diagnostics.extend(problems);
            (state.clone(), diagnostics)
        }
    }
}

/// Returns the managed objects in a state, sorted by address.
pub fn objects(state: &State) -> Vec<LeftObject> {
    let mut left = Vec::new();
    for (address, resource) in state.resources() {
        if address.mode != wardian_address::ResourceMode::Managed {
            continue;
        }
        for (key, instance) in &resource.instances {
            let instance_address = address.instance(key.clone()).to_string();
            if instance.current.is_some() {
                left.push(LeftObject { address: instance_address.clone(), deposed: None });
            }
            for deposed in instance.deposed.keys() {
                left.push(LeftObject {
                    address: instance_address.clone(),
                    deposed: Some(deposed.to_string()),
                });
            }
        }
    }
    left.sort_by(|a, b| (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed)));
    left
}

//! The walk that runs the lists of query files.
//!
//! It visits only lists and the objects to which they refer. Lists run concurrently as operations.
//! Their results are values for other lists.

mod names;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use wardian_address::{ModuleInstance, ProviderConfigAddress};
use wardian_config::{ListBlock, RootVariables, decode_body};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Span};
use wardian_lang::Expression;
use wardian_value::convert::convert;
use wardian_value::{Path, Str, Type, Value};

use crate::clock;
use crate::context::{EngineContext, stopped};
use crate::diagnostic_spans::in_list;
use crate::ephemeral::Ephemerals;
use crate::evaluator::{Evaluator, Phase, declared_marks};
use crate::graph::{NodeId, NodeSet};
use crate::nodes::{self, Node, NodeGraph};
use crate::operation::list::{ListOutcome, ListSubject, list};
use crate::plan::Mode;
use crate::providers::{Configured, Schemas, unknown_list_type};
use crate::query::{DEFAULT_LIMIT, ListInstance, QueriedList, QueryOptions};
use crate::scheduler::{StartResult, StepResult, TaskFuture, VisitResult, WalkEnd, Walker, walk};
use crate::stop::StopSignal;
use crate::values::{Repetition, RepetitionData};
use crate::walk::{SharedOutcome, WalkParts};
use names::ResourceNames;

/// Runs all lists. After an error, returns the results of the other lists.
pub async fn query(
    context: &EngineContext,
    schemas: &Schemas,
    variables: RootVariables,
    options: QueryOptions,
    mut stop: StopSignal,
) -> Diagnosed<Vec<QueriedList>> {
    let graph = match nodes::build(&context.configuration) {
        Ok(graph) => graph,
        Err(cycles) => return Diagnosed::failed(cycles),
    };
    let mut evaluator = context.evaluator(schemas, Phase::Plan, clock::now());
    evaluator.values.add_root();
    let lists = graph.iter().filter(|(_, node)| matches!(node, Node::List(..))).map(|(id, _)| id);
    let included = graph.closure(lists);
    let module = &context.configuration.root().module;
    let mut walker = QueryWalk {
        context,
        options,
        graph: &graph,
        included,
        evaluator,
        configured: Configured::default(),
        ephemerals: Ephemerals::default(),
        diagnostics: Diagnostics::new(),
        variables: values_of(context, variables.values),
        positions: variables.positions,
        refused: variables.refused,
        names: ResourceNames::new(module.resources.values()),
        results: BTreeMap::new(),
        expansions: BTreeMap::new(),
    };
    let end = walk(graph.graph(), &mut walker, options.parallelism, &mut stop).await;
    walker.configured.close().await;
    if end != WalkEnd::Completed {
        walker.diagnostics.push(stopped());
    }
    let QueryWalk { results, diagnostics, .. } = walker;
    Diagnosed::with_diagnostics(results.into_values().collect(), diagnostics)
}

/// Returns the values of the root module's variables, with defaults and the marks of their
/// declarations.
fn values_of(context: &EngineContext, mut given: BTreeMap<Str, Value>) -> BTreeMap<Str, Value> {
    let declared = &context.configuration.root().module.variables;
    declared
        .iter()
        .filter_map(|(name, variable)| {
            let value = given.remove(name).or_else(|| variable.default.clone())?;
            Some((name.clone(), value.with_marks(declared_marks(variable))))
        })
        .collect()
}

struct QueryWalk<'a> {
    context: &'a EngineContext,
    options: QueryOptions,
    graph: &'a NodeGraph,
    included: NodeSet,
    evaluator: Evaluator,
    configured: Configured,
    ephemerals: Ephemerals,
    diagnostics: Diagnostics,
    variables: BTreeMap<Str, Value>,
    positions: BTreeMap<Str, Span>,
    refused: BTreeMap<Str, Diagnostics>,
    /// The names of generated resources.
    names: ResourceNames,
    results: BTreeMap<ListInstance, QueriedList>,
    expansions: BTreeMap<(Str, Str), Expansion>,
}

/// The queries of a list block.
struct Expansion {
    repetition: Repetition,
    /// The number of queries that have not ended.
    open: usize,
    /// The results that other lists can refer to.
    values: BTreeMap<wardian_address::InstanceKey, Value>,
}

enum Pending {
    Configure(ProviderConfigAddress),
    List { address: ListInstance, repetition: RepetitionData },
}

enum Outcome {
    Shared(SharedOutcome),
    Listed { subject: ListSubject, outcome: ListOutcome },
}

impl From<SharedOutcome> for Outcome {
    fn from(outcome: SharedOutcome) -> Self {
        Self::Shared(outcome)
    }
}

impl Walker for QueryWalk<'_> {
    type Pending = Pending;
    type Outcome = Outcome;
    type Recording = Infallible;

    fn describe(&self, node: NodeId) -> String {
        self.graph.node(node).to_string()
    }

    fn visit(&mut self, node: NodeId) -> VisitResult<Pending> {
        if !self.included.contains(node.index()) {
            return VisitResult::Done;
        }
        let graph = self.graph;
        let evaluated: Diagnosed<()> = match graph.node(node) {
            Node::Module(path) => self.evaluator.expand_module(path).into(),
            Node::Variable(path, name) if path.is_root() => return self.visit_root_variable(name),
            Node::Variable(path, name) => self.evaluator.evaluate_variable(path, name),
            Node::Local(path, name) => self.evaluator.evaluate_local(path, name).into(),
            Node::Output(path, name) => self.evaluator.evaluate_output(path, name),
            Node::Provider(address) => {
                return VisitResult::Operations(vec![Pending::Configure(address.clone())]);
            }
            Node::List(type_name, name) => return self.visit_list(type_name, name),
            // Resources have no values in a query.
            _ => return VisitResult::Done,
        };
        self.parts().visited(evaluated)
    }

    fn start(&mut self, pending: Pending) -> StartResult<Outcome> {
        match pending {
            Pending::Configure(address) => self.start_configure(address),
            Pending::List { address, repetition } => self.start_list(address, repetition),
        }
    }

    fn commit(&mut self) -> bool {
        // A query changes nothing.
        true
    }

    fn finish(&mut self, outcome: Outcome) -> StepResult<Pending> {
        match outcome {
            Outcome::Shared(outcome) => self.parts().finish(outcome),
            Outcome::Listed { subject, outcome } => self.listed(subject, outcome),
        }
        .into()
    }

    fn record(&mut self, recording: Infallible) {
        match recording {}
    }

    fn on_task_panic(&mut self, problem: String) {
        self.diagnostics.push(Diagnostic::bug(
            "The query was aborted",
            format!("A step of the query ended unexpectedly: {problem}. This is a bug in Wardian."),
        ));
    }

    fn stop(&mut self) -> TaskFuture<()> {
        self.configured.stop_all()
    }
}

impl<'a> QueryWalk<'a> {
    fn parts(&mut self) -> WalkParts<'_> {
        WalkParts {
            context: self.context,
            mode: Mode::Normal,
            evaluator: &mut self.evaluator,
            configured: &mut self.configured,
            ephemerals: &mut self.ephemerals,
            diagnostics: &mut self.diagnostics,
        }
    }

    fn visit_root_variable(&mut self, name: &Str) -> VisitResult<Pending> {
        if let Some(found) = self.refused.remove(name) {
            self.diagnostics.extend(found);
            return VisitResult::Failed;
        }
        let Some(value) = self.variables.get(name).cloned() else { return VisitResult::Done };
        let position = self.positions.get(name).cloned();
        self.parts().set_root_variable(name, value, position.as_ref())
    }

    fn start_configure(&mut self, address: ProviderConfigAddress) -> StartResult<Outcome> {
        let Some(config) = self.parts().provider_config(&address) else { return StartResult::Failed };
        if !config.is_wholly_known() {
            let detail = format!(
                "The configuration {address} contains unknown values. A query reads no resources and no data \
                 sources, so a provider block can refer only to variables, local values and constants: add such \
                 a block to the query file, and name it in the argument \"provider\" of the list."
            );
            let mut problem = Diagnostic::error("Provider configuration contains unknown values", detail);
            if let Some(block) = nodes::provider_block(&self.context.configuration, &address) {
                problem = problem.at(block.span.clone());
            }
            self.diagnostics.push(problem);
            return StartResult::Failed;
        }
        self.parts().start_configure(address, config)
    }

    fn block(&self, type_name: &Str, name: &Str) -> Option<&'a ListBlock> {
        let context = self.context;
        context.configuration.root().module.lists.get(&(type_name.clone(), name.clone()))
    }

    fn visit_list(&mut self, type_name: &Str, name: &Str) -> VisitResult<Pending> {
        let Some(block) = self.block(type_name, name) else { return VisitResult::Done };
        let root = ModuleInstance::root();
        let repetition = match self.evaluator.repetition(&root, block.count.as_ref(), block.for_each.as_ref())
        {
            Ok(repetition) => repetition,
            Err(found) => {
                self.diagnostics.extend(found.in_block(&block.context()));
                return VisitResult::Failed;
            }
        };
        let address =
            |key| ListInstance { type_name: block.type_name.clone(), name: block.name.clone(), key };
        let keys = repetition.keys();
        let pending = keys
            .iter()
            .map(|key| Pending::List { address: address(key.clone()), repetition: repetition.data(key) })
            .collect();
        let expansion = Expansion { repetition, open: keys.len(), values: BTreeMap::new() };
        self.expansions.insert((block.type_name.clone(), block.name.clone()), expansion);
        self.set_value(&block.type_name, &block.name);
        VisitResult::Operations(pending)
    }

    fn start_list(&mut self, address: ListInstance, repetition: RepetitionData) -> StartResult<Outcome> {
        let Some(block) = self.block(&address.type_name, &address.name) else { return StartResult::Failed };
        match self.subject(block, address, repetition) {
            Ok(subject) => StartResult::running(async move {
                let outcome = list(&subject).await;
                Outcome::Listed { subject, outcome }
            }),
            Err(found) => {
                self.diagnostics.extend(in_list(block, found));
                StartResult::Failed
            }
        }
    }

    fn subject(
        &mut self,
        block: &ListBlock,
        address: ListInstance,
        repetition: RepetitionData,
    ) -> Result<ListSubject, Diagnostics> {
        let root = ModuleInstance::root();
        let provider_config = list_provider(self.context, block);
        let schemas = self.evaluator.schemas.provider(&provider_config.provider).cloned();
        let schema = schemas.as_ref().and_then(|schema| schema.list_resources.get(&block.type_name)).cloned();
        let (Some(schemas), Some(schema)) = (schemas, schema) else {
            return Err(unknown_list_type(&self.evaluator.schemas, block, &provider_config).into());
        };
        let provider = self.configured.get(&provider_config).cloned();
        let Some(provider) = provider else { return Err(Diagnostics::new()) };
        let scope = self.evaluator.scope(&root, repetition);
        let (config, found) = decode_body(&block.config, &schema.block, &scope);
        let config = found.into_result(config)?;
        if !config.is_wholly_known() {
            let detail = format!(
                "The configuration of {address} contains unknown values. A query reads no resources and no data \
                 sources, so a list can refer only to variables, local values, other lists and constants."
            );
            let mut problem = Diagnostic::error("List configuration contains unknown values", detail);
            problem.attribute = first_unknown(&config);
            return Err(problem.into());
        }
        let include = setting(block.include_resource.as_ref(), &Type::Bool, &scope)?;
        let limit = match setting(block.limit.as_ref(), &Type::Number, &scope)? {
            None => DEFAULT_LIMIT,
            Some(value) => limit(&value, block)?,
        };
        self.evaluator.budget.spend_value(&config, &block.span).map_err(Diagnostics::from)?;
        let names = self.options.generate.then(|| self.names.prefix(&address, &self.expansions_of(block)));
        Ok(ListSubject {
            include_resource: self.options.generate
                || include.and_then(|value| value.as_bool()) == Some(true),
            limit,
            resource: schemas.resources.get(&block.type_name).cloned(),
            generates: schemas.capabilities.generate_resource_config,
            reference: block.provider.clone(),
            name_prefix: names,
            address,
            provider_config,
            provider,
            config,
            events: Arc::clone(&self.context.events),
        })
    }

    /// Returns the keys of a list's queries in order.
    fn expansions_of(&self, block: &ListBlock) -> Vec<wardian_address::InstanceKey> {
        let expansion = self.expansions.get(&(block.type_name.clone(), block.name.clone()));
        expansion.map(|expansion| expansion.repetition.keys()).unwrap_or_default()
    }

    /// Records the results of a query.
    fn listed(&mut self, subject: ListSubject, outcome: ListOutcome) -> bool {
        let ListSubject { address, provider_config, .. } = subject;
        let failed = outcome.diagnostics.has_errors();
        match self.block(&address.type_name, &address.name) {
            Some(block) => self.diagnostics.extend(in_list(block, outcome.diagnostics)),
            None => self.diagnostics.extend(outcome.diagnostics),
        }
        let key = (address.type_name.clone(), address.name.clone());
        if let Some(expansion) = self.expansions.get_mut(&key) {
            expansion.open = expansion.open.saturating_sub(1);
            expansion.values.insert(address.key.clone(), outcome.value);
        }
        self.set_value(&key.0, &key.1);
        let results =
            QueriedList { address: address.clone(), provider: provider_config, found: outcome.found };
        self.results.insert(address, results);
        !failed
    }

    /// Sets the value of a list for other lists after its last query has ended.
    fn set_value(&mut self, type_name: &Str, name: &Str) {
        let key = (type_name.clone(), name.clone());
        let Some(expansion) = self.expansions.get_mut(&key).filter(|expansion| expansion.open == 0) else {
            return;
        };
        let values = std::mem::take(&mut expansion.values);
        let value = match &expansion.repetition {
            Repetition::Single => {
                values.into_values().next().unwrap_or_else(|| Value::unknown(Type::Dynamic))
            }
            Repetition::Count(_) => Value::tuple(values.into_values()),
            Repetition::ForEach(_) => {
                Value::object(values.into_iter().filter_map(|(key, value)| match key {
                    wardian_address::InstanceKey::String(key) => Some((key, value)),
                    _ => None,
                }))
            }
        };
        self.evaluator.values.module_mut(&ModuleInstance::root()).lists.insert(key, value);
    }
}

/// Returns the path of the first unknown part of a value.
fn first_unknown(value: &Value) -> Option<Path> {
    let mut found = None;
    let _ = value.transform(&mut |path, part| {
        if found.is_none() && !part.is_known() {
            found = Some(path.clone());
        }
        part
    });
    found
}

/// Returns the provider configuration of a list.
pub fn list_provider(context: &EngineContext, block: &ListBlock) -> ProviderConfigAddress {
    let reference = &block.provider;
    let root = wardian_address::ModulePath::root();
    context.configuration.provider_named(&root, &reference.local_name, reference.alias.as_ref())
}

/// Evaluates an argument of a list block; `None` if it is absent or null.
fn setting(
    expression: Option<&Expression>,
    ty: &Type,
    scope: &dyn wardian_lang::Scope,
) -> Result<Option<Value>, Diagnostics> {
    let Some(expression) = expression else { return Ok(None) };
    let problem = |detail: String| {
        Diagnostics::from(Diagnostic::error("Invalid list argument", detail).at(expression.span().clone()))
    };
    let value = convert(&expression.evaluate(scope)?.unmark_deep(), ty)
        .map_err(|error| problem(format!("This value cannot be used here: {error}.")))?;
    if !value.is_known() {
        return Err(problem("The value is unknown, but a query must know it before it begins.".to_owned()));
    }
    Ok(Some(value).filter(|value| !value.is_null()))
}

fn limit(value: &Value, block: &ListBlock) -> Result<u64, Diagnostics> {
    let number = value.as_number().and_then(wardian_value::Number::as_i64);
    number.and_then(|number| u64::try_from(number).ok()).filter(|limit| *limit > 0).ok_or_else(|| {
        let problem =
            Diagnostic::error("Invalid list argument", "The limit must be a whole number greater than zero.");
        let place = block.limit.as_ref().map_or(&block.span, Expression::span);
        problem.at(place.clone()).into()
    })
}

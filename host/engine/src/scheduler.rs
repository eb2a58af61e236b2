//! Walks a graph: visits ready nodes and runs their operations.
//!
//! Everything except operations runs on the calling task, one step at a time in a stable order;
//! operations run concurrently on the runtime's threads, up to the given limit. Dependents of a
//! failed node are not visited, but all other nodes are.
//!
//! Operations that end while the calling task is busy are finished as a group: their records and
//! the records of the operations that follow are committed together.

mod groups;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;

use crate::graph::{self, Graph, NodeId, Progress};
use crate::scheduler::groups::{Abandoned, GroupSizes, Operation};
use crate::stop::{Stop, StopSignal};

/// The target of log lines about nodes and their operations.
const GRAPH_TARGET: &str = "wardian::graph";

/// A running operation.
pub type TaskFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub enum VisitResult<P> {
    /// The node is done.
    Done,
    /// The node failed: its dependents are not visited.
    Failed,
    /// The node is done when these operations are done.
    Operations(Vec<P>),
}

pub enum StartResult<T> {
    /// The operation runs when all records are committed.
    Running(TaskFuture<T>),
    /// The operation closes a resource or a provider, so it runs even if records cannot be committed.
    Closing(TaskFuture<T>),
    /// The operation is already done.
    Done,
    /// The operation could not be started.
    Failed,
}

impl<T> StartResult<T> {
    /// Wraps an operation, which the scheduler then runs.
    pub fn running(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Running(Box::pin(work))
    }
}

/// The result of an operation.
pub enum StepResult<P> {
    Succeeded,
    Failed,
    /// The operation succeeded, and is followed by another operation of the same node.
    Continue(P),
}

impl<P> From<bool> for StepResult<P> {
    fn from(well: bool) -> Self {
        if well { Self::Succeeded } else { Self::Failed }
    }
}

/// The actions of a walk at each node.
pub trait Walker {
    /// An operation that has not started yet. There can be many of them, so the type should be
    /// small.
    type Pending;
    type Outcome: Send + 'static;
    /// A state that an operation records while it runs.
    type Recording;

    /// Returns the name of a node, for log lines.
    fn describe(&self, node: NodeId) -> String;

    /// Visits a node whose dependencies are done.
    fn visit(&mut self, node: NodeId) -> VisitResult<Self::Pending>;

    /// Starts an operation when the limit allows one more.
    fn start(&mut self, pending: Self::Pending) -> StartResult<Self::Outcome>;

    /// Commits the records of the other functions. Returns false if records were lost. In this
    /// case, no more operations run, except operations that close resources or providers.
    fn commit(&mut self) -> bool;

    /// Records the outcome of an operation.
    fn finish(&mut self, outcome: Self::Outcome) -> StepResult<Self::Pending>;

    /// Returns the states that operations record while they run. Called once, when the walk begins.
    fn recordings(&mut self) -> mpsc::UnboundedReceiver<Self::Recording> {
        mpsc::unbounded_channel().1
    }

    /// Makes a recorded state durable.
    fn record(&mut self, recording: Self::Recording);

    /// Records that the task of an operation panicked or was aborted.
    fn on_task_panic(&mut self, problem: String);

    /// Requests that providers stop gracefully.
    fn stop(&mut self) -> TaskFuture<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// All nodes that could be visited were visited.
    Completed,
    /// The walk was stopped after the running operations had ended.
    Stopped,
    /// The walk was stopped immediately, and running operations were aborted.
    Abandoned,
}

/// Walks the graph.
pub async fn walk<N, W: Walker>(
    graph: &Graph<N>,
    walker: &mut W,
    parallelism: usize,
    stop: &mut StopSignal,
) -> WalkEnd {
    stop.begin_walk();
    let parallelism = parallelism.max(1);
    // Other operations continue to run while a group is finished.
    let max_group = parallelism.div_ceil(2);
    let mut nodes = Nodes::new(graph);
    let mut queue: VecDeque<(NodeId, W::Pending)> = VecDeque::new();
    let mut running = FuturesUnordered::new();
    // The number of running operations.
    let mut count = 0;
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    let mut group_sizes = GroupSizes::new(parallelism / workers.max(2));
    let abandoned = Abandoned::default();
    let mut stopping: Option<TaskFuture<()>> = None;
    let mut asked = stop.current();
    let mut recordings = walker.recordings();
    loop {
        while asked == Stop::No
            && let Some(node) = nodes.progress.next_ready()
        {
            if nodes.is_after_failure(node) {
                nodes.end(node, true);
                continue;
            }
            tracing::debug!(
                target: GRAPH_TARGET,
                node = walker.describe(node),
                after = nodes.progress.last_dependency(node).map(|dependency| walker.describe(dependency)),
                "visiting a node",
            );
            match walker.visit(node) {
                VisitResult::Operations(operations) if !operations.is_empty() => {
                    nodes.open[node.index()] = operations.len();
                    queue.extend(operations.into_iter().map(|operation| (node, operation)));
                }
                VisitResult::Failed => nodes.end(node, true),
                VisitResult::Done | VisitResult::Operations(_) => nodes.end(node, false),
            }
        }
        let mut freed = false;
        let mut started = Vec::new();
        while asked == Stop::No
            && count + started.len() < parallelism
            && let Some((node, pending)) = queue.pop_front()
        {
            match walker.start(pending) {
                StartResult::Running(operation) => started.push((node, operation, false)),
                StartResult::Closing(operation) => started.push((node, operation, true)),
                StartResult::Done => freed |= nodes.end_operation(node, false),
                StartResult::Failed => freed |= nodes.end_operation(node, true),
            }
        }
        let is_committed = walker.commit();
        let mut operations = Vec::with_capacity(started.len());
        for (node, future, is_closing) in started {
            if !is_committed && !is_closing {
                freed |= nodes.end_operation(node, true);
                continue;
            }
            let span = tracing::info_span!(target: GRAPH_TARGET, "operation", node = walker.describe(node));
            operations.push(Operation { node, future, span });
        }
        count += operations.len();
        running.extend(group_sizes.spawn(operations, &abandoned));
        if freed {
            continue;
        }
        if running.is_empty() {
            // A stop between two operations ends the walk immediately.
            return if asked == Stop::No { WalkEnd::Completed } else { WalkEnd::Stopped };
        }
        tokio::select! {
            biased;
            now = stop.wait_beyond(asked) => {
                asked = now;
                if now == Stop::Now {
                    return WalkEnd::Abandoned;
                }
                stopping = Some(walker.stop());
            }
            () = async { match stopping.as_mut() {
                Some(stopping) => stopping.await,
                None => std::future::pending().await,
            } } => stopping = None,
            Some(recording) = recordings.recv() => walker.record(recording),
            first = running.next() => {
                let mut next = first;
                let mut finished = 0;
                while let Some(task) = next {
                    if let Some((node, end)) = task.group {
                        group_sizes.adjust(node, end);
                    }
                    running.extend(task.running);
                    finished += task.ended.len();
                    count -= task.ended.len();
                    for (node, outcome) in task.ended {
                        let result = match outcome {
                            Ok(outcome) => walker.finish(outcome),
                            Err(problem) => {
                                walker.on_task_panic(problem);
                                StepResult::Failed
                            }
                        };
                        match result {
                            StepResult::Continue(next) => queue.push_front((node, next)),
                            StepResult::Failed => _ = nodes.end_operation(node, true),
                            StepResult::Succeeded => _ = nodes.end_operation(node, false),
                        }
                    }
                    next = if finished < max_group { running.next().now_or_never().flatten() } else { None };
                }
            }
        }
    }
}

/// The nodes of a walk.
struct Nodes<'a, N> {
    graph: &'a Graph<N>,
    progress: Progress,
    failed: Vec<bool>,
    /// The number of unfinished operations of each node.
    open: Vec<usize>,
}

impl<'a, N> Nodes<'a, N> {
    fn new(graph: &'a Graph<N>) -> Self {
        let count = graph.node_count();
        Self { graph, progress: Progress::new(graph), failed: vec![false; count], open: vec![0; count] }
    }

    /// Returns whether a dependency of a node failed.
    fn is_after_failure(&self, node: NodeId) -> bool {
        graph::dependencies(self.graph, node).any(|dependency| self.failed[dependency.index()])
    }

    fn end(&mut self, node: NodeId, has_failed: bool) {
        self.failed[node.index()] |= has_failed;
        self.progress.finish(self.graph, node);
    }

    /// Ends an operation. Returns whether its node has no other unfinished operations.
    fn end_operation(&mut self, node: NodeId, has_failed: bool) -> bool {
        self.failed[node.index()] |= has_failed;
        self.open[node.index()] -= 1;
        let is_ended = self.open[node.index()] == 0;
        if is_ended {
            self.progress.finish(self.graph, node);
        }
        is_ended
    }
}

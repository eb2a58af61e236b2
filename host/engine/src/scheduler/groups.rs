//! Runs operations in groups, each of which is one task of the runtime.
//!
//! Many operations end without waiting: built-in providers and small components answer
//! immediately. If each of them were a task, switching between threads would take longer than the
//! operations. An operation that waits becomes a task of its own, and operations behind one that
//! takes long are moved to other tasks.
//!
//! A group contains operations of one node, whose objects have the same type, because the outcomes
//! of a group are returned together. The first group of a node consists of one operation; groups
//! grow while all operations of the node end quickly.

use std::any::Any;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinHandle};
use tracing::{Instrument as _, Span};

use super::TaskFuture;
use crate::graph::NodeId;

/// The time after which the remaining operations of a group are moved to other tasks.
const MAX_GROUP_TIME: Duration = Duration::from_micros(200);

/// An operation that can run.
pub(super) struct Operation<T> {
    pub(super) node: NodeId,
    pub(super) future: TaskFuture<T>,
    pub(super) span: Span,
}

impl<T: Send + 'static> Operation<T> {
    fn spawn(self) -> Running<T> {
        let task = AbortOnDrop(tokio::spawn(self.future.instrument(self.span)));
        Running::Operation { node: self.node, task }
    }

    /// Polls the operation once.
    fn poll_once(&mut self, context: &mut Context<'_>) -> Option<Result<T, String>> {
        let _entered = self.span.enter();
        match catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(context))) {
            Ok(Poll::Pending) => None,
            Ok(Poll::Ready(outcome)) => Some(Ok(outcome)),
            Err(panic) => Some(Err(panic_text(&*panic))),
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    message
        .map_or_else(|| "it panicked".to_owned(), |message| format!("it panicked with message {message:?}"))
}

/// The sizes of the next groups of nodes.
pub(super) struct GroupSizes {
    most: usize,
    /// The sizes of nodes with more than one operation in a group.
    grown: HashMap<NodeId, usize>,
}

impl GroupSizes {
    /// Returns the sizes at the beginning of a walk.
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), grown: HashMap::new() }
    }

    fn size(&self, node: NodeId) -> usize {
        self.grown.get(&node).copied().unwrap_or(1)
    }

    /// Starts operations.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        operations: Vec<Operation<T>>,
        abandoned: &Abandoned,
    ) -> Vec<Running<T>> {
        let mut operations = operations.into_iter().peekable();
        let mut running = Vec::new();
        while let Some(first) = operations.next() {
            let node = first.node;
            let mut group = vec![first];
            while group.len() < self.size(node)
                && let Some(next) = operations.next_if(|next| next.node == node)
            {
                group.push(next);
            }
            let count = group.len();
            let task = AbortOnDrop(tokio::spawn(run_group(group, Arc::clone(&abandoned.0))));
            running.push(Running::Group { node, count, task });
        }
        running
    }

    /// Adjusts the size to the end of a group.
    pub(super) fn adjust(&mut self, node: NodeId, end: GroupEnd) {
        match end {
            GroupEnd::Quick if self.most > 1 => {
                let size = self.grown.entry(node).or_insert(1);
                *size = (*size * 2).min(self.most);
            }
            GroupEnd::Quick => {}
            GroupEnd::Slow => _ = self.grown.remove(&node),
        }
    }
}

/// Set when a walk ends before its operations. No further operation of a group is then started.
#[derive(Default)]
pub(super) struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A task.
pub(super) enum Running<T> {
    Operation { node: NodeId, task: AbortOnDrop<T> },
    Group { node: NodeId, count: usize, task: AbortOnDrop<GroupResult<T>> },
}

/// The operations of a group.
pub(super) struct GroupResult<T> {
    /// The operations that have ended, with their outcomes or the reasons why they panicked.
    ended: Vec<(NodeId, Result<T, String>)>,
    /// The other operations, which are now tasks.
    running: Vec<Running<T>>,
    end: GroupEnd,
}

/// The way in which a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupEnd {
    /// All operations ended without waiting, in a short time.
    Quick,
    Slow,
}

/// The result of a task.
pub(super) struct TaskResult<T> {
    /// The operations that have ended, with their outcomes or the reasons why they panicked.
    pub(super) ended: Vec<(NodeId, Result<T, String>)>,
    /// The operations that are now tasks.
    pub(super) running: Vec<Running<T>>,
    /// The node of the group and how it ended, if the task was a group.
    pub(super) group: Option<(NodeId, GroupEnd)>,
}

async fn run_group<T: Send + 'static>(
    operations: Vec<Operation<T>>,
    is_abandoned: Arc<AtomicBool>,
) -> GroupResult<T> {
    let start = Instant::now();
    let mut ended = Vec::with_capacity(operations.len());
    let mut running = Vec::new();
    for mut operation in operations {
        if is_abandoned.load(Ordering::Acquire) {
            break;
        }
        if start.elapsed() > MAX_GROUP_TIME {
            running.push(operation.spawn());
            continue;
        }
        match poll_fn(|context| Poll::Ready(operation.poll_once(context))).await {
            Some(outcome) => ended.push((operation.node, outcome)),
            None => running.push(operation.spawn()),
        }
    }
    let is_quick = running.is_empty() && start.elapsed() <= MAX_GROUP_TIME;
    GroupResult { ended, running, end: if is_quick { GroupEnd::Quick } else { GroupEnd::Slow } }
}

impl<T> Future for Running<T> {
    type Output = TaskResult<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Operation { node, task } => Pin::new(task).poll(context).map(|outcome| {
                let outcome = outcome.map_err(|problem| problem.to_string());
                TaskResult { ended: vec![(*node, outcome)], running: Vec::new(), group: None }
            }),
            Self::Group { node, count, task } => Pin::new(task).poll(context).map(|result| match result {
                Ok(GroupResult { ended, running, end }) => {
                    TaskResult { ended, running, group: Some((*node, end)) }
                }
                Err(problem) => {
                    let ended = (0..*count).map(|_| (*node, Err(problem.to_string()))).collect();
                    TaskResult { ended, running: Vec::new(), group: Some((*node, GroupEnd::Slow)) }
                }
            }),
        }
    }
}

/// A task that is aborted when its future is dropped.
pub(super) struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;

    /// The number of operations in a group of these tests.
    const SIZE: usize = 2;

    type Outcome = Result<&'static str, String>;

    fn node() -> NodeId {
        NodeId::new(0)
    }

    fn operation(work: impl Future<Output = &'static str> + Send + 'static) -> Operation<&'static str> {
        Operation { node: node(), future: Box::pin(work), span: Span::none() }
    }

    /// Returns the outcomes of all operations of a task, sorted.
    async fn outcomes(task: TaskResult<&'static str>) -> Vec<Outcome> {
        let mut ended = task.ended;
        for running in task.running {
            ended.extend(running.await.ended);
        }
        let mut outcomes: Vec<Outcome> = ended.into_iter().map(|(_, outcome)| outcome).collect();
        outcomes.sort();
        outcomes
    }

    /// Runs two operations as one group.
    async fn run(
        operations: [Operation<&'static str>; SIZE],
        abandoned: &Abandoned,
    ) -> TaskResult<&'static str> {
        let sizes = GroupSizes { most: SIZE, grown: HashMap::from([(node(), SIZE)]) };
        let mut running = sizes.spawn(operations.into(), abandoned);
        assert_eq!(running.len(), 1, "one group");
        running.remove(0).await
    }

    #[tokio::test]
    async fn waiting_operation_does_not_delay_its_group() {
        let (sender, receiver) = oneshot::channel();
        let waiting = operation(async move { receiver.await.unwrap_or_default() });
        let result = run([waiting, operation(async { "quick" })], &Abandoned::default()).await;
        assert_eq!(result.group, Some((node(), GroupEnd::Slow)));
        sender.send("waited").unwrap();
        assert_eq!(outcomes(result).await, [Ok("quick"), Ok("waited")]);
    }

    #[tokio::test]
    async fn panic_ends_only_its_operation() {
        let operations = [operation(async { panic!("no {}", "luck") }), operation(async { "quick" })];
        let result = run(operations, &Abandoned::default()).await;
        let panicked = Err("it panicked with message \"no luck\"".to_owned());
        assert_eq!(outcomes(result).await, [Ok("quick"), panicked]);
    }

    #[tokio::test]
    async fn abandoned_group_starts_no_further_operations() {
        let started = Arc::new(AtomicUsize::new(0));
        let abandoned = Abandoned::default();
        let flag = Arc::clone(&abandoned.0);
        let abandon = operation(async move {
            flag.store(true, Ordering::Release);
            "abandoned"
        });
        let count = Arc::clone(&started);
        let counting = operation(async move {
            count.fetch_add(1, Ordering::Relaxed);
            "started"
        });
        run([abandon, counting], &abandoned).await;
        assert_eq!(started.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn group_contains_operations_of_one_node() {
        let other = Operation { node: NodeId::new(1), ..operation(async { "other" }) };
        let operations = vec![operation(async { "a" }), other, operation(async { "b" })];
        let sizes = GroupSizes { most: 3, grown: HashMap::from([(node(), 3)]) };
        assert_eq!(sizes.spawn(operations, &Abandoned::default()).len(), 3);
    }

    #[test]
    fn groups_grow_while_operations_end_quickly() {
        let mut sizes = GroupSizes::new(5);
        let mut found = Vec::new();
        for end in [GroupEnd::Quick, GroupEnd::Quick, GroupEnd::Quick, GroupEnd::Slow, GroupEnd::Quick] {
            found.push(sizes.size(node()));
            sizes.adjust(node(), end);
        }
        assert_eq!((found, sizes.size(node())), (vec![1, 2, 4, 5, 1], 2));
        assert_eq!(sizes.size(NodeId::new(1)), 1);
    }
}

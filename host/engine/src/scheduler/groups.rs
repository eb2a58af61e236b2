//! Runs operations in groups, each of which is one task of the runtime.
//!
//! Many operations end without waiting: built-in providers and small components answer
//! immediately. If each of them were a task, switching between threads would take longer than the
//! operations. An operation that waits becomes a task of its own, and operations behind one that
//! takes long are moved to other tasks. The next groups then consist of one operation, and grow
//! again while all operations end quickly.

use std::any::Any;
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

/// The number of operations in the next group. It grows while all operations end quickly.
pub(super) struct GroupSize {
    current: usize,
    most: usize,
}

impl GroupSize {
    /// Returns the size of the first group of a walk.
    pub(super) fn new(most: usize) -> Self {
        Self { current: 1, most: most.max(1) }
    }

    /// Starts operations.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        operations: Vec<Operation<T>>,
        abandoned: &Abandoned,
    ) -> Vec<Running<T>> {
        let mut operations = operations.into_iter().peekable();
        let mut running = Vec::new();
        while operations.peek().is_some() {
            let group: Vec<_> = operations.by_ref().take(self.current).collect();
            let nodes = group.iter().map(|operation| operation.node).collect();
            let task = AbortOnDrop(tokio::spawn(run_group(group, Arc::clone(&abandoned.0))));
            running.push(Running::Group { nodes, task });
        }
        running
    }

    /// Adjusts the size to the end of a group.
    pub(super) fn adjust(&mut self, end: GroupEnd) {
        self.current = match end {
            GroupEnd::Quick => (self.current * 2).min(self.most),
            GroupEnd::Slow => 1,
        };
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
    Group { nodes: Vec<NodeId>, task: AbortOnDrop<GroupResult<T>> },
}

/// The operations of a group.
pub(super) struct GroupResult<T> {
    /// The operations that have ended, with their outcomes or the reasons why they panicked.
    ended: Vec<(NodeId, Result<T, String>)>,
    /// The other operations, which are now tasks.
    running: Vec<Running<T>>,
    end: GroupEnd,
}

/// How a group ended.
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
    /// How the group ended, if the task was a group.
    pub(super) end: Option<GroupEnd>,
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
                TaskResult { ended: vec![(*node, outcome)], running: Vec::new(), end: None }
            }),
            Self::Group { nodes, task } => Pin::new(task).poll(context).map(|result| match result {
                Ok(GroupResult { ended, running, end }) => TaskResult { ended, running, end: Some(end) },
                Err(problem) => {
                    let ended = nodes.iter().map(|node| (*node, Err(problem.to_string()))).collect();
                    TaskResult { ended, running: Vec::new(), end: Some(GroupEnd::Slow) }
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

    fn operation(node: usize, work: impl Future<Output = usize> + Send + 'static) -> Operation<usize> {
        Operation { node: NodeId::new(node), future: Box::pin(work), span: Span::none() }
    }

    fn outcomes(ended: &[(NodeId, Result<usize, String>)]) -> Vec<(usize, Result<usize, String>)> {
        ended.iter().map(|(node, outcome)| (node.index(), outcome.clone())).collect()
    }

    /// Runs operations as one group.
    async fn run(operations: Vec<Operation<usize>>, abandoned: &Abandoned) -> TaskResult<usize> {
        let size = GroupSize { current: operations.len(), most: operations.len() };
        let mut running = size.spawn(operations, abandoned);
        assert_eq!(running.len(), 1, "one group");
        running.remove(0).await
    }

    #[tokio::test]
    async fn waiting_operation_becomes_task_of_its_own() {
        let (sender, receiver) = oneshot::channel();
        let waiting = operation(0, async move { receiver.await.unwrap_or_default() });
        let mut result = run(vec![waiting, operation(1, async { 7 })], &Abandoned::default()).await;
        assert_eq!(outcomes(&result.ended), [(1, Ok(7))]);
        assert_eq!(result.end, Some(GroupEnd::Slow));
        sender.send(5).unwrap();
        let task = result.running.remove(0).await;
        assert_eq!(outcomes(&task.ended), [(0, Ok(5))]);
        assert_eq!(task.end, None);
    }

    #[tokio::test]
    async fn panic_ends_only_its_operation() {
        let operations = vec![operation(0, async { panic!("no {}", "luck") }), operation(1, async { 7 })];
        let result = run(operations, &Abandoned::default()).await;
        let panicked = Err("it panicked with message \"no luck\"".to_owned());
        assert_eq!(outcomes(&result.ended), [(0, panicked), (1, Ok(7))]);
    }

    #[tokio::test]
    async fn abandoned_group_starts_no_further_operations() {
        let started = Arc::new(AtomicUsize::new(0));
        let abandoned = Abandoned::default();
        let flag = Arc::clone(&abandoned.0);
        let abandon = operation(0, async move {
            flag.store(true, Ordering::Release);
            0
        });
        let count = Arc::clone(&started);
        let counting = operation(1, async move { count.fetch_add(1, Ordering::Relaxed) });
        run(vec![abandon, counting], &abandoned).await;
        assert_eq!(started.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn groups_grow_while_operations_end_quickly() {
        let mut size = GroupSize::new(5);
        let mut sizes = Vec::new();
        for end in [GroupEnd::Quick, GroupEnd::Quick, GroupEnd::Quick, GroupEnd::Slow, GroupEnd::Quick] {
            sizes.push(size.current);
            size.adjust(end);
        }
        assert_eq!((sizes, size.current), (vec![1, 2, 4, 5, 1], 2));
    }
}

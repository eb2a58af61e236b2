//! Limits the number of concurrent requests, in total and for each origin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::{Origin, Url};

/// Maximum number of concurrent requests.
const MAX_REQUESTS: usize = 16;
/// Maximum number of concurrent requests to one origin.
const MAX_REQUESTS_PER_ORIGIN: usize = 6;
/// Maximum number of stored origins. If there are more, origins without active requests are removed.
const MAX_IDLE_ORIGINS: usize = 64;

pub(crate) struct Concurrency {
    total: Arc<Semaphore>,
    origins: Mutex<HashMap<Origin, Arc<Semaphore>>>,
}

/// The permits of one request. Dropping them allows the next request.
pub(crate) struct RequestPermits {
    _origin: Option<OwnedSemaphorePermit>,
    _total: Option<OwnedSemaphorePermit>,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self { total: Arc::new(Semaphore::new(MAX_REQUESTS)), origins: Mutex::default() }
    }
}

impl Concurrency {
    /// Waits until a request to the URL's origin may be sent. A request acquires its origin's
    /// permit first, and therefore holds no total permit while it waits for its origin.
    pub(crate) async fn acquire(&self, url: &Url) -> RequestPermits {
        // The semaphores are never closed, so acquiring does not fail.
        let origin = self.origin(url.origin()).acquire_owned().await.ok();
        let total = Arc::clone(&self.total).acquire_owned().await.ok();
        RequestPermits { _origin: origin, _total: total }
    }

    fn origin(&self, origin: Origin) -> Arc<Semaphore> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if origins.len() >= MAX_IDLE_ORIGINS && !origins.contains_key(&origin) {
            // A waiting request holds a reference, and so does each permit.
            origins.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        }
        let new = || Arc::new(Semaphore::new(MAX_REQUESTS_PER_ORIGIN));
        Arc::clone(origins.entry(origin).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn url(host: usize) -> Url {
        Url::parse(&format!("https://host{host}.example/")).unwrap()
    }

    /// Returns the permits if they are available without waiting.
    fn try_acquire(concurrency: &Concurrency, host: usize) -> Option<RequestPermits> {
        let url = url(host);
        let acquiring = pin!(concurrency.acquire(&url));
        match acquiring.poll(&mut Context::from_waker(Waker::noop())) {
            std::task::Poll::Ready(permits) => Some(permits),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn requests_are_limited_by_origin_and_in_total() {
        let concurrency = Concurrency::default();
        let take = |host, count| -> Vec<RequestPermits> {
            (0..count).map_while(|_| try_acquire(&concurrency, host)).collect()
        };
        let one = take(1, 20);
        assert_eq!(one.len(), MAX_REQUESTS_PER_ORIGIN);
        let (two, three) = (take(2, 20), take(3, 20));
        assert_eq!(one.len() + two.len() + three.len(), MAX_REQUESTS);
        drop(one);
        assert_eq!(take(3, 20).len(), MAX_REQUESTS_PER_ORIGIN - three.len());
        drop((two, three));
        assert_eq!(take(1, 20).len(), MAX_REQUESTS_PER_ORIGIN);
    }

    #[test]
    fn idle_origins_are_forgotten() {
        let concurrency = Concurrency::default();
        let kept = try_acquire(&concurrency, 0);
        for host in 1..=3 * MAX_IDLE_ORIGINS {
            assert!(try_acquire(&concurrency, host).is_some());
        }
        let origins = concurrency.origins.lock().unwrap();
        assert!(origins.len() <= MAX_IDLE_ORIGINS && origins.contains_key(&url(0).origin()));
        drop(kept);
    }
}

//! An instance's active requests, which end with the operation to which they belong.
//!
//! A guest can hold a handle as long as the instance exists. Therefore, the host owns the response
//! bodies that are being read, and drops them when the operation has ended. The guest's handles are
//! then empty, and the connections and permits can be used again.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;
use wardian_network::ResponseBody;
use wardian_plugin::PluginCall;
use wasmtime_wasi_http::Error;

use super::errors::{error_for_guest, log_error};

/// All active exchanges of an instance.
pub(super) struct Exchanges(Arc<Mutex<OpenExchanges>>);

struct OpenExchanges {
    /// The sender is replaced when the operation has ended. That closes the channel.
    work: watch::Sender<()>,
    bodies: HashMap<u64, Weak<Mutex<Option<ResponseBody>>>>,
    next: u64,
}

pub(super) struct Begun {
    going: Arc<Mutex<OpenExchanges>>,
    work: watch::Receiver<()>,
}

/// A response body, which is available until the operation that requested it ends.
pub(super) struct HeldBody {
    going: Arc<Mutex<OpenExchanges>>,
    number: u64,
    body: Arc<Mutex<Option<ResponseBody>>>,
    call: PluginCall,
}

impl Default for Exchanges {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(OpenExchanges {
            work: watch::Sender::new(()),
            bodies: HashMap::new(),
            next: 0,
        })))
    }
}

impl Exchanges {
    pub(super) fn begin(&self) -> Begun {
        Begun { going: Arc::clone(&self.0), work: lock(&self.0).work.subscribe() }
    }

    /// Ends the operation's exchanges.
    pub(super) fn end(&self) {
        let bodies = {
            let mut going = lock(&self.0);
            if going.work.receiver_count() > 0 {
                going.work = watch::Sender::new(());
            }
            std::mem::take(&mut going.bodies)
        };
        for body in bodies.into_values().filter_map(|body| body.upgrade()) {
            *body.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl Begun {
    /// Awaits a future; `None` if the operation ends first.
    pub(super) async fn within<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut work = self.work.clone();
        tokio::select! {
            biased;
            // No value is ever sent: a change means that the sender was dropped.
            _ = work.changed() => None,
            answer = future => Some(answer),
        }
    }

    /// Stores the body of the response, unless the operation has ended.
    pub(super) fn hold(self, body: ResponseBody, call: PluginCall) -> Option<HeldBody> {
        let body = Arc::new(Mutex::new(Some(body)));
        let number = {
            let mut going = lock(&self.going);
            if self.work.has_changed().is_err() {
                return None;
            }
            going.next += 1;
            let number = going.next;
            going.bodies.insert(number, Arc::downgrade(&body));
            number
        };
        Some(HeldBody { going: self.going, number, body, call })
    }
}

impl Body for HeldBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let mut body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(body) = &mut *body else {
            return Poll::Ready(Some(Err(Error::ConnectionTerminated)));
        };
        Pin::new(body).poll_frame(context).map_err(|error| {
            log_error(&self.call, &error);
            error_for_guest(error)
        })
    }

    fn is_end_stream(&self) -> bool {
        let body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        body.as_ref().is_some_and(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        lock(&self.going).bodies.remove(&self.number);
    }
}

fn lock(going: &Mutex<OpenExchanges>) -> MutexGuard<'_, OpenExchanges> {
    going.lock().unwrap_or_else(PoisonError::into_inner)
}

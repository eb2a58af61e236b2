//! RPCs: their paths and message types.

use std::fmt;
use std::marker::PhantomData;

/// An RPC of a service in `proto/`, with request `Q` and response `A`.
pub struct RpcMethod<Q, A> {
    path: &'static str,
    messages: PhantomData<fn(Q) -> A>,
}

impl<Q, A> RpcMethod<Q, A> {
    /// Returns the RPC with a path, `/package.Service/Name`.
    pub const fn new(path: &'static str) -> Self {
        Self { path, messages: PhantomData }
    }

    /// Returns the path, `/package.Service/Name`.
    pub const fn path(self) -> &'static str {
        self.path
    }

    /// Returns the name of the RPC, which is the last component of the path.
    pub fn name(self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the same RPC with its response decoded as another message with the same encoding.
    pub(crate) const fn with_answer<B>(self) -> RpcMethod<Q, B> {
        RpcMethod::new(self.path)
    }
}

impl<Q, A> Clone for RpcMethod<Q, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q, A> Copy for RpcMethod<Q, A> {}

impl<Q, A> fmt::Debug for RpcMethod<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

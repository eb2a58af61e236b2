//! HTTP for plugins: the only way on which a component's request leaves this process.
//!
//! A [`Client`] sends what the [`Authority`] of each request allows, at two walls:
//!
//! 1. before anything is looked up, with scheme, host, port and method in one form;
//! 2. for each address that the host has, before it is connected to. A name says nothing
//!    about where it leads, and may lead elsewhere at the next look-up: a name is looked
//!    up once for a connection, and that connection goes to an address that passed.
//!
//! What always holds:
//! - a redirect is an answer like any other: who follows it makes a new request;
//! - `Host` is what was decided on. A request whose own `Host` says something else is
//!   refused, as is what would turn the connection into something else (`CONNECT`,
//!   `Upgrade`);
//! - certificates are verified against the system's roots, for the host's name;
//! - a credential of the host's is added behind the walls, and a request that brings that
//!   header itself is refused;
//! - an answer is bounded in size and time, and so is the number of requests at once, by [`Turns`] that
//!   others may take too;
//! - connections are kept for the next request to the same place, of the same client
//!   alone: clients share nothing that one could leave for another.
//!
//! Where the person's environment names a proxy, the proxy looks names up, and the second
//! wall sees only addresses that a request names itself. [`proxy`] says more.
//!
//! This crate knows no component and no WASI, reads no environment, and writes nothing to
//! the log: each exchange is told to the authority.

mod authority;
mod body;
mod client;
mod connection;
mod error;
mod pool;
pub mod proxy;
mod resolve;
mod tls;
mod turns;

pub use authority::{Authority, Credential, Denied, Exchange};
pub use body::{BoxedBody, ResponseBody};
pub use client::{Client, ClientOptions, Limits, Timeouts};
pub use error::NetworkError;
pub use resolve::{Resolver, SystemResolver};
pub use tls::{TlsError, TlsRoots};
pub use turns::{GoingOn, Turn, Turns};

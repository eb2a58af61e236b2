//! The HTTP client for plugins. A component can send requests only through this client. The host's
//! own requests also use this client, with the [`OperatorAuthority`].
//!
//! A [`Client`] requests authorization from its [`HttpAuthority`](wardian_access::HttpAuthority)
//! twice for each request:
//!
//! 1. before any lookup, with scheme, host, port and method in canonical form;
//! 2. for each address of the host, before connecting to it. A name may resolve to different
//!    addresses each time. Therefore, a name is resolved once for each connection, and the
//!    connection is opened only to an allowed address.
//!
//! The reasons for not using an existing client are in `docs/design/003-http-client.md`.
//!
//! Invariants:
//! - names are resolved as absolute names, without the system's search domains, and the method that
//!   is sent is the allowed method, in upper case;
//! - redirects are returned, not followed: to follow a redirect, a plugin sends a new request;
//! - the `Host` header contains the host that was allowed; a request with a different header is
//!   rejected, and so is a request that would change the protocol of the connection (`CONNECT`,
//!   `Upgrade`);
//! - certificates are verified against the system's root certificates and the name of the host;
//! - the host's credentials are added after the checks, and a request that already contains a
//!   header of these credentials is rejected;
//! - the size and duration of responses are limited, and so is the number of concurrent requests,
//!   by a [`RequestLimiter`] that other connections can share;
//! - a connection is reused only for the same destination and by the same client, which prevents
//!   clients from influencing each other.
//!
//! If the user's environment configures a proxy, the proxy resolves names, and the second check
//! applies only to requests whose host is an address; see [`proxy`].
//!
//! This crate does not depend on components or WASI, reads no environment variables, and logs
//! nothing. Each exchange is reported to the authority.

mod body;
mod boxed_body;
mod client;
mod connection;
mod error;
mod known_names;
mod operator_authority;
mod pool;
pub mod proxy;
mod request_limiter;
mod resolve;
mod stream;
mod tls;

pub use body::ResponseBody;
pub use boxed_body::BoxedBody;
pub use client::{Client, ClientOptions, HttpLimits, Timeouts};
pub use error::NetworkError;
pub use known_names::KnownNames;
pub use operator_authority::OperatorAuthority;
pub use request_limiter::{Permit, RequestLimiter, Ticket};
pub use resolve::{Resolver, SystemResolver};
pub use stream::connect_stream;
pub use tls::{TlsError, TlsRoots, TlsSettings, Verification, system_roots};

//! Answers the name lookups of a confined program.
//!
//! Every datagram socket of the program is connected to this module, and so is every stream to one
//! of the machine's name servers. Only names that policy grants leave the machine, because a name
//! can contain a secret. Addresses are the real ones, and are recorded: a later connection to such an
//! address counts as a connection to the name.

mod forward;
mod message;

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use wardian_access::{Host, NativeAuthority};
use wardian_network::{KnownNames, Resolver};

use forward::NameServers;
use message::{Answer, Query, QueryError, RecordType, ResponseCode};

/// Maximum number of bytes of a query.
pub(crate) const MAX_QUERY_BYTES: usize = 4096;
/// Time limit of a lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of concurrent lookups. Additional lookups wait.
const MAX_CONCURRENT_LOOKUPS: usize = 32;
/// Maximum number of queries that wait for a lookup or for its result.
const MAX_WAITING_QUERIES: usize = 1_000;

/// The names of one program's process.
pub(crate) struct Names {
    authority: Arc<dyn NativeAuthority>,
    resolver: Arc<dyn Resolver>,
    servers: NameServers,
    known: Mutex<KnownNames>,
    lookups: Semaphore,
}

impl Names {
    pub(crate) fn new(authority: Arc<dyn NativeAuthority>, resolver: Arc<dyn Resolver>) -> Self {
        Self {
            authority,
            resolver,
            servers: NameServers::from_system(),
            known: Mutex::default(),
            lookups: Semaphore::new(MAX_CONCURRENT_LOOKUPS),
        }
    }

    /// Whether a stream to this address is a connection to a name server.
    pub(crate) fn is_server(&self, address: std::net::SocketAddr) -> bool {
        self.servers.contains(address)
    }

    /// Returns the granted names that resolved to an address, the last one first.
    pub(crate) fn of_address(&self, address: IpAddr) -> Vec<Host> {
        self.known().of_address(address).rev().cloned().collect()
    }

    /// Answers a query. Returns nothing for a message that is not a query.
    pub(crate) async fn respond(&self, message: &[u8]) -> Option<Vec<u8>> {
        let query = match Query::parse(message) {
            Ok(query) => query,
            Err(QueryError::Ignored) => return None,
            Err(QueryError::Invalid(header)) => return Some(header.error(ResponseCode::FormatError)),
        };
        // The semaphore is never closed.
        let _permit = self.lookups.acquire().await.ok()?;
        let answer = tokio::time::timeout(LOOKUP_TIMEOUT, self.answer(&query)).await;
        Some(answer.unwrap_or_else(|_| query.error(ResponseCode::ServerFailure)))
    }

    /// Answers the queries that a datagram socket receives.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be used.
    pub(crate) async fn serve_datagrams(self: &Arc<Self>, socket: std::net::UdpSocket) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        let socket = Arc::new(UdpSocket::from_std(socket)?);
        let mut lookups = JoinSet::new();
        loop {
            let mut message = vec![0; MAX_QUERY_BYTES];
            let (length, sender) = socket.recv_from(&mut message).await?;
            message.truncate(length);
            while lookups.try_join_next().is_some() {}
            // The program resends a query that is not answered.
            if lookups.len() >= MAX_WAITING_QUERIES {
                continue;
            }
            let (names, socket) = (Arc::clone(self), Arc::clone(&socket));
            lookups.spawn(async move {
                if let Some(response) = names.respond(&message).await {
                    let response = message::for_datagram(response);
                    // The program may have closed its socket.
                    let _ = socket.send_to(&response, sender).await;
                }
            });
        }
    }

    async fn answer(&self, query: &Query) -> Vec<u8> {
        let Ok(host) = Host::parse(query.name()) else {
            self.authority.refuse_look_up(query.name());
            return query.error(ResponseCode::NoSuchName);
        };
        let Host::Name(name) = &host else { return query.error(ResponseCode::NoSuchName) };
        if self.authority.may_look_up(&host).is_err() {
            return query.error(ResponseCode::NoSuchName);
        }
        match query.record_type() {
            RecordType::A | RecordType::Aaaa => {}
            RecordType::Forwarded => return self.servers.forward(query).await,
            RecordType::Other => return query.respond(&[]),
        }
        let found = match self.resolver.resolve(name).await {
            Ok(found) => found,
            Err(error) => return query.error(code_of(&error)),
        };
        self.known().remember(&host, &found);
        let wants_v4 = query.record_type() == RecordType::A;
        let wanted = found.into_iter().filter(|address| address.is_ipv4() == wants_v4);
        // A name without an address of this family exists: some C libraries otherwise also drop the
        // addresses of the other family.
        query.respond(&wanted.map(Answer::from).collect::<Vec<_>>())
    }

    fn known(&self) -> MutexGuard<'_, KnownNames> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the queries of a stream, each of which is preceded by its length.
    pub(crate) async fn serve_stream(&self, mut stream: TcpStream) -> io::Result<()> {
        loop {
            let length = usize::from(stream.read_u16().await?);
            if length > MAX_QUERY_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut message = vec![0; length];
            stream.read_exact(&mut message).await?;
            let Some(response) = self.respond(&message).await else { continue };
            let length = u16::try_from(response.len()).map_err(io::Error::other)?;
            stream.write_all(&length.to_be_bytes()).await?;
            stream.write_all(&response).await?;
        }
    }
}

/// The resolver's errors have no code. The C library's message for names that do not exist differs
/// from the one for failures that may end.
fn code_of(error: &io::Error) -> ResponseCode {
    if error.to_string().contains("Temporary failure") {
        ResponseCode::ServerFailure
    } else {
        ResponseCode::NoSuchName
    }
}

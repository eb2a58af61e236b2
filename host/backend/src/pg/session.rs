//! A session with a PostgreSQL server: authentication and queries.
//!
//! Messages are encoded and decoded by `postgres-protocol`. Parameters and results are text. Every
//! step has a time limit; after a failed one, the session is not used again.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Header, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use wardian_state::{StorageEffect, StorageError};

use super::connection_string::ConnectionSettings;
use super::stream::{self, Stream};
use super::traffic::Traffic;

/// Maximum size of a message. PostgreSQL limits a field to 1 GiB.
const MAX_MESSAGE_BYTES: i32 = (1 << 30) + (1 << 20);

/// The minimum speed of a transfer, in bytes per second, from which its time limit follows.
const MIN_SPEED: u64 = 64 << 10;

/// Maximum number of characters of the server's message that an error contains.
const MAX_SHOWN_CHARACTERS: usize = 500;

pub(crate) struct Session {
    stream: Box<dyn Stream>,
    traffic: Traffic,
    received: BytesMut,
    timeout: Duration,
    is_broken: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("is_broken", &self.is_broken).finish_non_exhaustive()
    }
}

/// A row of a result.
#[derive(Debug)]
pub(crate) struct Row {
    buffer: Bytes,
    ranges: Vec<Option<std::ops::Range<usize>>>,
}

/// A failed connection or query.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PgError {
    /// The server rejected the query.
    #[error("the server responded: {message} (SQLSTATE {code})")]
    Server { code: String, message: String },
    /// The connection could not be opened.
    #[error("{0}")]
    Connect(String),
    /// The connection was lost, or the server did not respond.
    #[error("{0}")]
    Lost(String),
}

impl PgError {
    pub(crate) fn into_storage(self, operation: &str) -> StorageError {
        let advice = match &self {
            Self::Server { code, .. } => match code.as_str() {
                "28P01" | "28000" => Some("check the user and the password in the connection string"),
                "3D000" => Some("create the database, or correct its name in the connection string"),
                "42501" => Some(
                    "grant the role the privileges, or let an administrator create the schema and the table and set \
                     skip_schema_creation, skip_table_creation and skip_index_creation",
                ),
                "25006" => Some("the database is read-only; connect to the primary server"),
                "53100" => Some("the server's disk is full"),
                "3F000" | "42P01" => Some(
                    "the schema or the table does not exist; remove skip_schema_creation and skip_table_creation from \
                     the backend's configuration once",
                ),
                _ => None,
            },
            Self::Connect(_) => {
                Some("check the address in the connection string, and that the server is running")
            }
            Self::Lost(_) => None,
        };
        let effect = match &self {
            Self::Lost(_) => StorageEffect::Unknown,
            Self::Server { .. } | Self::Connect(_) => StorageEffect::None,
        };
        let error = StorageError::new(format!("failed to {operation}: {self}")).with_effect(effect);
        match advice {
            Some(advice) => error.with_advice(advice),
            None => error,
        }
    }
}

impl Row {
    fn new(body: &DataRowBody) -> io::Result<Self> {
        use postgres_protocol::message::backend::DataRowRanges;
        let ranges: DataRowRanges<'_> = body.ranges();
        let ranges = fallible_iterator::FallibleIterator::collect(ranges)?;
        Ok(Self { buffer: body.buffer_bytes().clone(), ranges })
    }

    /// Returns the bytes of a column; [`None`] if it is null.
    pub(crate) fn bytes(&self, column: usize) -> Option<&[u8]> {
        self.buffer.get(self.ranges.get(column)?.clone()?)
    }

    pub(crate) fn text(&self, column: usize) -> Option<&str> {
        std::str::from_utf8(self.bytes(column)?).ok()
    }

    /// Returns whether a column is true.
    pub(crate) fn flag(&self, column: usize) -> bool {
        self.bytes(column) == Some(b"t")
    }
}

impl Session {
    /// Opens a session.
    pub(crate) async fn connect(settings: &ConnectionSettings) -> Result<Self, PgError> {
        let failed =
            |reason: String| PgError::Connect(format!("the server {settings} cannot be used: {reason}"));
        let connecting = async {
            let mut traffic = Traffic::begin(settings.connections.as_ref(), settings.server.peer());
            let stream = stream::connect(settings, &mut traffic).await;
            let stream = stream.map_err(|error| failed(error.to_string()))?;
            let mut session = Self {
                stream,
                traffic,
                received: BytesMut::new(),
                timeout: settings.timeout,
                is_broken: false,
            };
            match session.start(settings).await {
                Err(PgError::Lost(reason)) => Err(failed(reason)),
                result => result.map(|()| session),
            }
        };
        match timeout(settings.timeout, connecting).await {
            Ok(result) => result,
            Err(_) => {
                Err(failed(format!("no session was opened within {} seconds", settings.timeout.as_secs())))
            }
        }
    }

    async fn start(&mut self, settings: &ConnectionSettings) -> Result<(), PgError> {
        let mut parameters = vec![
            ("user", settings.user.as_str()),
            ("database", settings.database.as_str()),
            ("application_name", settings.application_name.as_str()),
            ("client_encoding", "UTF8"),
        ];
        parameters.extend(settings.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut message = BytesMut::new();
        frontend::startup_message(parameters, &mut message).map_err(|error| lost(&error))?;
        self.send(&message).await?;
        loop {
            match self.receive().await? {
                Message::AuthenticationOk => break,
                Message::AuthenticationCleartextPassword => {
                    let password = settings.password.as_deref().ok_or_else(no_password)?;
                    self.send_password(password.as_bytes()).await?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let password = settings.password.as_deref().ok_or_else(no_password)?;
                    let hash = md5_hash(settings.user.as_bytes(), password.as_bytes(), body.salt());
                    self.send_password(hash.as_bytes()).await?;
                }
                Message::AuthenticationSasl(body) => {
                    let mut mechanisms = body.mechanisms();
                    let mut is_supported = false;
                    while let Ok(Some(mechanism)) = fallible_iterator::FallibleIterator::next(&mut mechanisms)
                    {
                        is_supported |= mechanism == SCRAM_SHA_256;
                    }
                    if !is_supported {
                        return Err(PgError::Connect(
                            "the server requires an unknown authentication method".to_owned(),
                        ));
                    }
                    let password = settings.password.as_deref().ok_or_else(no_password)?;
                    self.authenticate(password).await?;
                }
                Message::ErrorResponse(body) => return Err(server_error(&body)),
                Message::NoticeResponse(_) => {}
                _ => {
                    return Err(PgError::Connect(
                        "the server requires an unknown authentication method".to_owned(),
                    ));
                }
            }
        }
        loop {
            match self.receive().await? {
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(server_error(&body)),
                _ => {}
            }
        }
    }

    async fn send_password(&mut self, password: &[u8]) -> Result<(), PgError> {
        let mut message = BytesMut::new();
        frontend::password_message(password, &mut message).map_err(|error| lost(&error))?;
        self.send(&message).await
    }

    /// Authenticates with SCRAM-SHA-256.
    async fn authenticate(&mut self, password: &str) -> Result<(), PgError> {
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        let mut message = BytesMut::new();
        frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut message)
            .map_err(|error| lost(&error))?;
        self.send(&message).await?;
        match self.receive().await? {
            Message::AuthenticationSaslContinue(body) => {
                scram.update(body.data()).map_err(|error| lost(&error))?;
            }
            Message::ErrorResponse(body) => return Err(server_error(&body)),
            _ => return Err(unexpected_message()),
        }
        let mut message = BytesMut::new();
        frontend::sasl_response(scram.message(), &mut message).map_err(|error| lost(&error))?;
        self.send(&message).await?;
        match self.receive().await? {
            Message::AuthenticationSaslFinal(body) => scram.finish(body.data()).map_err(|error| lost(&error)),
            Message::ErrorResponse(body) => Err(server_error(&body)),
            _ => Err(unexpected_message()),
        }
    }

    /// Runs one statement with parameters as text, and returns its rows.
    pub(crate) async fn query(&mut self, sql: &str, parameters: &[&[u8]]) -> Result<Vec<Row>, PgError> {
        let size: usize = parameters.iter().map(|value| value.len()).sum();
        let mut message = BytesMut::with_capacity(sql.len() + size + 128);
        let encoded = frontend::parse("", sql, [], &mut message).and_then(|()| {
            let serialize = |value: &&[u8], buffer: &mut BytesMut| {
                buffer.extend_from_slice(value);
                Ok(IsNull::No)
            };
            frontend::bind("", "", [], parameters.iter(), serialize, [], &mut message).map_err(|error| {
                match error {
                    frontend::BindError::Serialization(error) => error,
                    frontend::BindError::Conversion(error) => io::Error::other(error),
                }
            })?;
            frontend::execute("", 0, &mut message)
        });
        // Nothing was sent, so the session is intact.
        encoded.map_err(|error| PgError::Server { code: "client".to_owned(), message: error.to_string() })?;
        frontend::sync(&mut message);
        self.run_in_time(&message).await
    }

    /// Runs a script of several statements without parameters.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), PgError> {
        let mut message = BytesMut::with_capacity(sql.len() + 16);
        frontend::query(sql, &mut message)
            .map_err(|error| PgError::Server { code: "client".to_owned(), message: error.to_string() })?;
        self.run_in_time(&message).await.map(drop)
    }

    /// Sends a message and returns the rows of the response, within the time limit.
    async fn run_in_time(&mut self, message: &[u8]) -> Result<Vec<Row>, PgError> {
        let limit = self.timeout + Duration::from_secs(message.len() as u64 / MIN_SPEED);
        let running = timeout(limit, self.run(message)).await;
        let result = running.unwrap_or_else(|_| {
            Err(PgError::Lost(format!("there was no response within {} seconds", limit.as_secs())))
        });
        self.is_broken |= matches!(result, Err(PgError::Lost(_)));
        result
    }

    async fn run(&mut self, message: &[u8]) -> Result<Vec<Row>, PgError> {
        self.send(message).await?;
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            match self.receive().await? {
                Message::DataRow(body) => rows.push(Row::new(&body).map_err(|error| lost(&error))?),
                Message::ErrorResponse(body) => failure = Some(server_error(&body)),
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        match failure {
            // The server is shutting down or has ended the session.
            Some(PgError::Server { code, message }) if code.starts_with("57P") => {
                Err(PgError::Lost(format!("the server responded: {message} (SQLSTATE {code})")))
            }
            Some(failure) => Err(failure),
            None => Ok(rows),
        }
    }

    /// Whether the session can no longer be used.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Ends the session.
    pub(crate) async fn close(mut self) {
        let mut message = BytesMut::new();
        frontend::terminate(&mut message);
        let _ = timeout(self.timeout, self.send(&message)).await;
    }

    async fn send(&mut self, message: &[u8]) -> Result<(), PgError> {
        let sent = async {
            self.stream.write_all(message).await?;
            self.stream.flush().await
        };
        sent.await.map_err(|error| lost(&error))?;
        self.traffic.sent += message.len() as u64;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Message, PgError> {
        loop {
            let header = Header::parse(&self.received).map_err(|error| lost(&error))?;
            if header.is_some_and(|header| header.len() > MAX_MESSAGE_BYTES) {
                return Err(PgError::Lost("the server sent a message that is too large".to_owned()));
            }
            if let Some(message) = Message::parse(&mut self.received).map_err(|error| lost(&error))? {
                return Ok(message);
            }
            let count = self.stream.read_buf(&mut self.received).await.map_err(|error| lost(&error))?;
            if count == 0 {
                return Err(PgError::Lost("the server closed the connection".to_owned()));
            }
            self.traffic.received += count as u64;
        }
    }
}

fn lost(error: &io::Error) -> PgError {
    PgError::Lost(format!("the connection failed: {error}"))
}

fn unexpected_message() -> PgError {
    PgError::Connect("the server sent an unexpected message".to_owned())
}

fn no_password() -> PgError {
    PgError::Connect("the server requires a password, but there is none in the connection string".to_owned())
}

fn server_error(body: &ErrorResponseBody) -> PgError {
    let (mut code, mut text) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fallible_iterator::FallibleIterator::next(&mut fields) {
        let value = String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = value.into_owned(),
            b'M' => text = value.chars().take(MAX_SHOWN_CHARACTERS).collect(),
            _ => {}
        }
    }
    PgError::Server { code, message: text }
}

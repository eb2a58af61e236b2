//! Advice about failed requests and unusable files: clauses for the ends of messages.

use std::io;

use http::StatusCode;

pub const CHECK_NETWORK: &str = "check the network connection and the proxy settings, or try again later";
pub const ASK_OPERATOR: &str = "ask the operator of the server to correct it";
pub const ASK_PUBLISHER: &str = "ask the publisher to correct it, or use another version";

/// Returns the advice for a status.
pub fn status_advice(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => {
            "check the address, or ask the operator of the server whether it was removed"
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            "check the credentials"
        }
        StatusCode::TOO_MANY_REQUESTS => {
            "the server limits the request rate; wait a few minutes and run the command again"
        }
        status if status.is_server_error() => "try again later, or ask the operator of the server",
        _ => ASK_OPERATOR,
    }
}

/// Returns a clause with a semicolon if the disk is full, and an empty text for other errors.
pub fn disk_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and run the command again"
        }
        _ => "",
    }
}

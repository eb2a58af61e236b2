//! The record of all requests.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde::Serialize;

use crate::listeners::Origin;

/// A request and the status of its response.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedRequest {
    pub origin: Origin,
    pub method: String,
    /// The path and the query.
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub status: u16,
}

impl RecordedRequest {
    /// Returns the value of a header; empty if the request does not have it.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns `METHOD PATH STATUS`.
    pub fn line(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.status)
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<Vec<RecordedRequest>>);

impl RequestLog {
    pub(crate) fn add(&self, request: RecordedRequest) {
        self.0.lock().unwrap().push(request);
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn take(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

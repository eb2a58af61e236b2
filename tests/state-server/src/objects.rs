//! Objects behind an HTTP API with conditional requests, as the example `http-state` of the SDK uses
//! them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::request::{Request, Response};
use crate::service_server::Service;

/// The objects below a path, with the number of the request that created each version.
#[derive(Debug)]
pub struct Objects {
    token: String,
    stored: Mutex<Stored>,
}

#[derive(Debug, Default)]
struct Stored {
    /// The version and the content of each object.
    objects: BTreeMap<String, (u64, Vec<u8>)>,
    /// The number of versions that were created.
    versions: u64,
}

impl Objects {
    /// Returns a service that requires this bearer token.
    pub fn new(token: &str) -> Self {
        Self { token: token.to_owned(), stored: Mutex::default() }
    }

    /// Returns the content of an object.
    pub fn object(&self, name: &str) -> Option<Vec<u8>> {
        Some(self.stored.lock().unwrap().objects.get(name)?.1.clone())
    }

    /// Stores an object.
    pub fn put(&self, name: &str, content: impl Into<Vec<u8>>) {
        let mut stored = self.stored.lock().unwrap();
        stored.versions += 1;
        let version = stored.versions;
        stored.objects.insert(name.to_owned(), (version, content.into()));
    }

    /// Returns the names of all objects.
    pub fn names(&self) -> Vec<String> {
        self.stored.lock().unwrap().objects.keys().cloned().collect()
    }
}

impl Service for Objects {
    fn respond(&self, request: &Request) -> Response {
        if request.header("authorization") != Some(&format!("Bearer {}", self.token)) {
            return Response::new(401, "a token is required");
        }
        let name = request.path().rsplit('/').next().unwrap_or_default().to_owned();
        let current = self.stored.lock().unwrap().objects.get(&name).cloned();
        let etag = current.as_ref().map(|(version, _)| format!("\"{version}\""));
        let fails = match (request.header("if-none-match"), request.header("if-match")) {
            (Some("*"), _) => current.is_some(),
            (_, Some(wanted)) => etag.as_deref() != Some(wanted),
            _ => false,
        };
        if fails {
            return Response::new(412, "");
        }
        match (&*request.method, current) {
            ("GET", _) if name.is_empty() => Response::new(200, serde_json::to_vec(&self.names()).unwrap()),
            ("GET", Some((_, content))) => {
                Response::new(200, content).with_header("etag", &etag.unwrap_or_default())
            }
            ("PUT", _) => {
                self.put(&name, request.body.clone());
                Response::new(201, "")
            }
            ("DELETE", Some(_)) => {
                self.stored.lock().unwrap().objects.remove(&name);
                Response::new(204, "")
            }
            (_, None) => Response::new(404, "no such object"),
            _ => Response::new(405, ""),
        }
    }
}

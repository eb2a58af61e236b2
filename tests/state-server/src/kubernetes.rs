//! The part of the Kubernetes API that backends use: Secrets and Leases.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::request::{Request, Response};
use crate::service_server::Service;

/// Maximum size of the data of a Secret, in base64.
const MAX_DATA_BYTES: usize = (1 << 20) * 4 / 3 + 4;

#[derive(Default)]
struct Store {
    version: u64,
    /// Objects by resource, namespace and name.
    objects: BTreeMap<(String, String, String), Value>,
    authorization: Option<String>,
    has_forbidden_writes: bool,
}

/// An API server with the namespaces `default` and `team`.
#[derive(Default)]
pub struct Kubernetes {
    store: Mutex<Store>,
}

impl Kubernetes {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }

    /// Requires the value of the `Authorization` header.
    pub fn require_authorization(&self, value: &str) {
        self.lock().authorization = Some(value.to_owned());
    }

    /// Whether objects can be read, but not written.
    pub fn forbid_writes(&self, is_forbidden: bool) {
        self.lock().has_forbidden_writes = is_forbidden;
    }

    /// Returns the names of all objects of a resource, such as `secrets`, in a namespace.
    pub fn names(&self, resource: &str, namespace: &str) -> Vec<String> {
        let store = self.lock();
        let found = store.objects.keys().filter(|(own, place, _)| own == resource && place == namespace);
        found.map(|(_, _, name)| name.clone()).collect()
    }

    pub fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.lock().objects.get(&key(resource, namespace, name)).cloned()
    }

    /// Changes an object, as another process does.
    pub fn change(&self, resource: &str, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut store = self.lock();
        store.version += 1;
        let version = store.version.to_string();
        let object = store.objects.get_mut(&key(resource, namespace, name)).unwrap();
        change(object);
        object["metadata"]["resourceVersion"] = json!(version);
    }

    pub fn remove(&self, resource: &str, namespace: &str, name: &str) {
        self.lock().objects.remove(&key(resource, namespace, name));
    }
}

impl Store {
    fn put(&mut self, key: (String, String, String), mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["namespace"] = json!(key.1);
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"].get("uid").is_none() {
            object["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.version));
            object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        object["metadata"]["managedFields"] = json!([{ "manager": "test" }]);
        if key.0 == "secrets" {
            // Terraform does not set these members.
            object["apiVersion"] = json!("v1");
            object["kind"] = json!("Secret");
        }
        self.objects.insert(key, object.clone());
        object
    }
}

fn key(resource: &str, namespace: &str, name: &str) -> (String, String, String) {
    (resource.to_owned(), namespace.to_owned(), name.to_owned())
}

fn failure(status: u16, reason: &str, message: &str) -> Response {
    json_response(
        status,
        &json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": status,
        }),
    )
}

fn json_response(status: u16, body: &Value) -> Response {
    Response::new(status, body.to_string()).with_header("content-type", "application/json")
}

fn matches_labels(object: &Value, selector: &str) -> bool {
    selector.split(',').filter(|condition| !condition.is_empty()).all(|condition| {
        let (name, value) = condition.split_once('=').unwrap();
        object["metadata"]["labels"].get(name).and_then(Value::as_str) == Some(value)
    })
}

impl Service for Kubernetes {
    fn respond(&self, request: &Request) -> Response {
        let path = request.decoded_path();
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (namespace, resource, name) = match segments.as_slice() {
            ["api", "v1", "namespaces", namespace, resource @ "secrets", rest @ ..]
            | [
                "apis",
                "coordination.k8s.io",
                "v1",
                "namespaces",
                namespace,
                resource @ "leases",
                rest @ ..,
            ] => (*namespace, *resource, rest.first().copied()),
            _ => return failure(404, "NotFound", "the server could not find the requested resource"),
        };
        let mut store = self.lock();
        if store.authorization.is_some() && store.authorization.as_deref() != request.header("authorization")
        {
            return failure(401, "Unauthorized", "Unauthorized");
        }
        let is_read = request.method == "GET";
        if store.has_forbidden_writes && !is_read {
            return failure(403, "Forbidden", &format!("{resource} is forbidden: User \"me\" cannot write"));
        }
        if !matches!(namespace, "default" | "team") && !is_read {
            return failure(404, "NotFound", &format!("namespaces \"{namespace}\" not found"));
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if body["data"]["tfstate"].as_str().is_some_and(|data| data.len() > MAX_DATA_BYTES) {
            return failure(
                422,
                "Invalid",
                "Secret is invalid: data: Too long: must have at most 1048576 bytes",
            );
        }
        let Some(name) = name else {
            if request.method == "POST" {
                let name = body["metadata"]["name"].as_str().unwrap();
                let key = key(resource, namespace, name);
                if store.objects.contains_key(&key) {
                    return failure(409, "AlreadyExists", &format!("{resource} \"{name}\" already exists"));
                }
                let stored = store.put(key, body);
                return json_response(201, &stored);
            }
            let query: BTreeMap<String, String> = request.url().query_pairs().into_owned().collect();
            let selector = query.get("labelSelector").map(String::as_str).unwrap_or_default();
            let items: Vec<_> = store
                .objects
                .iter()
                .filter(|((own, place, _), object)| {
                    own == resource && place == namespace && matches_labels(object, selector)
                })
                .map(|(_, object)| object)
                .collect();
            let list = json!({
                "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": store.version.to_string() },
                "items": items,
            });
            return json_response(200, &list);
        };
        let key = key(resource, namespace, name);
        let Some(found) = store.objects.get(&key) else {
            return failure(404, "NotFound", &format!("{resource} \"{name}\" not found"));
        };
        match request.method.as_str() {
            "GET" => json_response(200, found),
            "PUT" => {
                let version = &body["metadata"]["resourceVersion"];
                if !version.is_null() && *version != found["metadata"]["resourceVersion"] {
                    let message = format!(
                        "Operation cannot be fulfilled on {resource} \"{name}\": it has been modified"
                    );
                    return failure(409, "Conflict", &message);
                }
                let stored = store.put(key, body);
                json_response(200, &stored)
            }
            "DELETE" => {
                store.objects.remove(&key);
                json_response(
                    200,
                    &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" }),
                )
            }
            _ => failure(405, "MethodNotAllowed", "the method is not allowed"),
        }
    }
}

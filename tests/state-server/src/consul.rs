//! The part of Consul's API that backends use: keys, transactions and sessions.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::request::{Request, Response};
use crate::service_server::Service;

/// Maximum size of a request, as in Consul's default configuration.
const MAX_REQUEST_BYTES: usize = 512 << 10;

#[derive(Clone, Default)]
struct Entry {
    value: Vec<u8>,
    flags: u64,
    create_index: u64,
    modify_index: u64,
    session: Option<String>,
}

#[derive(Default)]
struct Store {
    index: u64,
    keys: BTreeMap<String, Entry>,
    /// The sessions with the times at which they expire.
    sessions: BTreeMap<String, (Duration, Instant)>,
    token: Option<String>,
}

/// A store without replication. Sessions expire after their time to live.
#[derive(Default)]
pub struct Consul {
    store: Mutex<Store>,
    changed: Condvar,
}

impl Store {
    fn next(&mut self) -> u64 {
        self.index += 1;
        self.index
    }

    fn set(&mut self, key: &str, value: Vec<u8>, flags: u64) {
        let index = self.next();
        let entry = self.keys.entry(key.to_owned()).or_default();
        if entry.create_index == 0 {
            entry.create_index = index;
        }
        (entry.value, entry.flags, entry.modify_index) = (value, flags, index);
    }

    fn is_at(&self, key: &str, index: u64) -> bool {
        self.keys.get(key).map_or(0, |entry| entry.modify_index) == index
    }

    fn is_held_by(&self, key: &str, session: &str) -> bool {
        self.keys.get(key).is_some_and(|entry| entry.session.as_deref() == Some(session))
    }

    fn end_session(&mut self, session: &str) {
        self.sessions.remove(session);
        let index = self.next();
        for entry in self.keys.values_mut().filter(|entry| entry.session.as_deref() == Some(session)) {
            entry.session = None;
            entry.modify_index = index;
        }
    }

    fn expire(&mut self) {
        let now = Instant::now();
        let expired: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, (_, end))| *end <= now)
            .map(|(session, _)| session.clone())
            .collect();
        for session in expired {
            self.end_session(&session);
        }
    }

    fn shown(&self, key: &str) -> Option<Value> {
        let entry = self.keys.get(key)?;
        let value = (!entry.value.is_empty()).then(|| STANDARD.encode(&entry.value));
        let mut shown = json!({
            "Key": key, "Value": value, "Flags": entry.flags, "CreateIndex": entry.create_index,
            "ModifyIndex": entry.modify_index, "LockIndex": 0,
        });
        if let Some(session) = &entry.session {
            shown["Session"] = json!(session);
        }
        Some(shown)
    }

    fn transaction(&mut self, operations: &[Value]) -> Response {
        let (keys, index) = (self.keys.clone(), self.index);
        let (mut results, mut errors) = (Vec::new(), Vec::new());
        for (number, operation) in operations.iter().enumerate() {
            let operation = &operation["KV"];
            let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
            let (key, session) = (text("Key"), text("Session"));
            let value = STANDARD.decode(text("Value")).unwrap();
            let problem = match operation["Verb"].as_str().unwrap() {
                "set" => {
                    self.set(&key, value, 0);
                    None
                }
                "cas" if self.is_at(&key, operation["Index"].as_u64().unwrap()) => {
                    self.set(&key, value, 0);
                    None
                }
                "cas" => Some(format!("failed to set key \"{key}\", index is stale")),
                "check-session" if self.is_held_by(&key, &session) => None,
                "check-session" => Some(format!("failed to check session of key \"{key}\"")),
                "check-not-exists" if !self.keys.contains_key(&key) => None,
                "check-not-exists" => Some(format!("key \"{key}\" exists")),
                "delete" => {
                    self.keys.remove(&key);
                    self.next();
                    None
                }
                verb => Some(format!("unknown operation \"{verb}\"")),
            };
            match problem {
                Some(problem) => errors.push(json!({ "OpIndex": number, "What": problem })),
                None => results.extend(self.shown(&key).map(|entry| json!({ "KV": entry }))),
            }
        }
        if errors.is_empty() {
            return json_response(200, &json!({ "Results": results, "Errors": null }));
        }
        (self.keys, self.index) = (keys, index);
        json_response(409, &json!({ "Results": null, "Errors": errors }))
    }
}

fn json_response(status: u16, body: &Value) -> Response {
    Response::new(status, body.to_string()).with_header("content-type", "application/json")
}

fn confirmed(is_done: bool) -> Response {
    json_response(200, &json!(is_done))
}

impl Consul {
    fn lock(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock().unwrap();
        store.expire();
        store
    }

    /// Requires a token.
    pub fn require_token(&self, token: &str) {
        self.lock().token = Some(token.to_owned());
    }

    pub fn keys(&self) -> Vec<String> {
        self.lock().keys.keys().cloned().collect()
    }

    pub fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.lock().keys.get(key).map(|entry| entry.value.clone())
    }

    /// Sets a value, as another process does.
    pub fn set(&self, key: &str, value: impl Into<Vec<u8>>) {
        self.lock().set(key, value.into(), 0);
    }

    /// Ends all sessions, as if they had expired.
    pub fn end_sessions(&self) {
        let mut store = self.lock();
        let sessions: Vec<String> = store.sessions.keys().cloned().collect();
        for session in sessions {
            store.end_session(&session);
        }
        self.changed.notify_all();
    }

    /// Returns a key when it has changed after an index, or when the time has passed.
    fn wait_for_change(&self, key: &str, index: u64, limit: Duration) -> MutexGuard<'_, Store> {
        let deadline = Instant::now() + limit;
        let mut store = self.lock();
        loop {
            let current = store.keys.get(key).map_or(store.index, |entry| entry.modify_index);
            let left = deadline.saturating_duration_since(Instant::now());
            if current > index || left.is_zero() {
                return store;
            }
            // Sessions expire without a notification.
            store = self.changed.wait_timeout(store, left.min(Duration::from_millis(200))).unwrap().0;
            store.expire();
        }
    }

    fn key(&self, request: &Request, key: &str, query: &BTreeMap<String, String>) -> Response {
        let text = |name: &str| query.get(name).map(String::as_str);
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        match request.method.as_str() {
            "GET" if query.contains_key("keys") => {
                let store = self.lock();
                let mut found: Vec<String> =
                    store.keys.keys().filter(|name| name.starts_with(key)).cloned().collect();
                if let Some(separator) = text("separator") {
                    for name in &mut found {
                        if let Some(end) = name[key.len()..].find(separator) {
                            name.truncate(key.len() + end + separator.len());
                        }
                    }
                }
                found.dedup();
                json_response(if found.is_empty() { 404 } else { 200 }, &json!(found))
            }
            "GET" => {
                let limit =
                    text("wait").and_then(|wait| wait.strip_suffix("ms")?.parse().ok()).unwrap_or(60_000);
                let store = if query.contains_key("index") {
                    self.wait_for_change(key, number("index"), Duration::from_millis(limit))
                } else {
                    self.lock()
                };
                let response = match store.shown(key) {
                    None => Response::new(404, ""),
                    Some(_) if query.contains_key("raw") => Response::new(200, store.keys[key].value.clone()),
                    Some(entry) => json_response(200, &json!([entry])),
                };
                response.with_header("x-consul-index", &store.index.to_string())
            }
            "PUT" => {
                let mut store = self.lock();
                if let Some(session) = text("acquire") {
                    if !store.sessions.contains_key(session) {
                        return Response::new(500, format!("invalid session \"{session}\""));
                    }
                    let is_free = store
                        .keys
                        .get(key)
                        .is_none_or(|entry| entry.session.as_deref().is_none_or(|holder| holder == session));
                    if is_free {
                        store.set(key, request.body.clone(), number("flags"));
                        store.keys.get_mut(key).unwrap().session = Some(session.to_owned());
                    }
                    return confirmed(is_free);
                }
                if let Some(session) = text("release") {
                    let is_held = store.is_held_by(key, session);
                    if is_held {
                        store.set(key, request.body.clone(), number("flags"));
                        store.keys.get_mut(key).unwrap().session = None;
                    }
                    return confirmed(is_held);
                }
                let is_current = !query.contains_key("cas") || store.is_at(key, number("cas"));
                if is_current {
                    store.set(key, request.body.clone(), number("flags"));
                }
                confirmed(is_current)
            }
            "DELETE" => {
                let mut store = self.lock();
                if query.contains_key("recurse") {
                    store.keys.retain(|name, _| !name.starts_with(key));
                } else if !query.contains_key("cas") || store.is_at(key, number("cas")) {
                    store.keys.remove(key);
                } else {
                    return confirmed(false);
                }
                store.next();
                confirmed(true)
            }
            _ => Response::new(405, ""),
        }
    }

    fn session(&self, path: &str, body: &[u8]) -> Response {
        let mut store = self.lock();
        match path.split_once('/') {
            None if path == "create" => {
                let body: Value = serde_json::from_slice(body).unwrap();
                let ttl = body["TTL"].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
                let ttl = Duration::from_secs(ttl.unwrap());
                let id = format!("00000000-0000-4000-8000-{:012}", store.next());
                store.sessions.insert(id.clone(), (ttl, Instant::now() + ttl));
                json_response(200, &json!({ "ID": id }))
            }
            Some(("renew", id)) => match store.sessions.get_mut(id) {
                None => Response::new(404, format!("Session id '{id}' not found")),
                Some((ttl, end)) => {
                    *end = Instant::now() + *ttl;
                    json_response(200, &json!([{ "ID": id, "TTL": format!("{}s", ttl.as_secs()) }]))
                }
            },
            Some(("destroy", id)) => {
                store.end_session(id);
                confirmed(true)
            }
            Some(("info", id)) => {
                let known = store.sessions.contains_key(id);
                json_response(200, &if known { json!([{ "ID": id }]) } else { json!([]) })
            }
            _ => Response::new(404, ""),
        }
    }
}

impl Service for Consul {
    fn respond(&self, request: &Request) -> Response {
        let url = request.url();
        let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        let is_allowed = match &self.lock().token {
            None => true,
            Some(token) => request.header("x-consul-token") == Some(token),
        };
        if !is_allowed {
            return Response::new(403, "Permission denied: token lacks permission 'key:write'");
        }
        if request.body.len() > MAX_REQUEST_BYTES {
            return Response::new(
                413,
                format!(
                    "Request body({} bytes) too large, max size: {MAX_REQUEST_BYTES} bytes.",
                    request.body.len()
                ),
            );
        }
        let path = request.decoded_path();
        let response = if let Some(key) = path.strip_prefix("/v1/kv/") {
            self.key(request, key, &query)
        } else if path == "/v1/txn" {
            let operations: Vec<Value> = serde_json::from_slice(&request.body).unwrap();
            self.lock().transaction(&operations)
        } else if let Some(rest) = path.strip_prefix("/v1/session/") {
            self.session(rest, &request.body)
        } else {
            Response::new(404, "")
        };
        if request.method != "GET" {
            self.changed.notify_all();
        }
        response
    }
}

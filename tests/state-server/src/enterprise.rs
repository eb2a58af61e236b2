//! The part of the API of Terraform Enterprise that backends use.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::request::{Request, Response};
use crate::service_server::Service;

#[derive(Clone, Default)]
struct Workspace {
    name: String,
    mode: String,
    is_locked: bool,
    reason: String,
    tags: Vec<String>,
    project: Option<String>,
    /// The IDs of the state versions, the current one last.
    versions: Vec<String>,
}

#[derive(Clone, Default)]
struct Version {
    attributes: Value,
    content: Option<Vec<u8>>,
}

#[derive(Default)]
struct Store {
    count: u64,
    workspaces: BTreeMap<String, Workspace>,
    versions: BTreeMap<String, Version>,
    projects: BTreeMap<String, String>,
    /// Whether state versions must contain the state.
    has_no_uploads: bool,
}

/// An organization with workspaces. It accepts one token.
pub struct Enterprise {
    origin: String,
    organization: String,
    token: String,
    store: Mutex<Store>,
}

impl Enterprise {
    /// Returns the service of a server that is started with this origin.
    pub fn new(origin: &str, organization: &str, token: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            organization: organization.to_owned(),
            token: token.to_owned(),
            store: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }

    /// Adds a workspace with an execution mode.
    pub fn add_workspace(&self, name: &str, mode: &str, tags: &[&str]) {
        let mut store = self.lock();
        let id = store.next_id("ws");
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let workspace =
            Workspace { name: name.to_owned(), mode: mode.to_owned(), tags, ..Workspace::default() };
        store.workspaces.insert(id, workspace);
    }

    /// Requires that state versions contain the state, as older versions of the service do.
    pub fn refuse_uploads(&self) {
        self.lock().has_no_uploads = true;
    }

    /// Locks or unlocks a workspace, as another user does.
    pub fn set_lock(&self, name: &str, reason: Option<&str>) {
        let mut store = self.lock();
        let workspace = store.workspaces.values_mut().find(|workspace| workspace.name == name).unwrap();
        workspace.is_locked = reason.is_some();
        reason.unwrap_or_default().clone_into(&mut workspace.reason);
    }

    /// Returns the reason of a workspace's lock.
    pub fn lock_reason(&self, name: &str) -> Option<String> {
        let store = self.lock();
        let workspace = store.workspaces.values().find(|workspace| workspace.name == name)?;
        workspace.is_locked.then(|| workspace.reason.clone())
    }

    /// Returns the current state of a workspace.
    pub fn state(&self, name: &str) -> Option<Vec<u8>> {
        let store = self.lock();
        let workspace = store.workspaces.values().find(|workspace| workspace.name == name)?;
        store.current(workspace).and_then(|id| store.versions[&id].content.clone())
    }

    /// Stores a state, as another process does.
    pub fn set_state(&self, name: &str, state: &[u8]) {
        let mut store = self.lock();
        let id = store.next_id("sv");
        let attributes = json!({ "serial": 0, "lineage": "" });
        store.versions.insert(id.clone(), Version { attributes, content: Some(state.to_vec()) });
        let workspace = store.workspaces.values_mut().find(|workspace| workspace.name == name).unwrap();
        workspace.versions.push(id);
    }

    /// Returns the tags and the project of a workspace.
    pub fn workspace(&self, name: &str) -> Option<(Vec<String>, Option<String>)> {
        let store = self.lock();
        let found = store.workspaces.values().find(|workspace| workspace.name == name)?;
        let project = found.project.as_ref().map(|id| store.projects[id].clone());
        Some((found.tags.clone(), project))
    }

    fn version_response(&self, store: &Store, status: u16, id: &str) -> Response {
        let version = &store.versions[id];
        let url = format!("{}/content/{id}", self.origin);
        let is_final = version.content.is_some();
        json_response(
            status,
            &json!({ "data": { "id": id, "type": "state-versions", "attributes": {
                "created-at": "2026-01-01T00:00:00Z",
                "hosted-state-download-url": url,
                "hosted-state-upload-url": url,
                "hosted-json-state-upload-url": format!("{}/json/{id}", self.origin),
                "resources-processed": true,
                "serial": version.attributes["serial"],
                "size": 1,
                "status": if is_final { "finalized" } else { "pending" },
            } } }),
        )
    }

    fn create_version(&self, store: &mut Store, workspace: &str, body: &[u8]) -> Response {
        let body: Value = serde_json::from_slice(body).unwrap();
        let attributes = body["data"]["attributes"].clone();
        let found = store.workspaces[workspace].clone();
        if !found.is_locked {
            return error(409, "The workspace must be locked to create a state version.");
        }
        if store.has_no_uploads && attributes.get("state").is_none() {
            return error(422, "The attribute state is missing.");
        }
        if let Some(current) = store.current(&found) {
            let current = &store.versions[&current].attributes;
            let is_older = attributes["serial"].as_u64() <= current["serial"].as_u64();
            if is_older || attributes["lineage"] != current["lineage"] && current["lineage"] != "" {
                return error(409, "The serial or the lineage of the state is not the expected one.");
            }
        }
        let content = attributes["state"].as_str().map(|text| STANDARD.decode(text).unwrap());
        let id = store.next_id("sv");
        store.versions.insert(id.clone(), Version { attributes, content });
        store.workspaces.get_mut(workspace).unwrap().versions.push(id.clone());
        self.version_response(store, 201, &id)
    }

    fn workspace_action(&self, store: &mut Store, request: &Request, id: &str, path: &[&str]) -> Response {
        if !store.workspaces.contains_key(id) {
            return error(404, "not found");
        }
        match (request.method.as_str(), path) {
            ("POST", ["actions", "lock"]) => {
                let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                let reason =
                    body["reason"].as_str().or_else(|| body["data"]["attributes"]["reason"].as_str());
                let workspace = store.workspaces.get_mut(id).unwrap();
                if workspace.is_locked {
                    return error(409, "The workspace is already locked.");
                }
                workspace.is_locked = true;
                reason.unwrap_or_default().clone_into(&mut workspace.reason);
                json_response(200, &json!({ "data": resource(id, workspace) }))
            }
            ("POST", ["actions", "unlock" | "force-unlock"]) => {
                let workspace = store.workspaces.get_mut(id).unwrap();
                if !workspace.is_locked {
                    return error(409, "The workspace is already unlocked.");
                }
                workspace.is_locked = false;
                workspace.reason.clear();
                json_response(200, &json!({ "data": resource(id, workspace) }))
            }
            ("GET", ["current-state-version"]) => match store.current(&store.workspaces[id]) {
                Some(version) => self.version_response(store, 200, &version),
                None => error(404, "not found"),
            },
            ("GET", ["current-state-version-outputs"]) => match store.current(&store.workspaces[id]) {
                Some(version) => json_response(200, &list(&store.outputs(&version))),
                None => error(404, "not found"),
            },
            ("POST", ["state-versions"]) => self.create_version(store, id, &request.body),
            ("PATCH" | "GET", []) => {
                json_response(200, &json!({ "data": resource(id, &store.workspaces[id]) }))
            }
            ("GET", ["tag-bindings"]) => json_response(200, &list(&[])),
            _ => error(404, "not found"),
        }
    }
}

impl Store {
    fn next_id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}-{:016}", self.count)
    }

    /// Returns the outputs of a state version, which `terraform output` reads.
    fn outputs(&self, version: &str) -> Vec<Value> {
        let content = self.versions[version].content.as_deref().unwrap_or_default();
        let state: Value = serde_json::from_slice(content).unwrap_or_default();
        let outputs = state["outputs"].as_object().cloned().unwrap_or_default();
        let output = |(name, output): (String, Value)| {
            json!({ "id": format!("wsout-{name}"), "type": "state-version-outputs", "attributes": {
                "name": name,
                "sensitive": output["sensitive"].as_bool().unwrap_or_default(),
                "type": output["type"],
                "detailed-type": output["type"],
                "value": output["value"],
            } })
        };
        outputs.into_iter().map(output).collect()
    }

    /// Returns the newest state version whose content was uploaded.
    fn current(&self, workspace: &Workspace) -> Option<String> {
        let mut versions = workspace.versions.iter().rev();
        versions.find(|id| self.versions[*id].content.is_some()).cloned()
    }
}

fn organization(store: &mut Store, request: &Request, path: &[&str]) -> Response {
    let query: BTreeMap<String, String> = request.url().query_pairs().into_owned().collect();
    let attributes = || -> Value { serde_json::from_slice(&request.body).unwrap() };
    match (request.method.as_str(), path) {
        ("GET", ["entitlement-set"]) => json_response(
            200,
            &json!({ "data": { "id": "org-1", "type": "entitlement-sets", "attributes": {
                "operations": true, "state-storage": true,
            } } }),
        ),
        ("GET", ["projects"]) => {
            let name = query.get("filter[names]");
            let found = store.projects.iter().filter(|(_, project)| name.is_none_or(|name| name == *project));
            let data: Vec<_> = found
                .map(|(id, name)| json!({ "id": id, "type": "projects", "attributes": { "name": name } }))
                .collect();
            json_response(200, &list(&data))
        }
        ("POST", ["projects"]) => {
            let name = attributes()["data"]["attributes"]["name"].as_str().unwrap().to_owned();
            let id = store.next_id("prj");
            store.projects.insert(id.clone(), name.clone());
            json_response(
                201,
                &json!({ "data": { "id": id, "type": "projects", "attributes": { "name": name } } }),
            )
        }
        ("GET", ["workspaces"]) => {
            let part = query.get("search[name]").map(String::as_str).unwrap_or_default();
            let tags: Vec<&str> =
                query.get("search[tags]").map(|tags| tags.split(',').collect()).unwrap_or_default();
            let data: Vec<_> = store
                .workspaces
                .iter()
                .filter(|(_, workspace)| {
                    workspace.name.contains(part)
                        && tags.iter().all(|tag| workspace.tags.iter().any(|own| own == tag))
                })
                .map(|(id, workspace)| resource(id, workspace))
                .collect();
            json_response(200, &list(&data))
        }
        ("POST", ["workspaces"]) => {
            let data = attributes()["data"].clone();
            let name = data["attributes"]["name"].as_str().unwrap().to_owned();
            if store.workspaces.values().any(|workspace| workspace.name == name) {
                return error(422, "Name has already been taken");
            }
            let tags = data["relationships"]["tags"]["data"].as_array().cloned().unwrap_or_default();
            let workspace = Workspace {
                name,
                // The default of this organization is that operations run locally.
                mode: data["attributes"]["execution-mode"].as_str().unwrap_or("local").to_owned(),
                tags: tags.iter().map(|tag| tag["attributes"]["name"].as_str().unwrap().to_owned()).collect(),
                project: data["relationships"]["project"]["data"]["id"].as_str().map(str::to_owned),
                ..Workspace::default()
            };
            let id = store.next_id("ws");
            let shown = json!({ "data": resource(&id, &workspace) });
            store.workspaces.insert(id, workspace);
            json_response(201, &shown)
        }
        (method, ["workspaces", name, rest @ ..]) => {
            let found = store.workspaces.iter().find(|(_, workspace)| workspace.name == **name);
            let Some((id, workspace)) = found.map(|(id, workspace)| (id.clone(), workspace.clone())) else {
                return error(404, "not found");
            };
            match (method, rest) {
                ("GET" | "PATCH", []) => {
                    let user =
                        json!({ "id": "user-1", "type": "users", "attributes": { "username": "anna" } });
                    json_response(200, &json!({ "data": resource(&id, &workspace), "included": [user] }))
                }
                ("DELETE", []) | ("POST", ["actions", "safe-delete"]) => {
                    store.workspaces.remove(&id);
                    Response::new(204, "")
                }
                _ => error(404, "not found"),
            }
        }
        _ => error(404, "not found"),
    }
}

fn resource(id: &str, workspace: &Workspace) -> Value {
    let mut relationships = json!({});
    if workspace.is_locked {
        relationships["locked-by"] = json!({ "data": { "id": "user-1", "type": "users" } });
    }
    if let Some(project) = &workspace.project {
        relationships["project"] = json!({ "data": { "id": project, "type": "projects" } });
    }
    let permissions = [
        "can-update",
        "can-destroy",
        "can-queue-run",
        "can-lock",
        "can-unlock",
        "can-force-unlock",
        "can-read-settings",
        "can-read-state-versions",
        "can-create-state-versions",
        "can-force-delete",
    ];
    let permissions: serde_json::Map<_, _> =
        permissions.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
    json!({ "id": id, "type": "workspaces", "attributes": {
        "execution-mode": workspace.mode,
        "locked": workspace.is_locked,
        "locked-reason": workspace.reason,
        "name": workspace.name,
        "operations": workspace.mode != "local",
        "permissions": permissions,
        "tag-names": workspace.tags,
        "terraform-version": "1.11.4",
    }, "relationships": relationships })
}

fn list(data: &[Value]) -> Value {
    json!({ "data": data, "meta": { "pagination": {
        "current-page": 1, "prev-page": null, "next-page": null, "total-pages": 1, "total-count": data.len(),
    } } })
}

fn json_response(status: u16, body: &Value) -> Response {
    Response::new(status, body.to_string())
        .with_header("content-type", "application/vnd.api+json")
        .with_header("tfp-api-version", "2.6")
}

fn error(status: u16, detail: &str) -> Response {
    let status_text = status.to_string();
    json_response(
        status,
        &json!({ "errors": [{ "status": status_text, "title": detail, "detail": detail }] }),
    )
}

impl Service for Enterprise {
    fn respond(&self, request: &Request) -> Response {
        let path = request.decoded_path();
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let mut store = self.lock();
        match segments.as_slice() {
            // These URLs contain the permission.
            ["content" | "json", id] if !store.versions.contains_key(*id) => return error(404, "not found"),
            ["content", id] if request.method == "GET" => {
                return match &store.versions[*id].content {
                    Some(content) => Response::new(200, content.clone()),
                    None => error(404, "not found"),
                };
            }
            ["content", id] => {
                store.versions.get_mut(*id).unwrap().content = Some(request.body.clone());
                return Response::new(200, "");
            }
            ["json", _] => return Response::new(200, ""),
            _ => {}
        }
        if request.header("authorization") != Some(&format!("Bearer {}", self.token)) {
            return error(401, "unauthorized");
        }
        match segments.as_slice() {
            ["api", "v2", "ping"] => json_response(204, &json!(null)),
            ["api", "v2", "organizations", name, rest @ ..] if *name == self.organization => {
                organization(&mut store, request, rest)
            }
            ["api", "v2", "workspaces", id, rest @ ..] => {
                self.workspace_action(&mut store, request, id, rest)
            }
            ["api", "v2", "state-versions", id] if store.versions.contains_key(*id) => {
                self.version_response(&store, 200, id)
            }
            _ => error(404, "not found"),
        }
    }
}

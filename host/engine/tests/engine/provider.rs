//! A provider of in-memory objects.
//!
//! `memory_thing` has `name`, `size`, `fixed` (forces a replacement), `secret` (sensitive), `label`
//! (optional and computed), `id` (computed), and `mischief`, which selects a misbehaviour.
//! `memory_gadget` has the same attributes, and a `memory_thing` can move to it. `memory_lookup` is
//! a data source that finds all existing objects. The action `memory_ring` records its `text`, and
//! fails if `fail` is true. The list of `memory_thing` finds as many objects as `count`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_plugin::*;
use wardian_value::{Path, Str, Type, Value, json};

use crate::token;

/// The objects of the fake provider, and the calls that it received.
#[derive(Default)]
pub struct World {
    /// One line for each call that changes or reads an object: `create a`, `read a`, ...
    pub calls: Mutex<Vec<String>>,
    /// The names of objects that are reported as missing when they are read.
    pub gone: Mutex<Vec<String>>,
    /// The modifications of responses.
    pub twist: Mutex<Twist>,
    /// The names of the objects that exist, by ID, if their IDs are recorded.
    pub existing: Mutex<BTreeMap<String, String>>,
    next: Mutex<u64>,
}

/// A function that changes a response before it is returned.
pub type Change<Q, A> = Option<Box<dyn Fn(&Q, &mut A) + Send>>;

/// Returns the objects that an apply records.
pub type RecordedObjects = Box<dyn Fn(&ApplyRequest) -> Vec<Value> + Send>;

/// Misbehaviour that is selected by the test instead of the configuration.
#[derive(Default)]
pub struct Twist {
    pub validate: Change<ValidateConfigRequest, PluginDiagnostics>,
    pub upgrade: Change<UpgradeStateRequest, UpgradeStateResponse>,
    pub read: Change<ReadResourceRequest, ReadResourceResponse>,
    pub plan: Change<PlanRequest, PlanResponse>,
    pub apply: Change<ApplyRequest, ApplyResponse>,
    pub look_up: Change<ReadDataSourceRequest, ReadDataSourceResponse>,
    /// Returns the objects that an apply records before it makes the change.
    pub record: Option<RecordedObjects>,
    /// Whether an object exists as soon as its ID is recorded.
    pub records_ids: bool,
    pub capabilities: ServerCapabilities,
    pub version: i64,
    pub takes_meta: bool,
}

fn twisted<Q, A>(change: &Change<Q, A>, request: &Q, mut answer: A) -> A {
    if let Some(change) = change {
        change(request, &mut answer);
    }
    answer
}

impl World {
    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    pub fn forget_calls(&self) {
        self.calls.lock().unwrap().clear();
    }

    pub fn call(&self, what: &str, object: &Value) {
        let name = object.get("name").and_then(Value::as_str).unwrap_or("?");
        self.calls.lock().unwrap().push(format!("{what} {name}"));
    }

    fn next_id(&self) -> String {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        format!("thing-{next}")
    }
}

pub struct MemorySource(pub Arc<World>);

#[async_trait]
impl ProviderSource for MemorySource {
    async fn provider(&self, _address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
        Ok(Arc::new(Memory { world: Arc::clone(&self.0), schema: Arc::new(schema(&self.0)) }))
    }
}

struct Memory {
    world: Arc<World>,
    schema: Arc<ProviderSchema>,
}

pub fn attribute(ty: Type, setting: Setting) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        setting,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

pub fn block(attributes: impl IntoIterator<Item = (&'static str, Attribute)>) -> Block {
    Block {
        attributes: attributes.into_iter().map(|(name, a)| (Str::new(name), a)).collect(),
        ..Block::default()
    }
}

fn schema(world: &World) -> ProviderSchema {
    let twist = world.twist.lock().unwrap();
    let thing = block([
        ("id", attribute(Type::String, Setting::Computed)),
        ("name", attribute(Type::String, Setting::Required)),
        ("size", attribute(Type::Number, Setting::Optional)),
        ("fixed", attribute(Type::String, Setting::Optional)),
        ("label", attribute(Type::String, Setting::OptionalComputed)),
        ("mischief", attribute(Type::String, Setting::Optional)),
        ("password", Attribute { write_only: true, ..attribute(Type::String, Setting::Optional) }),
        ("secret", Attribute { sensitive: true, ..attribute(Type::String, Setting::Optional) }),
    ]);
    let lookup = block([
        ("name", attribute(Type::String, Setting::Required)),
        ("found", attribute(Type::String, Setting::Computed)),
    ]);
    let ring = block([
        ("text", attribute(Type::String, Setting::Required)),
        ("secret", Attribute { sensitive: true, ..attribute(Type::String, Setting::Optional) }),
        ("fail", attribute(Type::Bool, Setting::Optional)),
    ]);
    let configuration = block([("region", attribute(Type::String, Setting::Optional))]);
    ProviderSchema {
        provider: Schema::new(0, configuration),
        resources: SchemaTable::from([
            (Str::new("memory_gadget"), Arc::new(Schema::new(0, thing.clone()))),
            (Str::new("memory_thing"), Arc::new(Schema::new(twist.version, thing))),
        ]),
        data_sources: SchemaTable::from([(Str::new("memory_lookup"), Arc::new(Schema::new(0, lookup)))]),
        ephemeral_resources: token::ephemeral_resources().into(),
        functions: token::functions(),
        actions: SchemaTable::from([(Str::new("memory_ring"), Arc::new(Schema::new(0, ring)))]),
        capabilities: ServerCapabilities { move_resource_state: true, ..twist.capabilities },
        provider_meta: twist
            .takes_meta
            .then(|| Schema::new(0, block([("team", attribute(Type::String, Setting::Optional))]))),
        ..ProviderSchema::default()
    }
}

impl Memory {
    fn thing(&self) -> &Schema {
        self.schema.resources.get("memory_thing").unwrap()
    }
}

impl Memory {
    /// Records the states that the test selects, and creates the object whose ID is recorded.
    async fn record(&self, context: &CallContext, request: &mut ApplyRequest) {
        let states = {
            let twist = self.world.twist.lock().unwrap();
            twist.record.as_ref().map(|record| record(request)).unwrap_or_default()
        };
        for state in states {
            let recorded = RecordedState { state, private: Arc::from(*b"recorded"), identity: None };
            let recorder = context.recorder().expect("a recorder");
            let line = match recorder.record(recorded).await {
                Ok(()) => "recorded".to_owned(),
                Err(error) => format!("not recorded: {error}"),
            };
            self.world.calls.lock().unwrap().push(line);
        }
        let records_ids = self.world.twist.lock().unwrap().records_ids;
        let Some(id) = request.planned_state.get("id").filter(|id| records_ids && !id.is_known()) else {
            return;
        };
        assert!(!id.is_known());
        let id = self.world.next_id();
        request.planned_state = request.planned_state.with_attribute("id", Value::string(&*id));
        let recorded = RecordedState {
            state: request.planned_state.clone(),
            private: PrivateBytes::default(),
            identity: None,
        };
        if context.recorder().expect("a recorder").record(recorded).await.is_ok() {
            let name =
                request.planned_state.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            self.world.existing.lock().unwrap().insert(id, name);
        }
    }
}

fn mischief(object: &Value) -> String {
    object.get("mischief").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn refuse() -> PluginDiagnostics {
    vec![PluginDiagnostic::error("Not supported", "The memory provider does not do that.")]
}

#[async_trait]
impl Provider for Memory {
    async fn schema(&self, _context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        Ok(Arc::clone(&self.schema))
    }

    async fn validate_provider_config(&self, _context: &CallContext, _config: Value) -> PluginDiagnostics {
        Vec::new()
    }

    async fn configure(&self, _context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics {
        match request.config.get("region").and_then(Value::as_str) {
            Some(region) if region.starts_with("token-") => {
                self.world.calls.lock().unwrap().push(format!("configure {region}"));
                Vec::new()
            }
            Some("nowhere") => vec![PluginDiagnostic {
                attribute: Some(Path::root().attribute("region")),
                ..PluginDiagnostic::error("No such region", "There is nothing at \"nowhere\".")
            }],
            _ => Vec::new(),
        }
    }

    async fn validate_config(
        &self,
        _context: &CallContext,
        _kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        let found = match request.config.get("name").and_then(Value::as_str) {
            Some("") => vec![PluginDiagnostic {
                attribute: Some(Path::root().attribute("name")),
                ..PluginDiagnostic::error("Invalid name", "A name must not be empty.")
            }],
            _ => Vec::new(),
        };
        twisted(&self.world.twist.lock().unwrap().validate, &request, found)
    }

    async fn upgrade_resource_state(
        &self,
        _context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        let RawState::Json(text) = request.raw.clone() else {
            return UpgradeStateResponse { upgraded: None, diagnostics: refuse() };
        };
        let answer = match json::decode(text.as_bytes(), self.thing().implied_type()) {
            Ok(value) => UpgradeStateResponse { upgraded: Some(value), diagnostics: Vec::new() },
            Err(error) => UpgradeStateResponse {
                upgraded: None,
                diagnostics: vec![PluginDiagnostic::error("Unreadable state", error.to_string())],
            },
        };
        twisted(&self.world.twist.lock().unwrap().upgrade, &request, answer)
    }

    async fn upgrade_resource_identity(
        &self,
        _context: &CallContext,
        _request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        UpgradeStateResponse { upgraded: None, diagnostics: refuse() }
    }

    async fn read_resource(
        &self,
        _context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        self.world.call("read", &request.current_state);
        let name = request.current_state.get("name").and_then(Value::as_str).unwrap_or_default();
        let gone = self.world.gone.lock().unwrap().iter().any(|gone| gone == name);
        let new = if gone {
            Value::null(request.current_state.ty().clone())
        } else if mischief(&request.current_state) == "drift" {
            request.current_state.with_attribute("size", Value::number(99_i64))
        } else {
            request.current_state.clone()
        };
        let answer = ReadResourceResponse {
            new_state: Some(new),
            private: request.private.clone(),
            new_identity: None,
            deferred: None,
            diagnostics: Vec::new(),
        };
        twisted(&self.world.twist.lock().unwrap().read, &request, answer)
    }

    async fn plan_resource_change(&self, _context: &CallContext, request: PlanRequest) -> PlanResponse {
        let mut planned = request.proposed_new_state.clone();
        if planned.is_null() {
            self.world.call("plan to destroy", &request.prior_state);
            let answer = PlanResponse {
                planned_state: Some(planned),
                requires_replace: Vec::new(),
                planned_private: Arc::from(*b"to go"),
                legacy_type_system: false,
                deferred: None,
                planned_identity: None,
                diagnostics: Vec::new(),
            };
            return twisted(&self.world.twist.lock().unwrap().plan, &request, answer);
        }
        let mut requires_replace = Vec::new();
        if request.prior_state.is_null() {
            planned = planned.with_attribute("id", Value::unknown(Type::String));
        } else if request.prior_state.get("fixed") != planned.get("fixed") {
            requires_replace.push(Path::root().attribute("fixed"));
        }
        if planned.get("label").is_some_and(Value::is_null) {
            planned = planned.with_attribute("label", Value::unknown(Type::String));
        }
        planned = planned.with_attribute("password", Value::null(Type::String));
        match mischief(&request.config).as_str() {
            "plan a password" => planned = planned.with_attribute("password", Value::string("known")),
            "plan another name" => planned = planned.with_attribute("name", Value::string("other")),
            "plan a size" => planned = planned.with_attribute("size", Value::number(7_i64)),
            "replace a ghost" => requires_replace.push(Path::root().attribute("ghost")),
            _ => {}
        }
        let answer = PlanResponse {
            planned_state: Some(planned),
            requires_replace,
            planned_private: Arc::from(*b"planned"),
            legacy_type_system: false,
            deferred: None,
            planned_identity: None,
            diagnostics: Vec::new(),
        };
        twisted(&self.world.twist.lock().unwrap().plan, &request, answer)
    }

    async fn apply_resource_change(&self, context: &CallContext, mut request: ApplyRequest) -> ApplyResponse {
        self.record(context, &mut request).await;
        let request = request;
        let answer = |new_state: Option<Value>, diagnostics: PluginDiagnostics| {
            let answer = ApplyResponse {
                new_state,
                private: Arc::from(*b"applied"),
                legacy_type_system: false,
                new_identity: None,
                diagnostics,
            };
            twisted(&self.world.twist.lock().unwrap().apply, &request, answer)
        };
        let failure = || vec![PluginDiagnostic::error("It did not work", "The thing broke.")];
        if request.planned_state.is_null() {
            self.world.call("destroy", &request.prior_state);
            if mischief(&request.prior_state) == "break while going" {
                return answer(None, failure());
            }
            let id = request.prior_state.get("id").and_then(Value::as_str).unwrap_or_default();
            self.world.existing.lock().unwrap().remove(id);
            if mischief(&request.prior_state) == "refuse to go" {
                return answer(Some(request.prior_state.clone()), failure());
            }
            return answer(Some(request.planned_state.clone()), Vec::new());
        }
        let what = if request.prior_state.is_null() { "create" } else { "update" };
        self.world.call(what, &request.planned_state);
        if let Some(password) = request.config.get("password").and_then(Value::as_str) {
            self.world.calls.lock().unwrap().push(format!("with {password}"));
        }
        if mischief(&request.config) == "take a while" {
            tokio::time::sleep(std::time::Duration::from_millis(150)).await;
        }
        let mut new = request.planned_state.clone();
        for name in ["id", "label"] {
            if new.get(name).is_some_and(|value| !value.is_known()) {
                new = new.with_attribute(name, Value::string(self.world.next_id()));
            }
        }
        match mischief(&new).as_str() {
            "fail" => answer(None, failure()),
            "never end" => std::future::pending().await,
            "fail half way" => answer(Some(new), failure()),
            "leave unknown" => {
                answer(Some(new.with_attribute("label", Value::unknown(Type::String))), Vec::new())
            }
            "apply a password" => {
                answer(Some(new.with_attribute("password", Value::string("known"))), Vec::new())
            }
            "apply another size" => {
                answer(Some(new.with_attribute("size", Value::number(7_i64))), Vec::new())
            }
            "apply nothing" => answer(Some(Value::null(new.ty().clone())), Vec::new()),
            "panic" => panic!("the memory provider was reported to"),
            _ => answer(Some(new), Vec::new()),
        }
    }

    /// Finds objects by name. Some names select a misbehaviour.
    async fn import_resource_state(&self, _context: &CallContext, request: ImportRequest) -> ImportResponse {
        let ImportTarget::Id(id) = &request.target else {
            return ImportResponse { imported: Vec::new(), deferred: None, diagnostics: refuse() };
        };
        self.world.calls.lock().unwrap().push(format!("import {id}"));
        let thing = |name: &str| {
            let empty = self.thing().block.empty_value();
            let name = if name == "nameless" { Value::null(Type::String) } else { Value::string(name) };
            empty
                .with_attribute("name", name)
                .with_attribute("id", Value::string("found"))
                .with_attribute("label", Value::string("found"))
        };
        let found = |type_name: &str, state: Value| ImportedResource {
            type_name: Str::new(type_name),
            state,
            private: Arc::from(*b"imported"),
            identity: None,
        };
        let imported = match id.as_str() {
            "no-object" => Vec::new(),
            "two-objects" => {
                vec![found("memory_thing", thing(id)), found("memory_thing", thing("two-objects-2"))]
            }
            "null-object" => {
                vec![found("memory_thing", Value::null(self.thing().implied_type().clone()))]
            }
            "other-type" => vec![found("memory_other", thing(id))],
            "refused" => {
                let diagnostics = vec![PluginDiagnostic::error("No such thing", "There is none.")];
                return ImportResponse { imported: Vec::new(), deferred: None, diagnostics };
            }
            _ => vec![found("memory_thing", thing(id))],
        };
        ImportResponse { imported, deferred: None, diagnostics: Vec::new() }
    }

    async fn move_resource_state(&self, _context: &CallContext, request: MoveRequest) -> MoveResponse {
        let RawState::Json(text) = &request.source_state else { panic!("a thing is stored as JSON") };
        let object = json::decode(text.as_bytes(), self.thing().implied_type()).unwrap();
        let label = Value::string(format!("once a {}", request.source_type_name));
        let target_state = match object.get("name").and_then(Value::as_str) {
            Some("stubborn") => None,
            _ => Some(object.with_attribute("label", label)),
        };
        MoveResponse {
            diagnostics: if target_state.is_some() { Vec::new() } else { refuse() },
            target_state,
            target_private: Arc::default(),
            target_identity: None,
        }
    }

    async fn generate_resource_config(
        &self,
        _context: &CallContext,
        _type_name: Str,
        _state: Value,
    ) -> GenerateConfigResponse {
        GenerateConfigResponse { config: None, diagnostics: refuse() }
    }

    async fn read_data_source(
        &self,
        _context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        self.world.call("look up", &request.config);
        let name = request.config.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.world.gone.lock().unwrap().contains(&name) {
            let problem = PluginDiagnostic::error("Not found", format!("There is no {name}."));
            return ReadDataSourceResponse { state: None, deferred: None, diagnostics: vec![problem] };
        }
        let found = Value::string(format!("found {name}"));
        let answer = ReadDataSourceResponse {
            state: Some(request.config.with_attribute("found", found)),
            deferred: None,
            diagnostics: Vec::new(),
        };
        twisted(&self.world.twist.lock().unwrap().look_up, &request, answer)
    }

    async fn open_ephemeral_resource(
        &self,
        _context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        token::open(&self.world, &request)
    }

    async fn renew_ephemeral_resource(
        &self,
        _context: &CallContext,
        _type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        token::renew(&self.world, &private)
    }

    async fn close_ephemeral_resource(
        &self,
        _context: &CallContext,
        _type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        token::close(&self.world, &private)
    }

    async fn call_function(
        &self,
        _context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        Ok(token::call_function(&self.world, &name, &arguments))
    }

    async fn validate_list_resource_config(
        &self,
        _context: &CallContext,
        _request: ValidateListRequest,
    ) -> PluginDiagnostics {
        refuse()
    }

    async fn list_resource(
        &self,
        _context: &CallContext,
        _request: ListRequest,
        _found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        refuse()
    }

    async fn plan_action(&self, _context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        let text = request.config.get("text").cloned().unwrap_or_else(|| Value::null(Type::String));
        let text =
            if text.is_known() { text.as_str().unwrap_or("?").to_owned() } else { "unknown".to_owned() };
        self.world.calls.lock().unwrap().push(format!("plan ring {text}"));
        PlanActionResponse { deferred: None, diagnostics: Vec::new() }
    }

    async fn invoke_action(
        &self,
        _context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        let text = request.config.get("text").and_then(Value::as_str).unwrap_or("?").to_owned();
        let secret = request.config.get("secret").and_then(Value::as_str).unwrap_or_default();
        progress(format!("ringing {text} {secret}").trim_end().to_owned());
        self.world.calls.lock().unwrap().push(format!("ring {text}"));
        if request.config.get("fail").and_then(Value::as_bool) == Some(true) {
            return vec![PluginDiagnostic::error("Bell is broken", format!("It cannot ring for {text}."))];
        }
        Vec::new()
    }

    async fn stop(&self) -> Result<(), String> {
        Ok(())
    }

    async fn close(&self) {}
}

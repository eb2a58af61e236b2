//! Implements the state store `fake_files`, which keeps states and locks as files in a directory.
//!
//! Its argument `fault` selects a fault: `chunk-size` chooses a chunk size of 0, `large-chunk` returns a
//! chunk that is larger than the chosen size, `too-large` claims a state above the limit, `incomplete`
//! omits the last chunk, `gap` omits the first, `no-locks` has no locks, and `full` fails every write.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use bytes::{Buf as _, Bytes};
use prost::Message;
use wardian_legacy_grpc_bridge::protocol::{tfplugin as m, tfplugin6 as six};
use wardian_value::{Type, Value, View, msgpack};

use crate::calls::{Reply, one};

/// The chosen chunk size, so that tests transfer several chunks.
const CHUNK: usize = 100;

static CONFIGURED: Mutex<Option<Store>> = Mutex::new(None);

#[derive(Clone)]
struct Store {
    directory: PathBuf,
    fault: String,
}

fn ty() -> Type {
    Type::object([("directory", Type::String), ("fault", Type::String)])
}

/// Returns the schema of the configuration.
pub(crate) fn schema() -> six::Schema {
    let attribute = |name: &str, required: bool| six::schema::Attribute {
        name: name.into(),
        r#type: Bytes::from_static(b"\"string\""),
        required,
        optional: !required,
        ..Default::default()
    };
    let block = six::schema::Block {
        attributes: vec![attribute("directory", true), attribute("fault", false)],
        ..Default::default()
    };
    six::Schema { version: 0, block: Some(block) }
}

fn text(value: &Value, name: &str) -> String {
    match value.get(name).map(Value::view) {
        Some(View::String(text)) => text.to_string(),
        _ => String::new(),
    }
}

fn config(sent: Option<&m::DynamicValue>) -> Store {
    let value = sent.and_then(|sent| msgpack::decode(&sent.msgpack, &ty()).ok());
    let value = value.unwrap_or_else(|| Value::null(ty()));
    Store { directory: text(&value, "directory").into(), fault: text(&value, "fault") }
}

fn error(summary: &str, detail: &str) -> Vec<m::Diagnostic> {
    vec![m::Diagnostic {
        severity: m::diagnostic::Severity::Error.into(),
        summary: summary.into(),
        detail: detail.into(),
        attribute: None,
    }]
}

fn failed(error_value: &io::Error) -> Vec<m::Diagnostic> {
    error("File error", &error_value.to_string())
}

fn store() -> Store {
    let configured = CONFIGURED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    configured.unwrap_or(Store { directory: "not-configured".into(), fault: String::new() })
}

impl Store {
    fn state(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.tfstate"))
    }

    fn lock(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.lock"))
    }
}

/// Returns whether a call is one of state stores.
pub(crate) fn is_call(rpc: &str) -> bool {
    ["StateStore", "StateBytes", "LockState", "UnlockState", "GetStates", "DeleteState"]
        .iter()
        .any(|part| rpc.contains(part))
}

/// Returns the response to a call.
pub(crate) fn answer(rpc: &str, request: Bytes) -> Reply {
    // Fields that the request does not set are empty.
    macro_rules! read {
        ($module:ident) => {
            six::$module::Request::decode(request).unwrap_or_default()
        };
    }
    match rpc {
        "ValidateStateStoreConfig" => {
            let refused = config(read!(validate_state_store).config.as_ref()).fault == "wrong";
            let diagnostics =
                if refused { error("Wrong fault", "There is no such fault.") } else { Vec::new() };
            one(&six::validate_state_store::Response { diagnostics })
        }
        "ConfigureStateStore" => {
            let store = config(read!(configure_state_store).config.as_ref());
            let chunk_size = if store.fault == "chunk-size" { 0 } else { length(CHUNK) };
            *CONFIGURED.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
            one(&six::configure_state_store::Response {
                diagnostics: Vec::new(),
                capabilities: Some(six::StateStoreServerCapabilities { chunk_size }),
            })
        }
        "ReadStateBytes" => read_state(&read!(read_state_bytes).state_id),
        "LockState" => lock(&read!(lock_state)),
        "UnlockState" => unlock(&read!(unlock_state)),
        "GetStates" => one(&states()),
        "DeleteState" => {
            let removed = fs::remove_file(store().state(&read!(delete_state).state_id));
            let diagnostics = removed.err().map(|error| failed(&error)).unwrap_or_default();
            one(&six::delete_state::Response { diagnostics })
        }
        _ => Reply::Unknown,
    }
}

fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn read_state(id: &str) -> Reply {
    let store = store();
    let state = fs::read(store.state(id)).unwrap_or_default();
    let (size, total) = match &*store.fault {
        "large-chunk" => (CHUNK + 1, state.len()),
        "too-large" => (CHUNK, 2 << 30),
        _ => (CHUNK, state.len()),
    };
    let mut messages = Vec::new();
    for (index, bytes) in state.chunks(size).enumerate() {
        let start = index * size;
        messages.push(six::read_state_bytes::Response {
            bytes: Bytes::copy_from_slice(bytes),
            total_length: length(total),
            range: Some(six::StateRange { start: length(start), end: length(start + bytes.len() - 1) }),
            diagnostics: Vec::new(),
        });
    }
    match &*store.fault {
        "incomplete" => drop(messages.pop()),
        "gap" if !messages.is_empty() => drop(messages.remove(0)),
        _ => {}
    }
    Reply::Messages(messages.iter().map(Message::encode_to_vec).collect())
}

/// Returns the response to a write, whose body contains a frame for each chunk.
pub(crate) fn write(mut body: Bytes) -> Reply {
    let store = store();
    let (mut id, mut state, mut problem) = (String::new(), Vec::new(), None);
    while body.remaining() >= 5 {
        body.advance(1);
        let size = body.get_u32() as usize;
        let frame = body.split_to(size.min(body.len()));
        let chunk = six::write_state_bytes::RequestChunk::decode(frame).unwrap_or_default();
        if let Some(meta) = chunk.meta {
            id = meta.state_id;
        }
        let range = chunk.range.unwrap_or_default();
        let is_expected = range.start == length(state.len())
            && range.end + 1 == range.start + length(chunk.bytes.len())
            && chunk.bytes.len() <= CHUNK;
        if !is_expected {
            problem = Some(error("Invalid chunk", "The chunk does not follow the previous ones."));
        }
        state.extend_from_slice(&chunk.bytes);
    }
    let problem = problem.or_else(|| {
        if store.fault == "full" {
            return Some(error("No space", "The store is full."));
        }
        let new = store.directory.join("new");
        let written = fs::write(&new, state).and_then(|()| fs::rename(new, store.state(&id)));
        written.err().map(|error| failed(&error))
    });
    one(&six::write_state_bytes::Response { diagnostics: problem.unwrap_or_default() })
}

fn lock(request: &six::lock_state::Request) -> Reply {
    let store = store();
    let path = store.lock(&request.state_id);
    let answer = |lock_id: String, diagnostics| one(&six::lock_state::Response { lock_id, diagnostics });
    if store.fault == "no-locks" {
        return answer(String::new(), Vec::new());
    }
    match fs::File::create_new(&path) {
        Ok(_) => {
            let id = format!("lock-{}", std::process::id());
            let holder = format!(
                "  ID:        {id}\n  Operation: {}\n  Who:       ann@build\n  Created:   2026-01-29 00:00:00 +0000 UTC\n",
                request.operation
            );
            let written = fs::write(path, holder).err();
            answer(id, written.map(|error| failed(&error)).unwrap_or_default())
        }
        Err(_) => {
            let holder = fs::read_to_string(path).unwrap_or_default();
            let detail = format!(
                "\"{}\" workspace has a lock held by another client.\n\nLock Info:\n{holder}",
                request.state_id
            );
            answer(String::new(), error("Workspace Already Locked", &detail))
        }
    }
}

fn unlock(request: &six::unlock_state::Request) -> Reply {
    let path = store().lock(&request.state_id);
    let holder = fs::read_to_string(&path).unwrap_or_default();
    let diagnostics = if holder.contains(&format!("{}\n", request.lock_id)) {
        fs::remove_file(path).err().map(|error| failed(&error)).unwrap_or_default()
    } else {
        error("Lock ID Mismatch", "The state has another lock, or none.")
    };
    one(&six::unlock_state::Response { diagnostics })
}

fn states() -> six::get_states::Response {
    let entries = fs::read_dir(store().directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut state_id: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".tfstate").map(str::to_owned)).collect();
    state_id.sort();
    six::get_states::Response { state_id, diagnostics: Vec::new() }
}

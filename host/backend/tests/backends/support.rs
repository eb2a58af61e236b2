//! Configures backends and builds states.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_backend::{Backend, BackendConfig, BackendError, BackendHost, HttpClients, find};
use wardian_state::{Instance, LockRequest, Object, State, StateManager, StateManagerOptions, StateStorage};
use wardian_value::Value;

/// The time limit for responses in tests of servers that do not respond.
pub(crate) const SHORT_TIMEOUT: Duration = Duration::from_millis(300);

pub(crate) fn host(variables: &[(&str, &str)], response_timeout: Duration) -> BackendHost {
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    BackendHost {
        variables: Arc::new(variables),
        terraform_version: "1.11.4".to_owned(),
        http: HttpClients { response_timeout, ..HttpClients::default() },
        ..BackendHost::default()
    }
}

pub(crate) fn configure_with(
    type_name: &str,
    arguments: &[(&str, Value)],
    host: &BackendHost,
) -> Result<Arc<dyn Backend>, BackendError> {
    let kind = find(type_name).unwrap();
    let config = Value::object(arguments.iter().map(|(name, value)| (*name, value.clone())));
    kind.configure(&BackendConfig::from_object(&config, kind.schema()).unwrap(), host)
}

pub(crate) fn configure(type_name: &str, arguments: &[(&str, Value)]) -> Arc<dyn Backend> {
    configure_with(type_name, arguments, &host(&[], Duration::from_secs(30))).unwrap()
}

pub(crate) fn text(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref())
}

/// Opens a state with its journal in a directory.
pub(crate) fn manager(storage: Arc<dyn StateStorage>, directory: &Path) -> StateManager {
    StateManager::new(
        storage,
        StateManagerOptions {
            terraform_version: "1.11.4".to_owned(),
            journal: directory.join("state.journal"),
            read_from: None,
        },
    )
}

pub(crate) fn request() -> LockRequest {
    LockRequest {
        operation: "OperationTypeApply".to_owned(),
        info: String::new(),
        who: "somebody@somewhere".to_owned(),
        version: "1.11.4".to_owned(),
    }
}

pub(crate) fn address(text: &str) -> ResourceInstanceAddress {
    text.parse().unwrap()
}

pub(crate) fn provider() -> ProviderConfigAddress {
    "provider[\"registry.terraform.io/hashicorp/random\"]".parse().unwrap()
}

pub(crate) fn instance(id: &str) -> Instance {
    Instance::with_current(Object::new(0, format!("{{\"id\":\"{id}\"}}")))
}

/// Returns a state with an additional instance.
pub(crate) fn with(state: &State, name: &str, id: &str) -> State {
    let mut state = state.clone();
    state.set_instance(&address(name), &provider(), instance(id));
    state
}

/// Returns the addresses of all instances.
pub(crate) fn addresses(state: &State) -> Vec<String> {
    state.instances().map(|(address, ..)| address.to_string()).collect()
}

/// Returns a state with an instance whose text does not compress.
pub(crate) fn large(state: &State, name: &str, bytes: usize) -> State {
    let mut number: u64 = 1;
    let mut id = String::new();
    while id.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(id, "{number:x}").unwrap();
    }
    let mut state = state.clone();
    state.set_instance(&address(name), &provider(), instance(&id));
    state
}

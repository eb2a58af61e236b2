//! The backends with their faults. Every case has a storage of its own.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tempfile::TempDir;
use wardian_state_server::{
    Azure, Consul, DatabaseProxy, Enterprise, Fault, Gcs, Kubernetes, Moto, MotoService, Postgres,
    ServiceServer, StateServer,
};

static MOTO: LazyLock<Option<Moto>> = LazyLock::new(Moto::start);
static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);

/// The backends in the order of the table.
pub(crate) const NAMES: [&str; 10] =
    ["local", "http", "consul", "kubernetes", "remote", "gcs", "azurerm", "s3", "pg", "postgres"];

/// A request of a backend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
}

type Action = Box<dyn Fn() + Send + Sync>;
type ActionOn<T> = Box<dyn Fn(T) + Send + Sync>;
/// Causes a fault of this number of operations.
type Fail = Box<dyn Fn(Operation, &Fault, usize) + Send + Sync>;
type Put = Box<dyn Fn(&str) + Send + Sync>;

/// A backend with an empty storage, and the actions that cause its faults.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) block: String,
    pub(crate) variables: Vec<(String, String)>,
    /// Causes a fault of the next requests.
    pub(crate) fail: Option<Fail>,
    pub(crate) clear: Action,
    /// Returns the number of faults that have not occurred yet.
    pub(crate) pending: Box<dyn Fn() -> usize + Send + Sync>,
    /// Replaces the stored bytes.
    pub(crate) put: Option<Put>,
    /// Takes the lock from the process that holds it; [`None`] if `force-unlock` does.
    pub(crate) end_lock: Option<Action>,
    /// Rejects the credentials of all requests.
    pub(crate) deny: Option<Action>,
    /// Makes the storage read-only, and reverts it.
    pub(crate) make_read_only: Option<ActionOn<bool>>,
    /// A block that names a bucket, table or database that does not exist.
    pub(crate) missing: Option<String>,
    pub(crate) files: TempDir,
}

fn block(name: &str, arguments: &str) -> String {
    format!("terraform {{\n  backend \"{name}\" {{\n{arguments}  }}\n}}\n")
}

fn owned(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Returns a backend; [`None`], after the reason was printed, if it needs a server that is not installed.
pub(crate) fn peer(name: &'static str) -> Option<Peer> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let files = TempDir::new().unwrap();
    match name {
        "local" => Some(local(files)),
        "http" => Some(http(files)),
        "consul" => Some(consul(files)),
        "kubernetes" => Some(kubernetes(files)),
        "remote" => Some(remote(files)),
        "gcs" => Some(gcs(files)),
        "azurerm" => Some(azurerm(files)),
        "s3" => Some(s3((*MOTO).as_ref()?, number, files)),
        "pg" => Some(database("pg", (*POSTGRES).as_ref()?, number, files)),
        _ => Some(database("postgres", (*POSTGRES).as_ref()?, number, files)),
    }
}

impl Peer {
    fn new(name: &'static str, block: String, files: TempDir) -> Self {
        Self {
            name,
            block,
            variables: Vec::new(),
            fail: None,
            clear: Box::new(|| {}),
            pending: Box::new(|| 0),
            put: None,
            end_lock: None,
            deny: None,
            make_read_only: None,
            missing: None,
            files,
        }
    }
}

fn local(files: TempDir) -> Peer {
    let path = files.path().join("state.tfstate");
    let block = block("local", &format!("    path = \"{}\"\n", path.display()));
    let mut peer = Peer::new("local", block, files);
    peer.put = Some(Box::new(move |text| std::fs::write(&path, text).unwrap()));
    peer
}

/// Adds the faults of a server.
fn with_faults(peer: &mut Peer, server: &StateServer, read: [&'static str; 2], write: [&'static str; 2]) {
    let failing = server.clone();
    peer.fail = Some(Box::new(move |operation, fault, count| {
        let [method, target] = if operation == Operation::Read { read } else { write };
        (0..count).for_each(|_| failing.fail_next_at(method, target, fault.clone()));
    }));
    let counting = server.clone();
    peer.pending = Box::new(move || counting.pending_faults());
    let clearing = server.clone();
    peer.clear = Box::new(move || clearing.clear_faults());
}

fn with_service_faults<S: wardian_state_server::Service>(
    peer: &mut Peer,
    server: &Arc<ServiceServer<S>>,
    read: [&'static str; 2],
    write: [&'static str; 2],
) {
    let failing = Arc::clone(server);
    peer.fail = Some(Box::new(move |operation, fault, count| {
        let [method, target] = if operation == Operation::Read { read } else { write };
        (0..count).for_each(|_| failing.fail_next(method, target, fault.clone()));
    }));
    let counting = Arc::clone(server);
    peer.pending = Box::new(move || counting.pending_faults());
    let clearing = Arc::clone(server);
    peer.clear = Box::new(move || clearing.clear_faults());
}

fn http(files: TempDir) -> Peer {
    let server = StateServer::start();
    let mut peer = Peer::new("http", server.block("/state"), files);
    with_faults(&mut peer, &server, ["GET", "/state"], ["POST", "/state"]);
    let (putting, denying) = (server.clone(), server);
    peer.put = Some(Box::new(move |text| putting.set_state("/state", text)));
    peer.deny = Some(Box::new(move || denying.require_credentials("Basic eDp5")));
    peer
}

fn consul(files: TempDir) -> Peer {
    let server = Arc::new(ServiceServer::start(|_| Consul::default()));
    let arguments =
        format!("    address = \"{}\"\n    scheme = \"http\"\n    path = \"state\"\n", server.address());
    let mut peer = Peer::new("consul", block("consul", &arguments), files);
    with_service_faults(&mut peer, &server, ["GET", "/v1/kv/state?"], ["PUT", "/v1/txn"]);
    let (putting, ending, denying) = (Arc::clone(&server), Arc::clone(&server), server);
    peer.put = Some(Box::new(move |text| putting.service().set("state", text)));
    peer.end_lock = Some(Box::new(move || ending.service().end_sessions()));
    peer.deny = Some(Box::new(move || denying.service().require_token("other")));
    peer
}

fn kubernetes(files: TempDir) -> Peer {
    let server = Arc::new(ServiceServer::start(|_| Kubernetes::default()));
    let config = files.path().join("kubeconfig");
    let text = format!(
        "current-context: c\nclusters:\n- name: c\n  cluster: {{ server: '{}' }}\ncontexts:\n- name: c\n  context: {{ \
         cluster: c, user: u }}\nusers:\n- name: u\n  user: {{}}\n",
        server.origin()
    );
    std::fs::write(&config, text).unwrap();
    let arguments = |namespace: &str| {
        format!("    secret_suffix = \"s\"\n    config_path = \"{}\"\n{namespace}", config.display())
    };
    let block = |namespace: &str| block("kubernetes", &arguments(namespace));
    let (here, missing) = (block(""), block("    namespace = \"absent\"\n"));
    let mut peer = Peer::new("kubernetes", here, files);
    peer.missing = Some(missing);
    let secret = ["GET", "/secrets?"];
    with_service_faults(&mut peer, &server, secret, ["PUT", "/secrets/tfstate-default-s"]);
    let (putting, denying, forbidding) = (Arc::clone(&server), Arc::clone(&server), server);
    peer.put = Some(Box::new(move |text| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        let data = STANDARD.encode(encoder.finish().unwrap());
        let change = |object: &mut serde_json::Value| object["data"]["tfstate"] = json!(data);
        putting.service().change("secrets", "default", "tfstate-default-s", change);
    }));
    peer.deny = Some(Box::new(move || denying.service().require_authorization("Bearer other")));
    peer.make_read_only = Some(Box::new(move |is_so| forbidding.service().forbid_writes(is_so)));
    peer
}

fn remote(files: TempDir) -> Peer {
    let server = Arc::new(ServiceServer::start(|origin| Enterprise::new(origin, "org", "token")));
    let config = files.path().join("cli.tfrc");
    let url = format!("{}/api/v2/", server.origin());
    let text = |token: &str| {
        format!(
            "host \"tfe.example.com\" {{\n  services = {{ \"tfe.v2\" = \"{url}\" }}\n}}\ncredentials \"tfe.example.com\" {{\n  \
             token = \"{token}\"\n}}\n"
        )
    };
    std::fs::write(&config, text("token")).unwrap();
    let block = |organization: &str| {
        block(
            "remote",
            &format!(
                "    hostname = \"tfe.example.com\"\n    organization = \"{organization}\"\n    workspaces {{\n      name = \
                 \"states\"\n    }}\n"
            ),
        )
    };
    let mut peer = Peer::new("remote", block("org"), files);
    peer.missing = Some(block("absent"));
    peer.variables = owned(&[("TF_CLI_CONFIG_FILE", &config.display().to_string())]);
    with_service_faults(&mut peer, &server, ["GET", "/current-state-version"], ["POST", "/state-versions"]);
    let wrong = text("wrong");
    peer.deny = Some(Box::new(move || std::fs::write(&config, &wrong).unwrap()));
    peer.put = Some(Box::new(move |text| server.service().set_state("states", text.as_bytes())));
    peer
}

fn gcs(files: TempDir) -> Peer {
    let server = Arc::new(Gcs::start());
    let block = |bucket: &str| {
        block(
            "gcs",
            &format!(
                "    bucket = \"{bucket}\"\n    prefix = \"p\"\n    access_token = \"token\"\n    storage_custom_endpoint = \
                 \"{}\"\n",
                server.endpoint()
            ),
        )
    };
    let mut peer = Peer::new("gcs", block(Gcs::BUCKET), files);
    peer.missing = Some(block("absent"));
    with_faults(&mut peer, server.server(), ["GET", "default.tfstate"], ["POST", "default.tfstate"]);
    let (putting, denying) = (Arc::clone(&server), server);
    peer.put = Some(Box::new(move |text| putting.put_object("p/default.tfstate", text)));
    peer.deny = Some(Box::new(move || denying.require_tokens(3600)));
    peer
}

fn azurerm(files: TempDir) -> Peer {
    let server = Arc::new(Azure::start());
    let block = |container: &str| {
        block(
            "azurerm",
            &format!(
                "    storage_account_name = \"{}\"\n    container_name = \"{container}\"\n    key = \"state\"\n    access_key = \
                 \"{}\"\n",
                Azure::ACCOUNT,
                Azure::KEY
            ),
        )
    };
    let mut peer = Peer::new("azurerm", block(Azure::CONTAINER), files);
    peer.missing = Some(block("absent"));
    peer.variables = owned(&[
        ("HTTPS_PROXY", &server.proxy()),
        ("SSL_CERT_FILE", &server.certificate_file().display().to_string()),
    ]);
    with_faults(&mut peer, server.server(), ["GET", "/state"], ["PUT", "/state$"]);
    let (putting, ending) = (Arc::clone(&server), server);
    peer.put = Some(Box::new(move |text| putting.put_blob("state", text)));
    peer.end_lock = Some(Box::new(move || ending.set_lease("state", None)));
    peer
}

fn s3(moto: &'static Moto, number: u32, files: TempDir) -> Peer {
    let bucket = format!("faults-{number}");
    moto.create_bucket(&bucket);
    let server = StateServer::start_service(Arc::new(MotoService(moto)));
    let block = |bucket: &str| {
        block(
            "s3",
            &format!(
                "    bucket = \"{bucket}\"\n    key = \"state\"\n    region = \"us-east-1\"\n    endpoints = {{ s3 = \"{}\" }}\n    \
                 use_path_style = true\n    skip_credentials_validation = true\n    skip_requesting_account_id = true\n    \
                 use_lockfile = true\n    max_retries = 2\n",
                server.url("")
            ),
        )
    };
    let mut peer = Peer::new("s3", block(&bucket), files);
    peer.missing = Some(block("absent"));
    peer.variables = owned(&[
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ]);
    with_faults(&mut peer, &server, ["GET", "/state$"], ["PUT", "/state$"]);
    peer.put = Some(Box::new(move |text| moto.put_object(&format!("{bucket}/state"), text)));
    peer
}

fn database(name: &'static str, server: &'static Postgres, number: u32, files: TempDir) -> Peer {
    let proxy = Arc::new(DatabaseProxy::start(server.port()));
    let (role, schema) = (format!("role_{number}"), format!("faults_{number}"));
    server.execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'secret'"));
    server.execute(&format!("CREATE DATABASE {schema} OWNER {role}"));
    let connection = |database: &str| {
        format!("postgres://{role}:secret@127.0.0.1:{}/{database}?sslmode=disable", proxy.port())
    };
    let block = |database: &str| {
        block(name, &format!("    conn_str = \"{}\"\n    schema_name = \"s\"\n", connection(database)))
    };
    let mut peer = Peer::new(name, block(&schema), files);
    peer.missing = Some(block("absent"));
    // The statements that read and write a state.
    let (read, write) = match name {
        "pg" => ("SELECT data", "UPDATE "),
        _ => ("UNION ALL SELECT", "store_rows"),
    };
    let failing = Arc::clone(&proxy);
    peer.fail = Some(Box::new(move |operation, fault, count| {
        failing.fail_next(if operation == Operation::Read { read } else { write }, fault.clone(), count);
    }));
    let counting = Arc::clone(&proxy);
    peer.pending = Box::new(move || counting.pending_faults());
    peer.clear = Box::new(move || proxy.clear_faults());
    let (ended, denied, limited) = (role.clone(), role.clone(), role);
    if name == "pg" {
        peer.end_lock = Some(Box::new(move || {
            let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename";
            server.execute(&format!("{sql} = '{ended}'"));
        }));
        let database = schema;
        peer.put = Some(Box::new(move |text| {
            let sql = format!("UPDATE s.states SET data = '{}'", text.replace('\'', "''"));
            server.execute_in(&database, &sql);
        }));
    }
    peer.deny = Some(Box::new(move || {
        server.execute(&format!("ALTER ROLE {denied} PASSWORD 'other'"));
    }));
    peer.make_read_only = Some(Box::new(move |is_so| {
        let value = if is_so { "on" } else { "off" };
        server.execute(&format!("ALTER ROLE {limited} SET default_transaction_read_only = {value}"));
    }));
    peer
}

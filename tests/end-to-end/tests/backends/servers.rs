//! The backends that this machine can run, each with its configuration.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use wardian_end_to_end::Project;
use wardian_state_server::{
    Azure, Consul, Enterprise, Gcs, Kubernetes, Moto, Postgres, ServiceServer, StateServer,
};

static MOTO: LazyLock<Option<Moto>> = LazyLock::new(Moto::start);
static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);
static HTTP: LazyLock<StateServer> = LazyLock::new(StateServer::start);
/// Azure's services, with Azurite for the blobs if it is installed.
static AZURE: LazyLock<Azure> = LazyLock::new(|| Azure::start_with_azurite().unwrap_or_else(Azure::start));
static GCS: LazyLock<Gcs> = LazyLock::new(Gcs::start);

static CONSUL: LazyLock<ServiceServer<Consul>> =
    LazyLock::new(|| ServiceServer::start(|_| Consul::default()));
static ENTERPRISE: LazyLock<ServiceServer<Enterprise>> =
    LazyLock::new(|| ServiceServer::start(|origin| Enterprise::new(origin, "org", "token")));
static KUBERNETES: LazyLock<ServiceServer<Kubernetes>> =
    LazyLock::new(|| ServiceServer::start(|_| Kubernetes::default()));

/// The files with the addresses of servers: the CLI configuration and the kubeconfig file.
static FILES: LazyLock<TempDir> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let url = format!("{}/api/v2/", ENTERPRISE.origin());
    let config = format!(
        "host \"tfe.example.com\" {{\n  services = {{ \"tfe.v2\" = \"{url}\", \"tfe.v2.1\" = \"{url}\" }}\n}}\ncredentials \
         \"tfe.example.com\" {{\n  token = \"token\"\n}}\n"
    );
    std::fs::write(directory.path().join("cli.tfrc"), config).unwrap();
    let config = format!(
        "current-context: c\nclusters:\n- name: c\n  cluster: {{ server: '{}' }}\ncontexts:\n- name: c\n  context: {{ cluster: \
         c, user: u }}\nusers:\n- name: u\n  user: {{}}\n",
        KUBERNETES.origin()
    );
    std::fs::write(directory.path().join("kubeconfig"), config).unwrap();
    directory
});

/// Returns the path of a file with the addresses of servers.
fn file(name: &str) -> String {
    FILES.path().join(name).display().to_string()
}

/// Variables of the processes that use the backends.
pub(crate) static VARIABLES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    static CLI_CONFIG: LazyLock<String> = LazyLock::new(|| file("cli.tfrc"));
    let certificates = AZURE.certificate_file().display().to_string();
    vec![
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("TF_CLI_CONFIG_FILE", &CLI_CONFIG),
        ("HTTPS_PROXY", AZURE.proxy().leak()),
        ("SSL_CERT_FILE", certificates.leak()),
    ]
});

/// A backend with an empty storage of its own.
pub(crate) struct Backend {
    pub(crate) name: &'static str,
    pub(crate) block: String,
    pub(crate) has_workspaces: bool,
    /// Whether the lock outlives the process that holds it.
    pub(crate) lock_remains: bool,
}

/// A kind of storage that this machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Local,
    Http,
    Azurerm,
    Gcs,
    Consul,
    Remote,
    Cloud,
    Kubernetes,
    S3LockObjects,
    S3Table,
    Pg,
    /// Wardian's own backend.
    Postgres,
}

/// Returns every kind of storage that this machine can run, including Wardian's own.
pub(crate) fn all_kinds() -> Vec<Kind> {
    let mut kinds = terraform_kinds();
    if POSTGRES.is_some() {
        kinds.push(Kind::Postgres);
    }
    kinds
}

/// Returns every kind of storage that Terraform also supports, and that this machine can run.
fn terraform_kinds() -> Vec<Kind> {
    let mut kinds = vec![
        Kind::Local,
        Kind::Http,
        Kind::Azurerm,
        Kind::Gcs,
        Kind::Consul,
        Kind::Remote,
        Kind::Cloud,
        Kind::Kubernetes,
    ];
    if MOTO.is_some() {
        kinds.extend([Kind::S3LockObjects, Kind::S3Table]);
    }
    if POSTGRES.is_some() {
        kinds.push(Kind::Pg);
    }
    kinds
}

/// Returns every backend that this machine can run, including Wardian's own, with new storages.
pub(crate) fn all_backends() -> Vec<Backend> {
    all_kinds().into_iter().map(Kind::create).collect()
}

/// Returns every backend of Terraform that this machine can run, with new storages.
pub(crate) fn backends() -> Vec<Backend> {
    terraform_kinds().into_iter().map(Kind::create).collect()
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Http => "http",
            Self::Azurerm => "azurerm",
            Self::Gcs => "gcs",
            Self::Consul => "consul",
            Self::Remote => "remote",
            Self::Cloud => "cloud",
            Self::Kubernetes => "kubernetes",
            Self::S3LockObjects => "s3 with lock objects",
            Self::S3Table => "s3 with a DynamoDB table",
            Self::Pg => "pg",
            Self::Postgres => "postgres",
        }
    }

    pub(crate) fn has_workspaces(self) -> bool {
        !matches!(self, Self::Http | Self::Remote | Self::Cloud)
    }

    /// Creates a new storage.
    pub(crate) fn create(self) -> Backend {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Backend {
            name: self.name(),
            block: self.block(number),
            has_workspaces: self.has_workspaces(),
            lock_remains: !matches!(self, Self::Local | Self::Consul | Self::Pg | Self::Postgres),
        }
    }

    fn block(self, number: u32) -> String {
        match self {
            Self::Local => block("local", &format!("    path = \"states/{number}.tfstate\"\n")),
            Self::Http => HTTP.block(&format!("/{number}")),
            Self::Azurerm => block(
                "azurerm",
                &format!(
                    "    storage_account_name = \"{}\"\n    container_name = \"{}\"\n    key = \"state {number}\"\n    \
                     access_key = \"{}\"\n    snapshot = false\n",
                    Azure::ACCOUNT,
                    Azure::CONTAINER,
                    Azure::KEY
                ),
            ),
            Self::Gcs => block(
                "gcs",
                &format!(
                    "    bucket = \"{}\"\n    prefix = \"state {number}\"\n    access_token = \"token\"\n    \
                     storage_custom_endpoint = \"{}\"\n",
                    Gcs::BUCKET,
                    GCS.endpoint()
                ),
            ),
            Self::Consul => block(
                "consul",
                &format!(
                    "    address = \"{}\"\n    scheme = \"http\"\n    path = \"states/{number}\"\n",
                    CONSUL.address()
                ),
            ),
            Self::Remote => enterprise_block("backend \"remote\"", &format!("remote-{number}")),
            Self::Cloud => enterprise_block("cloud", &format!("cloud-{number}")),
            Self::Kubernetes => block(
                "kubernetes",
                &format!(
                    "    secret_suffix = \"state{number}\"\n    config_path = \"{}\"\n",
                    file("kubeconfig")
                ),
            ),
            Self::S3LockObjects => s3_block(number, "    use_lockfile = true\n    encrypt = true\n"),
            Self::S3Table => {
                moto().create_table(&format!("locks-{number}"));
                s3_block(number, &format!("    dynamodb_table = \"locks-{number}\"\n"))
            }
            Self::Pg => {
                let database = postgres().create_database(&format!("database_{number}"));
                block("pg", &format!("    conn_str = \"{database}\"\n"))
            }
            Self::Postgres => block(
                "postgres",
                &format!(
                    "    conn_str = \"{}\"\n    schema_name = \"rows_{number}\"\n",
                    postgres().connection_string()
                ),
            ),
        }
    }
}

fn block(name: &str, arguments: &str) -> String {
    format!("terraform {{\n  backend \"{name}\" {{\n{arguments}  }}\n}}\n")
}

fn enterprise_block(header: &str, workspace: &str) -> String {
    format!(
        "terraform {{\n  {header} {{\n    hostname = \"tfe.example.com\"\n    organization = \"org\"\n    workspaces {{\n      \
         name = \"{workspace}\"\n    }}\n  }}\n}}\n"
    )
}

fn s3_block(number: u32, lock: &str) -> String {
    let bucket = format!("bucket-{number}");
    moto().create_bucket(&bucket);
    let url = moto().url();
    let arguments = format!(
        "    bucket = \"{bucket}\"\n    key = \"some/state\"\n    region = \"us-east-1\"\n    endpoints = {{ s3 = \"{url}\", \
         dynamodb = \"{url}\" }}\n    use_path_style = true\n    skip_credentials_validation = true\n    \
         skip_requesting_account_id = true\n{lock}"
    );
    block("s3", &arguments)
}

fn moto() -> &'static Moto {
    MOTO.as_ref().expect("the storage is only used if moto is installed")
}

fn postgres() -> &'static Postgres {
    POSTGRES.as_ref().expect("the storage is only used if PostgreSQL is installed")
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub(crate) fn run(project: &Project, line: &str) -> String {
    project.run_with(line, "", &VARIABLES).success().out
}

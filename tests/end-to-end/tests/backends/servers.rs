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

/// Returns every backend that this machine can run, including Wardian's own, with new storages.
pub(crate) fn all_backends() -> Vec<Backend> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut all = backends();
    if let Some(postgres) = &*POSTGRES {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let arguments = format!(
            "    conn_str = \"{}\"\n    schema_name = \"rows_{number}\"\n",
            postgres.connection_string()
        );
        all.push(Backend {
            name: "postgres",
            block: format!("terraform {{\n  backend \"postgres\" {{\n{arguments}  }}\n}}\n"),
            has_workspaces: true,
            lock_remains: false,
        });
    }
    all
}

/// Returns every backend of Terraform that this machine can run, with new storages.
pub(crate) fn backends() -> Vec<Backend> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let block =
        |name: &str, arguments: &str| format!("terraform {{\n  backend \"{name}\" {{\n{arguments}  }}\n}}\n");
    let mut backends = vec![
        Backend {
            name: "local",
            block: block("local", &format!("    path = \"states/{number}.tfstate\"\n")),
            has_workspaces: true,
            lock_remains: false,
        },
        Backend {
            name: "http",
            block: HTTP.block(&format!("/{number}")),
            has_workspaces: false,
            lock_remains: true,
        },
        Backend {
            name: "azurerm",
            block: block(
                "azurerm",
                &format!(
                    "    storage_account_name = \"{}\"\n    container_name = \"{}\"\n    key = \"state {number}\"\n    \
                     access_key = \"{}\"\n    snapshot = false\n",
                    Azure::ACCOUNT,
                    Azure::CONTAINER,
                    Azure::KEY
                ),
            ),
            has_workspaces: true,
            lock_remains: true,
        },
        Backend {
            name: "gcs",
            block: block(
                "gcs",
                &format!(
                    "    bucket = \"{}\"\n    prefix = \"state {number}\"\n    access_token = \"token\"\n    \
                     storage_custom_endpoint = \"{}\"\n",
                    Gcs::BUCKET,
                    GCS.endpoint()
                ),
            ),
            has_workspaces: true,
            lock_remains: true,
        },
    ];
    backends.push(Backend {
        name: "consul",
        block: block(
            "consul",
            &format!(
                "    address = \"{}\"\n    scheme = \"http\"\n    path = \"states/{number}\"\n",
                CONSUL.address()
            ),
        ),
        has_workspaces: true,
        lock_remains: false,
    });
    let enterprise = |name: &str, header: &str| {
        format!(
            "terraform {{\n  {header} {{\n    hostname = \"tfe.example.com\"\n    organization = \"org\"\n    workspaces {{\n      \
             name = \"{name}-{number}\"\n    }}\n  }}\n}}\n"
        )
    };
    for (name, header) in [("remote", "backend \"remote\""), ("cloud", "cloud")] {
        let block = enterprise(name, header);
        backends.push(Backend { name, block, has_workspaces: false, lock_remains: true });
    }
    backends.push(Backend {
        name: "kubernetes",
        block: block(
            "kubernetes",
            &format!("    secret_suffix = \"state{number}\"\n    config_path = \"{}\"\n", file("kubeconfig")),
        ),
        has_workspaces: true,
        lock_remains: true,
    });
    if let Some(moto) = &*MOTO {
        let bucket = format!("bucket-{number}");
        moto.create_bucket(&bucket);
        moto.create_table(&format!("locks-{number}"));
        let url = moto.url();
        let s3 = |key: &str, lock: &str| {
            block(
                "s3",
                &format!(
                    "    bucket = \"{bucket}\"\n    key = \"{key}/state\"\n    region = \"us-east-1\"\n    endpoints = \
                     {{ s3 = \"{url}\", dynamodb = \"{url}\" }}\n    use_path_style = true\n    \
                     skip_credentials_validation = true\n    skip_requesting_account_id = true\n{lock}"
                ),
            )
        };
        backends.push(Backend {
            name: "s3 with lock objects",
            block: s3("objects", "    use_lockfile = true\n    encrypt = true\n"),
            has_workspaces: true,
            lock_remains: true,
        });
        backends.push(Backend {
            name: "s3 with a DynamoDB table",
            block: s3("table", &format!("    dynamodb_table = \"locks-{number}\"\n")),
            has_workspaces: true,
            lock_remains: true,
        });
    }
    if let Some(postgres) = &*POSTGRES {
        backends.push(Backend {
            name: "pg",
            block: block(
                "pg",
                &format!("    conn_str = \"{}\"\n", postgres.create_database(&format!("database_{number}"))),
            ),
            has_workspaces: true,
            lock_remains: false,
        });
    }
    backends
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub(crate) fn run(project: &Project, line: &str) -> String {
    project.run_with(line, "", &VARIABLES).success().out
}

//! The backends that this machine can run, each with its configuration.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use wardian_end_to_end::Project;
use wardian_state_server::{Azure, Gcs, Moto, Postgres, StateServer};

static MOTO: LazyLock<Option<Moto>> = LazyLock::new(Moto::start);
static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);
static HTTP: LazyLock<StateServer> = LazyLock::new(StateServer::start);
/// Azure's services, with Azurite for the blobs if it is installed.
static AZURE: LazyLock<Azure> = LazyLock::new(|| Azure::start_with_azurite().unwrap_or_else(Azure::start));
static GCS: LazyLock<Gcs> = LazyLock::new(Gcs::start);

/// Variables of the processes that use the backends.
pub(crate) static VARIABLES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let certificates = AZURE.certificate_file().display().to_string();
    vec![
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
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

/// Returns every backend that this machine can run, with new storages.
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

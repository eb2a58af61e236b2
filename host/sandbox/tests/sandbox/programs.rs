//! Programs that a plugin runs: their environment, working directory and executable file. The
//! attacks use the real local-exec provisioner, without its default grants.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_monitor::{AuditLog, Capability, Monitor, PluginIdentity, Record};
use wardian_plugin::{CallContext, ProvisionRequest, Provisioner, SharedByObject};
use wardian_policy::{Level, Policy, PolicyFile};
use wardian_sandbox::ProvisionerGrants;
use wardian_value::{Str, Type, Value};

use crate::guest::{embedded, launcher, sandbox, short};

const ADDRESS: &str = "terraform.io/builtin/local-exec";

/// A program that the plugin requests.
#[derive(Clone, Copy, Default)]
struct Asked<'a> {
    words: &'a [&'a str],
    environment: &'a [(&'a str, &'a str)],
    directory: Option<&'a str>,
}

struct Place {
    directory: tempfile::TempDir,
    provisioner: Arc<dyn Provisioner>,
}

impl Place {
    /// Creates a root module's directory with `sub`, `bin/tool` and some links.
    fn new(rules: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.with_file_name("elsewhere")).unwrap();
        fs::write(root.join("bin/tool"), "#!/bin/sh\necho \"tool in $PWD\"\n").unwrap();
        fs::set_permissions(root.join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/etc", root.join("sub/absolute")).unwrap();
        symlink("../../elsewhere", root.join("sub/relative")).unwrap();
        symlink("deep", root.join("sub/inside")).unwrap();
        let provisioner = provisioner(&root, rules);
        Self { directory, provisioner }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("project")
    }

    fn log(&self) -> Vec<Record> {
        let text = fs::read_to_string(self.root().with_file_name("log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the output, or the error.
    async fn run(&self, asked: Asked<'_>) -> Result<String, String> {
        let (command, before) = asked.words.split_last().unwrap();
        let variables = asked.environment.iter().map(|(name, value)| (Str::new(name), Value::from(*value)));
        let request = ProvisionRequest {
            config: Value::object([
                ("command", Value::from(*command)),
                ("environment", Value::map(Type::String, variables)),
                ("interpreter", Value::list(Type::String, before.iter().map(|word| Value::from(*word)))),
                ("quiet", Value::from(true)),
                ("working_dir", asked.directory.map_or(Value::null(Type::String), Value::from)),
            ]),
            connection: Value::null(Type::object([] as [(&str, Type); 0])),
            shared: SharedByObject::default(),
        };
        let mut shown = String::new();
        let output = &mut |text: &str| shown.push_str(text);
        let diagnostics = self.provisioner.provision(&CallContext::default(), request, output).await;
        match diagnostics.iter().find(|one| one.is_error()) {
            Some(error) => Err(error.detail.clone()),
            None => Ok(shown),
        }
    }
}

fn provisioner(root: &Path, rules: &str) -> Arc<dyn Provisioner> {
    let address = ProviderAddress::parse(ADDRESS).unwrap();
    let source = SourceFile::new("/srv/policy.hcl", rules.replace("ROOT", root.to_str().unwrap()));
    let file = PolicyFile::parse(Level::User, &source, root).unwrap_or_else(|error| panic!("{error}"));
    let policy = Policy::new(root, [file], []).for_plugin(&address);
    let identity = PluginIdentity { address, version: None, sha256: None, confinement: None };
    let log = Arc::new(AuditLog::open(&root.with_file_name("log")).unwrap());
    let search_path = format!("{}/bin:/usr/bin:/bin", root.display());
    let grants = ProvisionerGrants {
        monitor: Monitor::new(policy, identity, log),
        runner: launcher(&search_path),
        directory: root.to_owned(),
        environment: vec![("ACME_HOST".into(), "host".into()), ("LD_HOST".into(), "host".into())],
        home: None,
        ssh_agent: None,
    };
    let loaded =
        sandbox(short()).load_provisioner("local-exec", &embedded("local-exec"), None, None, &|_| {});
    loaded.unwrap().provisioner(grants)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_granted_variables_can_be_set() {
    let place = Place::new(
        r#"plugin "terraform.io/builtin/local-exec" {
  allow process {
    program     = "/usr/bin/printenv"
    arguments   = ["*"]
    environment = ["ACME_*", "GIT_TRACE"]
  }
  allow process {
    program   = "/usr/bin/printenv"
    arguments = ["LD_HOST"]
  }
  deny process {
    environment = ["ACME_SECRET*"]
  }
  allow environment {
    names = ["LD_HOST", "ACME_HOST"]
  }
}
"#,
    );
    let with = |words, environment| place.run(Asked { words, environment, directory: None });
    let print = &["/usr/bin/printenv", "ACME_A"][..];
    assert!(with(print, &[("ACME_A", "one")]).await.unwrap().trim_end().ends_with("one"));
    assert!(with(&["/usr/bin/printenv", "GIT_TRACE"], &[("GIT_TRACE", "1")]).await.is_ok());
    // The host's own value of a granted variable needs no rule for the program.
    assert!(with(&["/usr/bin/printenv", "LD_HOST"], &[]).await.unwrap().contains("host"));
    let attempts: &[&[(&str, &str)]] = &[
        &[("LD_PRELOAD", "x.so")],
        &[("ACME_A", "1"), ("LD_PRELOAD", "x.so")],
        &[("ld_preload", "x.so")],
        &[("LD_DEBUG_OUTPUT", "file")],
        &[("LD_HOST", "changed")],
        &[("GIT_TRACE2", "1")],
        &[("GIT_CONFIG_COUNT", "1")],
        &[("ACME_PATH", "/tmp")],
        &[("ACME_PRELOAD", "x")],
        &[("PATH", "/tmp")],
        &[("BASH_ENV", "x")],
        &[("ACME_SECRET", "1")],
        &[("OTHER", "1")],
        &[("ACME_A=1\nLD_PRELOAD", "x")],
        &[("", "x")],
        &[("ACME_\0", "x")],
    ];
    for environment in attempts {
        let before = place.log().len();
        let refused = with(&["/usr/bin/printenv", "ACME_HOST"], environment).await;
        assert!(refused.is_err(), "{environment:?}: {refused:?}");
        let is_name = !environment.iter().any(|(name, _)| name.is_empty() || name.contains(['=', '\0']));
        if is_name {
            let log = place.log();
            let record = log.get(before).unwrap_or_else(|| panic!("{environment:?} is not recorded"));
            let names: Vec<&str> = record.environment.iter().flatten().map(String::as_str).collect();
            let set: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, set);
            assert!(!serde_json::to_string(record).unwrap().contains("x.so"), "values are not recorded");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn working_directory_requires_read_access() {
    let place = Place::new(
        r#"plugin "terraform.io/builtin/local-exec" {
  allow process {
    program   = "/bin/pwd"
    arguments = ["-P"]
  }
  allow filesystem {
    directories = ["sub"]
  }
}
"#,
    );
    let root = place.root();
    let pwd = async |directory: Option<&str>| {
        place.run(Asked { words: &["/bin/pwd", "-P"], environment: &[], directory }).await
    };
    for (directory, expected) in [
        (None, root.clone()),
        (Some("."), root.clone()),
        (Some("sub/.."), root.clone()),
        (root.to_str(), root.clone()),
        (Some("sub"), root.join("sub")),
        (Some("./sub//deep/"), root.join("sub/deep")),
        (Some("sub/inside"), root.join("sub/deep")),
    ] {
        let shown = pwd(directory).await.unwrap();
        assert!(shown.contains(expected.to_str().unwrap()), "{directory:?}: {shown}");
        let record = place.log().pop().unwrap();
        assert_eq!(record.directory.as_deref(), expected.to_str(), "{directory:?}");
    }
    let target = root.join("sub/absolute/../..");
    for directory in [
        "..",
        "../elsewhere",
        "../../..",
        "/",
        "/etc",
        "/tmp",
        "/proc/self/cwd",
        "bin",
        "sub/../bin",
        "sub/absolute",
        "sub/relative",
        "sub/relative/..",
        "sub/inside/../../../elsewhere",
        target.to_str().unwrap(),
    ] {
        let before = place.log().len();
        let refused = pwd(Some(directory)).await.unwrap_err();
        assert!(refused.contains("is denied access (reading"), "{directory}: {refused}");
        let log = place.log();
        let capabilities: Vec<Capability> = log.iter().skip(before).map(|record| record.capability).collect();
        assert_eq!(capabilities, [Capability::Filesystem, Capability::Process], "{directory}");
    }
    // A denial does not reveal which files exist.
    for prefix in ["/etc", "sub/absolute", "sub/relative/../../../../etc", "sub/inside/../../../../../etc"] {
        let ask = async |name: &str| pwd(Some(&format!("{prefix}/{name}"))).await.unwrap_err();
        assert_eq!(ask("no-such").await.replace("no-such", "ssl"), ask("ssl").await, "{prefix}");
    }
    assert!(pwd(Some("sub/no-such")).await.unwrap_err().contains("does not exist"));
}

#[tokio::test(flavor = "multi_thread")]
async fn program_that_plugins_may_write_is_not_found_by_name() {
    let rules = |program: &str, writer: &str| {
        format!(
            "plugin \"terraform.io/builtin/local-exec\" {{\n  allow process {{\n    program   = \"{program}\"\n    \
             arguments = [\"*\"]\n  }}\n}}\n{writer}"
        )
    };
    let writer = "plugin \"acme/files\" {\n  allow filesystem {\n    directories = [\".\"]\n    access      = \
                  [\"write\"]\n  }\n}\n";
    let asked = Asked { words: &["tool", "x"], ..Asked::default() };
    let plain = Place::new(&rules("tool", ""));
    assert!(plain.run(asked).await.unwrap().contains("tool in"));
    let exposed = Place::new(&rules("tool", writer));
    let refused = exposed.run(asked).await.unwrap_err();
    assert!(refused.contains("plugins may write"), "{refused}");
    let log = exposed.log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log.iter().all(|record| record.rule.is_none() && record.reason.is_some()), "{log:?}");
    // `ROOT/bin/*` does not name the file, but `ROOT/bin/tool` does.
    for (program, is_allowed) in [("ROOT/bin/*", false), ("ROOT/bin/tool", true)] {
        let place = Place::new(&rules(program, writer));
        let path = place.root().join("bin/tool");
        let words = [path.to_str().unwrap(), "x"];
        let done = place.run(Asked { words: &words, ..Asked::default() }).await;
        assert_eq!(done.is_ok(), is_allowed, "{program}: {done:?}");
    }
}

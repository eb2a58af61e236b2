//! Namespaces of a Kubernetes API server: with a client certificate, and with an exec credential program
//! that opens a connection of its own.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Row;
use super::accounts::Account;
use super::project::{Plugin, Policy, Project, Suite};
use super::table::RowResult;
use crate::interop::documents::states_by_resource;
use crate::oracle::first_difference;

/// A name that no rule grants. Resolvers do not resolve names below `test`.
const FOREIGN_HOST: &str = "cluster.foreign.test";

/// The kubeconfig in the project's directory.
const OWN_FILE: &str = "${path.root}/kubeconfig";

/// A provider that manages namespaces.
struct Client<'a> {
    suite: &'a Suite<'a>,
    plugin: Plugin,
    /// The version of the API of exec credential programs.
    version: &'static str,
}

pub(super) fn rows<'a>(
    suite: &'a Suite<'a>,
    title: &str,
    plugin: Result<Plugin, String>,
    version: &'static str,
) -> Vec<Row<'a>> {
    type Check = fn(&Client<'_>, &Account) -> Result<RowResult>;
    let checks: [(&str, Check); 4] = [
        ("same states as unconfined", |client, account| client.states_are_equal(account)),
        ("file in the home directory", |client, account| client.file_in_home_directory(account)),
        ("another host", |client, account| client.other_hosts_are_denied(account)),
        ("no rule for the credential program", |client, account| client.other_programs_are_denied(account)),
    ];
    let row = |(name, check): (&str, Check)| -> Row<'a> {
        let plugin = plugin.clone();
        let row = move |account: &Account| match &plugin {
            Ok(plugin) => check(&Client { suite, plugin: plugin.clone(), version }, account),
            Err(reason) => Ok(RowResult::Skipped(reason.clone())),
        };
        (format!("{title}, kubeconfig: {name}"), Box::new(row))
    };
    checks.map(row).into()
}

impl Client<'_> {
    fn policy(&self) -> Policy {
        let servers = &self.suite.servers;
        Policy {
            files: vec!["kubeconfig".into(), servers.certificates.clone()],
            hosts: vec![("https", "localhost".to_owned(), servers.port("api"))],
            credential_arguments: Some(self.credential_arguments()),
        }
    }

    fn credential_arguments(&self) -> Vec<String> {
        let url = format!("http://127.0.0.1:{}/token", self.suite.servers.port("token"));
        vec!["token".to_owned(), format!("client.authentication.k8s.io/{}", self.version), url]
    }

    fn project(&self, account: &Account, title: &str, native: &str, policy: &Policy) -> Result<Project> {
        let project = Project::create(self.suite, account, &self.plugin, title, native, policy)?;
        project.write("kubeconfig", &self.kubeconfig())?;
        account.give(&project.directory)?;
        Ok(project)
    }

    fn kubeconfig(&self) -> String {
        let servers = &self.suite.servers;
        let certificates = servers.certificates.display();
        format!(
            "apiVersion: v1
kind: Config
clusters:
- {{ name: api, cluster: {{ server: \"https://localhost:{}\", certificate-authority: \"{certificates}/ca.crt\" }} }}
- {{ name: other, cluster: {{ server: \"https://localhost:{}\", certificate-authority: \"{certificates}/ca.crt\" }} }}
- {{ name: foreign, cluster: {{ server: \"https://{FOREIGN_HOST}\", certificate-authority: \"{certificates}/ca.crt\" }} }}
users:
- name: certificate
  user: {{ client-certificate: \"{certificates}/client.crt\", client-key: \"{certificates}/client.key\" }}
- name: credential
  user:
    exec:
      apiVersion: client.authentication.k8s.io/{}
      command: peers-credential
      args: {:?}
      interactiveMode: Never
contexts:
- {{ name: certificate, context: {{ cluster: api, user: certificate }} }}
- {{ name: credential, context: {{ cluster: api, user: credential }} }}
- {{ name: other, context: {{ cluster: other, user: certificate }} }}
- {{ name: foreign, context: {{ cluster: foreign, user: certificate }} }}
",
            servers.port("api"),
            servers.port("other"),
            self.version,
            self.credential_arguments(),
        )
    }

    fn states_are_equal(&self, account: &Account) -> Result<RowResult> {
        let unconfined = self.project(account, "states", "allow", &Policy::default())?;
        let theirs = states(&unconfined).context("unconfined")?;
        let confined = self.project(account, "states", "confine", &self.policy())?;
        let since = self.suite.servers.position()?;
        let ours = states(&confined)?;
        for ((name, theirs), (_, ours)) in theirs.iter().zip(&ours) {
            for (address, object) in states_by_resource(theirs) {
                let found = states_by_resource(ours).remove(&address).unwrap_or_default();
                // Each state has its own lineage.
                let difference = first_difference("", &object, &found).filter(|_| address != "(state)");
                ensure!(difference.is_none(), "{name}, {address}: {}", difference.unwrap_or_default());
            }
        }
        let records = confined.take_records()?;
        let denied = [records.find("network", "denied"), records.find("process", "denied")].concat();
        ensure!(denied.is_empty(), "granted accesses were denied: {denied:?}");
        let target = format!("https://localhost:{}", self.suite.servers.port("api"));
        let connections = records.find("network", "allowed");
        ensure!(
            !connections.is_empty() && connections.iter().all(|record| record["target"] == target.as_str()),
            "the audit log does not contain connections to {target} only: {connections:?}"
        );
        let programs = records.find("process", "allowed");
        ensure!(
            !programs.is_empty()
                && programs
                    .iter()
                    .all(|record| record["target"] == "peers-credential" && record["status"] == 0),
            "the audit log does not contain the credential program: {programs:?}"
        );
        let requests = self.suite.servers.records("api", since)?;
        for (method, identity) in ["POST", "GET", "DELETE"]
            .into_iter()
            .flat_map(|method| [(method, "certificate"), (method, "token")])
        {
            ensure!(
                requests.iter().any(|request| request["method"] == method && request["identity"] == identity),
                "the server received no {method} with a {identity}"
            );
        }
        let tokens = self.suite.servers.records("token", since)?.len();
        ensure!(tokens >= programs.len(), "the credential program did not connect to its server");
        Ok(RowResult::Works(format!(
            "level {}, {} connections, {} runs of the credential program",
            confined.level()?,
            connections.len(),
            programs.len()
        )))
    }

    /// Uses the file that most users have. Some clients start the credential program in its directory.
    fn file_in_home_directory(&self, account: &Account) -> Result<RowResult> {
        let directory = account.directory.join("home/.kube");
        fs::create_dir_all(&directory)?;
        let file = directory.join(format!("config-{}", self.plugin.name));
        fs::write(&file, self.kubeconfig())?;
        let policy = self.policy();
        let files = [vec![directory], policy.files].concat();
        let project = self.project(account, "home", "confine", &Policy { files, ..policy })?;
        project.configure(&namespace("credential", &file.display().to_string()))?;
        let changes = ["-no-color", "-input=false", "-auto-approve"];
        project.run(&[&["apply"], &changes[..]].concat())?;
        project.run(&[&["destroy"], &changes[..]].concat())?;
        let runs = project.take_records()?.find("process", "allowed").len();
        ensure!(runs > 0, "the audit log does not contain the credential program");
        Ok(RowResult::Works(format!("{runs} runs of the credential program")))
    }

    fn other_hosts_are_denied(&self, account: &Account) -> Result<RowResult> {
        let project = self.project(account, "other", "confine", &self.policy())?;
        project.configure(&["other", "foreign"].map(|context| namespace(context, OWN_FILE)).concat())?;
        let since = self.suite.servers.position()?;
        let output = project.fail_to_apply()?;
        let records = project.take_records()?;
        let port = self.suite.servers.port("other");
        let denied = records.targets("network", "denied");
        ensure!(
            denied.iter().any(|target| target.ends_with(&format!("localhost:{port}"))),
            "the audit log contains no denial of port {port}, but {denied:?}\n{output}"
        );
        let names = records.targets("name-look-up", "denied");
        ensure!(
            names.contains(FOREIGN_HOST),
            "the audit log contains no denial of {FOREIGN_HOST}, but {names:?}"
        );
        let reached = self.suite.servers.records("other", since)?;
        ensure!(reached.is_empty(), "the other server was reached: {reached:?}");
        let suggested = "wardian policy grant example.com/interop/peers network";
        ensure!(output.contains(suggested), "the output does not contain `{suggested}`:\n{output}");
        Ok(RowResult::Works(format!(
            "denied: {}, {FOREIGN_HOST}",
            denied.into_iter().collect::<Vec<_>>().join(", ")
        )))
    }

    fn other_programs_are_denied(&self, account: &Account) -> Result<RowResult> {
        let policy = Policy { credential_arguments: None, ..self.policy() };
        let project = self.project(account, "program", "confine", &policy)?;
        project.configure(&namespace("credential", OWN_FILE))?;
        let since = self.suite.servers.position()?;
        let output = project.fail_to_apply()?;
        let records = project.take_records()?;
        let denied = records.targets("process", "denied");
        ensure!(
            denied.iter().any(|target| target.ends_with("peers-credential")),
            "the audit log contains no denial of the credential program, but {denied:?}\n{output}"
        );
        let tokens = self.suite.servers.records("token", since)?;
        ensure!(tokens.is_empty(), "the credential program ran: {tokens:?}");
        let suggested = "wardian policy grant example.com/interop/peers process";
        ensure!(output.contains(suggested), "the output does not contain `{suggested}`:\n{output}");
        let error = output.lines().find(|line| line.contains("Error: ")).unwrap_or_default();
        let error = error.split("Error: ").last().unwrap_or_default();
        ensure!(!error.is_empty(), "the output contains no error:\n{output}");
        Ok(RowResult::Works(format!("{} paths were denied; error of the provider: {error}", denied.len())))
    }
}

/// Creates two namespaces, plans again and destroys them. Returns the states after each step.
fn states(project: &Project) -> Result<Vec<(&'static str, Value)>> {
    project.configure(&["certificate", "credential"].map(|context| namespace(context, OWN_FILE)).concat())?;
    project.program.plan(&project.directory, &[])?;
    let created = project.program.apply(&project.directory)?;
    let count = created["resources"].as_array().map_or(0, Vec::len);
    ensure!(count == 2, "the state has {count} objects after the apply instead of 2");
    if let Some(changes) = project.program.changes(&project.directory, &[])? {
        anyhow::bail!("{changes}");
    }
    project.run(&["destroy", "-no-color", "-input=false", "-auto-approve"])?;
    let destroyed = project.program.state(&project.directory)?;
    ensure!(destroyed["resources"].as_array().is_some_and(Vec::is_empty), "objects remain: {destroyed}");
    Ok(vec![("apply", created), ("destroy", destroyed)])
}

/// Returns a namespace that is managed through a context of a kubeconfig.
fn namespace(context: &str, kubeconfig: &str) -> String {
    format!(
        "resource \"peers_namespace\" \"{context}\" {{
  kubeconfig = \"{kubeconfig}\"
  context    = \"{context}\"
  name       = \"by-{context}\"
  labels     = {{ context = \"{context}\" }}
}}
"
    )
}

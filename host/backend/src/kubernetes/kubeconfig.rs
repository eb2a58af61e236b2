//! The files with clusters, users and contexts.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_files::read_regular;
use wardian_value::{Value, View};

use super::exec::ExecPlugin;

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The entries of all files. The first entry with a name is used.
#[derive(Default)]
pub(super) struct Kubeconfig {
    current: Option<String>,
    contexts: Vec<(String, ContextEntry)>,
    clusters: Vec<(String, ClusterEntry)>,
    users: Vec<(String, UserEntry)>,
}

#[derive(Clone, Default)]
struct ContextEntry {
    cluster: String,
    user: String,
}

#[derive(Clone, Default)]
pub(super) struct ClusterEntry {
    pub(super) server: Option<String>,
    pub(super) authorities: Option<Vec<u8>>,
    pub(super) is_insecure: bool,
    pub(super) proxy: Option<String>,
}

#[derive(Clone, Default)]
pub(super) struct UserEntry {
    pub(super) certificate: Option<Vec<u8>>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) token: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) password: Option<(String, String)>,
    pub(super) exec: Option<ExecPlugin>,
    /// A setting of the user that is not supported.
    pub(super) unsupported: Option<&'static str>,
}

/// The names that arguments select instead of the current context.
#[derive(Clone, Copy, Default)]
pub(super) struct Selection<'a> {
    pub(super) context: Option<&'a str>,
    pub(super) cluster: Option<&'a str>,
    pub(super) user: Option<&'a str>,
}

impl Kubeconfig {
    /// Adds the entries of a file. `may_execute` is whether its users may start programs.
    ///
    /// # Errors
    /// Returns the reason if the file cannot be used.
    pub(super) fn add_file(&mut self, path: &Path, may_execute: bool) -> Result<(), String> {
        let bytes =
            read_regular(path, MAX_FILE_BYTES).map_err(|error| format!("it cannot be read: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let directory = path.parent().unwrap_or(path);
        self.add_text(&text, directory, may_execute)
    }

    fn add_text(&mut self, text: &str, directory: &Path, may_execute: bool) -> Result<(), String> {
        let document =
            wardian_lang::decode_yaml(text).map_err(|reason| format!("it is not YAML: {reason}"))?;
        let entries = |list: &str, member: &str| -> Vec<(String, Value)> {
            let found = document.get(list).and_then(Value::as_elements).unwrap_or_default();
            let entry = |entry: &Value| Some((text_in(entry, "name")?, entry.get(member)?.clone()));
            found.iter().filter_map(entry).collect()
        };
        self.current = self.current.take().or_else(|| text_in(&document, "current-context"));
        for (name, context) in entries("contexts", "context") {
            let text = |member: &str| text_in(&context, member).unwrap_or_default();
            self.contexts.push((name, ContextEntry { cluster: text("cluster"), user: text("user") }));
        }
        for (name, cluster) in entries("clusters", "cluster") {
            if text_in(&cluster, "tls-server-name").is_some() {
                return Err(format!(
                    "the cluster \"{name}\" has a \"tls-server-name\", which is not supported"
                ));
            }
            let entry = ClusterEntry {
                server: text_in(&cluster, "server"),
                authorities: data(&cluster, "certificate-authority", directory)?,
                is_insecure: cluster
                    .get("insecure-skip-tls-verify")
                    .and_then(Value::as_bool)
                    .unwrap_or_default(),
                proxy: text_in(&cluster, "proxy-url"),
            };
            self.clusters.push((name, entry));
        }
        for (name, user) in entries("users", "user") {
            let exec = user.get("exec").filter(|exec| !exec.is_null());
            let unsupported = match exec {
                _ if user.get("auth-provider").is_some_and(|provider| !provider.is_null()) => {
                    Some("\"auth-provider\", which is not supported; use a program in \"exec\"")
                }
                Some(_) if !may_execute => Some(
                    "a program in \"exec\", but its file is in the directory of the configuration, so the program is not \
                     started; name the file in the variable KUBE_CONFIG_PATH instead",
                ),
                _ => None,
            };
            let entry = UserEntry {
                certificate: data(&user, "client-certificate", directory)?,
                key: data(&user, "client-key", directory)?,
                token: text_in(&user, "token"),
                token_file: text_in(&user, "tokenFile").map(|path| directory.join(path)),
                password: text_in(&user, "username")
                    .map(|name| (name, text_in(&user, "password").unwrap_or_default())),
                exec: exec.map(|exec| ExecPlugin::new(exec, directory)).transpose()?,
                unsupported,
            };
            self.users.push((name, entry));
        }
        Ok(())
    }

    /// Returns the cluster and the user that are selected.
    ///
    /// # Errors
    /// Returns the reason if an entry does not exist.
    pub(super) fn select(&self, selection: Selection<'_>) -> Result<(ClusterEntry, UserEntry), String> {
        let name = selection.context.or(self.current.as_deref()).unwrap_or_default();
        let context = match find(&self.contexts, name) {
            Some(context) => context.clone(),
            None if selection.context.is_some() => return Err(format!("there is no context \"{name}\"")),
            None => ContextEntry::default(),
        };
        let cluster = selection.cluster.unwrap_or(&context.cluster);
        let user = selection.user.unwrap_or(&context.user);
        let found_cluster = match find(&self.clusters, cluster) {
            Some(found) => found.clone(),
            None if cluster.is_empty() => ClusterEntry::default(),
            None => return Err(format!("there is no cluster \"{cluster}\"")),
        };
        let found_user = match find(&self.users, user) {
            Some(UserEntry { unsupported: Some(setting), .. }) => {
                return Err(format!("the user \"{user}\" has {setting}"));
            }
            Some(found) => found.clone(),
            None if user.is_empty() => UserEntry::default(),
            None => return Err(format!("there is no user \"{user}\"")),
        };
        Ok((found_cluster, found_user))
    }
}

fn find<'a, T>(entries: &'a [(String, T)], name: &str) -> Option<&'a T> {
    entries.iter().find(|(entry, _)| entry == name).map(|(_, entry)| entry)
}

/// Returns a text that is not empty.
pub(super) fn text_in(value: &Value, member: &str) -> Option<String> {
    let found = value.get(member)?;
    match found.view() {
        View::String(text) if !text.is_empty() => Some(text.to_string()),
        View::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the content of a file, or the data in its place.
fn data(value: &Value, member: &str, directory: &Path) -> Result<Option<Vec<u8>>, String> {
    if let Some(text) = text_in(value, &format!("{member}-data")) {
        let bytes = STANDARD.decode(text.trim());
        return bytes.map(Some).map_err(|_| format!("\"{member}-data\" is not base64"));
    }
    let Some(path) = text_in(value, member) else { return Ok(None) };
    let bytes = read_regular(&directory.join(&path), MAX_FILE_BYTES);
    bytes.map(Some).map_err(|error| format!("the file {path} of \"{member}\" cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "apiVersion: v1\nkind: Config\ncurrent-context: one\nclusters:\n- name: c\n  cluster:\n    server: \
                        https://c.example\n    certificate-authority-data: Y2E=\n    insecure-skip-tls-verify: true\n\
                        contexts:\n- name: one\n  context: { cluster: c, user: u }\n- name: two\n  context:\n    cluster: \
                        gone\nusers:\n- name: u\n  user: { token: t, username: me, password: 1234 }\n- name: x\n  user:\n    \
                        exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./login\n      args: [a]\n";

    fn kubeconfig(text: &str, may_execute: bool) -> Result<Kubeconfig, String> {
        let mut config = Kubeconfig::default();
        config.add_text(text, Path::new("/home/me/.kube"), may_execute).map(|()| config)
    }

    #[test]
    fn contexts_select_clusters_and_users() {
        let config = kubeconfig(FILE, true).unwrap();
        let (cluster, user) = config.select(Selection::default()).unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://c.example"));
        assert_eq!((cluster.authorities.as_deref(), cluster.is_insecure), (Some(&b"ca"[..]), true));
        assert_eq!(user.token.as_deref(), Some("t"));
        assert_eq!(user.password, Some(("me".to_owned(), "1234".to_owned())));
        let select = |context, user| {
            config
                .select(Selection { context: Some(context), user, ..Selection::default() })
                .map(|(_, user)| user)
        };
        assert!(select("one", Some("x")).unwrap().exec.is_some());
        assert!(select("two", None).err().unwrap().contains("no cluster \"gone\""));
        assert!(select("three", None).err().unwrap().contains("no context \"three\""));
        assert!(select("one", Some("y")).err().unwrap().contains("no user \"y\""));
        let other = kubeconfig(FILE, false).unwrap();
        let error = other.select(Selection { user: Some("x"), ..Selection::default() }).err().unwrap();
        assert!(error.contains("KUBE_CONFIG_PATH"), "{error}");
    }

    #[test]
    fn damaged_files_are_reported() {
        for bad in ["a: [", "clusters:\n- name: c\n  cluster: { certificate-authority-data: '%' }\n"] {
            assert!(kubeconfig(bad, true).is_err(), "{bad}");
        }
        for empty in ["null", "[]", "clusters: 1\nusers: {}\n", "contexts:\n- x\n- name: 1\n"] {
            let config = kubeconfig(empty, true).unwrap();
            assert!(config.select(Selection::default()).unwrap().0.server.is_none(), "{empty}");
        }
    }
}

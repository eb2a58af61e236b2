//! `terraform_remote_state` with the backend `local`: results and errors.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wardian_address::ResourceMode;
use wardian_state::State;

use crate::terraform::{self, Fault};
use crate::{fixture, projection};

const FILE: &str = "remote_states.json";

/// The states of the other configurations.
const STATES: [(&str, &str); 4] = [
    (
        "other/terraform.tfstate",
        r#"{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"435ae773-74b6-1201-fb35-c5c3b08c8d40","outputs":{"a":{"value":"x","type":"string"},"s":{"value":{"b":[1,null]},"type":["object",{"b":["tuple",["number","dynamic"]]}],"sensitive":true},"m":{"value":{"k":1},"type":["map","number"]}},"resources":[],"check_results":null}"#,
    ),
    (
        "terraform.tfstate.d/w/terraform.tfstate",
        r#"{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"435ae773-74b6-1201-fb35-c5c3b08c8d41","outputs":{"of":{"value":"w","type":"string"}},"resources":[],"check_results":null}"#,
    ),
    (
        "spaces/v/terraform.tfstate",
        r#"{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"435ae773-74b6-1201-fb35-c5c3b08c8d42","outputs":{},"resources":[],"check_results":null}"#,
    ),
    ("text.tfstate", "not a state"),
];

#[derive(Serialize, Deserialize)]
struct Row {
    /// The body of the data block.
    body: Vec<String>,
    #[serde(default)]
    validate: Vec<Fault>,
    #[serde(default)]
    read: Read,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Read {
    Object(Json),
    Unknown,
    Refused(Vec<Fault>),
}

impl Default for Read {
    fn default() -> Self {
        Self::Refused(Vec::new())
    }
}

/// Returns the configuration, in which the body starts on the second line.
fn configuration(row: &Row) -> String {
    format!("data \"terraform_remote_state\" \"r\" {{\n{}\n}}\n", row.body.join("\n"))
}

fn world() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in STATES {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let extra = "resource \"terraform_data\" \"new\" {\n}\nvariable \"nothing\" {\n  default = null\n}\n";
    std::fs::write(directory.path().join("extra.tf"), extra).unwrap();
    directory
}

fn record(row: &mut Row) {
    let directory = world();
    std::fs::write(directory.path().join("main.tf"), configuration(row)).unwrap();
    row.validate = terraform::validate(directory.path());
    row.read = match terraform::plan(directory.path()) {
        Ok(plan) => match &plan["prior_state"]["values"]["root_module"]["resources"][0]["values"] {
            Json::Null => Read::Unknown,
            object => Read::Object(object.clone()),
        },
        Err(faults) => Read::Refused(faults),
    };
}

fn read(files: fixture::Files<'_>, directory: &Path) -> Read {
    let plan = match fixture::plan(files, directory, State::with_new_lineage()) {
        Ok(plan) => plan,
        Err(diagnostics) => return Read::Refused(terraform::ours(&diagnostics)),
    };
    let read = plan.prior_state.instances().find(|(address, _, _)| address.mode() == ResourceMode::Data);
    let Some(object) = read.and_then(|(_, _, instance)| instance.current.clone()) else {
        return Read::Unknown;
    };
    let wardian_state::Attributes::Json(text) = &object.attributes else { panic!("an object of old") };
    let schema = fixture::data_source_type();
    Read::Object(projection::known(&wardian_value::json::decode(text.as_bytes(), &schema).unwrap()).unwrap())
}

/// Compares errors. If a problem occurs in several arguments, Terraform reports it several times.
fn meets(recorded: &[Fault], ours: &[Fault]) -> bool {
    let mut recorded = recorded.to_vec();
    recorded.dedup();
    recorded.len() == ours.len() && recorded.iter().zip(ours).all(|(recorded, ours)| recorded.is_met_by(ours))
}

#[test]
fn remote_states_match_terraform() {
    let mut rows: Vec<Row> = terraform::load(FILE);
    if terraform::is_recording() {
        rows.iter_mut().for_each(record);
        terraform::save(FILE, &rows);
    }
    assert!(rows.len() >= 25, "{} rows", rows.len());
    let mut different = Vec::new();
    for row in &rows {
        let directory = world();
        let extra = std::fs::read_to_string(directory.path().join("extra.tf")).unwrap();
        let main = configuration(row);
        let files = [("main.tf", main.as_str()), ("extra.tf", extra.as_str())];
        let validated = terraform::ours(&fixture::validate(&files, directory.path()));
        let read = read(&files, directory.path());
        let same_read = match (&row.read, &read) {
            (Read::Refused(recorded), Read::Refused(ours)) => meets(recorded, ours),
            (recorded, ours) => recorded == ours,
        };
        if !same_read || !meets(&row.validate, &validated) {
            different.push(format!(
                "{}\n  recorded {:?} {:?}\n  ours     {validated:?} {read:?}",
                row.body.join("\n"),
                row.validate,
                row.read
            ));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

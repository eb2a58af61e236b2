//! Plan files: all that an apply needs, so that it can run elsewhere and later.
//!
//! | entry | content |
//! |---|---|
//! | `plan.json` | the plan itself; values as base64 of MessagePack against the dynamic type |
//! | `state.json` | the state that the changes start from, version 4 |
//! | `state-previous.json` | the state before anything was read, version 4 |
//! | `configuration/PATH` | the configuration's files, paths relative to the root module |
//! | `.terraform.lock.hcl` | the plugins that were chosen |
//!
//! A zip archive, as Terraform's plan files are; but neither program reads the
//! other's. `plan.json` states its format's version, and a reader refuses any
//! version but its own: a plan is short-lived, and guessing at one is how the
//! wrong change is made. Sensitive values are in it in clear, as they are in the
//! state: the file is written so that only its owner can read it.

mod change;
mod checks;
mod functions;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wardian_plugin::{ProviderConfigAddress, ProviderSchema};
use wardian_state::{State, decode_state, encode_state};
use wardian_value::{Str, Value};

use crate::plan::{Action, ActionReason, Mode, OutputChange, Plan, Target};
use change::{ChangeContents, decode_change, encode_change};
use checks::{CheckContents, RelevantContents};
use functions::FunctionContents;
use value::{Encoded, decode_value, encode_value};

/// The version of `plan.json`.
const FORMAT: u32 = 3;

/// The most bytes that any entry of a plan file may unpack to.
const ENTRY_LIMIT: u64 = 1 << 30;

/// What a plan file holds.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The plan, with schemas still to be put in by [`PlanFile::into_plan`].
    contents: Contents,
    prior_state: State,
    previous_state: State,
    /// The configuration's files by their paths relative to the root module.
    pub configuration: BTreeMap<String, Vec<u8>>,
    /// The lock file as it was.
    pub lock_file: Option<Vec<u8>>,
}

/// Why a plan file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// It is no plan file of this program.
    #[error("it is not a plan file of this program: {0}")]
    NotAPlan(String),
    /// It was made by another version.
    #[error(
        "its format is version {found}, and this program reads only version {FORMAT}; make the plan anew"
    )]
    Version {
        /// The version that it states.
        found: u32,
    },
    /// A part does not make sense.
    #[error("its part {part} cannot be read: {problem}")]
    Damaged {
        /// Which part.
        part: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A provider of it has no such schema any more.
    #[error("no selected provider has a schema for {0}")]
    NoSchema(String),
    /// It could not be put together.
    #[error("it could not be put together: {0}")]
    Write(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Contents {
    format: u32,
    mode: String,
    variables: BTreeMap<String, Encoded>,
    ephemeral_variables: BTreeSet<String>,
    function_results: Vec<FunctionContents>,
    targets: Vec<String>,
    changes: Vec<ChangeContents>,
    drift: Vec<ChangeContents>,
    outputs: BTreeMap<String, OutputContents>,
    checks: Vec<CheckContents>,
    relevant_attributes: Vec<RelevantContents>,
    timestamp: String,
    errored: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OutputContents {
    action: String,
    before: Encoded,
    after: Encoded,
    sensitive: bool,
}

/// The plan file of a plan.
///
/// # Errors
/// Where a value cannot be encoded, which a plan made by the engine does not hold.
pub fn encode(
    plan: &Plan,
    configuration: &BTreeMap<String, Vec<u8>>,
    lock_file: Option<&[u8]>,
) -> Result<Vec<u8>, PlanFileError> {
    let contents = Contents {
        format: FORMAT,
        mode: mode_name(plan.mode).into(),
        variables: plan
            .variables
            .iter()
            .filter(|(_, value)| !value.inside_marks().is_ephemeral())
            .map(|(name, value)| Ok((name.to_string(), encode_value(value)?)))
            .collect::<Result<_, PlanFileError>>()?,
        ephemeral_variables: plan.ephemeral_variables.iter().map(ToString::to_string).collect(),
        function_results: functions::encode(&plan.function_results),
        targets: plan.targets.iter().map(target_text).collect(),
        changes: plan.changes.iter().map(encode_change).collect::<Result<_, _>>()?,
        drift: plan.drift.iter().map(encode_change).collect::<Result<_, _>>()?,
        outputs: plan
            .outputs
            .iter()
            .map(|(name, output)| {
                let output = OutputContents {
                    action: action_name(output.action).into(),
                    before: encode_value(&output.before)?,
                    after: encode_value(&output.after)?,
                    sensitive: output.sensitive,
                };
                Ok((name.to_string(), output))
            })
            .collect::<Result<_, PlanFileError>>()?,
        checks: plan.checks.iter().map(checks::encode_check).collect(),
        relevant_attributes: plan.relevant_attributes.iter().map(checks::encode_relevant).collect(),
        timestamp: plan.timestamp.clone(),
        errored: plan.errored,
    };
    let json = serde_json::to_vec(&contents).map_err(|e| PlanFileError::Write(e.to_string()))?;
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o600);
    let mut add = |name: &str, bytes: &[u8]| -> Result<(), PlanFileError> {
        archive.start_file(name, options).map_err(|e| PlanFileError::Write(e.to_string()))?;
        archive.write_all(bytes).map_err(|e| PlanFileError::Write(e.to_string()))
    };
    add("plan.json", &json)?;
    add(
        "state.json",
        encode_state(&plan.prior_state).map_err(|e| PlanFileError::Write(e.to_string()))?.as_bytes(),
    )?;
    add(
        "state-previous.json",
        encode_state(&plan.previous_state).map_err(|e| PlanFileError::Write(e.to_string()))?.as_bytes(),
    )?;
    for (path, bytes) in configuration {
        add(&format!("configuration/{path}"), bytes)?;
    }
    if let Some(lock_file) = lock_file {
        add(".terraform.lock.hcl", lock_file)?;
    }
    let written = archive.finish().map_err(|e| PlanFileError::Write(e.to_string()))?;
    Ok(written.into_inner())
}

/// Reads a plan file. Any bytes give a plan file or an error.
///
/// # Errors
/// Where it is none of ours, or damaged.
pub fn decode(bytes: &[u8]) -> Result<PlanFile, PlanFileError> {
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| PlanFileError::NotAPlan(e.to_string()))?;
    let mut entries: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|e| PlanFileError::NotAPlan(e.to_string()))?;
        let name = entry.name().map_err(|e| PlanFileError::NotAPlan(e.to_string()))?.into_owned();
        let mut content = Vec::new();
        entry
            .take(ENTRY_LIMIT)
            .read_to_end(&mut content)
            .map_err(|e| PlanFileError::NotAPlan(e.to_string()))?;
        entries.insert(name, content);
    }
    let json =
        entries.remove("plan.json").ok_or_else(|| PlanFileError::NotAPlan("it has no plan.json".into()))?;
    let format: FormatOnly = serde_json::from_slice(&json).map_err(damaged("plan.json"))?;
    if format.format != FORMAT {
        return Err(PlanFileError::Version { found: format.format });
    }
    let contents: Contents = serde_json::from_slice(&json).map_err(damaged("plan.json"))?;
    let mut state = |part: &'static str| {
        let bytes = entries
            .remove(part)
            .ok_or_else(|| PlanFileError::Damaged { part, problem: "it is missing".into() })?;
        match decode_state(&bytes) {
            Ok(Some(state)) => Ok(state),
            Ok(None) => Ok(State::default()),
            Err(error) => Err(damaged(part)(error)),
        }
    };
    let (prior_state, previous_state) = (state("state.json")?, state("state-previous.json")?);
    let lock_file = entries.remove(".terraform.lock.hcl");
    let configuration = entries
        .into_iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix("configuration/")?.to_owned(), bytes)))
        .collect();
    Ok(PlanFile { contents, prior_state, previous_state, configuration, lock_file })
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

fn damaged<E: std::fmt::Display>(part: &'static str) -> impl Fn(E) -> PlanFileError {
    move |error| PlanFileError::Damaged { part, problem: error.to_string() }
}

impl PlanFile {
    /// The lineage and serial of the state that the plan was made from.
    pub fn previous_state(&self) -> &State {
        &self.previous_state
    }

    /// The values of the root module's variables.
    ///
    /// # Errors
    /// Where a value cannot be read.
    pub fn variables(&self) -> Result<BTreeMap<Str, Value>, PlanFileError> {
        self.contents
            .variables
            .iter()
            .map(|(name, value)| Ok((Str::new(name), decode_value(value)?)))
            .collect()
    }

    /// The plan, with schemas from the providers at hand.
    ///
    /// # Errors
    /// Where a part cannot be read or a provider lacks a schema.
    pub fn into_plan<'a>(
        self,
        schema_of: impl Fn(&ProviderConfigAddress) -> Option<&'a Arc<ProviderSchema>>,
    ) -> Result<Plan, PlanFileError> {
        let variables = self.variables()?;
        let contents = self.contents;
        let changes = |changes: Vec<ChangeContents>| {
            changes.into_iter().map(|c| decode_change(c, &schema_of)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Plan {
            mode: parse(&contents.mode, mode_by_name, "mode")?,
            variables,
            ephemeral_variables: contents.ephemeral_variables.iter().map(|name| Str::new(name)).collect(),
            function_results: functions::decode(&contents.function_results)?,
            targets: contents
                .targets
                .iter()
                .map(|text| parse(text, |t| t.parse().ok(), "target"))
                .collect::<Result<_, _>>()?,
            changes: changes(contents.changes)?,
            drift: changes(contents.drift)?,
            outputs: contents
                .outputs
                .into_iter()
                .map(|(name, output)| {
                    let output = OutputChange {
                        action: parse(&output.action, action_by_name, "action")?,
                        before: decode_value(&output.before)?,
                        after: decode_value(&output.after)?,
                        sensitive: output.sensitive,
                    };
                    Ok((Str::new(&name), output))
                })
                .collect::<Result<_, PlanFileError>>()?,
            checks: contents.checks.into_iter().map(checks::decode_check).collect::<Result<_, _>>()?,
            relevant_attributes: contents
                .relevant_attributes
                .into_iter()
                .map(checks::decode_relevant)
                .collect::<Result<_, _>>()?,
            previous_state: self.previous_state,
            prior_state: self.prior_state,
            timestamp: contents.timestamp,
            errored: contents.errored,
        })
    }
}

fn parse<T>(text: &str, read: impl Fn(&str) -> Option<T>, what: &str) -> Result<T, PlanFileError> {
    read(text).ok_or_else(|| PlanFileError::Damaged {
        part: "plan.json",
        problem: format!("there is no {what} {text:?}"),
    })
}

fn target_text(target: &Target) -> String {
    target.to_string()
}

const MODES: [(Mode, &str); 3] =
    [(Mode::Normal, "normal"), (Mode::Destroy, "destroy"), (Mode::RefreshOnly, "refresh-only")];

fn mode_name(mode: Mode) -> &'static str {
    MODES.iter().find(|(m, _)| *m == mode).map_or("normal", |(_, name)| name)
}

fn mode_by_name(name: &str) -> Option<Mode> {
    MODES.iter().find(|(_, n)| *n == name).map(|(mode, _)| *mode)
}

const ACTIONS: [(Action, &str); 8] = [
    (Action::NoOp, "no-op"),
    (Action::Create, "create"),
    (Action::Read, "read"),
    (Action::Update, "update"),
    (Action::Delete, "delete"),
    (Action::DeleteThenCreate, "delete-create"),
    (Action::CreateThenDelete, "create-delete"),
    (Action::Forget, "forget"),
];

fn action_name(action: Action) -> &'static str {
    ACTIONS.iter().find(|(a, _)| *a == action).map_or("no-op", |(_, name)| name)
}

fn action_by_name(name: &str) -> Option<Action> {
    ACTIONS.iter().find(|(_, n)| *n == name).map(|(action, _)| *action)
}

fn reason_by_name(name: &str) -> Option<ActionReason> {
    ActionReason::ALL.into_iter().find(|reason| reason.name() == name)
}

//! Plan files contain all inputs of an apply, which can therefore run later or on another machine.
//!
//! | entry | content |
//! |---|---|
//! | `plan.json` | the plan itself; values as base64 of MessagePack, objects with the type of their schema and everything else with the dynamic type |
//! | `state.json` | the state before the changes, version 4 |
//! | `state-previous.json` | the state before refreshing, version 4; absent if the two are equal |
//! | `configuration/PATH` | the configuration's files, with paths relative to the root module; never unpacked, only read |
//! | `.terraform.lock.hcl` | the selected plugins |
//!
//! The file is a zip archive, like Terraform's plan files, but Wardian and Terraform cannot read
//! each other's files. `plan.json` contains the version of its format, and each version of Wardian
//! reads only one format version: a plan is short-lived, and a misinterpreted plan could make wrong
//! changes. Like the state, the file contains sensitive values in clear text. Therefore only its
//! owner can read it, and it can be encrypted ([`sealed`]).

mod change;
mod checks;
mod functions;
mod invocation;
pub mod sealed;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::{Deserialize, Serialize};
use wardian_address::ProviderConfigAddress;
use wardian_plugin::ProviderSchema;
use wardian_state::{ResourceState, State, decode_state, encode_state};
use wardian_value::{Str, Value};

use crate::object_secrets::ObjectSecrets;
use crate::plan::{Action, ActionReason, Mode, OutputChange, Plan, TargetAddress};
use change::{EncodedChange, KnownProviders, decode_change, decode_provider, encode_change};
use checks::{CheckContents, RelevantContents};
use functions::FunctionContents;
use invocation::InvocationContents;
use value::{Encoded, decode_value, encode_value};

/// The minimum number of elements for which several threads are faster than one.
const MIN_PARALLEL_ELEMENTS: usize = 1024;

/// The maximum memory that is allocated in advance based on the size in an entry's header.
const MAX_RESERVED: usize = 256 << 20;

/// The version of `plan.json`.
const FORMAT: u32 = 7;

/// The maximum unpacked size of all entries together: the greater of a multiple of the file's size
/// and a number of bytes. A plan of a hundred thousand equal objects is far below the limit.
const MAX_UNPACKED: (u64, u64) = (256, 64 << 20);
/// The maximum number of entries.
const MAX_ENTRIES: usize = 1 << 17;

#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The plan without schemas; [`PlanFile::into_plan`] adds them.
    contents: Contents<EncodedChange>,
    prior_state: State,
    previous_state: State,
    pub origin: PlanOrigin,
}

/// The configuration and plugins with which a plan was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanOrigin {
    /// The configuration's files, by path relative to the root module.
    pub configuration: BTreeMap<String, Vec<u8>>,
    pub lock_file: Option<Vec<u8>>,
    pub workspace: String,
    /// The SHA-256 of the plugins, by address.
    pub plugins: BTreeMap<String, String>,
}

/// A reason why a plan file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// The file is not a Wardian plan file.
    #[error("it is not a Wardian plan file: {0}")]
    NotAPlan(String),
    /// Another version of Wardian wrote the file.
    #[error(
        "its format is version {found}, but this version of Wardian reads only version {FORMAT}; create the \
         plan again"
    )]
    Version {
        /// The version of the file's format.
        found: u32,
    },
    /// An entry cannot be decoded.
    #[error("its entry {part} cannot be read: {problem}")]
    Damaged {
        /// The name of the entry.
        part: &'static str,
        problem: String,
    },
    /// A provider no longer has the schema of an object.
    #[error("no selected provider has a schema for {0}")]
    NoSchema(String),
    /// The file cannot be written.
    #[error("it could not be written: {0}")]
    Write(String),
}

/// The contents of a plan. Changes are numerous, so they are decoded on several threads after
/// everything else.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Contents<C> {
    format: u32,
    mode: String,
    variables: BTreeMap<String, Encoded>,
    given_variables: BTreeMap<String, Encoded>,
    ephemeral_variables: BTreeSet<String>,
    function_results: Vec<FunctionContents>,
    targets: Vec<String>,
    excludes: Vec<String>,
    changes: Vec<C>,
    invocations: Vec<InvocationContents>,
    drift: Vec<C>,
    outputs: BTreeMap<String, OutputContents>,
    checks: Vec<CheckContents>,
    relevant_attributes: Vec<RelevantContents>,
    timestamp: String,
    errored: bool,
    withheld: bool,
    workspace: String,
    plugins: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OutputContents {
    action: String,
    before: Encoded,
    after: Encoded,
    sensitive: bool,
}

/// Returns the plan file of a plan.
///
/// # Errors
/// Returns an error if a value cannot be encoded. This does not occur for plans that the engine has made.
pub fn encode(plan: &Plan, origin: &PlanOrigin) -> Result<Vec<u8>, PlanFileError> {
    let contents = Contents {
        format: FORMAT,
        mode: mode_name(plan.mode).into(),
        variables: encode_variables(&plan.variables)?,
        given_variables: encode_variables(&plan.given_variables)?,
        ephemeral_variables: plan.ephemeral_variables.iter().map(ToString::to_string).collect(),
        function_results: functions::encode(&plan.function_results),
        targets: plan.targets.iter().map(ToString::to_string).collect(),
        excludes: plan.excludes.iter().map(ToString::to_string).collect(),
        changes: map_in_parallel(plan.changes.iter().collect(), || (), |(), change| encode_change(change))?,
        invocations: plan.invocations.iter().map(invocation::encode_invocation).collect::<Result<_, _>>()?,
        drift: map_in_parallel(plan.drift.iter().collect(), || (), |(), change| encode_change(change))?,
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
        withheld: plan.secrets == ObjectSecrets::Withheld,
        workspace: origin.workspace.clone(),
        plugins: origin.plugins.clone(),
    };
    let json = serde_json::to_vec(&contents).map_err(|e| PlanFileError::Write(e.to_string()))?;
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o600).compression_level(Some(1));
    let mut add = |name: &str, bytes: &[u8]| -> Result<(), PlanFileError> {
        archive.start_file(name, options).map_err(|e| PlanFileError::Write(e.to_string()))?;
        archive.write_all(bytes).map_err(|e| PlanFileError::Write(e.to_string()))
    };
    add("plan.json", &json)?;
    add(
        "state.json",
        encode_state(&plan.prior_state).map_err(|e| PlanFileError::Write(e.to_string()))?.as_bytes(),
    )?;
    if plan.previous_state != plan.prior_state {
        add(
            "state-previous.json",
            encode_state(&plan.previous_state).map_err(|e| PlanFileError::Write(e.to_string()))?.as_bytes(),
        )?;
    }
    for (path, bytes) in &origin.configuration {
        add(&format!("configuration/{path}"), bytes)?;
    }
    if let Some(lock_file) = &origin.lock_file {
        add(".terraform.lock.hcl", lock_file)?;
    }
    let written = archive.finish().map_err(|e| PlanFileError::Write(e.to_string()))?;
    Ok(written.into_inner())
}

/// Reads a plan file from arbitrary bytes.
///
/// # Errors
/// Returns an error if the file is not a Wardian plan file, or is damaged.
pub fn decode(bytes: &[u8]) -> Result<PlanFile, PlanFileError> {
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| PlanFileError::NotAPlan(e.to_string()))?;
    if archive.len() > MAX_ENTRIES {
        return Err(PlanFileError::NotAPlan(format!("it has more than {MAX_ENTRIES} entries")));
    }
    let mut left = MAX_UNPACKED.1.max((bytes.len() as u64).saturating_mul(MAX_UNPACKED.0));
    let mut entries: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|e| PlanFileError::NotAPlan(e.to_string()))?;
        let name = entry.name().map_err(|e| PlanFileError::NotAPlan(e.to_string()))?.into_owned();
        let size = usize::try_from(entry.size().min(left)).unwrap_or(0);
        let mut content = Vec::with_capacity(size.min(MAX_RESERVED));
        entry.take(left + 1).read_to_end(&mut content).map_err(|e| PlanFileError::NotAPlan(e.to_string()))?;
        left = left
            .checked_sub(content.len() as u64)
            .ok_or_else(|| PlanFileError::NotAPlan("its unpacked size is larger than the limit".into()))?;
        if entries.insert(name, content).is_some() {
            return Err(PlanFileError::NotAPlan("it has two entries with the same name".into()));
        }
    }
    let json =
        entries.remove("plan.json").ok_or_else(|| PlanFileError::NotAPlan("it has no plan.json".into()))?;
    let contents = match serde_json::from_slice::<Contents<EncodedChange>>(&json) {
        Ok(contents) if contents.format == FORMAT => contents,
        other => {
            // A file of another format version can have other members, so only the version is
            // decoded.
            let FormatOnly { format } = serde_json::from_slice(&json).map_err(damaged("plan.json"))?;
            if format != FORMAT {
                return Err(PlanFileError::Version { found: format });
            }
            other.map_err(damaged("plan.json"))?
        }
    };
    drop(json);
    let mut state = |part: &'static str| match entries.remove(part).map(|bytes| decode_state(&bytes)) {
        None => Ok(None),
        Some(Ok(state)) => Ok(Some(state.unwrap_or_default())),
        Some(Err(error)) => Err(damaged(part)(error)),
    };
    let prior_state = state("state.json")?
        .ok_or_else(|| PlanFileError::Damaged { part: "state.json", problem: "it is missing".into() })?;
    let mut previous_state = state("state-previous.json")?.unwrap_or_else(|| prior_state.clone());
    if contents.withheld {
        // The states contain no objects, but the reader needs the provider of every change.
        for change in contents.changes.iter().chain(&contents.drift) {
            let (address, provider) = decode_provider(&change.decode()?)?;
            previous_state.set_resource(address, ResourceState { provider, instances: BTreeMap::new() });
        }
    }
    let lock_file = entries.remove(".terraform.lock.hcl");
    let configuration = entries
        .into_iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix("configuration/")?.to_owned(), bytes)))
        .collect();
    let origin = PlanOrigin {
        configuration,
        lock_file,
        workspace: contents.workspace.clone(),
        plugins: contents.plugins.clone(),
    };
    Ok(PlanFile { contents, prior_state, previous_state, origin })
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

fn damaged<E: std::fmt::Display>(part: &'static str) -> impl Fn(E) -> PlanFileError {
    move |error| PlanFileError::Damaged { part, problem: error.to_string() }
}

impl PlanFile {
    /// Returns the state before refreshing, with the lineage and serial that the plan requires.
    pub fn previous_state(&self) -> &State {
        &self.previous_state
    }

    /// Returns the root module's variable values.
    ///
    /// # Errors
    /// Returns an error if a value cannot be decoded.
    pub fn variables(&self) -> Result<BTreeMap<Str, Value>, PlanFileError> {
        decode_variables(&self.contents.variables)
    }

    /// Returns the plan, with schemas from the available providers.
    ///
    /// # Errors
    /// Returns an error if an entry cannot be decoded, or if a provider does not have a schema.
    pub fn into_plan<'a>(
        self,
        schema_of: impl Fn(&ProviderConfigAddress) -> Option<&'a Arc<ProviderSchema>> + Sync,
    ) -> Result<Plan, PlanFileError> {
        let variables = self.variables()?;
        let contents = self.contents;
        let changes = |changes: Vec<EncodedChange>| {
            map_in_parallel(changes, KnownProviders::default, |providers, change| {
                decode_change(change.decode()?, providers, &schema_of)
            })
        };
        Ok(Plan {
            mode: parse(&contents.mode, mode_by_name, "mode")?,
            variables,
            given_variables: decode_variables(&contents.given_variables)?,
            ephemeral_variables: contents.ephemeral_variables.iter().map(|name| Str::new(name)).collect(),
            function_results: functions::decode(&contents.function_results)?,
            targets: targets(&contents.targets)?,
            excludes: targets(&contents.excludes)?,
            changes: changes(contents.changes)?,
            invocations: contents
                .invocations
                .into_iter()
                .map(|contents| invocation::decode_invocation(contents, &schema_of))
                .collect::<Result<_, _>>()?,
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
            secrets: if contents.withheld { ObjectSecrets::Withheld } else { ObjectSecrets::Available },
        })
    }
}

/// Maps elements, on several threads if there are many. Each thread reuses the result of `start`.
/// If elements fail, returns the error of the first of them.
fn map_in_parallel<T: Send, U: Send, S>(
    elements: Vec<T>,
    start: impl Fn() -> S + Sync + Send,
    map: impl Fn(&mut S, T) -> Result<U, PlanFileError> + Sync + Send,
) -> Result<Vec<U>, PlanFileError> {
    if elements.len() < MIN_PARALLEL_ELEMENTS {
        let mut state = start();
        return elements.into_iter().map(|element| map(&mut state, element)).collect();
    }
    let mapped: Vec<_> = elements.into_par_iter().map_init(start, map).collect();
    mapped.into_iter().collect()
}

/// Encodes variable values, except those that must not be stored.
fn encode_variables(variables: &BTreeMap<Str, Value>) -> Result<BTreeMap<String, Encoded>, PlanFileError> {
    let kept = variables.iter().filter(|(_, value)| !value.inside_marks().is_ephemeral());
    kept.map(|(name, value)| Ok((name.to_string(), encode_value(value)?))).collect()
}

fn decode_variables(variables: &BTreeMap<String, Encoded>) -> Result<BTreeMap<Str, Value>, PlanFileError> {
    variables.iter().map(|(name, value)| Ok((Str::new(name), decode_value(value)?))).collect()
}

fn parse<T>(text: &str, read: impl Fn(&str) -> Option<T>, what: &str) -> Result<T, PlanFileError> {
    read(text).ok_or_else(|| PlanFileError::Damaged {
        part: "plan.json",
        problem: format!("there is no {what} {text:?}"),
    })
}

fn targets(texts: &[String]) -> Result<Vec<TargetAddress>, PlanFileError> {
    texts.iter().map(|text| parse(text, |t| t.parse().ok(), "target")).collect()
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

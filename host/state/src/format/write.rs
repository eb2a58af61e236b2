//! Encodes states as the text of state files, or as compact JSON.

use std::collections::BTreeMap;

use rayon::prelude::*;
use wardian_address::{InstanceKey, ResourceMode};

use super::FORMAT_VERSION;
use super::instance::encode_instance;
use super::layout::{Parts, indent, push_string};
use super::output::encode_output;
use crate::checks::CheckResult;
use crate::error::StateProblem;
use crate::model::{Instance, State};

/// The minimum number of instances of a resource that are encoded on several threads.
const MIN_PARALLEL_INSTANCES: usize = 2048;

/// The number of instances that a thread encodes as one unit of work.
const INSTANCES_PER_PART: usize = 256;

/// The depth of the instances of a resource in the document.
const INSTANCE_DEPTH: usize = 4;

/// A state without white space.
#[derive(Debug, Default)]
pub(crate) struct CompactState {
    /// The document, in which large arrays are empty.
    json: String,
    large_arrays: Vec<LargeArray>,
}

/// The instances of a resource that has many instances.
#[derive(Debug)]
struct LargeArray {
    /// The position in the document.
    position: usize,
    /// Parts of the array without its brackets.
    parts: Vec<String>,
}

impl CompactState {
    /// Whether processing the parts on several threads is faster.
    pub(crate) fn is_large(&self) -> bool {
        !self.large_arrays.is_empty()
    }

    /// Returns the complete document in parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts_with_depths().map(|(_, part)| part)
    }

    /// Returns the text of a state file, in parts.
    pub(crate) fn indented(&self) -> Vec<String> {
        let mut text: Vec<String> = if self.is_large() {
            let parts: Vec<_> = self.parts_with_depths().collect();
            parts.into_par_iter().map(|(depth, part)| indent(part, depth)).collect()
        } else {
            self.parts_with_depths().map(|(depth, part)| indent(part, depth)).collect()
        };
        // A part of its own would prevent that the text of most states is one part.
        match text.last_mut() {
            Some(last) => last.push('\n'),
            None => text.push("\n".to_owned()),
        }
        text
    }

    /// Returns the parts with the depths at which they begin.
    fn parts_with_depths(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 0;
        let before = self.large_arrays.iter().flat_map(move |array| {
            let depth = if start == 0 { 0 } else { INSTANCE_DEPTH };
            let between = self.json.get(start..array.position).unwrap_or_default();
            start = array.position;
            let inside = array.parts.iter().map(|part| (INSTANCE_DEPTH, &**part));
            std::iter::once((depth, between)).chain(inside)
        });
        let last = self.large_arrays.last().map_or(0, |array| array.position);
        let depth = if last == 0 { 0 } else { INSTANCE_DEPTH };
        before.chain([(depth, self.json.get(last..).unwrap_or_default())])
    }
}

/// Encodes a state as the text of a state file.
///
/// # Errors
///
/// Returns an error if the value of an output cannot be stored.
pub fn encode(state: &State) -> Result<String, StateProblem> {
    Ok(encode_compact(state)?.indented().concat())
}

/// Encodes a state without white space.
pub(crate) fn encode_compact(state: &State) -> Result<CompactState, StateProblem> {
    let mut compact = CompactState::default();
    let mut members = Parts::object(&mut compact.json);
    members.number("version", FORMAT_VERSION);
    members.text("terraform_version", &state.terraform_version);
    members.number("serial", state.serial);
    members.text("lineage", &state.lineage);
    let mut outputs = Parts::object(members.member("outputs"));
    for (name, output) in &state.outputs {
        encode_output(outputs.member(name), name, output)?;
    }
    outputs.end();
    encode_resources(members.member("resources"), state, &mut compact.large_arrays);
    match &state.check_results {
        None => members.member("check_results").push_str("null"),
        Some(results) => encode_checks(members.member("check_results"), results),
    }
    members.end();
    Ok(compact)
}

fn encode_resources(json: &mut String, state: &State, large: &mut Vec<LargeArray>) {
    // In the file, modules are sorted as strings; in memory, they are sorted by depth, then by
    // name.
    let mut modules: Vec<(String, Vec<_>)> = Vec::new();
    let mut last = None;
    for (address, resource) in
        state.resources().filter(|(address, _)| address.mode != ResourceMode::Ephemeral)
    {
        if last != Some(&address.module) {
            modules.push((address.module.to_string(), Vec::new()));
            last = Some(&address.module);
        }
        if let Some((_, resources)) = modules.last_mut() {
            resources.push((address, resource));
        }
    }
    modules.sort_by(|(a, _), (b, _)| a.cmp(b));

    let mut array = Parts::array(json);
    for (module, resources) in &modules {
        for (address, resource) in resources {
            let mut members = Parts::object(array.item());
            if !module.is_empty() {
                members.text("module", module);
            }
            members.text("mode", if address.mode == ResourceMode::Data { "data" } else { "managed" });
            members.text("type", &address.type_name);
            members.text("name", &address.name);
            members.text("provider", &resource.provider.to_string());
            encode_instances(members.member("instances"), &resource.instances, large);
            members.end();
        }
    }
    array.end();
}

/// Encodes the instances of a resource, on several threads if there are many.
fn encode_instances(
    json: &mut String,
    instances: &BTreeMap<InstanceKey, Instance>,
    large: &mut Vec<LargeArray>,
) {
    if instances.len() < MIN_PARALLEL_INSTANCES {
        let mut items = Parts::array(json);
        for (key, instance) in instances {
            encode_instance(&mut items, key, instance);
        }
        items.end();
        return;
    }
    let all: Vec<_> = instances.iter().collect();
    let encode_part = |part: &[(&InstanceKey, &Instance)]| {
        let mut json = String::new();
        let mut items = Parts::elements(&mut json);
        for (key, instance) in part {
            encode_instance(&mut items, key, instance);
        }
        json
    };
    let mut parts: Vec<String> = all.par_chunks(INSTANCES_PER_PART).map(encode_part).collect();
    parts.retain(|part| !part.is_empty());
    if let Some((_, all_but_last)) = parts.split_last_mut() {
        for part in all_but_last {
            part.push(',');
        }
    }
    json.push('[');
    if !parts.is_empty() {
        large.push(LargeArray { position: json.len(), parts });
    }
    json.push(']');
}

fn encode_checks(json: &mut String, results: &[CheckResult]) {
    let mut array = Parts::array(json);
    for result in results {
        encode_check(array.item(), result);
    }
    array.end();
}

/// Writes the results of a block's conditions.
pub(crate) fn encode_check(json: &mut String, result: &CheckResult) {
    let mut members = Parts::object(json);
    members.text("object_kind", result.kind.as_str());
    members.text("config_addr", &result.config_address);
    members.text("status", result.status.as_str());
    match &result.objects {
        None => members.member("objects").push_str("null"),
        Some(objects) => {
            let mut items = Parts::array(members.member("objects"));
            for object in objects {
                let mut members = Parts::object(items.item());
                members.text("object_addr", &object.address);
                members.text("status", object.status.as_str());
                if !object.failure_messages.is_empty() {
                    let mut messages = Parts::array(members.member("failure_messages"));
                    for message in &object.failure_messages {
                        push_string(messages.item(), message);
                    }
                    messages.end();
                }
                members.end();
            }
            items.end();
        }
    }
    members.end();
}

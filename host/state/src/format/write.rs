//! Encodes states as the text of state files, or as compact JSON.

use wardian_address::ResourceMode;

use super::FORMAT_VERSION;
use super::instance::encode_instance;
use super::layout::{Parts, indent, push_string};
use super::output::encode_output;
use crate::checks::CheckResult;
use crate::error::StateProblem;
use crate::model::State;

/// Encodes a state as the text of a state file.
///
/// # Errors
///
/// If the value of an output cannot be stored.
pub fn encode(state: &State) -> Result<String, StateProblem> {
    Ok(indented(&encode_compact(state)?))
}

/// Returns the text of a state file for a state without white space.
pub(crate) fn indented(compact: &str) -> String {
    let mut text = indent(compact);
    text.push('\n');
    text
}

/// Encodes a state without white space.
pub(crate) fn encode_compact(state: &State) -> Result<String, StateProblem> {
    let mut json = String::new();
    let mut members = Parts::object(&mut json);
    members.number("version", FORMAT_VERSION);
    members.text("terraform_version", &state.terraform_version);
    members.number("serial", state.serial);
    members.text("lineage", &state.lineage);
    let mut outputs = Parts::object(members.member("outputs"));
    for (name, output) in &state.outputs {
        encode_output(outputs.member(name), name, output)?;
    }
    outputs.end();
    encode_resources(members.member("resources"), state);
    match &state.check_results {
        None => members.member("check_results").push_str("null"),
        Some(results) => encode_checks(members.member("check_results"), results),
    }
    members.end();
    Ok(json)
}

fn encode_resources(json: &mut String, state: &State) {
    // In the file, modules are sorted by their text; in memory, they are sorted by depth first.
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
            let mut items = Parts::array(members.member("instances"));
            for (key, instance) in &resource.instances {
                encode_instance(&mut items, key, instance);
            }
            items.end();
            members.end();
        }
    }
    array.end();
}

fn encode_checks(json: &mut String, results: &[CheckResult]) {
    let mut array = Parts::array(json);
    for result in results {
        let mut members = Parts::object(array.item());
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
    array.end();
}

//! Finds all differences between two documents, by path.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The maximum number of differences that are reported for one step.
const MAX_DIFFERENCES: usize = 200;
/// The maximum length of a value in a report.
const MAX_VALUE: usize = 160;

/// Diagnostics that only one program reports, by design.
const EXPECTED: &[&str] = &[
    // Wardian warns about each plugin that is not a component.
    "Native plugins are not confined",
    "Native plugin overrides an embedded plugin",
    // Terraform warns if a mirror has packages for one platform only.
    "Incomplete lock file information for providers",
    // Terraform prints an additional error before the errors of `init`.
    "Terraform encountered problems during initialisation",
];

/// One difference: a place, and both values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) step: &'static str,
    pub(crate) path: String,
    pub(crate) theirs: Option<Value>,
    pub(crate) ours: Option<Value>,
}

impl Difference {
    pub(crate) fn describe(&self) -> String {
        let side = |value: &Option<Value>| match value {
            None => "(absent)".to_owned(),
            Some(value) => shortened(&value.to_string()),
        };
        format!("{} {}: terraform {}, wardian {}", self.step, self.path, side(&self.theirs), side(&self.ours))
    }

    pub(crate) fn to_json(&self) -> Value {
        serde_json::json!({
            "step": self.step, "path": self.path, "terraform": self.theirs, "wardian": self.ours,
        })
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The differences of one step.
pub(crate) struct Differences {
    step: &'static str,
    found: Vec<Difference>,
}

impl Differences {
    pub(crate) fn new(step: &'static str) -> Self {
        Self { step, found: Vec::new() }
    }

    pub(crate) fn into_vec(self) -> Vec<Difference> {
        self.found
    }

    /// Compares two values, and the parts of objects and arrays.
    pub(crate) fn compare(&mut self, path: &str, theirs: &Value, ours: &Value) {
        match (theirs, ours) {
            (Value::Object(left), Value::Object(right)) => {
                let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
                for name in names {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.compare_optional(&path, left.get(name), right.get(name));
                }
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                for (index, (left, right)) in left.iter().zip(right).enumerate() {
                    self.compare(&format!("{path}[{index}]"), left, right);
                }
            }
            _ if theirs == ours => {}
            _ => self.add(path, Some(theirs), Some(ours)),
        }
    }

    fn compare_optional(&mut self, path: &str, theirs: Option<&Value>, ours: Option<&Value>) {
        match (theirs, ours) {
            (Some(theirs), Some(ours)) => self.compare(path, theirs, ours),
            (None, None) => {}
            _ => self.add(path, theirs, ours),
        }
    }

    /// Compares arrays whose order has no meaning, element by element with the same name.
    pub(crate) fn compare_named(
        &mut self,
        path: &str,
        theirs: &Value,
        ours: &Value,
        name: impl Fn(&Value) -> String,
    ) {
        let by_name = |value: &Value| -> BTreeMap<(String, usize), Value> {
            let mut named = BTreeMap::new();
            for element in value.as_array().into_iter().flatten() {
                let name = name(element);
                let count = named.keys().filter(|(one, _): &&(String, usize)| *one == name).count();
                named.insert((name, count), element.clone());
            }
            named
        };
        let (theirs, ours) = (by_name(theirs), by_name(ours));
        let names: BTreeSet<&(String, usize)> = theirs.keys().chain(ours.keys()).collect();
        for key in names {
            self.compare_optional(&format!("{path}[{}]", key.0), theirs.get(key), ours.get(key));
        }
    }

    fn add(&mut self, path: &str, theirs: Option<&Value>, ours: Option<&Value>) {
        if self.found.len() < MAX_DIFFERENCES {
            let difference = Difference {
                step: self.step,
                path: path.to_owned(),
                theirs: theirs.cloned(),
                ours: ours.cloned(),
            };
            self.found.push(difference);
        }
    }
}

/// Returns the compared parts of a diagnostic: its severity, summary and position.
pub(crate) fn headline(diagnostic: &Value) -> Value {
    let range = &diagnostic["range"];
    let position = if range.is_null() {
        Value::Null
    } else {
        let point = |name: &str| format!("{}:{}", range[name]["line"], range[name]["column"]);
        let file = range["filename"].as_str().unwrap_or_default();
        Value::String(format!("{file}:{}-{}", point("start"), point("end")))
    };
    serde_json::json!({
        "severity": diagnostic["severity"], "summary": diagnostic["summary"], "position": position,
    })
}

/// Compares diagnostics by severity, summary and position. Their order and number are ignored,
/// because Terraform repeats the diagnostics of the configuration in some commands.
pub(crate) fn compare_diagnostics(
    differences: &mut Differences,
    path: &str,
    theirs: &[Value],
    ours: &[Value],
) {
    let name = |diagnostic: &Value| {
        let text = |name: &str| diagnostic[name].as_str().unwrap_or("no position").to_owned();
        format!("{} \"{}\" at {}", text("severity"), text("summary"), text("position"))
    };
    let is_expected = |one: &Value| {
        let summary = one["summary"].as_str().unwrap_or_default();
        EXPECTED.iter().any(|start| summary.starts_with(start))
    };
    let headlines = |all: &[Value]| {
        let mut headlines: Vec<Value> = all.iter().filter(|one| !is_expected(one)).map(headline).collect();
        headlines.sort_by_key(ToString::to_string);
        headlines.dedup();
        Value::from(headlines)
    };
    let (theirs_all, ours_all) = (headlines(theirs), headlines(ours));
    differences.compare_named(path, &theirs_all, &ours_all, name);
}

/// Splits a plan into its parts: resources by address, and all other content.
pub(crate) fn compare_plans(differences: &mut Differences, theirs: &Value, ours: &Value) {
    let [theirs, ours] = [theirs, ours].map(comparable);
    let address = |change: &Value| {
        let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
        format!("{}{}", text("address"), text("deposed"))
    };
    for part in ["resource_changes", "resource_drift"] {
        differences.compare_named(part, &theirs[part], &ours[part], address);
    }
    let rest = |plan: &Value| {
        let mut plan = plan.clone();
        if let Some(members) = plan.as_object_mut() {
            members.remove("resource_changes");
            members.remove("resource_drift");
        }
        plan
    };
    differences.compare("", &rest(&theirs), &rest(&ours));
}

/// Removes the parts of a plan that differ between any two runs, and sorts the parts whose order
/// has no meaning.
fn comparable(plan: &Value) -> Value {
    let mut plan = plan.clone();
    if let Some(members) = plan.as_object_mut() {
        for name in ["timestamp", "terraform_version"] {
            members.remove(name);
        }
        if let Some(prior) = members.get_mut("prior_state").and_then(Value::as_object_mut) {
            prior.remove("terraform_version");
        }
    }
    for name in ["/planned_values/root_module", "/prior_state/values/root_module"] {
        if let Some(module) = plan.pointer_mut(name) {
            sort_instances(module);
        }
    }
    for name in ["relevant_attributes", "checks"] {
        if let Some(Value::Array(elements)) = plan.get_mut(name) {
            elements.sort_by_key(ToString::to_string);
        }
    }
    plan
}

/// Sorts the instances of modules by address, because Terraform does not order the instances of
/// nested modules.
fn sort_instances(module: &mut Value) {
    if let Some(Value::Array(children)) = module.get_mut("child_modules") {
        children.sort_by_key(|child| child["address"].to_string());
        children.iter_mut().for_each(sort_instances);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(compare: impl FnOnce(&mut Differences)) -> Vec<String> {
        let mut differences = Differences::new("plan");
        compare(&mut differences);
        differences.into_vec().iter().map(Difference::describe).collect()
    }

    #[test]
    fn all_differences_are_found_by_path() {
        let theirs = json!({ "a": 1, "b": { "c": [1, 2], "d": null }, "e": [1] });
        let ours = json!({ "a": 1, "b": { "c": [1, 3] }, "e": [1, 2] });
        assert_eq!(
            found(|differences| differences.compare("", &theirs, &ours)),
            [
                "plan b.c[1]: terraform 2, wardian 3",
                "plan b.d: terraform null, wardian (absent)",
                "plan e: terraform [1], wardian [1,2]",
            ]
        );
    }

    #[test]
    fn diagnostics_match_regardless_of_order_number_and_details() {
        let one = |summary: &str, line: u32| {
            let point = json!({ "line": line, "column": 1, "byte": 7 });
            json!({
                "severity": "error", "summary": summary, "detail": "x",
                "range": { "filename": "main.tf", "start": point, "end": point },
            })
        };
        let both = |theirs: &[Value], ours: &[Value]| {
            found(|differences| compare_diagnostics(differences, "diagnostics", theirs, ours)).len()
        };
        let mut other_detail = one("a", 1);
        other_detail["detail"] = json!("y");
        assert_eq!(both(&[one("a", 1), one("b", 2)], &[one("b", 2), other_detail]), 0);
        assert_eq!(both(&[one("a", 1)], &[one("a", 2)]), 2);
        assert_eq!(both(&[one("a", 1), one("a", 1)], &[one("a", 1)]), 0);
        assert_eq!(both(&[one(EXPECTED[0], 1)], &[]), 0);
    }

    #[test]
    fn plans_match_regardless_of_the_order_of_changes() {
        let plan = |changes: Value| {
            let children = json!([{ "address": "module.a" }, { "address": "module.b" }]);
            let values = json!({ "root_module": { "child_modules": children } });
            json!({ "timestamp": "x", "resource_changes": changes, "planned_values": values })
        };
        let change = |address: &str, after: u32| json!({ "address": address, "change": { "after": after } });
        let theirs = plan(json!([change("a.x", 1), change("a.y", 2)]));
        let mut ours = plan(json!([change("a.y", 3), change("a.x", 1)]));
        ours["timestamp"] = json!("y");
        ours["planned_values"]["root_module"]["child_modules"].as_array_mut().unwrap().reverse();
        assert_eq!(
            found(|differences| compare_plans(differences, &theirs, &ours)),
            ["plan resource_changes[a.y].change.after: terraform 2, wardian 3"]
        );
    }
}

//! Runs the tests of one module with both programs, and compares the results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::list::TestModule;
use super::setup::Setup;
use crate::interop::program::Program;

/// The file and the name of a run.
type RunName = (String, String);

/// The result of one program.
#[derive(Debug, Default)]
pub(crate) struct Side {
    code: Option<i32>,
    statuses: BTreeMap<RunName, String>,
    /// The errors with the runs to which they belong.
    errors: Vec<(Option<RunName>, String)>,
    /// The duration of `test`, without `init`.
    pub(crate) elapsed: Duration,
}

/// The results of both programs.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) theirs: Side,
    pub(crate) ours: Side,
}

impl Trial {
    pub(crate) fn run(setup: &Setup, module: &TestModule, directory: &Path) -> Result<Self> {
        let [terraform, wardian] = setup.prepare(module, directory)?;
        Ok(Self {
            theirs: tested(&terraform, module, directory)?,
            ours: tested(&wardian, module, directory)?,
        })
    }

    fn names(&self) -> BTreeSet<&RunName> {
        self.theirs.statuses.keys().chain(self.ours.statuses.keys()).collect()
    }

    pub(crate) fn runs(&self) -> usize {
        self.names().len()
    }

    /// Returns the number of runs with the same status.
    pub(crate) fn equal(&self) -> usize {
        self.names().iter().filter(|name| self.is_equal(name)).count()
    }

    fn is_equal(&self, name: &RunName) -> bool {
        self.theirs.statuses.get(name) == self.ours.statuses.get(name)
    }

    /// Returns whether a known difference permits that the statuses of a run differ: Wardian executes
    /// a run that Terraform does not execute to its end.
    fn is_permitted(&self, module: &TestModule, name: &RunName) -> bool {
        let theirs = self.theirs.statuses.get(name).map(String::as_str);
        module.differs.is_some() && matches!(theirs, Some("error" | "skip"))
    }

    /// Returns whether the results are equal, or differ as the list of modules says.
    pub(crate) fn is_accepted(&self, module: &TestModule) -> bool {
        let is_known = self.names().iter().all(|name| self.is_equal(name) || self.is_permitted(module, name));
        let is_equal = self.equal() == self.runs() && self.theirs.code == self.ours.code;
        self.runs() > 0 && is_known && is_equal == module.differs.is_none()
    }

    /// Describes the runs whose statuses differ without a known reason.
    pub(crate) fn problems(&self, module: &TestModule) -> Vec<String> {
        let mut problems = Vec::new();
        if self.runs() == 0 {
            problems.push("no run was executed".to_owned());
        }
        if module.differs.is_some() && self.equal() == self.runs() {
            problems.push("the results are equal; remove `differs` from the list of modules".to_owned());
        }
        if module.differs.is_none() && self.theirs.code != self.ours.code {
            let code = |side: &Side| side.code.map_or("none".to_owned(), |code| code.to_string());
            problems.push(format!("exit code {}, not {}", code(&self.ours), code(&self.theirs)));
        }
        for name in self.names() {
            if self.is_equal(name) || self.is_permitted(module, name) {
                continue;
            }
            let status =
                |side: &Side| side.statuses.get(name).cloned().unwrap_or_else(|| "missing".to_owned());
            let (file, run) = name;
            problems.push(format!("{file}, {run}: {}, not {}", status(&self.ours), status(&self.theirs)));
            for (program, side) in [("terraform", &self.theirs), ("wardian", &self.ours)] {
                let errors = side.errors.iter().filter(|(of, _)| of.as_ref().is_none_or(|of| of == name));
                problems.extend(errors.map(|(_, error)| format!("  {program}: {error}")));
            }
        }
        problems
    }
}

/// Runs `init` and `test` with one program in a directory without files of the other one.
fn tested(program: &Program, module: &TestModule, directory: &Path) -> Result<Side> {
    for path in [".terraform", ".terraform.lock.hcl"].map(|name| directory.join(name)) {
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else if path.exists() {
            fs::remove_file(&path)?;
        }
    }
    let tests = format!("-test-directory={}", module.test_directory);
    program.run(directory, &["init", "-backend=false", "-input=false", "-no-color", &tests])?;
    let started = Instant::now();
    let result = program.try_run(directory, &["test", "-json", &tests])?;
    let mut side = Side { code: result.code, elapsed: started.elapsed(), ..Side::default() };
    for line in result.stdout.lines() {
        match serde_json::from_str(line) {
            Ok(event) => side.add(&event),
            Err(_) => bail!("`{} test -json` printed a line that is not JSON: {line}", program.name),
        }
    }
    Ok(side)
}

impl Side {
    fn add(&mut self, event: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let run = &event["test_run"];
        if run["progress"] == "complete" {
            self.statuses.insert((text(&run["path"]), text(&run["run"])), text(&run["status"]));
        }
        let diagnostic = &event["diagnostic"];
        if diagnostic["severity"] == "error" {
            let name = event["@testrun"].as_str().map(|run| (text(&event["@testfile"]), run.to_owned()));
            let range = &diagnostic["range"];
            let place = match range["filename"].as_str() {
                Some(file) => format!("{file}:{}: ", range["start"]["line"]),
                None => String::new(),
            };
            let (summary, detail) = (text(&diagnostic["summary"]), text(&diagnostic["detail"]));
            self.errors.push((name, format!("{place}{summary}: {detail}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn side(code: i32, statuses: &[(&str, &str)]) -> Side {
        let mut side = Side { code: Some(code), ..Side::default() };
        for (run, status) in statuses {
            let run = json!({ "progress": "complete", "path": "a.tftest.hcl", "run": run, "status": status });
            side.add(&json!({ "test_run": run }));
        }
        side
    }

    fn module(differs: Option<&str>) -> TestModule {
        TestModule {
            repository: "a/b".to_owned(),
            commit: String::new(),
            directory: String::new(),
            test_directory: "tests".to_owned(),
            differs: differs.map(str::to_owned),
        }
    }

    #[test]
    fn statuses_are_compared_by_run() {
        let equal = || side(0, &[("one", "pass"), ("two", "fail")]);
        let trial = Trial { theirs: equal(), ours: equal() };
        assert!(trial.is_accepted(&module(None)) && trial.problems(&module(None)).is_empty());
        assert!(!trial.is_accepted(&module(Some("reason"))));
        let trial = Trial { theirs: equal(), ours: side(0, &[("one", "pass")]) };
        assert!(!trial.is_accepted(&module(None)));
        assert_eq!(trial.problems(&module(None)), ["a.tftest.hcl, two: missing, not fail"]);
        assert_eq!((trial.runs(), trial.equal()), (2, 1));
    }

    #[test]
    fn known_difference_permits_only_runs_that_terraform_does_not_end() {
        let known = module(Some("reason"));
        let theirs = || side(1, &[("one", "pass"), ("two", "error"), ("three", "skip")]);
        let better = side(0, &[("one", "pass"), ("two", "pass"), ("three", "pass")]);
        assert!(Trial { theirs: theirs(), ours: better }.is_accepted(&known));
        let worse = side(1, &[("one", "fail"), ("two", "pass"), ("three", "pass")]);
        assert!(!Trial { theirs: theirs(), ours: worse }.is_accepted(&known));
        let empty = Trial { theirs: Side::default(), ours: Side::default() };
        assert!(!empty.is_accepted(&known) && !empty.is_accepted(&module(None)));
    }
}

//! The users as which Wardian runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::python::Python;
use crate::process;
use crate::progress::say;

/// The user and the group of the unprivileged account.
const NOBODY: &str = "65534";

/// A user, and the directories of its projects.
pub(super) struct Account {
    pub(super) name: &'static str,
    /// Runs Wardian as this user.
    pub(super) program: PathBuf,
    /// Contains the user's files.
    pub(super) directory: PathBuf,
    /// The user and group to which the files are given, if they are not those of this process.
    owner: Option<&'static str>,
}

impl Account {
    fn new(name: &'static str, program: PathBuf, place: &Path, owner: Option<&'static str>) -> Result<Self> {
        let directory = place.join(name);
        fs::create_dir_all(directory.join("home"))?;
        let account = Self { name, program, directory, owner };
        account.give(&account.directory)?;
        Ok(account)
    }

    /// Makes the user the owner of a directory and of everything in it.
    pub(super) fn give(&self, directory: &Path) -> Result<()> {
        let Some(owner) = self.owner else { return Ok(()) };
        process::run(Command::new("chown").args(["-R", &format!("{owner}:{owner}")]).arg(directory))
    }
}

/// Returns the accounts: the user of this process, and if that is root, also an unprivileged one.
pub(super) fn all(place: &Path, wardian: &Path, python: &Python) -> Result<Vec<Account>> {
    let is_root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    if !is_root {
        return Ok(vec![Account::new("user", wardian.to_owned(), place, None)?]);
    }
    let root = Account::new("root", wardian.to_owned(), place, None)?;
    let identity = format!("setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --inh-caps -all");
    let program = place.join("as-nobody");
    fs::write(&program, format!("#!/bin/sh\nexec {identity} '{}' \"$@\"\n", wardian.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let reaches = |file: &Path| {
        let words = identity.split(' ').collect::<Vec<_>>();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("test").arg("-r").arg(file).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    for file in [wardian, &python.interpreter] {
        if !reaches(file) {
            say(&format!("only as root: user {NOBODY} cannot read {}", file.display()));
            return Ok(vec![root]);
        }
    }
    Ok(vec![root, Account::new("unprivileged", program, place, Some(NOBODY))?])
}

//! Prepares both programs and the mock providers of a module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::list::TestModule;
use crate::interop::mirrors::{AWS, Mirrors};
use crate::interop::program::Program;
use crate::process;
use crate::progress::{Step, say};
use crate::workspace::Workspace;

/// The state that all modules share.
pub(crate) struct Setup {
    terraform: Program,
    wardian: Program,
    mirrors: Mirrors,
    /// The program that derives and serves mock providers.
    mock: PathBuf,
    /// The schemas of the AWS provider, for versions that are not in the mirror.
    aws_schemas: Option<PathBuf>,
    /// The directory for the files of the current module.
    own: PathBuf,
}

impl Setup {
    pub(crate) fn new(
        workspace: &Workspace,
        binary: Option<&Path>,
        terraform: &Path,
        place: &Path,
    ) -> Result<Self> {
        let step = Step::start("Building the mock provider");
        process::run(workspace.cargo().args(["build", "--package=wardian-mock-provider"]))?;
        step.done("built");
        let binary = binary.map_or_else(|| workspace.host_program("wardian"), Path::to_owned);
        let binary = binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?;
        let own = place.join("work");
        if own.exists() {
            fs::remove_dir_all(&own)?;
        }
        fs::create_dir_all(&own)?;
        let program = |name, file: &Path| Program { name, file: file.to_owned(), environment: Vec::new() };
        let wardian = program("wardian", &binary);
        let mirrors = Mirrors::new(&wardian, &own)?;
        let mut setup = Self {
            terraform: program("terraform", terraform),
            wardian,
            mirrors,
            mock: workspace.host_program("wardian-mock-provider"),
            aws_schemas: None,
            own,
        };
        setup.aws_schemas = setup.installed_aws_schemas(place)?;
        Ok(setup)
    }

    /// Writes the schemas of the AWS provider in the mirror to a file, which later runs use again.
    fn installed_aws_schemas(&self, place: &Path) -> Result<Option<PathBuf>> {
        let Some(version) = self.mirrors.available.get(AWS) else {
            say("WARDIAN_TEST_MIRROR names no mirror with the AWS provider: its schemas are derived, too");
            return Ok(None);
        };
        let file = place.join(format!("aws-{version}.json"));
        if !file.is_file() {
            let directory = self.own.join("aws");
            fs::create_dir_all(&directory)?;
            let required = format!("aws = {{ source = \"hashicorp/aws\", version = \"{version}\" }}");
            let text = format!("terraform {{\n  required_providers {{\n    {required}\n  }}\n}}\n");
            fs::write(directory.join("main.tf"), text)?;
            let [terraform, _] = self.programs(&self.own.join("none"))?;
            terraform.run(&directory, &["init", "-input=false", "-no-color"])?;
            fs::write(&file, terraform.run(&directory, &["providers", "schema", "-json"])?)?;
        }
        Ok(Some(file))
    }

    /// Writes mock providers for a module, and returns Terraform and Wardian with the settings to use
    /// them.
    pub(crate) fn prepare(&self, module: &TestModule, directory: &Path) -> Result<[Program; 2]> {
        let mirror = self.own.join("mirror");
        if mirror.exists() {
            fs::remove_dir_all(&mirror)?;
        }
        fs::create_dir_all(&mirror)?;
        let mut derive = Command::new(&self.mock);
        derive.args(["derive", "--complete", "--tests", &module.test_directory, "--into"]).arg(&mirror);
        for (address, version) in &self.mirrors.available {
            derive.arg("--available").arg(format!("{address}@{version}"));
        }
        if let Some(schemas) = &self.aws_schemas {
            derive.arg("--schemas").arg(schemas);
        }
        process::output(derive.arg(directory))?;
        self.programs(&mirror)
    }

    fn programs(&self, mirror: &Path) -> Result<[Program; 2]> {
        fs::create_dir_all(mirror)?;
        let settings = self.own.join("settings.tfrc");
        fs::write(&settings, self.mirrors.settings(mirror))?;
        let environment: Vec<(String, String)> = [
            ("TF_CLI_CONFIG_FILE", settings.display().to_string()),
            ("WARDIAN_CACHE_DIR", self.own.join("cache").display().to_string()),
            ("XDG_DATA_HOME", self.own.join("data").display().to_string()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        Ok([&self.terraform, &self.wardian]
            .map(|program| Program { environment: environment.clone(), ..program.clone() }))
    }
}

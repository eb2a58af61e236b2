//! The supported tools with their packages, and the tools that this command cannot run.

/// The method of installing a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registry {
    /// With pip, into a virtual environment.
    Python,
    /// With npm, below a prefix.
    Npm,
    /// The driver itself executes the command lines of the tool.
    None,
}

/// A tool that runs `terraform` or reads its output. `tests/interop/wrappers/NAME` contains the
/// driver.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) registry: Registry,
    /// The packages with their versions.
    pub(crate) packages: &'static [&'static str],
    /// The reason why Terraform's result is not compared.
    pub(crate) not_compared: Option<&'static str>,
}

impl Tool {
    const fn python(name: &'static str, version: &'static str, packages: &'static [&'static str]) -> Self {
        Self { name, version, registry: Registry::Python, packages, not_compared: None }
    }

    const fn npm(name: &'static str, version: &'static str, packages: &'static [&'static str]) -> Self {
        Self { name, version, registry: Registry::Npm, packages, not_compared: None }
    }
}

pub(crate) const TOOLS: &[Tool] = &[
    Tool::python("tftest", "1.8.8", &["tftest==1.8.8"]),
    Tool::python("pytest-terraform", "0.7.0", &["pytest-terraform==0.7.0", "pytest==9.2.0"]),
    Tool::python("python-terraform", "0.10.1", &["python-terraform==0.10.1"]),
    Tool::python("tofupy", "1.1.2", &["tofupy==1.1.2"]),
    Tool::python("pretf", "0.7.3", &["pretf==0.7.3", "pytest==9.2.0"]),
    Tool::python(
        "robotframework-terraformlibrary",
        "0.2.0",
        &["robotframework-terraformlibrary==0.2.0", "robotframework==7.5"],
    ),
    Tool::python("tftui", "0.14.1", &["tftui==0.14.1", "textual==8.2.8"]),
    Tool::python("terraform-compliance", "1.16.0", &["terraform-compliance==1.16.0"]),
    Tool::python("checkov", "3.3.30", &["checkov==3.3.30"]),
    Tool::python("bna-tfexplain", "0.1.3", &["bna-tfexplain==0.1.3"]),
    Tool::python("blastcheck", "0.8.0", &["blastcheck==0.8.0"]),
    Tool::python("tfsumpy", "0.2.1", &["tfsumpy==0.2.1"]),
    Tool {
        not_compared: Some("it requests `plan -concise`, which only OpenTofu and Wardian have"),
        ..Tool::python("tofu-tree", "0.3.5", &["tofu-tree==0.3.5"])
    },
    // The package contains the collection community.general.
    Tool::python("ansible", "12.3.0", &["ansible==12.3.0"]),
    Tool::npm("terraform-visual", "0.2.1", &["@terraform-visual/cli@0.2.1"]),
    Tool::npm("terraform-unidiff", "4.0.5", &["@ahmadnassri/terraform-unidiff@4.0.5"]),
    Tool {
        name: "terraform-exec",
        version: "0.25.0",
        registry: Registry::None,
        packages: &[],
        not_compared: None,
    },
];

/// Tools that are not run, and the reason.
pub(crate) const NOT_RUN: &[(&str, &str)] = &[
    (
        "terraform-local",
        "needs installation from registries: it adds an override of the AWS provider, which `init` \
         must install",
    ),
    ("cdktf-cli", "needs installation from registries: it runs `providers lock -platform` for each provider"),
    ("terravision", "needs Graphviz, and draws only resources of cloud providers"),
    ("terraform-plan-parser", "parses the output of Terraform 0.11: fails with Terraform too"),
    ("blast-radius", "does not run with Python 3.10 or newer: fails with Terraform too"),
    ("python-hcl2", "reads configurations only: does not run `terraform`"),
];

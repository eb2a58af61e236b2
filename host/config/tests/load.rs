//! Typical valid and invalid configurations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fmt::Write;
use std::path::Path;

use wardian_address::Version;
use wardian_address::{ModulePath, ResourceMode};
use wardian_config::{
    Configuration, InstalledModule, InstalledModules, MemoryFiles, load_root_from, load_root_with,
};
use wardian_diagnostic::Diagnostics;

fn load(files: &[(&str, &str)]) -> Result<Configuration, Diagnostics> {
    load_root_from(&MemoryFiles::new(files.iter().map(|(path, text)| (*path, *text))), Path::new("."))
}

/// Returns one line for each problem: span, block, summary and detail.
fn problems(files: &[(&str, &str)]) -> String {
    let found = match load(files) {
        Ok(configuration) => {
            let mut found = configuration.warnings.clone();
            found.extend(configuration.check_references());
            found.extend(configuration.check_expressions());
            found
        }
        Err(found) => found,
    };
    let mut text = String::new();
    for diagnostic in &found {
        let place = diagnostic.subject.as_ref().map(ToString::to_string).unwrap_or_default();
        let kind = if diagnostic.is_error() { "" } else { "(warning) " };
        writeln!(text, "{place}: {kind}{}: {}", diagnostic.summary, diagnostic.detail).unwrap();
    }
    text
}

fn check(files: &[(&str, &str)], expected: &[&str]) {
    let found = problems(files);
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found, expected);
}

fn check_main(text: &str, expected: &[&str]) {
    check(&[("main.tf", text)], expected);
}

#[test]
fn loads_complete_configuration() {
    let configuration = load(&[
        (
            "main.tf",
            r#"
            terraform {
              required_version = ">= 1.0"
              required_providers {
                rnd = { source = "hashicorp/random", version = "~> 3.7" }
                nul = { source = "hashicorp/null" }
              }
            }
            provider "rnd" {}
            provider "rnd" {
              alias = "other"
            }
            variable "size" {
              type    = number
              default = "3"
            }
            locals {
              a = var.size
            }
            module "m" {
              source    = "./modules/m"
              for_each  = toset(["x"])
              size      = local.a
              providers = { random = rnd.other }
            }
            resource "random_id" "x" {
              provider    = rnd
              count       = 2
              byte_length = var.size
              depends_on  = [module.m]
              lifecycle {
                create_before_destroy = true
                ignore_changes        = [keepers["a"]]
              }
            }
            data "local_file" "f" {
              filename = "x"
            }
            output "o" {
              value = random_id.x[*].hex
            }
            "#,
        ),
        (
            "modules/m/main.tf",
            r#"
            terraform {
              required_providers {
                random = { source = "hashicorp/random", version = ">= 3.0" }
              }
            }
            variable "size" {}
            resource "random_pet" "p" { length = var.size }
            module "deeper" { source = "../deeper" }
            "#,
        ),
        ("modules/deeper/main.tf", "resource \"random_pet\" \"q\" {}\nresource \"null_resource\" \"n\" {}"),
        ("modules/deeper/notes.txt", "not a configuration"),
        (".hidden.tf", "nonsense"),
    ])
    .unwrap_or_else(|problems| panic!("{problems}"));
    assert!(configuration.warnings.is_empty() && configuration.check_references().is_empty());

    let used: Vec<String> = configuration
        .resources()
        .map(|(node, resource, provider)| {
            format!("{}:{}.{} {provider}", node.path, resource.type_name, resource.name)
        })
        .collect();
    assert_eq!(
        used,
        [
            ":local_file.f provider[\"registry.terraform.io/hashicorp/local\"]",
            ":random_id.x provider[\"registry.terraform.io/hashicorp/random\"]",
            "module.m:random_pet.p provider[\"registry.terraform.io/hashicorp/random\"].other",
            "module.m.module.deeper:null_resource.n provider[\"registry.terraform.io/hashicorp/null\"]",
            "module.m.module.deeper:random_pet.q provider[\"registry.terraform.io/hashicorp/random\"].other",
        ]
    );
    let required: Vec<String> = configuration
        .provider_requirements()
        .iter()
        .map(|(address, requirement)| format!("{} {}", address.for_display(), requirement.constraints))
        .collect();
    assert_eq!(
        required,
        ["hashicorp/local ", "hashicorp/null ", "hashicorp/random >= 3.0.0, ~> 3.7.0"]
            .map(|text| text.replace("~> 3.7.0", "~> 3.7"))
    );
    let root = &configuration.root().module;
    let resource = &root.resources[&(ResourceMode::Managed, "random_id".into(), "x".into())];
    assert_eq!(resource.body.attributes.len(), 1);
    assert!(resource.count.is_some() && resource.lifecycle.create_before_destroy == Some(true));
    assert_eq!(root.variables["size"].default, Some(wardian_value::Value::from(3)));
    let deeper = configuration.module(&ModulePath::root().child("m").child("deeper")).unwrap();
    assert_eq!(deeper.module.directory, Path::new("modules/deeper"));
}

#[test]
fn reports_unknown_blocks_and_arguments() {
    check_main(
        "resourc \"a\" \"b\" {}\nvariable \"v\" {\n  typ = string\n  validaton {}\n}\nx = 1\n",
        &[
            "main.tf:1,1-8: Unsupported block type: A configuration file has no blocks of type \"resourc\". Did you mean \"resource\"?",
            "main.tf:3,3-6: Unsupported argument: A variable block has no argument named \"typ\". Did you mean \"type\"?",
            "main.tf:4,3-12: Unsupported block type: A variable block has no blocks of type \"validaton\". Did you mean \"validation\"?",
            "main.tf:6,1-2: Unsupported argument: A configuration file has no argument named \"x\".",
        ],
    );
}

#[test]
fn reports_invalid_labels_and_names() {
    check_main(
        "resource \"a\" {}\nvariable \"a\" \"b\" {}\nlocals \"x\" {}\noutput \"1\" {\n  value = 1\n}\nvariable \"count\" {}\n",
        &[
            "main.tf:1,14-15: Missing name for resource: A resource block needs its type and its name as a label before the brace.",
            "main.tf:2,14-17: Extraneous label for variable: A variable block has one label, its name.",
            "main.tf:3,8-11: Extraneous label for locals: A locals block has no labels.",
            "main.tf:4,8-11: Invalid output name: \"1\" is not a valid name: names begin with a letter or an underscore, and the rest are letters, digits, underscores and dashes.",
            "main.tf:7,10-17: Invalid variable name: A variable cannot be named \"count\": module blocks reserve that argument.",
        ],
    );
}

#[test]
fn duplicate_declaration_error_points_at_first_declaration() {
    check(
        &[
            (
                "a.tf",
                "variable \"a\" {}\nlocals {\n  l = 1\n}\nresource \"x_y\" \"z\" {}\nprovider \"x\" {}\n",
            ),
            (
                "b.tf",
                "variable \"a\" {}\nlocals {\n  l = 2\n}\nresource \"x_y\" \"z\" {}\nprovider \"x\" {}\n",
            ),
        ],
        &[
            "b.tf:1,1-13: Duplicate variable declaration: A variable \"a\" is already declared at a.tf:1,1-13. Each must have a unique name in its module.",
            "b.tf:3,3-8: Duplicate local value definition: A local value \"l\" is already declared at a.tf:3,3-8. Each must have a unique name in its module.",
            "b.tf:5,1-19: Duplicate resource \"x_y\" configuration: A x_y resource named \"z\" is already declared at a.tf:5,1-19. Each must have a unique name in its module.",
            "b.tf:6,1-13: Duplicate provider configuration: A default configuration of the provider \"x\" is already declared at a.tf:6,1-13. Each must have a unique name in its module.",
        ],
    );
}

#[test]
fn reports_invalid_meta_arguments() {
    check_main(
        r#"resource "a_b" "c" {
  count      = 1
  for_each   = {}
  depends_on = [a_b.d.id, "x", 1]
  provider   = "${a}"
  lifecycle {
    ignore_changes = 1
    prevent_destroy = 7
  }
  provisioner "local-exec" {
    when = never
  }
}
resource "a_b" "d" {}
data "a_b" "e" {
  lifecycle {
    prevent_destroy = true
  }
  provisioner "x" {}
}
"#,
        &[
            "main.tf:3,3-11: Invalid combination of \"count\" and \"for_each\": Only one of count and for_each can determine the number of instances.",
            "main.tf:4,22-25: Invalid depends_on reference: Only whole objects can be dependencies: name the resource or module without its attributes.",
            "main.tf:4,27-30: (warning) Quoted references are deprecated: References are written without quotes.",
            "main.tf:4,28-29: Invalid reference: A reference to a resource needs its type and its name with a dot between them. To write a string, put it in quotes.",
            "main.tf:4,32-33: Invalid expression: The name of a resource, a module or another object is required here.",
            "main.tf:5,16-22: Invalid provider configuration reference: A provider name is required here, such as aws, or with an alias: aws.west. It must be constant.",
            "main.tf:7,22-23: Invalid expression: A list of arguments or the keyword all is required here.",
            "main.tf:8,23-24: Unsuitable value type: This value cannot be used here: true or false is required.",
            "main.tf:11,12-17: Invalid \"when\" keyword: The argument \"when\" must be one of the keywords create and destroy.",
            "main.tf:17,5-20: Invalid data resource lifecycle argument: The lifecycle argument \"prevent_destroy\" applies only to managed resources and is not allowed in a data block.",
        ],
    );
}

#[test]
fn reports_invalid_variables_and_defaults() {
    check_main(
        r#"variable "a" {
  type    = number
  default = "x"
}
variable "b" {
  nullable = false
  default  = null
}
variable "c" {
  default = var.a
}
variable "d" {
  validation {
    condition     = 1 > 0
    error_message = "no"
  }
}
"#,
        &[
            "main.tf:3,13-16: Invalid default value for variable: The default is not of the variable's type: a number is required.",
            "main.tf:7,14-18: Invalid default value for variable: The default is null, but the variable sets nullable = false.",
            "main.tf:10,13-16: Variables not allowed: Only constants are allowed here, so `var.a` cannot be used.",
            "main.tf:14,21-26: Invalid validation expression: The condition refers to no object, so its result is always the same and it checks nothing.",
            "main.tf:14,21-26: Invalid variable validation condition: The condition must refer to var.d, because it validates that value.",
        ],
    );
}

#[test]
fn reports_invalid_required_providers_and_settings() {
    check_main(
        r#"terraform {
  required_version = ">= x"
  required_providers {
    a = { source = "a/b/c/d" }
    b = { source = "x/b", version = "1..2", nam = 1 }
    c = 5
    d = "~> 1.0"
  }
  backend "s3" {}
  cloud {}
}
required_providers {}
"#,
        &[
            "main.tf:2,22-28: Invalid version constraint: This is not a version constraint, such as \">= 2.5\": invalid version constraint \">= x\": wildcards are not supported; omit the parts that may vary and use ~>.",
            "main.tf:4,20-29: Invalid provider source string: \"a/b/c/d\" is not a provider source address: it must have the form [HOST/][NAMESPACE/]TYPE, such as \"hashicorp/random\".",
            "main.tf:5,37-43: Invalid version constraint: This is not a version constraint, such as \">= 2.5\": invalid version constraint \"1..2\": \"\" is not a version number. Without a constraint, the newest version is selected.",
            "main.tf:5,45-48: Invalid required_providers object: A required provider has no \"nam\" \
             argument, only source, version and configuration_aliases.",
            "main.tf:12,1-19: Invalid required_providers block: A required_providers block must be inside a terraform block.",
            "main.tf:9,3-15: Both a backend and cloud configuration are present: The state has a single location: remove this block, or the cloud block at main.tf:10,3-8.",
        ],
    );
}

#[test]
fn warns_about_provider_configured_under_another_name() {
    let block = "\nprovider \"time\" {}\nprovider \"time\" {\n  alias = \"west\"\n}\n";
    let required = |name: &str| {
        format!(
            "terraform {{\n  required_providers {{\n    {name} = {{ source = \"hashicorp/time\" }}\n  }}\n}}{block}"
        )
    };
    check_main(&required("time"), &[]);
    check_main(
        &required("clock"),
        &["main.tf:3,5-42: (warning) Duplicate required provider: registry.terraform.io/hashicorp/time is \
             required as \"clock\" here, and the provider \"time\" block refers to the same provider. Use \
             one of the two names in both places."],
    );
}

#[test]
fn reports_invalid_module_calls() {
    check(
        &[
            (
                "main.tf",
                r#"module "a" {
  source = "./m"
  nam    = 1
}
module "c" {
  source = "./nowhere"
}
module "d" {}
module "e" {
  source = "./m"
  name   = 1
}
"#,
            ),
            (
                "m/main.tf",
                "variable \"name\" {}\nprovider \"z\" {}\nmodule \"again\" {\n  source = \"../\"\n}\n",
            ),
        ],
        &[
            "main.tf:8,12-13: Missing required argument: The argument \"source\" must be set here.",
            "m/main.tf:4,12-17: Module call cycle: The module \"again\" calls the module in ., which is one of its callers: the configuration would be infinite.",
            "main.tf:6,12-23: Unreadable module directory: The directory nowhere does not exist. A local path is relative to the directory of the module that calls it.",
            "main.tf:3,3-6: Unsupported argument: The module has no variable named \"nam\". Did you mean \"name\"?",
            "main.tf:1,12-13: Missing required argument: The module requires a value for its variable \"name\", which has no default.",
        ],
    );
}

#[test]
fn reports_modules_that_are_not_installed() {
    let call = "module \"b\" {\n  source = \"hashicorp/consul/aws\"\n}\n";
    check(
        &[("main.tf", call)],
        &[
            "main.tf:1,1-11: Module not installed: This module is not yet installed. Run `wardian init` to install all modules that the configuration calls.",
        ],
    );
    // If there are other errors, they are reported instead.
    check(
        &[("main.tf", &format!("{call}module \"c\" {{\n  source = \"./nowhere\"\n}}\n"))],
        &[
            "main.tf:5,12-23: Unreadable module directory: The directory nowhere does not exist. A local path is relative to the directory of the module that calls it.",
        ],
    );
}

#[test]
fn installed_modules_are_read_from_their_directories() {
    let files = MemoryFiles::new([
        ("main.tf", "module \"net\" {\n  source  = \"acme/net/aws//sub\"\n  version = \"~> 1.0\"\n}\n"),
        (".terraform/modules/net/sub/main.tf", "module \"inner\" {\n  source = \"../other\"\n}\n"),
        (".terraform/modules/net/other/main.tf", "output \"x\" {\n  value = 1\n}\n"),
    ]);
    let installed = |source: &str, version: &str| {
        let module = InstalledModule {
            source: source.to_owned(),
            version: Version::parse(version).ok(),
            directory: ".terraform/modules/net/sub".into(),
        };
        InstalledModules::from_iter([("net".to_owned(), module)])
    };
    let source = "registry.terraform.io/acme/net/aws//sub";
    let load = |installed: &InstalledModules| load_root_with(&files, Path::new("."), installed).into_result();
    let configuration = load(&installed(source, "1.4.0")).unwrap();
    assert_eq!(configuration.modules().count(), 3);
    for (source, version, expected) in [
        (source, "2.0.0", "Module version requirements have changed"),
        (source, "", "Module version requirements have changed"),
        ("registry.terraform.io/acme/other/aws", "1.0.0", "Module source has changed"),
    ] {
        let problems = load(&installed(source, version)).unwrap_err().to_string();
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn local_modules_must_be_in_their_package() {
    let files = MemoryFiles::new([
        ("main.tf", "module \"net\" {\n  source = \"git::https://example.com/net.git\"\n}\n"),
        (".terraform/modules/net/main.tf", "module \"inner\" {\n  source = \"../other\"\n}\n"),
        (".terraform/modules/other/main.tf", ""),
    ]);
    let module = InstalledModule {
        source: "git::https://example.com/net.git".to_owned(),
        version: None,
        directory: ".terraform/modules/net".into(),
    };
    let installed = InstalledModules::from_iter([("net".to_owned(), module)]);
    let problems = load_root_with(&files, Path::new("."), &installed).into_result().unwrap_err().to_string();
    assert!(problems.contains("Local module path escapes module package"), "{problems}");
}

#[test]
fn reports_invalid_provider_passing() {
    check(
        &[
            (
                "main.tf",
                r#"module "a" {
  source = "./m"
  nam    = 1
}
module "e" {
  source    = "./m"
  name      = 1
  count     = 2
  providers = { "x.y" = x, z = q, w = q.r }
}
"#,
            ),
            ("m/main.tf", "variable \"name\" {}\nprovider \"z\" {}\n"),
        ],
        &[
            "main.tf:9,17-22: (warning) Quoted references are deprecated: References are written without quotes.",
            "main.tf:9,17-19: (warning) Reference to undefined provider: The module does not declare x.y in required_providers, so it is assumed to be hashicorp/x.",
            "main.tf:9,25-26: (warning) Reference to undefined provider: The provider x is not declared, so it is assumed to be hashicorp/x. Declare it in required_providers.",
            "main.tf:9,32-33: (warning) Reference to undefined provider: The provider q is not declared, so it is assumed to be hashicorp/q. Declare it in required_providers.",
            "main.tf:9,32-33: Provider type mismatch: The module expects a configuration of registry.terraform.io/hashicorp/z as z, but receives one of registry.terraform.io/hashicorp/q.",
            "main.tf:9,35-36: (warning) Reference to undefined provider: The module does not declare w in required_providers, so it is assumed to be hashicorp/w.",
            "main.tf:9,39-40: Provider type mismatch: The module expects a configuration of registry.terraform.io/hashicorp/w as w, but receives one of registry.terraform.io/hashicorp/q.",
            "m/main.tf:2,1-13: (warning) Redundant empty provider block: A module receives the configuration of z from its caller even without this empty block. Remove the block; list aliases that the caller must pass in configuration_aliases in required_providers.",
            "m/main.tf:2,1-13: (warning) Redundant empty provider block: A module receives the configuration of z from its caller even without this empty block. Remove the block; list aliases that the caller must pass in configuration_aliases in required_providers.",
            "main.tf:3,3-6: Unsupported argument: The module has no variable named \"nam\". Did you mean \"name\"?",
            "main.tf:1,12-13: Missing required argument: The module requires a value for its variable \"name\", which has no default.",
        ],
    );
}

#[test]
fn calls_pass_providers_by_bare_name() {
    let module = r#"
        terraform {
          required_providers {
            aws = { source = "hashicorp/aws", configuration_aliases = [aws.west, aws.east] }
          }
        }
        resource "aws_x" "west" { provider = aws.west }
        resource "aws_x" "east" { provider = aws.east }
    "#;
    let main = r#"
        provider "aws" { alias = "west" }
        provider "aws" { alias = "other" }
        module "m" {
          source    = "./m"
          providers = { aws.west = aws.west, aws.east = aws.other }
        }
    "#;
    let configuration = load(&[("main.tf", main), ("m/main.tf", module)]).unwrap();
    let used: Vec<String> = configuration
        .resources()
        .map(|(_, resource, provider)| {
            format!("{} {}", resource.name, provider.alias.as_deref().unwrap_or(""))
        })
        .collect();
    assert_eq!(used, ["east other", "west west"]);
}

/// One run reports all errors, and no others.
#[test]
fn reports_errors_in_every_expression() {
    let wrong = "uper(\"a\")";
    let main = format!(
        r#"
variable "v" {{
  validation {{
    condition     = var.v == {wrong}
    error_message = {wrong}
  }}
}}
locals {{
  l = [for x in [] : {wrong}]
}}
output "o" {{
  value = false ? {wrong} : 1
  precondition {{
    condition     = {wrong}
    error_message = {wrong}
  }}
}}
provider "p" {{
  a = {wrong}
}}
module "m" {{
  source = "./m"
  count  = {wrong}
  a      = {wrong}
}}
resource "p_r" "r" {{
  count = {wrong}
  a     = {wrong}
  dynamic "b" {{
    for_each = {wrong}
    iterator = data
    content {{
      v = [data.key, data.value.x, {wrong}]
    }}
  }}
  lifecycle {{
    replace_triggered_by = [p_r.r[{wrong}]]
    precondition {{
      condition     = {wrong}
      error_message = {wrong}
    }}
    postcondition {{
      condition     = {wrong}
      error_message = {wrong}
    }}
  }}
  provisioner "local-exec" {{
    command = {wrong}
    connection {{
      host = {wrong}
    }}
  }}
  connection {{
    host = {wrong}
  }}
}}
data "p_r" "r" {{
  for_each = {wrong}
  a        = {wrong}
}}
check "c" {{
  assert {{
    condition     = {wrong}
    error_message = {wrong}
  }}
}}
import {{
  for_each = {wrong}
  to       = p_r.r[0]
  id       = {wrong}
}}
"#
    );
    let found = problems(&[("main.tf", &main), ("m/main.tf", "variable \"a\" {}")]);
    let at = |line: &str| line.split(&[':', ','][..]).nth(1).and_then(|number| number.parse::<usize>().ok());
    let mut places: Vec<usize> = found
        .lines()
        .map(|line| {
            assert!(line.contains("Call to unknown function"), "{line}");
            at(line).unwrap()
        })
        .collect();
    places.sort_unstable();
    let expected: Vec<usize> =
        (1..).zip(main.lines()).filter(|(_, line)| line.contains(wrong)).map(|(n, _)| n).collect();
    assert_eq!(places, expected);
}

#[test]
fn reports_undeclared_references() {
    check(
        &[
            (
                "main.tf",
                r#"variable "size" {}
locals {
  a = var.siz
}
module "m" {
  source = "./m"
}
resource "a_b" "web" {
  x = [module.m.ouput, module.n, module.m.output]
  dynamic "setting" {
    for_each = local.b
    content {
      v = setting.value + a_b.wbe.id
    }
  }
}
"#,
            ),
            ("m/main.tf", "output \"output\" {\n  value = 1\n}\n"),
        ],
        &[
            "main.tf:3,7-14: Reference to undeclared input variable: There is no variable \"siz\" in the root module. Did you mean \"size\"?",
            "main.tf:9,16-22: Unsupported attribute: The module \"m\" has no output named \"ouput\". Did you mean \"output\"?",
            "main.tf:9,24-32: Reference to undeclared module: There is no module call \"n\" in the root module. Did you mean \"m\"?",
            "main.tf:11,16-23: Reference to undeclared local value: There is no local value \"b\" in the root module. Did you mean \"a\"?",
            "main.tf:13,27-34: Reference to undeclared resource: There is no resource \"a_b\" \"wbe\" in the root module. Did you mean \"web\"?",
        ],
    );
}

#[test]
fn reports_unreadable_files() {
    let files = MemoryFiles::new([
        ("a.tf", b"locals {\n  a = \"\xff\"\n}\n".to_vec()),
        ("b.tf", b"\xef\xbb\xbflocals {\n  b = 1\n}\n".to_vec()),
        ("c_override.tf", b"locals { c = 1 }".to_vec()),
        ("d.tf.json", b"{}".to_vec()),
        ("e.tf", b"locals {".to_vec()),
    ]);
    let problems = load_root_from(&files, Path::new("")).unwrap_err();
    let summaries: Vec<String> = problems
        .iter()
        .map(|problem| {
            let line = problem.subject.as_ref().map(|span| span.start_position().line);
            format!("{:?} {}", line, problem.summary)
        })
        .collect();
    assert_eq!(summaries.len(), 3, "{summaries:?}");
    assert_eq!(
        [&summaries[0], &summaries[2]],
        ["Some(2) Invalid character encoding", "Some(1) Missing base local value definition to override"]
    );
    let missing = load_root_from(&files, Path::new("elsewhere")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "Failed to read module directory; The directory elsewhere does not exist."
    );
}

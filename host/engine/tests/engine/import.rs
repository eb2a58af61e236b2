//! Imports through blocks, and direct imports.

use wardian_config::RootVariables;
use wardian_diagnostic::Diagnostics;
use wardian_engine::{
    Action, DirectImport, Importing, MissingConfiguration, Mode, Plan, PlanOptions, StopSignal, TargetAddress,
};
use wardian_plugin::PluginDiagnostic;
use wardian_state::Attributes;
use wardian_value::Value;

use crate::fixture::{Fixture, actions, addresses};

const THING: &str = "resource \"memory_thing\" \"a\" {\n  name = \"one\"\n}\n";

fn block(id: &str) -> String {
    format!("import {{\n  to = memory_thing.a\n  id = {id}\n}}\n{THING}")
}

fn importing(plan: &Plan) -> Vec<(String, Action, String)> {
    let reported = |importing: &Importing| match importing {
        Importing::Id(id) => id.to_string(),
        other => format!("{other:?}"),
    };
    let changes = plan.changes.iter();
    changes.filter_map(|c| Some((c.address.to_string(), c.action, reported(c.importing.as_ref()?)))).collect()
}

fn one(address: &str, action: Action, id: &str) -> (String, Action, String) {
    (address.to_owned(), action, id.to_owned())
}

fn places(diagnostics: &Diagnostics) -> Vec<String> {
    let place = |d: &wardian_diagnostic::Diagnostic| {
        let line = d.subject.as_ref().map_or(0, |span| span.start_position().line);
        format!("{line} {}", d.summary)
    };
    diagnostics.iter().map(place).collect()
}

fn generating() -> PlanOptions {
    PlanOptions { missing_configuration: MissingConfiguration::Generated, ..PlanOptions::default() }
}

#[test]
fn imported_object_is_managed_after_apply() {
    let mut fixture = Fixture::new();
    let plan = fixture.plan(&block("\"one\""));
    assert_eq!(importing(&plan), [one("memory_thing.a", Action::NoOp, "one")]);
    assert_eq!(plan.counts().import, 1);
    assert!(plan.has_changes() && plan.is_applyable() && plan.drift.is_empty());
    assert_eq!(fixture.world.calls(), ["import one", "read one"]);
    assert_eq!(addresses(&plan.prior_state), ["memory_thing.a"]);
    assert!(plan.previous_state.is_empty());

    let recorded = fixture.apply(&block("\"one\""));
    assert_eq!(recorded, ["memory_thing.a here"]);
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
    // After the apply the block has no effect.
    fixture.world.forget_calls();
    let plan = fixture.plan(&block("\"one\""));
    assert!(importing(&plan).is_empty() && actions(&plan).is_empty());
    assert_eq!(fixture.world.calls(), ["read one"]);
}

#[test]
fn schema_sensitive_attributes_of_imported_object_are_stored_as_sensitive() {
    let plan = Fixture::new().plan(&block("\"one\""));
    let (_, _, instance) = plan.prior_state.instances().next().unwrap();
    let paths = &instance.current.as_ref().unwrap().sensitive_paths;
    assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), [".secret"]);
}

#[test]
fn imported_object_is_changed_or_replaced() {
    let mut fixture = Fixture::new();
    let update = block("\"one\"").replace("name =", "size = 3\n  name =");
    assert_eq!(importing(&fixture.plan(&update)), [one("memory_thing.a", Action::Update, "one")]);
    let recorded = fixture.apply(&update);
    assert_eq!(recorded, ["memory_thing.a here", "memory_thing.a here"]);

    let mut fixture = Fixture::new();
    let replace = block("\"one\"").replace("name =", "fixed = \"x\"\n  name =");
    let plan = fixture.plan(&replace);
    assert_eq!(importing(&plan), [one("memory_thing.a", Action::DeleteThenCreate, "one")]);
    let counts = plan.counts();
    assert_eq!((counts.import, counts.add, counts.destroy), (1, 1, 1));
    let (applied, recorded) = fixture.apply_with(&replace, &[], &PlanOptions::default());
    assert_eq!(applied.counts.import, 1);
    assert_eq!(recorded, ["memory_thing.a here", "memory_thing.a gone", "memory_thing.a here"]);
}

#[test]
fn import_id_must_be_known_string() {
    for (id, expected) in [
        ("null", "3 Invalid import id argument"),
        ("\"\"", "3 Invalid import id argument"),
        ("[]", "3 Incorrect value type"),
        ("uuid()", "3 Invalid import id argument"),
        ("memory_thing.b.id", "3 Invalid import id argument"),
        ("memory_thing.a.id", "3 Invalid import id argument"),
    ] {
        let text = format!("{}resource \"memory_thing\" \"b\" {{\n  name = \"b\"\n}}", block(id));
        let fixture = Fixture::new();
        let (plan, found) = fixture.plan_with(&text, &[], &PlanOptions::default());
        assert_eq!(places(&found), [expected], "{id}: {found}");
        assert!(plan.is_none_or(|plan| plan.errored));
        assert!(!fixture.world.calls().iter().any(|call| call.starts_with("import")), "{id}");
    }
    let fixture = Fixture::new();
    for id in ["sensitive(\"one\")", "\"o${\"ne\"}\"", "var.e", "5"] {
        let text = format!("{}variable \"e\" {{\n  ephemeral = true\n  default   = \"one\"\n}}", block(id));
        assert_eq!(importing(&fixture.plan(&text)).len(), 1, "{id}");
    }
}

#[test]
fn import_target_key_can_be_an_expression() {
    let module = "resource \"memory_thing\" \"c\" {\n  count = 2\n  name  = \"c${count.index}\"\n}";
    let text = r#"
module "m" {
  source   = "./m"
  for_each = toset(["x", "y"])
}
resource "memory_thing" "n" {
  count = 2
  name  = "n${count.index}"
}
import {
  for_each = { x = "c0", y = "c0" }
  to       = module.m[each.key].memory_thing.c[0]
  id       = each.value
}
import {
  for_each = ["n0"]
  to       = memory_thing.n[each.key]
  id       = each.value
}
import {
  for_each = null
  to       = memory_thing.n[each.key]
  id       = "never"
}
"#;
    let fixture = Fixture::new();
    let (plan, found) = fixture.plan_with(text, &[("m", module)], &PlanOptions::default());
    assert!(!found.has_errors(), "{found}");
    assert_eq!(
        importing(&plan.unwrap()),
        [
            one("memory_thing.n[0]", Action::NoOp, "n0"),
            one("module.m[\"x\"].memory_thing.c[0]", Action::NoOp, "c0"),
            one("module.m[\"y\"].memory_thing.c[0]", Action::NoOp, "c0"),
        ]
    );
}

#[test]
fn import_requires_configured_instance() {
    let many = "resource \"memory_thing\" \"a\" {\n  for_each = toset([\"x\"])\n  name = each.key\n}\n";
    let each =
        "import {\n  for_each = toset([\"x\", \"z\"])\n  to = memory_thing.a[each.key]\n  id = each.key\n}\n";
    let found = Fixture::new().plan_errors(&format!("{each}{many}"));
    assert!(found.contains("memory_thing.a[\"z\"]") && found.contains("does not exist"), "{found}");
    let twice =
        "import {\n  for_each = toset([\"x\", \"z\"])\n  to = memory_thing.a[\"x\"]\n  id = each.key\n}\n";
    let found = Fixture::new().plan_errors(&format!("{twice}{many}"));
    assert!(found.contains("Duplicate import configuration for \"memory_thing.a[\"x\"]\""), "{found}");
}

#[test]
fn destroy_and_refresh_only_plans_do_not_import() {
    let fixture = Fixture::new();
    for mode in [Mode::Destroy, Mode::RefreshOnly] {
        let options = PlanOptions { mode, ..PlanOptions::default() };
        let without = "import {\n  to = memory_thing.a\n  id = \"one\"\n}\n".to_owned();
        for text in [block("\"one\""), without] {
            let (plan, found) = fixture.plan_with(&text, &[], &options);
            assert!(!found.has_errors(), "{found}");
            assert!(plan.unwrap().changes.is_empty());
        }
    }
    let targets = vec!["memory_thing.b".parse::<TargetAddress>().unwrap()];
    let options = PlanOptions { targets, ..PlanOptions::default() };
    let text = format!("{}resource \"memory_thing\" \"b\" {{\n  name = \"b\"\n}}", block("\"one\""));
    let (plan, _) = fixture.plan_with(&text, &[], &options);
    assert_eq!(importing(&plan.unwrap()), []);
    assert_eq!(fixture.world.calls(), [""; 0]);
}

#[test]
fn resource_referenced_in_import_id_is_a_dependency() {
    let mut fixture = Fixture::new();
    let other = "resource \"memory_thing\" \"b\" {\n  name = \"one\"\n}\n";
    fixture.apply(other);
    fixture.apply(&format!("{}{other}", block("memory_thing.b.name")));
    let stored = fixture.state.current(&"memory_thing.a".parse().unwrap()).unwrap().clone();
    let dependencies: Vec<String> = stored.dependencies.iter().map(ToString::to_string).collect();
    assert_eq!(dependencies, ["memory_thing.b"]);
}

#[test]
fn reports_provider_that_finds_no_or_several_objects() {
    for (id, summary) in [
        ("no-object", "Import returned no resources"),
        ("two-objects", "Multiple import states not supported"),
        ("null-object", "Import returned null resource"),
        ("other-type", "Import returned another resource type"),
        ("refused", "No such thing"),
        ("gone", "Cannot import non-existent remote object"),
    ] {
        let fixture = Fixture::new();
        fixture.world.gone.lock().unwrap().push("gone".to_owned());
        let found = fixture.plan_errors(&block(&format!("\"{id}\"")));
        assert!(found.contains(summary), "{id}: {found}");
    }
}

#[test]
fn generates_missing_configuration() {
    let text = "import {\n  to = memory_thing.a\n  id = \"one\"\n}\n";
    let fixture = Fixture::new();
    let (plan, found) = fixture.plan_with(text, &[], &PlanOptions::default());
    assert_eq!(places(&found), ["2 Configuration for import target does not exist"]);
    let plan = plan.unwrap();
    assert!(plan.errored && plan.changes.is_empty());

    let (plan, found) = fixture.plan_with(text, &[], &generating());
    assert!(!found.has_errors(), "{found}");
    let plan = plan.unwrap();
    assert_eq!(importing(&plan), [one("memory_thing.a", Action::NoOp, "one")]);
    let made = plan.changes[0].generated_config.clone().unwrap();
    let lines = [
        "resource \"memory_thing\" \"a\" {",
        "  fixed    = null",
        "  label    = \"found\"",
        "  mischief = null",
        "  name     = \"one\"",
        "  secret   = null # sensitive",
        "  size     = null",
        "}",
    ];
    assert!(lines.iter().all(|line| made.contains(line)), "{made}");

    // With the generated configuration, the plan has no changes.
    let plan = fixture.plan(&format!("{text}{made}\n"));
    assert_eq!(importing(&plan), [one("memory_thing.a", Action::NoOp, "one")]);
}

#[test]
fn generates_configuration_only_for_single_root_objects() {
    let fixture = Fixture::new();
    let keyed = "import {\n  to = memory_thing.a[0]\n  id = \"one\"\n}\n";
    let each = "import {\n  for_each = toset([\"one\"])\n  to = memory_thing.a\n  id = each.key\n}\n";
    let inside = "import {\n  to = module.m.memory_thing.a\n  id = \"one\"\n}\nmodule \"m\" {\n  source = \"./m\"\n}\n";
    for (text, line) in [(keyed, 2), (each, 3), (inside, 2)] {
        let (_, found) = fixture.plan_with(text, &[("m", "")], &generating());
        assert_eq!(places(&found), [format!("{line} Configuration for import target does not exist")]);
    }
    assert_eq!(fixture.world.calls(), [""; 0]);
}

#[test]
fn incomplete_generated_configuration_is_kept() {
    let text = "import {\n  to = memory_thing.a\n  id = \"nameless\"\n}\n";
    let fixture = Fixture::new();
    fixture.twist(|twist| {
        twist.validate = Some(Box::new(|request, found| {
            if request.config.get("name").is_some_and(Value::is_null) {
                found.push(PluginDiagnostic::error("Name missing", "A thing needs a name."));
            }
        }));
    });
    let (plan, found) = fixture.plan_with(text, &[], &generating());
    assert!(found.has_errors());
    assert_eq!(places(&found), ["2 Name missing"]);
    let plan = plan.unwrap();
    assert!(plan.errored);
    assert!(plan.changes[0].generated_config.as_ref().unwrap().contains("name     = null"));
}

#[test]
fn generated_configuration_is_imported_by_its_plan() {
    let text = "import {\n  to = memory_thing.a\n  id = \"one\"\n}\n";
    let mut fixture = Fixture::new();
    let (applied, recorded) = fixture.apply_with(text, &[], &generating());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!((applied.counts.import, recorded), (1, vec!["memory_thing.a here".to_owned()]));
    // Without a configuration, the imported object would be destroyed. The user does not intend
    // this.
    for options in [PlanOptions::default(), generating()] {
        let (_, found) = fixture.plan_with(text, &[], &options);
        assert_eq!(places(&found), ["2 Configuration for import target does not exist"]);
    }
}

#[test]
fn direct_import_adds_object_to_state() {
    let fixture = Fixture::new();
    let text = format!(
        "{THING}resource \"memory_thing\" \"b\" {{\n  name = \"b\"\n  lifecycle {{\n    precondition {{\n      condition = \
         memory_thing.a.name == \"x\"\n      error_message = \"no\"\n    }}\n  }}\n}}\noutput \"a\" {{\n  value = \
         memory_thing.a.name\n}}\noutput \"b\" {{\n  value = memory_thing.b.id\n}}\ndata \"memory_lookup\" \"l\" {{\n  \
         name = memory_thing.a.name\n}}\n"
    );
    let (state, found) = fixture.import(&text, "memory_thing.a", "one");
    assert!(!found.has_errors(), "{found}");
    let state = state.unwrap();
    assert_eq!(addresses(&state), ["data.memory_lookup.l", "memory_thing.a"]);
    assert_eq!(state.outputs.keys().map(|name| &**name).collect::<Vec<_>>(), ["a"]);
    assert_eq!(state.outputs["a"].value, Value::string("one"));
    assert_eq!(fixture.world.calls(), ["import one", "read one", "look up one"]);
}

#[test]
fn direct_import_rejects_managed_and_undeclared_objects() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    let (state, found) = fixture.import(THING, "memory_thing.a", "one");
    assert!(state.is_none());
    assert!(found.to_string().contains("already managed"), "{found}");
    let (state, found) = fixture.import(THING, "memory_thing.a[1]", "one");
    assert!(state.is_none());
    assert!(found.to_string().contains("does not exist"), "{found}");
}

#[test]
fn direct_import_keeps_all_found_objects() {
    let fixture = Fixture::new();
    let (state, found) = fixture.import(THING, "memory_thing.a", "two-objects");
    assert!(!found.has_errors(), "{found}");
    let state = state.unwrap();
    assert_eq!(addresses(&state), ["memory_thing.a", "memory_thing.a-1"]);
    let second = state.current(&"memory_thing.a-1".parse().unwrap()).unwrap();
    assert!(matches!(&second.attributes, Attributes::Json(text) if text.contains("two-objects-2")));
}

#[test]
fn direct_import_requires_known_provider_configuration() {
    let text = "provider \"memory\" {\n  region = memory_thing.b.id\n}\nprovider \"memory\" {\n  alias = \"b\"\n}\n\
                resource \"memory_thing\" \"a\" {\n  name = \"a\"\n}\nresource \"memory_thing\" \"b\" {\n  provider = \
                memory.b\n  name = \"b\"\n}\n";
    let (state, found) = Fixture::new().import(text, "memory_thing.a", "one");
    assert!(state.is_none());
    assert_eq!(places(&found), ["1 Invalid provider configuration"]);
}

impl Fixture {
    fn import(
        &self,
        configuration: &str,
        address: &str,
        id: &str,
    ) -> (Option<wardian_state::State>, Diagnostics) {
        let order = DirectImport { address: address.parse().unwrap(), id: id.to_owned() };
        let run = self.run_with_modules(configuration, &[]).expect("a configuration");
        let never = StopSignal::never();
        let imported =
            self.block_on(run.import(self.state.clone(), RootVariables::default(), &order, 2, never));
        (imported.value, imported.diagnostics)
    }
}

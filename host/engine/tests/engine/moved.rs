//! Moved objects. The expected results are Terraform 1.11.4's for the same configurations.

use wardian_engine::{Action, Mode, Plan, PlanOptions};

use crate::fixture::{Fixture, addresses};

type Modules<'a> = &'a [(&'a str, &'a str)];

/// Returns one line for each change: old and new address, action and reason.
fn lines(plan: &Plan) -> Vec<String> {
    let line = |change: &wardian_engine::ResourceChange| {
        let from = change.previous_address.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
        let deposed = change.deposed.as_ref().map(|_| " (deposed)").unwrap_or_default();
        let reason = change.reason.map(|reason| format!(" {}", reason.name())).unwrap_or_default();
        format!("{from}{}{deposed} {:?}{reason}", change.address, change.action)
    };
    plan.changes.iter().map(line).collect()
}

fn plan_with(fixture: &Fixture, configuration: &str, modules: Modules<'_>, options: &PlanOptions) -> Plan {
    let (plan, diagnostics) = fixture.plan_with(configuration, modules, options);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    plan.unwrap()
}

fn planned(fixture: &Fixture, configuration: &str, modules: Modules<'_>) -> Vec<String> {
    lines(&plan_with(fixture, configuration, modules, &PlanOptions::default()))
}

fn applied(configuration: &str, modules: Modules<'_>) -> Fixture {
    let mut fixture = Fixture::new();
    let (applied, _) = fixture.apply_with(configuration, modules, &PlanOptions::default());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    fixture
}

fn errors(fixture: &Fixture, configuration: &str, modules: Modules<'_>) -> String {
    let (plan, diagnostics) = fixture.plan_with(configuration, modules, &PlanOptions::default());
    assert!(diagnostics.has_errors() && plan.is_none(), "{diagnostics}");
    diagnostics.to_string()
}

const A: &str = r#"resource "memory_thing" "a" { name = "x" }"#;

#[test]
fn renamed_resource_keeps_its_object() {
    let mut fixture = applied(A, &[]);
    let renamed = r#"
        resource "memory_thing" "b" { name = "x" }
        moved {
          from = memory_thing.a
          to   = memory_thing.b
        }
    "#;
    let plan = fixture.plan(renamed);
    assert_eq!(lines(&plan), ["memory_thing.a -> memory_thing.b NoOp"]);
    assert!(plan.has_changes() && plan.is_applyable());
    assert_eq!(addresses(&plan.prior_state), ["memory_thing.b"]);
    fixture.world.forget_calls();
    fixture.apply(renamed);
    assert_eq!(fixture.world.calls(), ["read x"]);
    assert_eq!(addresses(&fixture.state), ["memory_thing.b"]);
    let plan = fixture.plan(renamed);
    assert_eq!(lines(&plan), ["memory_thing.b NoOp"]);
    assert!(!plan.has_changes());
}

#[test]
fn chain_of_moves_is_followed_in_any_order() {
    let fixture = applied(A, &[]);
    let chain = r#"
        resource "memory_thing" "d" { name = "x" }
        moved {
          from = memory_thing.c
          to   = memory_thing.d
        }
        moved {
          from = memory_thing.a
          to   = memory_thing.b
        }
        moved {
          from = memory_thing.b
          to   = memory_thing.c
        }
    "#;
    assert_eq!(planned(&fixture, chain, &[]), ["memory_thing.a -> memory_thing.d NoOp"]);
}

#[test]
fn adding_or_removing_count_keeps_first_object() {
    let single = applied(A, &[]);
    let plan = |count: &str| {
        planned(&single, &format!("resource \"memory_thing\" \"a\" {{\n name = \"x\"\n {count} \n}}"), &[])
    };
    assert_eq!(plan("count = 1"), ["memory_thing.a -> memory_thing.a[0] NoOp"]);
    assert_eq!(plan("count = 0"), ["memory_thing.a -> memory_thing.a[0] Delete delete_because_count_index"]);
    assert_eq!(
        plan(r#"for_each = toset(["k"])"#),
        ["memory_thing.a Delete delete_because_wrong_repetition", "memory_thing.a[\"k\"] Create"]
    );

    let counted = applied("resource \"memory_thing\" \"a\" {\n count = 2\n name = \"x\"\n}", &[]);
    assert_eq!(
        planned(&counted, A, &[]),
        [
            "memory_thing.a[0] -> memory_thing.a NoOp",
            "memory_thing.a[1] Delete delete_because_wrong_repetition"
        ]
    );
}

#[test]
fn moved_block_overrides_implied_move() {
    let fixture = applied(A, &[]);
    let plan = planned(
        &fixture,
        r#"
        resource "memory_thing" "a" {
          count = 2
          name  = "x"
        }
        moved {
          from = memory_thing.a
          to   = memory_thing.a[1]
        }
        "#,
        &[],
    );
    assert_eq!(plan, ["memory_thing.a[0] Create", "memory_thing.a -> memory_thing.a[1] NoOp"]);
}

#[test]
fn instances_move_from_indexes_to_keys() {
    let fixture = applied("resource \"memory_thing\" \"a\" {\n count = 3\n name = \"x\"\n}", &[]);
    let plan = planned(
        &fixture,
        r#"
        resource "memory_thing" "b" {
          for_each = toset(["one", "two"])
          name     = "x"
        }
        moved {
          from = memory_thing.a[0]
          to   = memory_thing.b["one"]
        }
        moved {
          from = memory_thing.a[2]
          to   = memory_thing.b["two"]
        }
        "#,
        &[],
    );
    assert_eq!(
        plan,
        [
            "memory_thing.a[1] Delete delete_because_no_resource_config",
            "memory_thing.a[0] -> memory_thing.b[\"one\"] NoOp",
            "memory_thing.a[2] -> memory_thing.b[\"two\"] NoOp",
        ]
    );
}

const INNER: &str = r#"
    resource "memory_thing" "o" {
      count = 2
      name  = "o"
    }
    module "k" { source = "./k" }
"#;
const INNERMOST: &str = r#"resource "memory_thing" "i" { name = "i" }"#;

fn in_modules() -> Fixture {
    let root = "module \"m\" {\n source = \"./m\"\n count = 2\n}";
    applied(root, &[("m", INNER), ("m/k", INNERMOST)])
}

#[test]
fn module_moves_with_renamed_contents() {
    let plan = planned(
        &in_modules(),
        r#"
        module "n" {
          source   = "./m"
          for_each = toset(["a", "b"])
        }
        moved {
          from = module.m[0]
          to   = module.n["a"]
        }
        moved {
          from = module.m[1]
          to   = module.n["b"]
        }
        "#,
        &[
            (
                "m",
                r#"
                resource "memory_thing" "p" {
                  count = 2
                  name  = "o"
                }
                module "k2" { source = "./k" }
                moved {
                  from = memory_thing.o
                  to   = memory_thing.p
                }
                moved {
                  from = module.k
                  to   = module.k2
                }
                "#,
            ),
            ("m/k", INNERMOST),
        ],
    );
    assert_eq!(
        plan,
        [
            "module.m[0].memory_thing.o[0] -> module.n[\"a\"].memory_thing.p[0] NoOp",
            "module.m[0].memory_thing.o[1] -> module.n[\"a\"].memory_thing.p[1] NoOp",
            "module.m[1].memory_thing.o[0] -> module.n[\"b\"].memory_thing.p[0] NoOp",
            "module.m[1].memory_thing.o[1] -> module.n[\"b\"].memory_thing.p[1] NoOp",
            "module.m[0].module.k.memory_thing.i -> module.n[\"a\"].module.k2.memory_thing.i NoOp",
            "module.m[1].module.k.memory_thing.i -> module.n[\"b\"].module.k2.memory_thing.i NoOp",
        ]
    );
}

#[test]
fn module_keys_change_while_contents_are_renamed() {
    let plan = planned(
        &in_modules(),
        r#"
        module "m" {
          source   = "./m"
          for_each = toset(["a", "b"])
        }
        moved {
          from = module.m[0]
          to   = module.m["a"]
        }
        moved {
          from = module.m[1]
          to   = module.m["b"]
        }
        "#,
        &[(
            "m",
            r#"
            resource "memory_thing" "p" {
              count = 2
              name  = "o"
            }
            resource "memory_thing" "i" { name = "i" }
            moved {
              from = memory_thing.o
              to   = memory_thing.p
            }
            moved {
              from = module.k.memory_thing.i
              to   = memory_thing.i
            }
            "#,
        )],
    );
    assert_eq!(
        plan,
        [
            "module.m[0].module.k.memory_thing.i -> module.m[\"a\"].memory_thing.i NoOp",
            "module.m[0].memory_thing.o[0] -> module.m[\"a\"].memory_thing.p[0] NoOp",
            "module.m[0].memory_thing.o[1] -> module.m[\"a\"].memory_thing.p[1] NoOp",
            "module.m[1].module.k.memory_thing.i -> module.m[\"b\"].memory_thing.i NoOp",
            "module.m[1].memory_thing.o[0] -> module.m[\"b\"].memory_thing.p[0] NoOp",
            "module.m[1].memory_thing.o[1] -> module.m[\"b\"].memory_thing.p[1] NoOp",
        ]
    );
}

#[test]
fn count_on_module_implies_no_move() {
    let fixture = applied("module \"m\" {\n source = \"./m\"\n}", &[("m", A)]);
    let plan = planned(&fixture, "module \"m\" {\n source = \"./m\"\n count = 1\n}", &[("m", A)]);
    assert_eq!(
        plan,
        ["module.m.memory_thing.a Delete delete_because_no_module", "module.m[0].memory_thing.a Create"]
    );
}

#[test]
fn object_moved_to_undeclared_address_is_destroyed() {
    let fixture = applied(A, &[]);
    let plan = planned(&fixture, "moved {\n from = memory_thing.a\n to = memory_thing.b\n}", &[]);
    assert_eq!(plan, ["memory_thing.a -> memory_thing.b Delete delete_because_no_move_target"]);
}

#[test]
fn move_to_occupied_address_is_blocked() {
    let fixture = applied(&format!("{A}\nresource \"memory_thing\" \"b\" {{ name = \"y\" }}"), &[]);
    let blocked = r#"
        resource "memory_thing" "b" { name = "y" }
        moved {
          from = memory_thing.a
          to   = memory_thing.b
        }
    "#;
    let (plan, diagnostics) = fixture.plan_with(blocked, &[], &PlanOptions::default());
    assert_eq!(
        lines(&plan.unwrap()),
        ["memory_thing.a Delete delete_because_no_resource_config", "memory_thing.b NoOp"]
    );
    let warning = diagnostics.to_string();
    assert!(warning.contains("Unresolved resource instance address changes"), "{warning}");
    assert!(warning.contains("memory_thing.a could not move to memory_thing.b"), "{warning}");
}

#[test]
fn tainted_and_deposed_objects_move() {
    let mut fixture = Fixture::new();
    fixture
        .apply_errors("resource \"memory_thing\" \"a\" {\n name = \"x\"\n mischief = \"fail half way\"\n}");
    let address = "memory_thing.a".parse().unwrap();
    let provider = fixture.state.resources().next().unwrap().1.provider.clone();
    let object = fixture.state.current(&address).cloned();
    fixture.state.set_deposed(&address, &provider, "00c0ffee".into(), object);
    let moved = r#"
        resource "memory_thing" "b" {
          count = 1
          name  = "x"
        }
        moved {
          from = memory_thing.a
          to   = memory_thing.b[0]
        }
    "#;
    assert_eq!(
        planned(&fixture, moved, &[]),
        [
            "memory_thing.a -> memory_thing.b[0] DeleteThenCreate replace_because_tainted",
            "memory_thing.a -> memory_thing.b[0] (deposed) Delete",
        ]
    );
    fixture.apply(moved);
    assert_eq!(addresses(&fixture.state), ["memory_thing.b[0]"]);
    assert!(!fixture.state.current(&"memory_thing.b[0]".parse().unwrap()).unwrap().is_tainted());
}

#[test]
fn moved_object_is_replaced_create_before_destroy() {
    let mut fixture = applied("resource \"memory_thing\" \"a\" {\n name = \"x\"\n fixed = \"1\"\n}", &[]);
    let moved = r#"
        resource "memory_thing" "b" {
          name  = "y"
          fixed = "2"
          lifecycle { create_before_destroy = true }
        }
        moved {
          from = memory_thing.a
          to   = memory_thing.b
        }
    "#;
    let expected = "memory_thing.a -> memory_thing.b CreateThenDelete replace_because_cannot_update";
    assert_eq!(planned(&fixture, moved, &[]), [expected]);
    fixture.world.forget_calls();
    let recorded = fixture.apply(moved);
    assert_eq!(fixture.world.calls(), ["read x", "create y", "destroy x"]);
    assert_eq!(recorded.last().unwrap(), "memory_thing.b here");
    assert_eq!(addresses(&fixture.state), ["memory_thing.b"]);
}

#[test]
fn dependents_of_moved_object_are_destroyed_first() {
    let mut fixture = applied(
        r#"
        resource "memory_thing" "a" { name = "base" }
        resource "memory_thing" "z" {
          name  = "made from it"
          label = memory_thing.a.id
        }
        "#,
        &[],
    );
    let gone = "moved {\n from = memory_thing.a\n to = memory_thing.b\n}";
    fixture.world.forget_calls();
    fixture.apply(gone);
    assert_eq!(fixture.world.calls().split_off(2), ["destroy made from it", "destroy base"]);
}

#[test]
fn refresh_only_plan_records_moves() {
    let mut fixture = applied(A, &[]);
    let renamed = "resource \"memory_thing\" \"a\" {\n count = 1\n name = \"y\"\n}";
    let options = PlanOptions { mode: Mode::RefreshOnly, ..PlanOptions::default() };
    let plan = plan_with(&fixture, renamed, &[], &options);
    assert!(lines(&plan).is_empty() && !plan.is_applyable());
    assert_eq!(plan.drift.len(), 1);
    assert_eq!(plan.drift[0].action, Action::NoOp);
    assert_eq!(plan.drift[0].previous_address.as_ref().unwrap().to_string(), "memory_thing.a");
    fixture.apply_with(renamed, &[], &options);
    assert_eq!(addresses(&fixture.state), ["memory_thing.a[0]"]);
}

#[test]
fn destroy_plan_shows_new_addresses() {
    let fixture = applied(A, &[]);
    let counted = "resource \"memory_thing\" \"a\" {\n count = 1\n name = \"x\"\n}";
    let mut options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    let plan = plan_with(&fixture, counted, &[], &options);
    assert_eq!(lines(&plan), ["memory_thing.a[0] Delete"]);
    options.refresh = false;
    let plan = plan_with(&fixture, counted, &[], &options);
    assert_eq!(lines(&plan), ["memory_thing.a -> memory_thing.a[0] Delete"]);
}

#[test]
fn targets_must_include_both_addresses() {
    let fixture = applied("resource \"memory_thing\" \"a\" {\n count = 2\n name = \"x\"\n}", &[]);
    let moved = r#"
        resource "memory_thing" "b" {
          count = 2
          name  = "x"
        }
        moved {
          from = memory_thing.a
          to   = memory_thing.b
        }
    "#;
    let plan = |targets: &[&str]| {
        let targets = targets.iter().map(|target| target.parse().unwrap()).collect();
        fixture.plan_with(moved, &[], &PlanOptions { targets, ..PlanOptions::default() })
    };
    let (none, diagnostics) = plan(&["memory_thing.b[0]"]);
    let text = diagnostics.to_string();
    assert!(none.is_none() && text.contains("Moved resource instances excluded by targeting"), "{text}");
    assert!(text.contains("-target='memory_thing.a'\n  -target='memory_thing.b'"), "{text}");
    let (_, diagnostics) = plan(&["memory_thing.b"]);
    assert!(!diagnostics.to_string().contains("-target='memory_thing.b'"), "{diagnostics}");
    let (all, diagnostics) = plan(&["memory_thing.a", "memory_thing.b"]);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    assert_eq!(lines(&all.unwrap()).len(), 2);
}

#[test]
fn invalid_move_statements_are_errors() {
    let fixture = applied(&format!("{A}\nresource \"memory_thing\" \"b\" {{ name = \"y\" }}"), &[]);
    let moved = |from: &str, to: &str| format!("moved {{\n from = {from}\n to = {to}\n}}\n");
    let check = |configuration: String, expected: &[&str]| {
        let text = errors(&fixture, &configuration, &[]);
        for part in expected {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    };
    check(
        format!("{A}\n{}", moved("memory_thing.a", "memory_thing.c")),
        &["Moved object still exists", "main.tf:2", "the resource memory_thing.a is still declared"],
    );
    check(moved("memory_thing.q", "memory_thing.q"), &["Redundant move statement"]);
    check(
        moved("memory_thing.a", "memory_thing.c") + &moved("memory_thing.a", "memory_thing.d"),
        &[
            "Ambiguous move statements",
            "main.tf:5",
            "memory_thing.a moves to memory_thing.d",
            "to memory_thing.c",
        ],
    );
    check(
        moved("memory_thing.a", "memory_thing.c") + &moved("memory_thing.b", "memory_thing.c"),
        &["Ambiguous move statements", "main.tf:5", "moves memory_thing.a there"],
    );
    check(
        moved("memory_thing.c", "memory_thing.d")
            + &moved("memory_thing.d", "memory_thing.e")
            + &moved("memory_thing.e", "memory_thing.c"),
        &["Cyclic dependency in move statements", "memory_thing.e to memory_thing.c"],
    );
    let two_cycles = moved("memory_thing.c", "memory_thing.d")
        + &moved("memory_thing.d", "memory_thing.c")
        + &moved("memory_thing.e", "memory_thing.f")
        + &moved("memory_thing.f", "memory_thing.e");
    let text = errors(&fixture, &two_cycles, &[]);
    assert_eq!(text.matches("Cyclic dependency in move statements").count(), 2, "{text}");
}

#[test]
fn move_in_module_is_checked_for_each_instance() {
    let fixture = in_modules();
    let text = errors(
        &fixture,
        "module \"m\" {\n source = \"./m\"\n count = 2\n}\nmoved {\n from = module.m[1]\n to = module.z\n}",
        &[
            ("m", &format!("{INNER}\nmoved {{\n from = memory_thing.o\n to = memory_thing.p\n}}")),
            ("m/k", INNERMOST),
        ],
    );
    assert_eq!(text.matches("Moved object still exists").count(), 3, "{text}");
    for what in
        ["module instance module.m[1]", "module.m[0].memory_thing.o is", "module.m[1].memory_thing.o is"]
    {
        assert!(text.contains(what), "{what}\n{text}");
    }
}

#[test]
fn object_moves_to_another_type() {
    let mut fixture = applied("resource \"memory_thing\" \"a\" {\n name = \"x\"\n count = 2\n}", &[]);
    let crossed = r#"
        resource "memory_gadget" "g" {
          count = 2
          name  = "x"
        }
        moved {
          from = memory_thing.a
          to   = memory_gadget.g
        }
    "#;
    let plan = fixture.plan(crossed);
    assert_eq!(
        lines(&plan),
        ["memory_thing.a[0] -> memory_gadget.g[0] NoOp", "memory_thing.a[1] -> memory_gadget.g[1] NoOp"]
    );
    assert_eq!(plan.changes[0].after.get("label").unwrap().as_str(), Some("once a memory_thing"));
    fixture.apply(crossed);
    assert_eq!(addresses(&fixture.state), ["memory_gadget.g[0]", "memory_gadget.g[1]"]);
}

#[test]
fn provider_may_reject_type_change() {
    let fixture = applied(r#"resource "memory_thing" "a" { name = "stubborn" }"#, &[]);
    let crossed = |kind: &str| {
        format!(
            "resource \"{kind}\" \"g\" {{ name = \"x\" }}\nmoved {{\n from = memory_thing.a\n to = {kind}.g\n}}"
        )
    };
    let text = errors(&fixture, &crossed("memory_gadget"), &[]);
    assert!(text.contains("Not supported") && text.contains("main.tf:4"), "{text}");
}

#[test]
fn many_moves_take_linear_time() {
    let count = 4000;
    let mut fixture =
        applied(&format!("resource \"memory_thing\" \"a\" {{\n name = \"x\"\n count = {count}\n}}"), &[]);
    let keys: Vec<String> = (0..count).map(|index| format!("\"k{index}\"")).collect();
    let mut configuration = format!(
        "resource \"memory_thing\" \"a\" {{\n name = \"x\"\n for_each = toset([{}])\n}}\n",
        keys.join(", ")
    );
    configuration.extend((0..count).map(|index| {
        format!("moved {{\n from = memory_thing.a[{index}]\n to = memory_thing.a[\"k{index}\"]\n}}\n")
    }));
    let started = std::time::Instant::now();
    let plan = fixture.plan(&configuration);
    assert!(plan.changes.iter().all(|c| c.action == Action::NoOp && c.previous_address.is_some()));
    // Comparing all pairs of addresses would take 16 million comparisons, and more if objects were
    // compared.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    fixture.apply(&configuration);
    assert_eq!(fixture.state.resources().next().unwrap().1.instances.len(), count);
}

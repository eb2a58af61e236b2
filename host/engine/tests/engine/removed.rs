//! Forgotten objects. The expected results are Terraform 1.11.4's for the same configurations.

use wardian_engine::{Action, Mode, PlanOptions};

use crate::fixture::{Fixture, actions, addresses};

const BOTH: &str = r#"
    resource "memory_thing" "a" { name = "a" }
    resource "memory_thing" "b" { name = "b" }
"#;

fn removed(from: &str, destroy: bool) -> String {
    format!("removed {{\n from = {from}\n lifecycle {{ destroy = {destroy} }}\n}}\n")
}

#[test]
fn forgotten_object_is_not_read() {
    let mut fixture = Fixture::new();
    fixture.apply(BOTH);
    fixture.world.forget_calls();
    let configuration = removed("memory_thing.a", false) + &removed("memory_thing.b", true);
    let (plan, diagnostics) = fixture.plan_with(&configuration, &[], &PlanOptions::default());
    let plan = plan.unwrap();
    assert_eq!(
        actions(&plan),
        [("memory_thing.a".to_owned(), Action::Forget), ("memory_thing.b".to_owned(), Action::Delete)]
    );
    assert_eq!(plan.counts().forget, 1);
    assert!(diagnostics.to_string().contains("Some objects will no longer be managed"), "{diagnostics}");
    assert!(diagnostics.to_string().contains("\n - memory_thing.a\n"), "{diagnostics}");
    assert_eq!(fixture.world.calls(), ["read b"]);
    let recorded = fixture.apply(&configuration);
    assert_eq!(recorded, ["memory_thing.a gone", "memory_thing.b gone"]);
    assert!(addresses(&fixture.state).is_empty());
    assert!(!fixture.world.calls().contains(&"destroy a".to_owned()));
}

#[test]
fn forgotten_module_overrides_blocks_inside() {
    let mut fixture = Fixture::new();
    let modules = [("m", "module \"k\" { source = \"./k\" }\n"), ("m/k", BOTH)];
    let root = "module \"m\" {\n source = \"./m\"\n count = 2\n}";
    fixture.apply_with(root, &modules, &PlanOptions::default());
    let configuration = removed("module.m.module.k.memory_thing.a", true) + &removed("module.m", false);
    let plan = fixture.plan(&configuration);
    assert!(plan.changes.len() == 4 && plan.changes.iter().all(|c| c.action == Action::Forget));
    let part = removed("module.m", true) + &removed("module.m.module.k.memory_thing.a", false);
    let plan = fixture.plan(&part);
    let forgotten = plan.changes.iter().filter(|c| c.action == Action::Forget).count();
    assert_eq!((forgotten, plan.changes.len()), (2, 4));
}

#[test]
fn removed_block_in_module_applies_to_each_instance() {
    let mut fixture = Fixture::new();
    let root = "module \"m\" {\n source = \"./m\"\n count = 2\n}";
    fixture.apply_with(root, &[("m", BOTH)], &PlanOptions::default());
    let rest =
        "resource \"memory_thing\" \"a\" { name = \"a\" }\n".to_owned() + &removed("memory_thing.b", false);
    let (applied, _) = fixture.apply_with(root, &[("m", &rest)], &PlanOptions::default());
    assert_eq!((applied.counts.forget, applied.counts.destroy), (2, 0));
    assert_eq!(addresses(&fixture.state), ["module.m[0].memory_thing.a", "module.m[1].memory_thing.a"]);
}

#[test]
fn first_of_two_removed_blocks_applies() {
    let mut fixture = Fixture::new();
    fixture.apply(BOTH);
    let configuration = removed("memory_thing.a", true)
        + &removed("memory_thing.a", false)
        + &removed("memory_thing.b", false)
        + &removed("memory_thing.b", true);
    assert_eq!(
        actions(&fixture.plan(&configuration)),
        [("memory_thing.a".to_owned(), Action::Delete), ("memory_thing.b".to_owned(), Action::Forget)]
    );
}

#[test]
fn removed_address_must_not_be_declared() {
    let fixture = Fixture::new();
    let text = fixture.plan_errors(&(BOTH.to_owned() + &removed("memory_thing.b", false)));
    assert!(text.contains("Removed resource still exists") && text.contains("main.tf:3"), "{text}");
    let module = "module \"m\" { source = \"./m\" }\n".to_owned() + &removed("module.m", true);
    let options = |mode| PlanOptions { mode, ..PlanOptions::default() };
    for (mode, is_told) in [(Mode::Normal, true), (Mode::Destroy, true), (Mode::RefreshOnly, false)] {
        let (_, diagnostics) = fixture.plan_with(&module, &[("m", BOTH)], &options(mode));
        let text = diagnostics.to_string();
        assert_eq!(
            text.contains("Removed module still exists") && text.contains("main.tf:1"),
            is_told,
            "{text}"
        );
    }
}

#[test]
fn destroy_plan_does_not_forget_objects() {
    let mut fixture = Fixture::new();
    fixture.apply(BOTH);
    let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
    let (plan, _) = fixture.plan_with(&removed("memory_thing.a", false), &[], &options);
    let plan = plan.unwrap();
    assert_eq!(plan.changes.len(), 2);
    assert!(plan.changes.iter().all(|change| change.action == Action::Delete && change.reason.is_none()));
}

#[test]
fn moved_tainted_and_deposed_objects_are_forgotten() {
    let mut fixture = Fixture::new();
    fixture
        .apply_errors("resource \"memory_thing\" \"a\" {\n name = \"a\"\n mischief = \"fail half way\"\n}");
    let address = "memory_thing.a".parse().unwrap();
    let provider = fixture.state.resources().next().unwrap().1.provider.clone();
    let object = fixture.state.current(&address).cloned();
    fixture.state.set_deposed(&address, &provider, "00c0ffee".into(), object);
    let configuration = "moved {\n from = memory_thing.a\n to = module.m.memory_thing.z\n}\n".to_owned()
        + &removed("module.m", false);
    let plan = fixture.plan(&configuration);
    let found: Vec<_> = plan
        .changes
        .iter()
        .map(|c| {
            (
                c.action,
                c.deposed.is_some(),
                c.reason.map(|reason| reason.name()),
                c.previous_address.is_some(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (Action::Forget, false, Some("delete_because_no_move_target"), true),
            (Action::Forget, true, None, true)
        ]
    );
    let recorded = fixture.apply(&configuration);
    assert_eq!(recorded, ["module.m.memory_thing.z deposed", "module.m.memory_thing.z gone"]);
    assert!(addresses(&fixture.state).is_empty());
}

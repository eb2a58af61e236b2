//! Provisioners of created and destroyed objects. The expected results are Terraform 1.11.4's for
//! similar configurations.

use std::collections::BTreeMap;

use wardian_engine::{PlanOptions, stop_channel};
use wardian_state::ObjectStatus;

use crate::fixture::{Fixture, Recorded, addresses};

/// Returns a resource with provisioners; `arguments` contains the arguments of each provisioner,
/// separated by `|`.
fn thing(name: &str, arguments: &str, provisioners: &str) -> String {
    let mut text = format!("resource \"memory_thing\" \"{name}\" {{\n  name = \"{name}\"\n{arguments}\n");
    for block in provisioners.split('|').filter(|block| !block.trim().is_empty()) {
        for part in ["  provisioner \"local-exec\" {\n", &block.replace(';', "\n"), "\n  }\n"] {
            text.push_str(part);
        }
    }
    text + "}\n"
}

fn ran(fixture: &Fixture) -> Vec<String> {
    let calls = fixture.world.calls();
    calls.into_iter().filter(|call| call.contains(": ")).collect()
}

fn status(fixture: &Fixture, address: &str) -> Option<ObjectStatus> {
    fixture.state.current(&address.parse().unwrap()).map(|object| object.status)
}

#[test]
fn provisioners_run_in_order_on_create_only() {
    let mut fixture = Fixture::new();
    let provisioners =
        "command = \"say ${self.id}\" | command = \"fail x\"; on_failure = continue | command = \"two\"";
    let recorded = fixture.apply(&thing("a", "", provisioners));
    assert_eq!(recorded, ["memory_thing.a here", "memory_thing.a here"]);
    assert_eq!(
        fixture.world.calls(),
        ["create a", "memory_thing.a: say thing-1", "memory_thing.a: fail x", "memory_thing.a: two"]
    );
    assert_eq!(
        *fixture.event_log.0.lock().unwrap(),
        [
            "memory_thing.a begins: Create",
            "memory_thing.a local-exec begins",
            "memory_thing.a local-exec shows: thing-1",
            "memory_thing.a local-exec done",
            "memory_thing.a local-exec begins",
            "memory_thing.a local-exec shows: x",
            "memory_thing.a local-exec failed",
            "memory_thing.a local-exec begins",
            "memory_thing.a local-exec done",
            "memory_thing.a done: Create",
        ]
    );
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Ready));
    fixture.world.forget_calls();
    fixture.apply(&thing("a", "size = 2", provisioners));
    assert!(ran(&fixture).is_empty());
    fixture.apply(&thing("a", "size = 2\nfixed = \"new\"", provisioners));
    assert_eq!(ran(&fixture).len(), 3);
}

#[test]
fn failed_provisioner_taints_object_and_skips_dependents() {
    let mut fixture = Fixture::new();
    let configuration = thing("a", "", "command = \"fail x\" | command = \"never reached\"")
        + &thing("b", "label = memory_thing.a.id", "");
    let text = fixture.apply_errors(&configuration);
    assert!(text.contains("memory provisioner error") && text.contains("It said x."), "{text}");
    assert!(text.contains("main.tf:4"), "{text}");
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Tainted));
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"]);
    assert_eq!(fixture.event_log.0.lock().unwrap().last().unwrap(), "memory_thing.a failed: Create");
    // The next run replaces the object, and destroys the tainted one without provisioners.
    fixture.world.forget_calls();
    fixture.apply(&thing("a", "", "command = \"fine\" | when = destroy; command = \"bye\""));
    assert_eq!(fixture.world.calls(), ["read a", "destroy a", "create a", "memory_thing.a: fine"]);
}

#[test]
fn invalid_provisioner_configuration_taints_object() {
    let mut fixture = Fixture::new();
    let configuration = thing("a", "", "command = \"say ${file(\"/srv/nothing/\" + self.id)}\"")
        .replace("\" + self.id", "${self.id}\"");
    let text = fixture.apply_errors(&configuration);
    assert!(text.contains("/srv/nothing/"), "{text}");
    assert!(ran(&fixture).is_empty());
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Tainted));
}

#[test]
fn destroy_provisioner_has_self_and_key() {
    let mut fixture = Fixture::new();
    let counted = thing("a", "count = 2", "when = destroy; command = \"say ${self.id} ${count.index}\"");
    let each =
        thing("b", "for_each = toset([\"k\"])", "when = destroy; command = \"say ${self.id} ${each.key}\"");
    fixture.apply(&(counted.clone() + &each));
    assert!(ran(&fixture).is_empty());
    // One instance of an existing resource is removed from the configuration.
    fixture.apply(&(counted.replace("count = 2", "count = 1") + &each));
    assert_eq!(ran(&fixture).len(), 1);
    assert!(
        ran(&fixture)[0].starts_with("memory_thing.a[1]: say thing-") && ran(&fixture)[0].ends_with(" 1")
    );
    fixture.world.forget_calls();
    let applied = fixture.destroy(&(counted.replace("count = 2", "count = 1") + &each));
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let mut ran = ran(&fixture);
    ran.sort();
    assert!(ran[0].starts_with("memory_thing.a[0]: ") && ran[0].ends_with(" 0"), "{ran:?}");
    assert!(ran[1].starts_with("memory_thing.b[\"k\"]: ") && ran[1].ends_with(" k"), "{ran:?}");
    assert!(addresses(&fixture.state).is_empty());
}

#[test]
fn failed_destroy_provisioner_keeps_object() {
    let mut fixture = Fixture::new();
    let failing =
        "when = destroy; command = \"fail a\"; on_failure = continue | when = destroy; command = \"fail b\"";
    let configuration = thing("a", "", failing);
    fixture.apply(&configuration);
    fixture.world.forget_calls();
    fixture.event_log.0.lock().unwrap().clear();
    let applied = fixture.destroy(&configuration);
    assert!(applied.diagnostics.to_string().contains("It said b."), "{}", applied.diagnostics);
    assert_eq!(ran(&fixture), ["memory_thing.a: fail a", "memory_thing.a: fail b"]);
    assert!(!fixture.world.calls().contains(&"destroy a".to_owned()));
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Ready));
    assert_eq!(fixture.event_log.0.lock().unwrap().last().unwrap(), "memory_thing.a failed: Delete");
    // If a destroy-time provisioner fails, a replacement is not created either.
    fixture.world.forget_calls();
    let text = fixture.apply_errors(&thing("a", "fixed = \"new\"", failing));
    assert!(text.contains("It said b."), "{text}");
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Ready));
    assert!(!fixture.world.calls().contains(&"create a".to_owned()));
}

#[test]
fn deposed_object_skips_destroy_provisioners() {
    let mut fixture = Fixture::new();
    let provisioners = "command = \"say hello\" | when = destroy; command = \"say bye\"";
    let lifecycle = "lifecycle {\n create_before_destroy = true\n}\n";
    fixture.apply(&thing("a", lifecycle, provisioners));
    fixture.world.forget_calls();
    fixture.apply(&thing("a", &format!("fixed = \"new\"\n{lifecycle}"), provisioners));
    assert_eq!(fixture.world.calls(), ["read a", "create a", "memory_thing.a: say hello", "destroy a"]);
    // If the creation of the replacement fails, both objects remain.
    let failing = provisioners.replace("say hello", "fail hello");
    fixture.apply_errors(&thing("a", &format!("fixed = \"newer\"\n{lifecycle}"), &failing));
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Tainted));
    let (_, _, instance) = fixture.state.instances().next().unwrap();
    assert_eq!(instance.deposed.len(), 1);
    let deposed = instance.deposed.values().next().unwrap();
    assert_eq!(deposed.status, ObjectStatus::Ready);
    // Provisioners do not run when both objects are destroyed.
    fixture.world.forget_calls();
    assert!(!fixture.destroy(&thing("a", lifecycle, provisioners)).diagnostics.has_errors());
    assert!(ran(&fixture).is_empty(), "{:?}", ran(&fixture));
    assert!(addresses(&fixture.state).is_empty());
}

#[test]
fn removed_block_runs_destroy_provisioners() {
    let mut fixture = Fixture::new();
    let modules = |text: &str| [("m".to_owned(), text.to_owned())];
    let both = thing("a", "count = 2", "");
    let call = "module \"m\" {\n source = \"./m\"\n}\n";
    let of = |modules: &[(String, String)]| {
        modules.iter().map(|(path, text)| (path.clone(), text.clone())).collect::<Vec<_>>()
    };
    let owned = of(&modules(&both));
    let borrowed: Vec<(&str, &str)> = owned.iter().map(|(p, t)| (&**p, &**t)).collect();
    let (applied, _) = fixture.apply_with(&format!("{both}{call}"), &borrowed, &PlanOptions::default());
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let removed = |from: &str| {
        format!(
            "removed {{\n from = {from}\n connection {{\n host = self.id\n }}\n provisioner \"local-exec\" {{\n when = destroy\n \
             command = \"say ${{count.index}} ${{path.module}}\"\n }}\n}}\n"
        )
    };
    fixture.world.forget_calls();
    fixture.apply(&(removed("memory_thing.a") + &removed("module.m.memory_thing.a")));
    let mut ran = ran(&fixture);
    ran.sort();
    assert_eq!(ran.len(), 4, "{ran:?}");
    assert!(ran[0].starts_with("memory_thing.a[0]: say 0 . as nobody at thing-"), "{ran:?}");
    assert!(ran[3].starts_with("module.m.memory_thing.a[1]: say 1 . as nobody at thing-"), "{ran:?}");
    assert!(addresses(&fixture.state).is_empty());
}

#[test]
fn connections_are_merged_by_argument() {
    let mut fixture = Fixture::new();
    let around = "connection {\n host = self.id\n user = \"around\"\n}";
    let own = "command = \"one\"; connection {; user = \"own\"; } | command = \"two\"";
    fixture.apply(&thing("a", around, own));
    assert_eq!(
        ran(&fixture),
        ["memory_thing.a: one as own at thing-1", "memory_thing.a: two as around at thing-1"]
    );
}

#[test]
fn output_with_sensitive_configuration_is_not_shown() {
    let rows = [
        (
            "\"say ${sensitive(\"hush\")}\"",
            "(output is not shown: the configuration contains a sensitive value)",
        ),
        ("\"say ${self.secret}\"", "(output is not shown: the configuration contains a sensitive value)"),
        ("\"say ${var.e}\"", "(output is not shown: the configuration contains an ephemeral value)"),
        ("\"say hello\"; connection {; host = sensitive(\"hush\"); }", "hello"),
    ];
    let variable = "variable \"e\" {\n ephemeral = true\n}\n";
    for (command, shown) in rows {
        let mut fixture = Fixture::new();
        let configuration =
            variable.to_owned() + &thing("a", "secret = \"hush\"", &format!("command = {command}"));
        let given = BTreeMap::from([("e".into(), wardian_value::Value::string("hush"))]);
        let (plan, found) = fixture.plan_given(&configuration, &[], given, &PlanOptions::default());
        assert!(!found.has_errors(), "{found}");
        let applied = fixture.apply_plan(&configuration, &plan.unwrap());
        assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
        let reported = fixture.event_log.0.lock().unwrap().clone();
        assert!(reported.contains(&format!("memory_thing.a local-exec shows: {shown}")), "{reported:?}");
        assert!(!reported.iter().any(|line| line.contains("hush")), "{reported:?}");
    }
    let mut fixture = Fixture::new();
    let text = fixture.apply_errors(&thing("a", "", "command = \"fail ${sensitive(\"hush\")}\""));
    assert!(text.contains("memory provisioner error") && !text.contains("hush"), "{text}");
}

#[test]
fn object_waits_for_references_in_its_provisioners() {
    let mut fixture = Fixture::new();
    let one = thing("a", "", "command = \"say ${memory_thing.z.id}\"");
    fixture.apply(&(one + &thing("z", "", "")));
    assert_eq!(fixture.world.calls(), ["create z", "create a", "memory_thing.a: say thing-1"]);
    let object = fixture.state.current(&"memory_thing.a".parse().unwrap()).unwrap();
    assert_eq!(object.dependencies.len(), 1);
    // An object's reference to itself by name is equivalent to `self`.
    let mut fixture = Fixture::new();
    fixture.apply(&thing("a", "", "command = \"say ${memory_thing.a.id}\""));
    assert_eq!(ran(&fixture), ["memory_thing.a: say thing-1"]);
}

#[test]
fn stopped_run_leaves_unfinished_object_tainted() {
    let mut fixture = Fixture::new();
    let configuration = thing("a", "", "command = \"wait\" | command = \"never reached\"");
    let plan = fixture.plan(&configuration);
    let run = fixture.run_with_modules(&configuration, &[]).unwrap();
    let mut recorded = Recorded::default();
    let (stopper, signal) = stop_channel();
    let world = std::sync::Arc::clone(&fixture.world);
    let applied = fixture.block_on(async {
        let ask = async {
            while !world.calls().contains(&"memory_thing.a: wait".to_owned()) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            stopper.ask();
        };
        futures::join!(run.apply(&plan, &mut recorded, 10, signal), ask).0
    });
    assert!(applied.stopped);
    let text = applied.diagnostics.to_string();
    assert!(text.contains("It was stopped.") && text.contains("Execution halted"), "{text}");
    fixture.state = applied.state;
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Tainted));
    assert_eq!(ran(&fixture), ["memory_thing.a: wait"]);
}

#[test]
fn aborted_operation_is_recorded_as_tainted() {
    let mut fixture = Fixture::new();
    let configuration = thing("a", "", "command = \"wait\"").replace("wait", "wait for ever");
    let plan = fixture.plan(&configuration);
    let run = fixture.run_with_modules(&configuration, &[]).unwrap();
    let mut recorded = Recorded::default();
    let (stopper, signal) = stop_channel();
    let world = std::sync::Arc::clone(&fixture.world);
    let applied = fixture.block_on(async {
        let ask = async {
            while ran_of(&world).is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            stopper.ask();
            stopper.ask();
        };
        futures::join!(run.apply(&plan, &mut recorded, 10, signal), ask).0
    });
    assert_eq!(recorded.0, ["memory_thing.a here"]);
    fixture.state = applied.state;
    assert_eq!(status(&fixture, "memory_thing.a"), Some(ObjectStatus::Tainted));
}

fn ran_of(world: &crate::provider::World) -> Vec<String> {
    world.calls().into_iter().filter(|call| call.contains(": ")).collect()
}

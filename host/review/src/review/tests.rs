use serde_json::{Value, json};

use super::*;
use crate::cause::{PlannedReason, ReferencePlace, ReviewCause};
use crate::configuration::{LocalReferences, SourcePosition};
use crate::testing;
use crate::value::{AttributeChange, ReviewedValue};
use crate::{AttributeEffect, GroupValue};

fn review(document: &Value) -> Review {
    Review::from_json("test", document.to_string().as_bytes(), &ConfigurationFacts::default()).unwrap()
}

fn plan(changes: Value) -> Value {
    json!({"format_version": "1.2", "resource_changes": changes})
}

fn update(change: Value) -> Review {
    let mut change = change;
    if change.get("actions").is_none() {
        change["actions"] = json!(["update"]);
    }
    review(&plan(json!([{"address": "a.b", "change": change}])))
}

fn five_plan(name: &str) -> String {
    testing::five_plans().into_iter().find(|plan| plan.name == name).unwrap().json
}

fn attributes(names: &[&str]) -> ReferencePlace {
    ReferencePlace::Attributes(names.iter().map(|name| (*name).into()).collect())
}

/// Returns differences as `path: before -> after`.
fn differences(review: &Review) -> Vec<String> {
    review.changes.iter().flat_map(|change| &change.attributes).map(difference).collect()
}

fn difference(change: &AttributeChange) -> String {
    let side = |value: &Option<ReviewedValue>| match value {
        None => "absent".to_owned(),
        Some(ReviewedValue::Text(text) | ReviewedValue::Number(text)) => text.to_string(),
        Some(other) => format!("{other:?}"),
    };
    let forces = if change.forces_replacement { " (forces)" } else { "" };
    format!("{}: {} -> {}{forces}", change.path, side(&change.before), side(&change.after))
}

#[test]
fn differences_are_flat() {
    let review = update(json!({
        "before": {"same": 1, "n": 1, "gone": "x", "tags": {"a": "1", "b": "2"}, "list": ["a", "b", "c"], "none": null},
        "after": {"same": 1, "n": 2.5, "tags": {"a": "1", "b": "3", "c d": "4"}, "list": ["a", "c"], "none": null},
        "after_unknown": {"id": true}
    }));
    assert_eq!(
        differences(&review),
        [
            "gone: x -> absent",
            "id: absent -> Unknown",
            "list[1]: b -> absent",
            "n: 1 -> 2.5",
            "tags.b: 2 -> 3",
            "tags[\"c d\"]: absent -> 4",
        ]
    );
    assert_eq!(review.changes[0].unchanged, 1);
    assert_eq!(review.changes[0].attributes[0].effect(), AttributeEffect::Remove);
}

#[test]
fn blocks_in_lists_are_matched() {
    let review = update(json!({
        "before": {"rule": [{"port": 1}, {"port": 2}, {"port": 3}]},
        "after": {"rule": [{"port": 0}, {"port": 1}, {"port": 3}]}
    }));
    assert_eq!(differences(&review), ["rule[0].port: 2 -> 0"]);
}

#[test]
fn order_of_a_list_is_a_difference() {
    let review = update(json!({"before": {"l": ["a", "b"]}, "after": {"l": ["b", "a"]}}));
    assert_eq!(differences(&review), ["l[0]: a -> b", "l[1]: b -> a"]);
}

#[test]
fn empty_containers_and_types_are_differences() {
    let review = update(json!({
        "before": {"l": [], "m": {"a": 1}, "t": {"a": 1}, "e": []},
        "after": {"l": [1], "m": {}, "t": "x"},
    }));
    assert_eq!(
        differences(&review),
        [
            "e: EmptyList -> absent",
            "l[0]: absent -> 1",
            "m.a: 1 -> absent",
            "t.a: 1 -> absent",
            "t: absent -> x"
        ]
    );
}

#[test]
fn json_in_text_is_compared() {
    let review = update(json!({
        "before": {"policy": "{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"s3:Get\"}]}"},
        "after": {"policy": "{\"Statement\": [{\"Action\": \"s3:*\", \"Effect\": \"Allow\"}]}"}
    }));
    assert_eq!(differences(&review), ["policy.Statement[0].Action: s3:Get -> s3:*"]);
    let review = update(json!({"before": {"p": "{\"a\":1}"}, "after": {"p": "{ \"a\": 1 }"}}));
    assert_eq!(differences(&review), ["p: {\"a\":1} -> { \"a\": 1 }"]);
}

#[test]
fn json_texts_that_differ_by_null_members_are_a_difference() {
    let review = update(json!({"before": {"p": "{\"a\":1}"}, "after": {"p": "{\"a\":1,\"b\":null}"}}));
    assert_eq!(differences(&review), ["p: {\"a\":1} -> {\"a\":1,\"b\":null}"]);
    assert_eq!(review.changes[0].unchanged, 0);
}

#[test]
fn elements_that_only_become_sensitive_are_differences() {
    let review = update(json!({
        "before": {"l": ["a", "b"], "moved": ["x", "y", "z"], "o": [{"k": "v"}]},
        "after": {"l": ["a", "b"], "moved": ["y", "x", "z"], "o": [{"k": "v"}]},
        "before_sensitive": {"l": [false, false], "moved": [true, false, false], "o": [{}]},
        "after_sensitive": {"l": [false, true], "moved": [false, true, true], "o": [{"k": true}]},
    }));
    assert_eq!(
        differences(&review),
        [
            "l[1]: Sensitive -> Sensitive",
            "moved[2]: Sensitive -> Sensitive",
            "o[0].k: Sensitive -> Sensitive"
        ]
    );
}

#[test]
fn sensitive_values_are_not_in_the_model() {
    let secret = "topsecret";
    let review = update(json!({
        "before": {"a": secret, "b": [{"c": secret}], "d": {"x": secret}, "e": secret, "same": secret, "u": {"x": secret}},
        "after": {"a": "other", "b": [{"c": "n"}], "d": {"x": secret, "y": 1}, "e": "plain", "same": secret},
        "after_unknown": {"u": true},
        "before_sensitive": {"a": true, "b": [{"c": true}], "d": true, "e": true, "same": true, "u": {"x": true}},
        "after_sensitive": {"b": [{"c": true}], "d": {"x": true}, "same": true}
    }));
    assert!(!format!("{review:?}").contains(secret));
    assert_eq!(
        differences(&review),
        [
            "a: Sensitive -> Sensitive",
            "b[0].c: Sensitive -> Sensitive",
            "d: Sensitive -> Sensitive",
            "e: Sensitive -> Sensitive",
            "u: Sensitive -> Unknown",
        ]
    );
}

#[test]
fn sensitive_outputs_are_masked() {
    let document = json!({"format_version": "1.0", "output_changes": {
        "token": {"actions": ["update"], "before": "topsecret", "after": "topsecret2",
            "before_sensitive": true, "after_sensitive": true, "after_unknown": false},
        "same": {"actions": ["no-op"], "before": 1, "after": 1, "after_unknown": false,
            "before_sensitive": false, "after_sensitive": false}
    }});
    let review = review(&document);
    assert!(!format!("{review:?}").contains("topsecret"));
    assert_eq!(review.outputs.len(), 1);
    assert_eq!(difference(&review.outputs[0].attributes[0]), "token: Sensitive -> Sensitive");
}

#[test]
fn kinds_are_determined() {
    let change =
        |name: &str, actions: Value| json!({"address": format!("a.{name}"), "change": {"actions": actions}});
    let mut moved = change("moved", json!(["no-op"]));
    moved["previous_address"] = json!("a.old");
    let mut imported = change("imported", json!(["no-op"]));
    imported["change"]["importing"] = json!({"id": "i-1"});
    let mut data = change("data", json!(["read"]));
    data["address"] = json!("data.a.data");
    let review = review(&plan(json!([
        change("create", json!(["create"])),
        change("delete", json!(["delete"])),
        change("replace", json!(["create", "delete"])),
        change("forget", json!(["forget"])),
        change("nothing", json!(["no-op"])),
        moved,
        imported,
        data
    ])));
    let kinds: Vec<(&str, ChangeClass)> = review
        .groups
        .iter()
        .map(|group| (&*review.changes[group.members[0].index()].address, group.class()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("a.delete", ChangeClass::Destroy),
            ("a.replace", ChangeClass::Replace),
            ("a.create", ChangeClass::Create),
            ("a.moved", ChangeClass::Move),
            ("a.imported", ChangeClass::Import),
            ("a.forget", ChangeClass::Forget),
            ("data.a.data", ChangeClass::Read),
        ]
    );
    assert_eq!(review.unchanged, 1);
    assert_eq!(review.totals(), (2, 0, 2));
    assert_eq!(review.imports(), 1);
}

#[test]
fn instances_with_the_same_change_form_a_group() {
    let json = five_plan("instances");
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    assert_eq!(review.groups.len(), 2);
    let group = &review.groups[1];
    assert_eq!(group.members.len(), 300);
    assert!(group.is_uniform());
    assert_eq!(group.attributes[0].path.as_str(), "tags.release");
    assert_eq!(group.attributes[0].before, GroupValue::Same(Some(ReviewedValue::Text("v1".into()))));
    assert_eq!(review.frequent_attributes[0].changes, 300);
    let volume = review.members(&review.groups[0]).next().unwrap().1;
    assert_eq!(volume.reason, Some(PlannedReason::EachKey));
    assert_eq!(
        *volume.causes,
        [ReviewCause::Variable { name: "volumes".into(), source: None, through: ReferencePlace::Repetition }]
    );
}

#[test]
fn the_dangerous_change_is_first() {
    for plan in testing::five_plans() {
        let review =
            Review::from_json(plan.name, plan.json.as_bytes(), &ConfigurationFacts::default()).unwrap();
        let first = review.members(&review.groups[0]).next().unwrap().1;
        assert_eq!(&*first.address, plan.dangerous, "{}", plan.name);
        let grouped: usize = review.groups.iter().map(|group| group.members.len()).sum();
        assert_eq!(grouped, review.changes.len());
    }
}

#[test]
fn causes_of_a_cascade_are_found() {
    let json = five_plan("cascade");
    let facts = ConfigurationFacts {
        positions: [("aws_vpc.main", 7), ("var.cidr", 2)]
            .map(|(name, line)| (name.to_owned(), SourcePosition { file: "main.tf".into(), line }))
            .into(),
        locals: vec![LocalReferences { module: String::new(), name: "x".into(), references: vec![] }],
        ..ConfigurationFacts::default()
    };
    let review = Review::from_json("t", json.as_bytes(), &facts).unwrap();
    let find = |address: &str| review.changes.iter().find(|change| &*change.address == address).unwrap();
    let vpc = find("aws_vpc.main");
    assert_eq!(vpc.source.as_ref().unwrap().line, 7);
    assert_eq!(
        *vpc.causes,
        [ReviewCause::Variable {
            name: "cidr".into(),
            source: Some(SourcePosition { file: "main.tf".into(), line: 2 }),
            through: attributes(&["cidr_block"]),
        }]
    );
    let subnet = find("aws_subnet.private[2]");
    let [ReviewCause::Upstream { resource, change: Some(change), through }] = &*subnet.causes else {
        panic!("{:?}", subnet.causes)
    };
    assert_eq!((&**resource, through), ("aws_vpc.main", &attributes(&["vpc_id"])));
    assert_eq!(&*review.change(*change).unwrap().address, "aws_vpc.main");
    let root = review.dependencies.find("aws_vpc.main").unwrap();
    assert_eq!(review.dependencies.affected(root).len(), 3);
    let columns = review.dependencies.columns();
    assert_eq!(columns.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 2]);
}

#[test]
fn drift_is_a_cause() {
    let json = five_plan("drift");
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    let with_drift =
        |change: &&ReviewedChange| matches!(change.causes.first(), Some(ReviewCause::Drift { .. }));
    assert_eq!(review.changes.iter().filter(with_drift).count(), 42);
    assert_eq!(review.drift.len(), 42);
}

#[test]
fn damaged_documents_are_errors() {
    let error = |json: &str| {
        Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap_err().to_string()
    };
    assert!(error("").contains("not the JSON document of a plan"));
    assert!(error("[]").contains("not the JSON document of a plan"));
    assert!(error("{}").contains("no format version"));
    assert!(error(r#"{"format_version":"2.0"}"#).contains("\"2.0\""));
    assert!(error(r#"{"format_version":"1.0","values":{}}"#).contains("state"));
    assert!(
        error(
            r#"{"format_version":"1.0","resource_changes":[{"address":"a.b","change":{"actions":["x"]}}]}"#
        )
        .contains("unknown actions")
    );
    assert!(error(r#"{"format_version":"1.0","resource_changes":[{"address":"<b>","change":{"actions":["create"]}}]}"#).contains("invalid address"));
    assert!(error(r#"{"format_version":"1.0"} x"#).contains("not the JSON"));
    let deep = format!(
        r#"{{"format_version":"1.0","resource_changes":[{{"address":"a.b","change":{{"actions":["create"],"after":{}"#,
        "[".repeat(100_000)
    );
    assert!(error(&deep).contains("recursion limit"));
    let whole = testing::hostile_plan();
    for end in (0..whole.len()).step_by(997) {
        if let Some(cut) = whole.as_bytes().get(..end) {
            assert!(Review::from_json("t", cut, &ConfigurationFacts::default()).is_err());
        }
    }
}

#[test]
fn hostile_text_is_kept_and_secrets_are_not() {
    let json = testing::hostile_plan();
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    assert_eq!(review.changes.len(), testing::HOSTILE_TEXTS.len());
    assert!(!format!("{review:?}").contains("topsecret"));
    assert_eq!(review.findings.len(), testing::HOSTILE_TEXTS.len());
    assert_eq!(review.invocations.len(), testing::HOSTILE_TEXTS.len());
}

#[test]
fn invocations_of_actions_are_reviewed() {
    let json = testing::plan_with_actions();
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    assert!(!format!("{review:?}").contains("topsecret"));
    assert_eq!(review.invocations.len(), 30);
    let restore = &review.invocations[0];
    let arguments: Vec<String> =
        restore.arguments.iter().map(|one| format!("{} = {:?}", one.path, one.value)).collect();
    assert_eq!(arguments, ["function_name = Text(\"restore\")", "id = Unknown", "payload.token = Sensitive"]);
    let trigger = restore.trigger.as_ref().unwrap();
    assert_eq!(&*review.change(trigger.change.unwrap()).unwrap().address, "aws_db_instance.main");
    assert_eq!(trigger.event.description(), "after it is created");
    // Instances that trigger no action are in a group of their own.
    let members: Vec<usize> = review.groups.iter().map(|group| group.members.len()).collect();
    assert_eq!(members, [1, 1, 29]);
    assert!(review.groups[1].actions.is_empty());
    assert_eq!(&*review.groups[2].actions[0].action, "action.aws_ssm_command.restart");
    let groups: Vec<(&str, usize)> =
        review.invocation_groups.iter().map(|group| (&*group.action, group.members.len())).collect();
    assert_eq!(groups, [("action.aws_lambda_invoke.restore", 1), ("action.aws_ssm_command.restart", 29)]);
    let first = review.groups[2].members[0];
    let by_change: Vec<&str> = review.invocations_by(first).map(|one| &*one.address).collect();
    assert_eq!(by_change, ["action.aws_ssm_command.restart[0]"]);
}

#[test]
fn plan_that_only_invokes_actions_is_not_empty() {
    let json = testing::requested_invocation();
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    assert!(!review.is_empty());
    assert_eq!(review.invocations[0].trigger, None);
    assert_eq!(&*review.invocations[0].action, "module.a.action.aws_lambda_invoke.warm_up");
}

#[test]
fn unknown_events_and_unplanned_objects_are_kept() {
    let review = review(&json!({"format_version": "1.3", "action_invocations": [
        {"address": "action.a.b", "lifecycle_action_trigger": {
            "triggering_resource_address": "a.c", "action_trigger_event": "AfterLunch"}}
    ]}));
    let trigger = review.invocations[0].trigger.as_ref().unwrap();
    assert_eq!((trigger.change, trigger.event.time()), (None, None));
    assert_eq!(trigger.event.description(), "AfterLunch");
    let text = json!({"format_version": "1.3", "action_invocations": [{"address": "<b>"}]}).to_string();
    let error = Review::from_json("t", text.as_bytes(), &ConfigurationFacts::default()).unwrap_err();
    assert!(error.to_string().contains("invalid address"), "{error}");
}

#[test]
fn results_of_checks_are_counted_and_failures_are_findings() {
    let json = testing::plan_with_actions();
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    assert_eq!(review.checks, CheckCounts { passed: 1, failed: 1, errors: 1, unknown: 1 });
    let findings: Vec<(&str, &str)> =
        review.findings.iter().map(|finding| (finding.title(), &*finding.address)).collect();
    assert_eq!(
        findings,
        [("Check failed", "check.website"), ("Condition of an output could not be evaluated", "output.url"),]
    );
    assert_eq!(*review.findings[0].messages[0], *"The website does not respond.");
}

#[test]
fn members_with_rare_values_are_the_first_variant() {
    let json = testing::plan_with_differing_members();
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    let rules = review.groups.iter().find(|group| &*group.type_name == "aws_security_group_rule").unwrap();
    assert!(!rules.is_uniform());
    let varying: Vec<&str> =
        rules.varying().into_iter().map(|index| rules.attributes[index].path.as_str()).collect();
    assert_eq!(varying, ["cidr"]);
    let variants = review.variants(rules);
    assert_eq!(variants.iter().map(Vec::len).collect::<Vec<_>>(), [1, 29]);
    let odd = review.change(variants[0][0]).unwrap();
    assert_eq!(&*odd.address, testing::ODD_RULE.0);
    // The old IDs of replaced objects make no difference.
    let json = five_plan("cascade");
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    let instances = review.groups.iter().find(|group| &*group.type_name == "aws_instance").unwrap();
    assert!(instances.is_uniform() && instances.varying().len() == 1, "{instances:?}");
    assert_eq!(review.variants(instances).len(), 1);
}

#[test]
fn members_of_a_group_have_equal_reasons_and_causes() {
    let json = testing::plan_with_differing_members();
    let review = Review::from_json("t", json.as_bytes(), &ConfigurationFacts::default()).unwrap();
    let sizes: Vec<(&str, ChangeClass, usize)> =
        review.groups.iter().map(|group| (&*group.type_name, group.class(), group.members.len())).collect();
    assert_eq!(
        sizes,
        [
            ("aws_iam_user", ChangeClass::Destroy, 1),
            ("aws_iam_user", ChangeClass::Destroy, 1),
            ("aws_instance", ChangeClass::Destroy, 3),
            ("aws_security_group_rule", ChangeClass::Update, 30),
            ("aws_instance", ChangeClass::Move, 3),
            ("aws_instance", ChangeClass::Import, 3),
        ]
    );
    let change = |address: &str, provider: &str| {
        json!({"address": address, "provider_name": provider, "change": {
            "actions": ["update"], "before": {"name": 1}, "after": {"name": 2}}})
    };
    let mut document = plan(json!([
        change("a.b[0]", "p"),
        change("a.b[1]", "p"),
        change("a.c[0]", "p"),
        change("a.c[1]", "other"),
        change("a.d[0]", "p"),
        change("a.e[0]", "p"),
        change("x.source[0]", "p"),
        change("x.source[1]", "p"),
    ]));
    document["configuration"] = json!({"root_module": {"resources": [
        {"address": "a.b", "expressions": {"name": {"references": ["x.source.name", "x.source"]}}},
        {"address": "a.d", "expressions": {"name": {"references": ["var.x"]}}},
        {"address": "a.e", "expressions": {"name": {"references": ["var.x"]}}}
    ]}});
    let position = |line| SourcePosition { file: "main.tf".into(), line };
    let facts = ConfigurationFacts {
        positions: [("a.d".to_owned(), position(1)), ("a.e".to_owned(), position(2))].into(),
        ..ConfigurationFacts::default()
    };
    let review = Review::from_json("t", document.to_string().as_bytes(), &facts).unwrap();
    let mut groups: Vec<Vec<&str>> = review
        .groups
        .iter()
        .map(|group| review.members(group).map(|(_, change)| &*change.address).collect())
        .collect();
    groups.sort();
    assert_eq!(
        groups,
        [
            vec!["a.b[0]", "a.b[1]"],
            vec!["a.c[0]"],
            vec!["a.c[1]"],
            vec!["a.d[0]", "a.e[0]"],
            vec!["x.source[0]", "x.source[1]"]
        ]
    );
    for group in &review.groups {
        let first = review.members(group).next().unwrap().1;
        // The causes of a.b[0] and a.b[1] are the changes of the sources with the same keys.
        assert_eq!(group.has_equal_causes, &*first.resource != "a.b", "{}", first.address);
        assert_eq!(group.has_one_source, &*first.resource != "a.d", "{}", first.address);
    }
}

#[test]
fn replacements_name_their_trigger() {
    let change = |address: &str, actions: Value| {
        json!({"address": address, "change": {
            "actions": actions, "before": {"id": "1"}, "after": {"id": "2"}}})
    };
    let mut triggered = change("a.b", json!(["delete", "create"]));
    triggered["action_reason"] = json!("replace_by_triggers");
    let document = plan(json!([triggered, change("a.trigger", json!(["update"]))]));
    let facts = ConfigurationFacts {
        triggers: [("a.b".to_owned(), vec!["a.trigger.id".to_owned(), "a.trigger".to_owned()])].into(),
        ..ConfigurationFacts::default()
    };
    let mut document = document;
    document["configuration"] =
        json!({"root_module": {"resources": [{"address": "a.b"}, {"address": "a.trigger"}]}});
    let review = Review::from_json("t", document.to_string().as_bytes(), &facts).unwrap();
    let found = review.changes.iter().find(|change| &*change.address == "a.b").unwrap();
    let [ReviewCause::Upstream { resource, change: Some(_), through: ReferencePlace::Trigger }] =
        &*found.causes
    else {
        panic!("{:?}", found.causes)
    };
    assert_eq!(&**resource, "a.trigger");
    let trigger = review.dependencies.find("a.trigger").unwrap();
    assert_eq!(review.dependencies.affected(trigger).len(), 1);
}

#[test]
fn calls_of_modules_are_causes_and_edges() {
    let destroyed = |address: &str, reason: &str| {
        json!({"address": address, "action_reason": reason, "change": {
            "actions": ["delete"], "before": {"id": "1"}, "after": null}})
    };
    let mut read = json!({"address": "module.late.data.a.d", "change": {
        "actions": ["read"], "before": null, "after": {}, "after_unknown": {"id": true}}});
    read["action_reason"] = json!("read_because_dependency_pending");
    let mut document = plan(json!([destroyed("module.team[\"x\"].a.b", "delete_because_no_module"), read]));
    document["configuration"] = json!({"root_module": {"module_calls": {
        "team": {
            "for_each_expression": {"references": ["var.teams"]},
            "module": {"resources": [{"address": "a.b"}]}
        },
        "late": {"depends_on": ["module.team"], "module": {"resources": [{"address": "data.a.d"}]}}
    }}});
    let review = review(&document);
    let causes = |address: &str| &*review.changes.iter().find(|one| &*one.address == address).unwrap().causes;
    assert_eq!(
        *causes("module.team[\"x\"].a.b"),
        [ReviewCause::Variable { name: "teams".into(), source: None, through: ReferencePlace::Repetition }]
    );
    assert_eq!(
        *causes("module.late.data.a.d"),
        [ReviewCause::Upstream {
            resource: "module.team".into(),
            change: None,
            through: ReferencePlace::DependsOn
        }]
    );
    let team = review.dependencies.find("module.team.a.b").unwrap();
    let late = review.dependencies.find("module.late.data.a.d").unwrap();
    assert_eq!(review.dependencies.affected(team), [late]);
}

#[test]
fn change_of_any_instance_is_a_cause() {
    let change = |address: String, after: i32| {
        json!({"address": address, "change": {
            "actions": ["update"], "before": {"name": 1, "tag": 1}, "after": {"name": after, "tag": 2}}})
    };
    let mut changes: Vec<Value> =
        (0..100).map(|index| change(format!("a.many[{index}]"), 1 + i32::from(index == 99))).collect();
    changes.push(change("a.user".to_owned(), 2));
    let mut document = plan(json!(changes));
    document["configuration"] = json!({"root_module": {"resources": [
        {"address": "a.user", "expressions": {"name": {"references": ["a.many[99].name", "a.many[99]", "a.many"]}}}
    ]}});
    let review = review(&document);
    let user = review.changes.iter().find(|change| &*change.address == "a.user").unwrap();
    assert!(user.is_consequence(), "{:?}", user.causes);
}

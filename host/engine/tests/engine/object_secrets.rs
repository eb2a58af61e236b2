//! Sensitive values of objects that are withheld from a configuration: no part of a plan, and no
//! value that is passed to a plugin for another object, depends on them.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use wardian_engine::{Mode, ObjectSecrets, Plan, PlanOptions, plan_file};
use wardian_state::encode_state;
use wardian_value::Value;

use crate::fixture::Fixture;

/// Three secrets with different lengths, beginnings and types of content.
const SECRETS: [&str; 3] = ["hunter22-a", "Another, with \\\"quotes\\\"", "7"];

/// Returns a fixture with an object whose `secret` is marked by the schema and whose `label` is
/// marked by the state.
fn applied(secret: &str) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.apply(&format!(
        r#"
        resource "memory_thing" "p" {{
          name   = "p"
          secret = "{secret}"
          label  = sensitive("label-{secret}")
        }}
        output "old" {{
          value     = memory_thing.p.secret
          sensitive = true
        }}
        "#
    ));
    fixture.secrets = ObjectSecrets::Withheld;
    fixture
}

const P: &str = r#"resource "memory_thing" "p" {
  name = "p"
  lifecycle {
    ignore_changes = [secret, label]
  }
}
"#;

/// Returns the complete content of a plan and its diagnostics, regardless of marks.
fn everything(plan: Option<&Plan>, diagnostics: &str) -> String {
    let mut all = diagnostics.to_owned();
    let Some(plan) = plan else { return all };
    for change in plan.changes.iter().chain(&plan.drift) {
        let (before, after) = (change.before.unmark_deep(), change.after.unmark_deep());
        let private = &change.planned_private;
        let _ = writeln!(all, "{} {:?} {before:?} {after:?} {private:?}", change.address, change.action);
        let _ = writeln!(all, "{:?} {:?} {:?}", change.reason, change.importing, change.generated_config);
    }
    for (name, output) in &plan.outputs {
        let _ = writeln!(all, "{name} {:?} {:?} {:?}", output.action, output.before, output.after);
    }
    let _ = writeln!(all, "{:?} {:?} {:?}", plan.checks, plan.relevant_attributes, plan.function_results);
    for state in [&plan.prior_state, &plan.previous_state] {
        let text = encode_state(state).unwrap();
        let lines = text.lines().filter(|line| !line.contains("lineage"));
        lines.for_each(|line| all.extend([line, "\n"]));
    }
    all
}

/// Returns the output of a plan, and the configurations that plugins received for it.
fn observed(fixture: &Fixture, configuration: &str, options: &PlanOptions) -> String {
    let received = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let received = Arc::clone(&received);
        move |value: &Value| received.lock().unwrap().push(format!("{what} {value:?}"))
    };
    let (plan_config, validated, looked_up) = (note("plan"), note("validate"), note("read"));
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(move |request, _| {
            if request.prior_state.is_null() {
                plan_config(&request.config);
            }
        }));
        twist.validate = Some(Box::new(move |request, _| {
            if request.config.get("name") != Some(&Value::string("p")) {
                validated(&request.config);
            }
        }));
        twist.look_up = Some(Box::new(move |request, _| looked_up(&request.config)));
    });
    let (plan, diagnostics) = fixture.plan_with(configuration, &[], options);
    let mut received = received.lock().unwrap().clone();
    received.sort();
    everything(plan.as_ref(), &diagnostics.to_string()) + &received.join("\n")
}

/// Checks that a plan does not depend on the secret.
fn assert_independent(configuration: &str, options: &PlanOptions) {
    let seen = SECRETS.map(|secret| {
        let seen = observed(&applied(secret), configuration, options);
        let shown = secret.replace('\\', "");
        assert!(shown.len() < 4 || !seen.contains(&shown), "{configuration}\n{seen}");
        seen
    });
    assert_eq!(seen[0], seen[1], "{configuration}");
    assert_eq!(seen[0], seen[2], "{configuration}");
}

#[test]
fn no_expression_reveals_a_secret() {
    let (mut tried, mut revealing) = (0, 0);
    for attribute in ["secret", "label"] {
        let s = format!("memory_thing.p.{attribute}");
        let n = format!("nonsensitive({s})");
        let blocks = [
            format!("output \"x\" {{ value = {n} }}"),
            format!("output \"x\" {{ value = [for c in [{n}] : upper(c)] }}"),
            format!("output \"x\" {{ value = startswith({n}, \"h\") ? \"yes\" : \"no\" }}"),
            format!("output \"x\" {{ value = can(regex(\"^h\", {n})) }}"),
            format!("output \"x\" {{ value = try(tonumber({n}), \"no number\") }}"),
            format!("output \"x\" {{ value = length({n}) }}"),
            format!("output \"x\" {{ value = base64encode({n}) }}"),
            format!("output \"x\" {{ value = nonsensitive(sha256({s})) }}"),
            format!("output \"x\" {{ value = nonsensitive(\"a ${{{s}}} b\") }}"),
            format!("output \"x\" {{ value = regex(\"^h\", {n}) }}"),
            format!("output \"x\" {{\n value = regex(\"^h\", {s})\n sensitive = true\n}}"),
            format!("output \"x\" {{\n value = tonumber({s})\n sensitive = true\n}}"),
            format!("output \"x\" {{ value = issensitive({s}) }}"),
            format!("output \"x\" {{ value = {n} == null }}"),
            "output \"x\" { value = nonsensitive(jsonencode(memory_thing.p)) }".to_owned(),
            "output \"x\" { value = [for k, v in memory_thing.p : try(nonsensitive(v), 0)] }".to_owned(),
            format!("output \"x\" {{ value = {{ \"hunter22-a\" = 1 }}[{n}] }}"),
            format!("output \"x\" {{ value = templatestring(\"$${{v}}\", {{ v = {n} }}) }}"),
            format!(
                "output \"x\" {{\n value = 1\n precondition {{\n condition = startswith({n}, \"h\")\n error_message = \"it is ${{{n}}}\"\n }}\n}}"
            ),
            format!(
                "check \"c\" {{\n assert {{\n condition = startswith({n}, \"h\")\n error_message = \"it is ${{{n}}}\"\n }}\n}}"
            ),
            format!("check \"c\" {{\n assert {{\n condition = {n} == \"7\"\n error_message = {n}\n }}\n}}"),
            format!(
                "check \"c\" {{\n data \"memory_lookup\" \"d\" {{ name = {n} }}\n assert {{\n condition = data.memory_lookup.d.found == \"\"\n error_message = \"x\"\n }}\n}}"
            ),
            format!("resource \"memory_thing\" \"q\" {{ name = {n} }}"),
            format!("resource \"memory_thing\" \"q\" {{ name = \"x-${{{s}}}\" }}"),
            format!("resource \"memory_thing\" \"q\" {{\n name = \"q\"\n password = {s}\n}}"),
            format!("resource \"memory_thing\" \"q\" {{\n name = \"q\"\n count = length({n})\n}}"),
            format!("resource \"memory_thing\" \"q\" {{\n name = \"q\"\n for_each = toset([{n}])\n}}"),
            format!(
                "resource \"memory_thing\" \"q\" {{\n name = \"q\"\n lifecycle {{\n precondition {{\n condition = {n} != \"7\"\n error_message = {n}\n }}\n }}\n}}"
            ),
            format!(
                "resource \"memory_thing\" \"q\" {{\n name = \"q\"\n lifecycle {{\n replace_triggered_by = [{s}]\n }}\n}}"
            ),
            format!(
                "data \"memory_lookup\" \"d\" {{ name = {n} }}\noutput \"x\" {{ value = data.memory_lookup.d }}"
            ),
            format!(
                "provider \"memory\" {{\n alias = \"other\"\n region = {n}\n}}\nresource \"memory_thing\" \"q\" {{\n provider = memory.other\n name = \"q\"\n}}"
            ),
            format!("locals {{ a = {n} }}\noutput \"x\" {{ value = local.a }}"),
            format!(
                "import {{\n to = memory_thing.q\n id = {n}\n}}\nresource \"memory_thing\" \"q\" {{ name = \"q\" }}"
            ),
            "output \"old\" { value = \"hunter22-a\" }".to_owned(),
            "output \"old\" { value = 1 }".to_owned(),
        ];
        for block in &blocks {
            let configuration = format!("{P}\n{block}\n");
            assert_independent(&configuration, &PlanOptions::default());
            let [first, second] = [SECRETS[0], SECRETS[2]].map(|secret| {
                let mut fixture = applied(secret);
                fixture.secrets = ObjectSecrets::Available;
                observed(&fixture, &configuration, &PlanOptions::default())
            });
            revealing += usize::from(first != second);
            tried += 1;
        }
    }
    assert!(revealing > tried * 3 / 4, "only {revealing} of {tried} reveal an available secret");
}

#[test]
fn resource_block_reveals_no_secret_of_its_object() {
    let own = |rest: &str| format!("resource \"memory_thing\" \"p\" {{\n name = \"p\"\n{rest}\n}}");
    let configurations = [
        own(""),
        own("lifecycle {\n ignore_changes = all\n}"),
        own("lifecycle {\n ignore_changes = [label]\n}"),
        own("fixed = \"replaced\""),
        own("secret = \"guess-of-another-length\""),
        own("label = \"public\""),
        own("lifecycle {\n postcondition {\n condition = nonsensitive(self.secret) == \"7\"\n error_message = nonsensitive(self.label)\n }\n}"),
        own("lifecycle {\n postcondition {\n condition = length(nonsensitive(self.label)) == 7\n error_message = \"x\"\n }\n}"),
        "removed {\n from = memory_thing.p\n lifecycle {\n destroy = false\n }\n}".to_owned(),
        "removed {\n from = memory_thing.p\n}".to_owned(),
        String::new(),
        "resource \"memory_thing\" \"q\" { name = \"p\" }\nmoved {\n from = memory_thing.p\n to = memory_thing.q\n}\noutput \"x\" { value = nonsensitive(memory_thing.q.label) }".to_owned(),
        "resource \"memory_gadget\" \"q\" { name = \"p\" }\nmoved {\n from = memory_thing.p\n to = memory_gadget.q\n}".to_owned(),
        "moved {\n from = memory_thing.p\n to = memory_gadget.q\n}".to_owned(),
    ];
    let modes = [Mode::Normal, Mode::Destroy, Mode::RefreshOnly];
    for configuration in &configurations {
        for mode in modes {
            for refresh in [true, false] {
                let options = PlanOptions { mode, refresh, ..PlanOptions::default() };
                assert_independent(configuration, &options);
            }
        }
    }
}

#[test]
fn drift_does_not_reveal_secrets() {
    let drifted = |secret: &str| {
        let fixture = applied(secret);
        let new = format!("new-{secret}");
        fixture.twist(|twist| {
            twist.read = Some(Box::new(move |_, answer| {
                let object = answer.new_state.take().unwrap();
                answer.new_state = Some(object.with_attribute("label", Value::string(&*new)));
            }));
        });
        let (plan, diagnostics) = fixture.plan_with(P, &[], &PlanOptions::default());
        let plan = plan.unwrap();
        assert_eq!(plan.drift.len(), 1, "the drift itself is shown");
        everything(Some(&plan), &diagnostics.to_string())
    };
    assert_eq!(drifted(SECRETS[0]), drifted(SECRETS[2]));
}

/// Without withholding, the plan depends on the secret. This shows that the preceding tests would
/// detect a leak.
#[test]
fn secrets_are_used_only_if_available() {
    let mut fixture = applied(SECRETS[0]);
    let same = format!(
        "resource \"memory_thing\" \"p\" {{\n name = \"p\"\n secret = \"{0}\"\n label = sensitive(\"label-{0}\")\n}}",
        SECRETS[0]
    );
    let configuration = format!("{same}\noutput \"x\" {{ value = nonsensitive(memory_thing.p.secret) }}");
    let (plan, _) = fixture.plan_with(&configuration, &[], &PlanOptions::default());
    let plan = plan.unwrap();
    assert_eq!(plan.secrets, ObjectSecrets::Withheld);
    assert!(plan.changes.iter().all(|change| !change.is_effective()), "other values are planned as usual");
    assert_eq!(plan.changes[0].after.get("name"), Some(&Value::string("p")));
    fixture.secrets = ObjectSecrets::Available;
    let seen = observed(&fixture, &configuration, &PlanOptions::default());
    assert!(seen.contains(SECRETS[0]), "{seen}");
}

#[test]
fn saved_plan_records_that_secrets_are_withheld() {
    let fixture = applied(SECRETS[0]);
    let plan = fixture.plan(P);
    let bytes = plan_file::encode(&plan, &plan_file::PlanOrigin::default()).unwrap();
    let file = plan_file::decode(&bytes).unwrap();
    assert_eq!(file.previous_state().lineage, fixture.state.lineage);
    assert_eq!(file.previous_state().resources().len(), 1, "a reader loads the providers of all changes");
    let run = fixture.run_with_modules(P, &[]).unwrap();
    let schemas = fixture.block_on(run.schemas(None)).unwrap();
    let read = file.into_plan(|provider| schemas.provider(&provider.provider)).unwrap();
    assert_eq!(read.secrets, ObjectSecrets::Withheld);
    assert_eq!(read.previous_state.instances().count(), 0);
    let read = Plan { previous_state: plan.previous_state.clone(), ..read };
    assert_eq!(everything(Some(&read), ""), everything(Some(&plan), ""));
}

#[test]
fn stored_object_is_not_passed_to_another_provider() {
    let other = r#"
        terraform {
          required_providers {
            memory   = { source = "example.com/test/memory" }
            stranger = { source = "example.com/stranger/memory" }
          }
        }
    "#;
    let mine = "resource \"memory_thing\" \"p\" {\n provider = stranger\n name = \"p\"\n}";
    let moved = "resource \"memory_thing\" \"q\" {\n provider = stranger\n name = \"p\"\n}\nmoved {\n from = memory_thing.p\n to = memory_thing.q\n}";
    let gadget = "resource \"memory_gadget\" \"q\" {\n provider = stranger\n name = \"p\"\n}\nmoved {\n from = memory_thing.p\n to = memory_gadget.q\n}";
    let counted = "resource \"memory_thing\" \"p\" {\n provider = stranger\n name = \"p\"\n count = 1\n}";
    for (text, summary) in [
        (mine, "Object of another provider"),
        (counted, "Move to another resource type or provider"),
        (moved, "Move to another resource type or provider"),
        (gadget, "Move to another resource type or provider"),
    ] {
        let configuration = format!("{other}\n{text}");
        for mode in [Mode::Normal, Mode::Destroy, Mode::RefreshOnly] {
            let fixture = applied(SECRETS[0]);
            let received = Arc::new(Mutex::new(0));
            let count = Arc::clone(&received);
            fixture.twist(|twist| twist.upgrade = Some(Box::new(move |_, _| *count.lock().unwrap() += 1)));
            let options = PlanOptions { mode, ..PlanOptions::default() };
            let (plan, diagnostics) = fixture.plan_with(&configuration, &[], &options);
            assert!(plan.is_none() && diagnostics.to_string().contains(summary), "{text}: {diagnostics}");
            assert_eq!(*received.lock().unwrap(), 0, "{text}");
        }
    }
}

//! The sections around the changes: headers, symbols, summary, outputs, notes.

use super::*;

fn id(text: &str) -> Value {
    Value::object([("id", Value::string(text))])
}

fn none() -> Value {
    Value::null(terraform_data().implied_type().clone())
}

fn text(plan: &Plan) -> String {
    render_plan(plan, PlanNote::None, RenderOptions::default()).into_string()
}

fn with_changes(changes: Vec<ResourceChange>) -> Plan {
    Plan { changes, ..empty_plan(Mode::Normal) }
}

fn output(action: Action, before: Value, after: Value) -> OutputChange {
    OutputChange { action, before, after, sensitive: false }
}

fn null() -> Value {
    Value::null(Type::Dynamic)
}

#[test]
fn whole_plan_is_rendered() {
    let deletion = ResourceChange {
        reason: Some(ActionReason::DeleteBecauseCountIndex),
        ..change("terraform_data.b[1]", Action::Delete, id("old"), none(), terraform_data())
    };
    let mut plan = with_changes(vec![
        change("terraform_data.a", Action::Create, none(), id("new"), terraform_data()),
        deletion,
        change("terraform_data.c", Action::NoOp, id("same"), id("same"), terraform_data()),
    ]);
    plan.outputs = BTreeMap::from([
        ("gone".into(), output(Action::Delete, "was".into(), null())),
        ("long_name".into(), output(Action::Update, 1.into(), 2.into())),
        ("same".into(), output(Action::NoOp, 1.into(), 1.into())),
    ]);
    let note = PlanNote::Saved { path: "p", apply_command: "wardian apply \"p\"" };
    let expected = "
The selected providers produced the following execution plan. Each action is
marked with a symbol:
  + create
  - destroy

Wardian will perform the following actions:

  # terraform_data.a will be created
  + resource \"terraform_data\" \"a\" {
      + id = \"new\"
    }

  # terraform_data.b[1] will be destroyed
  # (because index [1] is out of range for count)
  - resource \"terraform_data\" \"b\" {
      - id = \"old\" -> null
    }

Plan: 1 to add, 0 to change, 1 to destroy.

Changes to Outputs:
  - gone      = \"was\" -> null
  ~ long_name = 1 -> 2

─────────────────────────────────────────────────────────────────────────────

Saved the plan to: p

To perform exactly these actions, run:
    wardian apply \"p\"
";
    assert_eq!(render_plan(&plan, note, RenderOptions::default()).as_str(), expected);
}

#[test]
fn plan_colors_match_terraform() {
    let plan = with_changes(vec![change(
        "terraform_data.a",
        Action::CreateThenDelete,
        id("old"),
        Value::object([("id", Value::unknown(Type::String)), ("input", 1.into())]),
        terraform_data(),
    )]);
    let colored = render_plan(
        &plan,
        PlanNote::NotSaved,
        RenderOptions { color: true, width: 40, ..RenderOptions::default() },
    )
    .into_string();
    let shown = colored.replace('\u{1b}', "^");
    for part in [
        "^[32m+^[0m/^[31m-^[0m create replacement and then destroy\n",
        "^[1m  # terraform_data.a^[0m must be ^[1m^[31mreplaced^[0m\n",
        "^[32m+^[0m/^[31m-^[0m resource \"terraform_data\" \"a\" {\n",
        "      ^[33m~^[0m id    = \"old\" -> (known after apply)\n",
        "      ^[32m+^[0m input = 1\n",
        "\n^[1mPlan:^[0m 1 to add, 0 to change, 1 to destroy.\n",
        "\n^[90m───────────────────────────────────────^[0m\n",
    ] {
        assert!(shown.contains(part), "{part}\nin\n{shown}");
    }
}

#[test]
fn missing_changes_are_explained_in_every_mode() {
    for (mode, headline) in [
        (Mode::Normal, "\nNo changes. Your infrastructure matches the configuration.\n\n"),
        (Mode::RefreshOnly, "\nNo changes. Your infrastructure still matches the configuration.\n\n"),
        (Mode::Destroy, "\nNo changes. No objects need to be destroyed.\n\n"),
    ] {
        let text = render_plan(&empty_plan(mode), PlanNote::NotSaved, RenderOptions::default()).into_string();
        assert!(text.starts_with(headline), "{text}");
        assert!(text.ends_with(".\n") && !text.contains("Note"), "{text}");
    }
}

#[test]
fn errored_plan_mentions_the_error() {
    let errored = Plan { errored: true, ..empty_plan(Mode::Normal) };
    assert!(text(&errored).starts_with("\nPlanning failed. "));
    let changes = vec![change("terraform_data.a", Action::Create, none(), id("new"), terraform_data())];
    let errored = Plan { errored: true, ..with_changes(changes) };
    assert!(text(&errored).contains("planned the following actions, but then encountered a problem:\n"));
}

#[test]
fn refresh_only_plan_shows_drift() {
    let mut plan = empty_plan(Mode::RefreshOnly);
    let (input, was) = (|n: i64| Value::object([("id", "x".into()), ("input", n.into())]), id("gone"));
    plan.drift = vec![
        change("terraform_data.a", Action::Update, input(1), input(2), terraform_data()),
        change("terraform_data.b", Action::Delete, was, none(), terraform_data()),
    ];
    let expected = "
Note: Objects have changed outside of Wardian

Since the last apply, the following objects were changed outside of Wardian:

  # terraform_data.a has changed
  ~ resource \"terraform_data\" \"a\" {
        id    = \"x\"
      ~ input = 1 -> 2
    }

  # terraform_data.b has been deleted
  - resource \"terraform_data\" \"b\" {
      - id = \"gone\" -> null
    }


This is a refresh-only plan: it does not undo these changes. Apply it to
record them in the state without changing any object.
";
    assert_eq!(text(&plan), expected);
}

#[test]
fn plan_with_only_outputs_explains_apply() {
    let mut plan = empty_plan(Mode::Normal);
    let sensitive = OutputChange { sensitive: true, ..output(Action::Update, "a".into(), "b".into()) };
    plan.outputs = BTreeMap::from([
        ("a".into(), output(Action::Create, null(), Value::tuple([1.into()]))),
        ("s".into(), sensitive),
        ("u".into(), output(Action::Update, 1.into(), Value::unknown(Type::Number))),
    ]);
    let expected = "
Changes to Outputs:
  + a = [
      + 1,
    ]
  ~ s = (sensitive value)
  ~ u = 1 -> (known after apply)

Applying this plan stores the new output values in the state. No
infrastructure is changed.
";
    assert_eq!(text(&plan), expected);
}

#[test]
fn outputs_are_rendered_as_in_terraform() {
    let recorded: Json = serde_json::from_str(include_str!("../../snapshots/output_changes.json")).unwrap();
    let mut plan = empty_plan(Mode::Normal);
    for (name, case) in recorded["changes"].as_object().unwrap() {
        let action = match case["action"].as_str().unwrap() {
            "no-op" => Action::NoOp,
            "create" => Action::Create,
            "delete" => Action::Delete,
            _ => Action::Update,
        };
        let change = OutputChange {
            action,
            before: value_of(&case["before"], &Json::Null, &Json::Null),
            after: value_of(&case["after"], &case["after_unknown"], &Json::Null),
            sensitive: case["sensitive"] == true,
        };
        plan.outputs.insert(name.into(), change);
    }
    let text = text(&plan);
    let (outputs, _) = text.split_once("\nApplying this plan").unwrap();
    assert_eq!(outputs, recorded["text"].as_str().unwrap());
}

/// The expected texts are the output of Terraform 1.11.4.
#[test]
fn every_action_reason_is_explained_in_comment() {
    let cases = [
        (
            "a",
            Action::DeleteThenCreate,
            ActionReason::ReplaceBecauseTainted,
            "a is tainted, so must be replaced",
        ),
        ("a", Action::DeleteThenCreate, ActionReason::ReplaceBecauseCannotUpdate, "a must be replaced"),
        ("a", Action::DeleteThenCreate, ActionReason::ReplaceByRequest, "a will be replaced, as requested"),
        (
            "a",
            Action::DeleteThenCreate,
            ActionReason::ReplaceByTriggers,
            "a will be replaced due to changes in replace_triggered_by",
        ),
        (
            "a",
            Action::Delete,
            ActionReason::DeleteBecauseNoResourceConfig,
            "a will be destroyed\n  # (because terraform_data.a is not in configuration)",
        ),
        (
            "a",
            Action::Delete,
            ActionReason::DeleteBecauseWrongRepetition,
            "a will be destroyed\n  # (because resource uses count or for_each)",
        ),
        (
            "a[0]",
            Action::Delete,
            ActionReason::DeleteBecauseWrongRepetition,
            "a[0] will be destroyed\n  # (because resource does not use count)",
        ),
        (
            "a[\"k\"]",
            Action::Delete,
            ActionReason::DeleteBecauseWrongRepetition,
            "a[\"k\"] will be destroyed\n  # (because resource does not use for_each)",
        ),
        (
            "a[1]",
            Action::Delete,
            ActionReason::DeleteBecauseCountIndex,
            "a[1] will be destroyed\n  # (because index [1] is out of range for count)",
        ),
        (
            "a[\"k\"]",
            Action::Delete,
            ActionReason::DeleteBecauseEachKey,
            "a[\"k\"] will be destroyed\n  # (because key [\"k\"] is not in for_each map)",
        ),
        (
            "a",
            Action::Read,
            ActionReason::ReadBecauseConfigUnknown,
            "a will be read during apply\n  # (config refers to values not yet known)",
        ),
        (
            "a",
            Action::Read,
            ActionReason::ReadBecauseDependencyPending,
            "a will be read during apply\n  # (depends on a resource or a module with changes pending)",
        ),
    ];
    for (name, action, reason, expected) in cases {
        let data = if action == Action::Read { "data." } else { "" };
        let change = ResourceChange {
            reason: Some(reason),
            ..change(&format!("{data}terraform_data.{name}"), action, id("x"), id("x"), terraform_data())
        };
        let text = rendered(&change);
        let expected = format!("  # {data}terraform_data.{expected}\n");
        assert!(text.starts_with(&expected), "{expected}\n{text}");
    }
    let gone = ResourceChange {
        reason: Some(ActionReason::DeleteBecauseNoModule),
        ..change("module.m[\"k\"].terraform_data.a", Action::Delete, id("x"), none(), terraform_data())
    };
    assert!(rendered(&gone).contains("\n  # (because module.m[\"k\"] is not in configuration)\n"));
}

#[test]
fn deposed_and_moved_objects_are_marked() {
    let deposed = ResourceChange {
        deposed: Some("00c0ffee".into()),
        ..change("terraform_data.a", Action::Delete, id("x"), none(), terraform_data())
    };
    assert!(rendered(&deposed).starts_with(
        "  # terraform_data.a (deposed object 00c0ffee) will be destroyed\n  \
         # (left over from a partially-failed replacement of this instance)\n"
    ));
    let moved = ResourceChange {
        previous_address: Some("terraform_data.old".parse().unwrap()),
        ..change("terraform_data.new", Action::NoOp, id("x"), id("x"), terraform_data())
    };
    let text = text(&with_changes(vec![moved]));
    assert!(
        text.contains("\n  # terraform_data.old has moved to terraform_data.new\n    resource "),
        "{text}"
    );
    assert!(text.ends_with("\nPlan: 0 to add, 0 to change, 0 to destroy.\n"), "{text}");
}

#[test]
fn forgotten_object_is_shown_unchanged() {
    let forgotten = ResourceChange {
        reason: Some(ActionReason::DeleteBecauseNoResourceConfig),
        previous_address: Some("terraform_data.old".parse().unwrap()),
        ..change("terraform_data.a", Action::Forget, id("x"), none(), terraform_data())
    };
    let expected = " # terraform_data.a will no longer be managed by Wardian, but will not be destroyed
 # (destroy = false is set in the configuration)
  # (moved from terraform_data.old)
 . resource \"terraform_data\" \"a\" {
        id = \"x\"
    }
";
    assert_eq!(rendered(&forgotten), expected);
    let deposed = ResourceChange { deposed: Some("00c0ffee".into()), previous_address: None, ..forgotten };
    assert!(rendered(&deposed).starts_with(
        " # terraform_data.a (deposed object 00c0ffee) will be removed from the state, but will not be \
         destroyed\n \
         # (left over from a partially-failed replacement of this instance)\n \
         # (destroy = false is set in the configuration)\n . resource"
    ));
    let text = text(&with_changes(vec![deposed]));
    assert!(!text.contains("following execution plan"), "{text}");
    assert!(text.ends_with("\nPlan: 0 to add, 0 to change, 0 to destroy.\n"), "{text}");
}

#[test]
fn moved_and_removed_object_names_previous_address() {
    let lost = ResourceChange {
        reason: Some(ActionReason::DeleteBecauseNoMoveTarget),
        previous_address: Some("terraform_data.old".parse().unwrap()),
        ..change("terraform_data.new", Action::Delete, id("x"), none(), terraform_data())
    };
    assert!(rendered(&lost).starts_with(
        "  # terraform_data.new will be destroyed\n  \
         # (because terraform_data.old was moved to terraform_data.new, which is not in configuration)\n  \
         # (moved from terraform_data.old)\n"
    ));
}

#[test]
fn newly_sensitive_value_causes_warning() {
    let object = |input: Value| Value::object([("id", "x".into()), ("input", input)]);
    let secret = || Value::string("s").with_marks(Marks::SENSITIVE);
    let becoming =
        change("terraform_data.a", Action::Update, object("s".into()), object(secret()), terraform_data());
    let expected = "  # terraform_data.a will be updated in-place
  ~ resource \"terraform_data\" \"a\" {
        id    = \"x\"
      # Warning: once this is applied, the value is sensitive and will
      # no longer be shown. The value itself stays the same.
      ~ input = (sensitive value)
    }
";
    assert_eq!(rendered(&becoming), expected);
}

/// Only changes that affected the plan are shown, and only if the plan has changes.
#[test]
fn normal_plan_shows_only_relevant_drift() {
    use wardian_engine::RelevantAttribute;
    let object =
        |n: i64, m: i64| Value::object([("id", "x".into()), ("input", n.into()), ("output", m.into())]);
    let relevant =
        |resource: &str, path: Path| RelevantAttribute { resource: resource.parse().unwrap(), path };
    let was = || Value::object([("id", "gone".into()), ("input", 1.into())]);
    let mut plan =
        with_changes(vec![change("terraform_data.new", Action::Create, none(), id("new"), terraform_data())]);
    plan.drift = vec![
        change("terraform_data.a", Action::Update, object(1, 1), object(2, 2), terraform_data()),
        change("terraform_data.b", Action::Delete, was(), none(), terraform_data()),
        change("terraform_data.c", Action::Update, object(1, 1), object(2, 1), terraform_data()),
        change("terraform_data.d", Action::Update, object(1, 1), object(2, 1), terraform_data()),
    ];
    plan.relevant_attributes = vec![
        relevant("terraform_data.a", Path::root().attribute("output")),
        relevant("terraform_data.b", Path::root().attribute("id")),
        relevant("terraform_data.c", Path::root().attribute("output")),
    ];
    let expected = "
Note: Objects have changed outside of Wardian

Since the last apply, the following changes were made outside of Wardian,
which may have affected this plan:

  # terraform_data.a has changed
  ~ resource \"terraform_data\" \"a\" {
        id     = \"x\"
      ~ output = 1 -> 2
        # (1 unchanged attribute hidden)
    }

  # terraform_data.b has been deleted
  - resource \"terraform_data\" \"b\" {
      - id    = \"gone\" -> null
        # (1 unchanged attribute hidden)
    }


Unless the configuration has the same values or ignores them (ignore_changes),
the actions below may undo these changes or respond to them.
";
    let told = text(&plan);
    assert!(told.starts_with(expected), "{told}");
    plan.changes.clear();
    assert!(!text(&plan).contains("outside"), "{}", text(&plan));
}

fn importing(action: Action, before: Value, after: Value) -> ResourceChange {
    ResourceChange {
        importing: Some(Importing::Id("i-1".into())),
        ..change("terraform_data.a", action, before, after, terraform_data())
    }
}

#[test]
fn imported_object_is_shown_in_full() {
    let whole = Value::object([("id", "i-1".into()), ("input", "x".into()), ("output", Value::from("x"))]);
    let change = ResourceChange {
        generated_config: Some("resource \"terraform_data\" \"a\" {\n}".to_owned()),
        ..importing(Action::NoOp, whole.clone(), whole)
    };
    let expected = "
Wardian will perform the following actions:

  # terraform_data.a will be imported
  # (config will be generated)
    resource \"terraform_data\" \"a\" {
        id     = \"i-1\"
        input  = \"x\"
        output = \"x\"
    }

Plan: 1 to import, 0 to add, 0 to change, 0 to destroy.
";
    assert_eq!(text(&with_changes(vec![change])), expected);
}

#[test]
fn import_with_update_is_marked() {
    let header = |action| {
        let shown = text(&with_changes(vec![importing(action, id("i-1"), id("i-2"))]));
        shown.lines().filter(|line| line.starts_with("  # ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        header(Action::Update),
        ["  # terraform_data.a will be updated in-place", "  # (imported from \"i-1\")"]
    );
    assert_eq!(
        header(Action::DeleteThenCreate),
        [
            "  # terraform_data.a must be replaced",
            "  # (imported from \"i-1\")",
            "  # Warning: this will destroy the imported resource",
        ]
    );
}

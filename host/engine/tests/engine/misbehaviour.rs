//! Invalid provider responses: the diagnostics and the resulting state.

use std::sync::{Arc, Mutex};

use wardian_engine::Action;
use wardian_plugin::*;
use wardian_value::{Path, Type, Value};

use crate::fixture::{Fixture, actions};
use crate::provider::Twist;

const THING: &str = "resource \"memory_thing\" \"a\" {\n name = \"a\"\n}";
const CHANGED: &str = "resource \"memory_thing\" \"a\" {\n name = \"a\"\n size = 2\n}";
const RENAMED: &str = "resource \"memory_thing\" \"a\" {\n name = \"b\"\n}";
const LOOKUP: &str = "data \"memory_lookup\" \"a\" {\n name = \"a\"\n}";

fn failure() -> PluginDiagnostics {
    vec![PluginDiagnostic::error("It did not work", "The thing broke.")]
}

fn with(object: Option<&Value>, name: &str, value: Value) -> Option<Value> {
    object.map(|object| object.with_attribute(name, value))
}

fn without(object: Option<&Value>, name: &str) -> Option<Value> {
    let parts = object?.as_mapping()?;
    Some(Value::object(parts.iter().filter(|(n, _)| &***n != name).map(|(n, v)| (n.clone(), v.clone()))))
}

fn null(object: Option<&Value>) -> Option<Value> {
    object.map(|object| Value::null(object.ty().clone()))
}

/// Checks that an error names the provider and the problem.
fn assert_names_provider(errors: &str, expected: &[&str]) {
    for part in expected.iter().chain(&["example.com/test/memory", "bug in the provider"]) {
        assert!(errors.contains(part), "{part:?} is not in: {errors}");
    }
}

#[test]
fn invalid_create_plans_are_rejected() {
    type Row = (&'static str, fn(&mut PlanResponse));
    let rows: [Row; 8] = [
        ("returned no planned object", |a| a.planned_state = None),
        ("is planned to be absent", |a| a.planned_state = null(a.planned_state.as_ref())),
        ("of type string, not object", |a| a.planned_state = Some(Value::string("a"))),
        (".label, the attribute is missing", |a| {
            a.planned_state = without(a.planned_state.as_ref(), "label");
        }),
        (".size, it is of type string, not number", |a| {
            a.planned_state = with(a.planned_state.as_ref(), "size", Value::string("1"));
        }),
        (".more, the schema has no such attribute", |a| {
            let planned = a.planned_state.as_ref().unwrap();
            let parts = planned.as_mapping().unwrap().iter().map(|(n, v)| (n.clone(), v.clone()));
            a.planned_state = Some(Value::object(parts.chain([("more".into(), Value::bool(true))])));
        }),
        ("deferred the change", |a| a.deferred = Some(DeferredReason::AbsentPrerequisite)),
        (".size: cty unknown", |a| {
            a.planned_state = with(a.planned_state.as_ref(), "size", Value::unknown(Type::Number));
        }),
    ];
    for (expected, change) in rows {
        let fixture = Fixture::new();
        fixture.twist(|twist| twist.plan = Some(Box::new(move |_, answer| change(answer))));
        let errors = fixture.plan_errors(THING);
        let expected = expected.strip_suffix("cty unknown").unwrap_or(expected);
        assert_names_provider(&errors, &["Provider ", "memory_thing.a", expected]);
    }
}

#[test]
fn planned_update_must_match_configuration_or_prior_state() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|_, a| {
            a.planned_state = with(a.planned_state.as_ref(), "name", Value::string("other"));
        }));
    });
    let errors = fixture.plan_errors(RENAMED);
    assert_names_provider(
        &errors,
        &["Provider produced invalid plan", ".name", "\"b\"", "the prior value is \"a\""],
    );
    // A provider plans the prior value if the difference has no effect.
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|q, a| a.planned_state = Some(q.prior_state.clone())));
    });
    assert_eq!(actions(&fixture.plan(RENAMED)), []);
}

#[test]
fn planned_destruction_must_be_null() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.capabilities.plan_destroy = true);
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|q, a| a.planned_state = Some(q.prior_state.clone())));
    });
    assert_names_provider(&fixture.plan_errors(""), &["invalid plan", "non-null destroy value"]);
}

#[test]
fn replace_path_applies_only_if_value_changes() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    let name = || Path::root().attribute("name");
    fixture.twist(move |twist| {
        twist.plan = Some(Box::new(move |_, a| a.requires_replace = vec![name()]));
    });
    assert_eq!(actions(&fixture.plan(CHANGED)), [("memory_thing.a".to_owned(), Action::Update)]);
    let plan = fixture.plan(RENAMED);
    assert_eq!(actions(&plan), [("memory_thing.a".to_owned(), Action::DeleteThenCreate)]);
    assert_eq!(plan.changes[0].required_replace, [name()]);
}

/// Checks differences in the final plan and their errors.
#[test]
fn final_plan_must_match_approved_plan() {
    type Row = (Option<&'static str>, fn(&PlanRequest, &mut PlanResponse));
    let rows: [Row; 4] = [
        (Some("from an update to a replacement"), |_, a| {
            a.requires_replace = vec![Path::root().attribute("size")];
        }),
        (Some(".label: was"), |_, a| {
            a.planned_state = with(a.planned_state.as_ref(), "label", Value::string("other"));
        }),
        (Some(".label: was known, but now unknown"), |_, a| {
            a.planned_state = with(a.planned_state.as_ref(), "label", Value::unknown(Type::String));
        }),
        // A provider with a legacy SDK is not exempt.
        (Some(".label: was"), |_, a| {
            a.legacy_type_system = true;
            a.planned_state = with(a.planned_state.as_ref(), "label", Value::string("other"));
        }),
    ];
    for (expected, change) in rows {
        let mut fixture = Fixture::new();
        fixture.apply(THING);
        let before = fixture.state.clone();
        let plan = fixture.plan(CHANGED);
        fixture.twist(|twist| twist.plan = Some(Box::new(change)));
        fixture.world.forget_calls();
        let applied = fixture.apply_plan(CHANGED, &plan);
        let errors = applied.diagnostics.to_string();
        assert_names_provider(&errors, &["Provider produced inconsistent final plan", expected.unwrap()]);
        assert_eq!(fixture.world.calls(), Vec::<String>::new(), "nothing was done");
        assert_eq!(fixture.state.resources().count(), before.resources().count());
    }
}

#[test]
fn planned_update_without_changes_is_not_applied() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|_, a| {
            a.planned_state = with(a.planned_state.as_ref(), "label", Value::unknown(Type::String));
        }));
    });
    let plan = fixture.plan(THING);
    assert_eq!(actions(&plan), [("memory_thing.a".to_owned(), Action::Update)]);
    fixture.twist(|twist| twist.plan = None);
    fixture.world.forget_calls();
    let applied = fixture.apply_plan(THING, &plan);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(fixture.world.calls(), Vec::<String>::new());
}

#[test]
fn configuration_is_validated_again_with_known_values() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| {
        twist.validate = Some(Box::new(|q, found| {
            if q.config.get("label").and_then(Value::as_str) == Some("thing-1") {
                *found = failure();
            }
        }));
    });
    let configuration =
        format!("{THING}\nresource \"memory_thing\" \"b\" {{\n name = \"b\"\n label = memory_thing.a.id\n}}");
    let errors = fixture.apply_errors(&configuration);
    assert!(errors.contains("It did not work"), "{errors}");
    assert_eq!(fixture.state.resources().count(), 1);
}

/// Checks responses to an apply of a new, a changed or a removed object: the errors and the
/// stored object.
#[test]
fn apply_response_determines_stored_object() {
    #[derive(Debug, PartialEq)]
    enum Stored {
        Nothing,
        Whole,
        Tainted,
    }
    type Row = (&'static str, Stored, fn(&mut ApplyResponse));
    let provider_is_at_fault = "bug in the provider";
    let check = |before: &str, after: &str, rows: &[Row]| {
        for (expected, stored, change) in rows {
            let mut fixture = Fixture::new();
            if !before.is_empty() {
                fixture.apply(before);
            }
            let change = *change;
            fixture.twist(|twist| twist.apply = Some(Box::new(move |_, answer| change(answer))));
            let errors = fixture.apply_errors(after);
            assert!(errors.contains(expected), "{expected:?} is not in: {errors}");
            let is_failure = errors.contains("It did not work");
            assert!(is_failure || errors.contains(provider_is_at_fault), "{errors}");
            let object = fixture.state.current(&"memory_thing.a".parse().unwrap());
            let found = match object {
                None => Stored::Nothing,
                Some(object) if object.is_tainted() => Stored::Tainted,
                Some(_) => Stored::Whole,
            };
            assert_eq!(found, *stored, "{expected}");
        }
    };
    let unknown = |a: &mut ApplyResponse| {
        a.new_state = with(a.new_state.as_ref(), "label", Value::unknown(Type::String));
    };
    let other = |a: &mut ApplyResponse| a.new_state = with(a.new_state.as_ref(), "name", Value::string("x"));
    let fails = |a: &mut ApplyResponse| a.diagnostics = failure();
    let fails_null = |a: &mut ApplyResponse| {
        a.diagnostics = failure();
        a.new_state = null(a.new_state.as_ref());
    };
    let fails_silent = |a: &mut ApplyResponse| {
        a.diagnostics = failure();
        a.new_state = None;
    };
    let text = |a: &mut ApplyResponse| a.new_state = Some(Value::string("a"));
    let lacking = |a: &mut ApplyResponse| a.new_state = without(a.new_state.as_ref(), "id");
    check(
        "",
        THING,
        &[
            ("returned unknown values for memory_thing.a", Stored::Tainted, unknown),
            ("returned no object", Stored::Nothing, |a| a.new_state = None),
            ("returned no object", Stored::Nothing, |a| a.new_state = null(a.new_state.as_ref())),
            ("of type string, not object", Stored::Nothing, text),
            (".id, the attribute is missing", Stored::Nothing, lacking),
            (".name: was \"a\", but now \"x\"", Stored::Tainted, other),
            ("It did not work", Stored::Tainted, fails),
            ("It did not work", Stored::Nothing, fails_null),
            ("It did not work", Stored::Nothing, fails_silent),
        ],
    );
    check(
        THING,
        CHANGED,
        &[
            ("returned unknown values for memory_thing.a", Stored::Whole, unknown),
            ("returned no object", Stored::Whole, |a| a.new_state = None),
            ("of type string, not object", Stored::Whole, text),
            (".id, the attribute is missing", Stored::Whole, lacking),
            (".name: was \"a\", but now \"x\"", Stored::Whole, other),
            ("It did not work", Stored::Whole, fails),
            ("It did not work", Stored::Whole, fails_null),
            ("It did not work", Stored::Whole, fails_silent),
        ],
    );
    check(
        THING,
        "",
        &[
            ("It did not work", Stored::Whole, fails_null),
            ("It did not work", Stored::Whole, fails_silent),
            ("of type string, not object", Stored::Whole, text),
        ],
    );
}

#[test]
fn object_returned_by_destruction_is_kept() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.apply = Some(Box::new(|q, a| a.new_state = Some(q.prior_state.clone())));
    });
    assert_names_provider(&fixture.apply_errors(""), &["invalid result object after apply"]);
    assert_eq!(fixture.state.resources().count(), 1);
}

#[test]
fn refreshed_object_must_be_known_and_typed() {
    type Row = (&'static str, fn(&mut ReadResourceResponse));
    let rows: [Row; 4] = [
        ("returned no object", |a| a.new_state = None),
        ("not wholly known", |a| {
            a.new_state = with(a.new_state.as_ref(), "label", Value::unknown(Type::String));
        }),
        ("of type string, not object", |a| a.new_state = Some(Value::string("a"))),
        (".id, the attribute is missing", |a| a.new_state = without(a.new_state.as_ref(), "id")),
    ];
    for (expected, change) in rows {
        let mut fixture = Fixture::new();
        fixture.apply(THING);
        fixture.twist(|twist| twist.read = Some(Box::new(move |_, answer| change(answer))));
        let errors = fixture.plan_errors(THING);
        assert_names_provider(&errors, &["Provider produced invalid object", "memory_thing.a", expected]);
    }
}

#[test]
fn data_source_result_must_be_known_and_typed() {
    type Row = (&'static str, fn(&mut ReadDataSourceResponse));
    let rows: [Row; 4] = [
        ("not wholly known", |a| a.state = None),
        ("null object", |a| a.state = null(a.state.as_ref())),
        ("not wholly known", |a| a.state = with(a.state.as_ref(), "found", Value::unknown(Type::String))),
        (".found, it is of type bool", |a| a.state = with(a.state.as_ref(), "found", Value::bool(true))),
    ];
    for (expected, change) in rows {
        let fixture = Fixture::new();
        fixture.twist(|twist| twist.look_up = Some(Box::new(move |_, answer| change(answer))));
        let errors = fixture.plan_errors(LOOKUP);
        assert_names_provider(&errors, &["data.memory_lookup.a", expected]);
    }
}

#[test]
fn stored_object_is_upgraded_to_current_schema() {
    type Row = (&'static str, fn(&mut UpgradeStateResponse));
    let rows: [Row; 3] = [
        ("null or partly unknown", |a| a.upgraded = None),
        ("null or partly unknown", |a| a.upgraded = null(a.upgraded.as_ref())),
        (".id, the attribute is missing", |a| a.upgraded = without(a.upgraded.as_ref(), "id")),
    ];
    for (expected, change) in rows {
        let mut fixture = Fixture::new();
        fixture.apply(THING);
        fixture.twist(|twist| twist.upgrade = Some(Box::new(move |_, answer| change(answer))));
        assert_names_provider(&fixture.plan_errors(THING), &["Invalid resource state upgrade", expected]);
    }
}

#[test]
fn object_with_newer_schema_is_rejected_without_call() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.version = 2);
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.version = 1;
        twist.upgrade = Some(Box::new(|_, _| panic!("the provider was asked")));
    });
    let errors = fixture.plan_errors(THING);
    assert!(errors.contains("managed by newer provider version"), "{errors}");
}

#[test]
fn attributes_dropped_from_schema_are_not_sent() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    let address = "memory_thing.a".parse().unwrap();
    let object = fixture.state.current(&address).unwrap().clone();
    let wardian_state::Attributes::Json(text) = &object.attributes else { panic!("JSON") };
    let stale = text.replacen('{', r#"{"dropped":[1],"#, 1);
    let changed = wardian_state::Object {
        attributes: wardian_state::Attributes::Json(stale.into()),
        ..wardian_state::Object::clone(&object)
    };
    let provider = fixture.state.resources().next().unwrap().1.provider.clone();
    fixture.state.set_current(&address, &provider, Some(Arc::new(changed)));
    assert_eq!(actions(&fixture.plan(THING)), []);
}

#[test]
fn legacy_providers_may_violate_rules() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|_, a| {
            a.legacy_type_system = true;
            a.planned_state = with(a.planned_state.as_ref(), "size", Value::number(7_i64));
        }));
        twist.apply = Some(Box::new(|_, a| {
            a.legacy_type_system = true;
            a.new_state = with(a.new_state.as_ref(), "name", Value::string("other"));
        }));
    });
    fixture.apply(THING);
    // Ignored attributes remain ignored, even if a legacy provider plans other values.
    let left_alone = "resource \"memory_thing\" \"a\" {\n name = \"a\"\n lifecycle {\n ignore_changes = [name, size]\n }\n}";
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|_, a| {
            a.legacy_type_system = true;
            a.planned_state = with(a.planned_state.as_ref(), "size", Value::number(8_i64));
        }));
    });
    assert_eq!(actions(&fixture.plan(left_alone)), []);
}

/// Checks the private data of all calls, in order.
#[test]
fn private_data_is_passed_to_following_calls() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listen = |twist: &mut Twist, heard: &Arc<Mutex<Vec<String>>>| {
        let (plans, applies) = (Arc::clone(heard), Arc::clone(heard));
        let text = |bytes: &PrivateBytes| String::from_utf8_lossy(bytes).into_owned();
        twist.plan = Some(Box::new(move |q, a| {
            let prior = if q.prior_state.is_null() { "new" } else { "old" };
            plans.lock().unwrap().push(format!("plan {prior}: {}", text(&q.prior_private)));
            if !q.proposed_new_state.is_null() {
                a.planned_private = Arc::from(format!("from {prior}").as_bytes());
            }
        }));
        twist.apply = Some(Box::new(move |q, _| {
            let what = if q.planned_state.is_null() { "destroy" } else { "make" };
            applies.lock().unwrap().push(format!("{what}: {}", text(&q.planned_private)));
        }));
    };
    let replaced = |lifecycle: &str| {
        let mut fixture = Fixture::new();
        fixture.twist(|twist| twist.capabilities.plan_destroy = true);
        let with = |fixed: &str| {
            format!(
                "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n fixed = \"{fixed}\"\n {lifecycle}\n}}"
            )
        };
        fixture.apply(&with("1"));
        fixture.twist(|twist| listen(twist, &heard));
        fixture.apply(&with("2"));
        std::mem::take(&mut *heard.lock().unwrap())
    };
    assert_eq!(
        replaced(""),
        ["plan old: applied", "plan new: from old", "destroy: from new", "plan new: ", "make: from new"]
    );
    assert_eq!(
        replaced("lifecycle {\n create_before_destroy = true\n }"),
        [
            "plan old: applied",
            "plan new: from old",
            "plan new: ",
            "make: from new",
            "plan old: applied",
            "destroy: to go"
        ]
    );
}

#[test]
fn replacement_is_planned_without_ignored_values() {
    let mut fixture = Fixture::new();
    let with = |size: u8, fixed: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n size = {size}\n fixed = \"{fixed}\"\n lifecycle {{\n \
             ignore_changes = [size]\n }}\n}}"
        )
    };
    fixture.apply(&with(1, "1"));
    let plan = fixture.plan(&with(2, "2"));
    assert_eq!(plan.changes[0].action, Action::DeleteThenCreate);
    assert_eq!(plan.changes[0].after.get("size"), Some(&Value::number(2_i64)));
}

#[test]
fn replacement_warnings_are_reported_once() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|_, a| {
            a.requires_replace = vec![Path::root().attribute("name")];
            a.diagnostics = vec![PluginDiagnostic {
                severity: Severity::Warning,
                ..PluginDiagnostic::error("Be careful", "It is hot.")
            }];
        }));
    });
    let (plan, diagnostics) = fixture.plan_with(RENAMED, &[], &wardian_engine::PlanOptions::default());
    assert_eq!(plan.unwrap().changes[0].action, Action::DeleteThenCreate);
    assert_eq!(diagnostics.to_string().matches("Be careful").count(), 1);
}

#[test]
fn provider_meta_is_passed_to_provider() {
    let said = "terraform {\n provider_meta \"memory\" {\n team = \"blue\"\n }\n}\n";
    let heard: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let mut fixture = Fixture::new();
    let reported = |meta: Option<&Value>| meta.and_then(|meta| Some(meta.get("team")?.as_str()?.to_owned()));
    let listener = Arc::clone(&heard);
    fixture.twist(|twist| {
        twist.takes_meta = true;
        twist.plan = Some(Box::new(move |q, _| {
            listener.lock().unwrap().push(reported(q.provider_meta.as_ref()));
        }));
    });
    fixture.apply(&format!("{said}{THING}"));
    assert_eq!(*heard.lock().unwrap(), [Some("blue".to_owned()), Some("blue".to_owned())]);
    fixture.twist(|twist| twist.takes_meta = false);
    let errors = fixture.plan_errors(&format!("{said}{THING}"));
    assert!(errors.contains("does not support provider_meta"), "{errors}");
}

#[test]
fn deposed_object_ignores_prevent_destroy() {
    let mut fixture = Fixture::new();
    let with = |fixed: &str, lifecycle: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n name = \"a\"\n fixed = \"{fixed}\"\n lifecycle {{\n {lifecycle}\n }}\n}}"
        )
    };
    fixture.apply(&with("1", "create_before_destroy = true"));
    fixture.twist(|twist| {
        twist.apply = Some(Box::new(|q, a| {
            if q.planned_state.is_null() {
                a.diagnostics = failure();
            }
        }));
    });
    fixture.apply_errors(&with("2", "create_before_destroy = true"));
    fixture.twist(|twist| twist.apply = None);
    fixture.apply(&with("2", "create_before_destroy = true\n prevent_destroy = true"));
    assert!(fixture.state.instances().all(|(_, _, instance)| instance.deposed.is_empty()));
}

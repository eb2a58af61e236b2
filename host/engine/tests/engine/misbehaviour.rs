//! What a provider may not answer, row by row: what people are told, and what is
//! in the state afterwards.

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

/// Who is at fault, and about what.
fn assert_names_provider(errors: &str, expected: &[&str]) {
    for part in expected.iter().chain(&["example.com/test/memory", "mistake is the provider's"]) {
        assert!(errors.contains(part), "{part:?} is not in: {errors}");
    }
}

#[test]
fn a_plan_breaks_no_rule() {
    type Row = (&'static str, fn(&mut PlanResponse));
    let rows: [Row; 8] = [
        ("gave no planned object", |a| a.planned_state = None),
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
        ("put off the change", |a| a.deferred = Some(DeferredReason::AbsentPrerequisite)),
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
fn a_plan_of_a_change_keeps_to_the_configuration_or_to_what_was() {
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
        &["Provider produced invalid plan", ".name", "\"b\"", "before it was \"a\""],
    );
    // What was before is the provider's way to say that the difference means nothing.
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|q, a| a.planned_state = Some(q.prior_state.clone())));
    });
    assert_eq!(actions(&fixture.plan(RENAMED)), []);
}

#[test]
fn a_planned_destruction_is_one() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.capabilities.plan_destroy = true);
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|q, a| a.planned_state = Some(q.prior_state.clone())));
    });
    assert_names_provider(&fixture.plan_errors(""), &["invalid plan", "non-null destroy value"]);
}

#[test]
fn a_path_that_forces_replacement_counts_where_its_value_changes() {
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

/// What is different in the final plan, and what is said about it.
#[test]
fn the_final_plan_is_the_one_that_was_approved() {
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
        // Nor does it help to be old.
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
fn an_update_may_turn_out_to_be_none() {
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
fn a_configuration_is_validated_once_more_when_all_is_known() {
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

/// What an apply of a new, a changed or a removed object answers, what is said,
/// and what is stored then.
#[test]
fn what_an_apply_answers_decides_what_is_stored() {
    #[derive(Debug, PartialEq)]
    enum Stored {
        Nothing,
        Whole,
        Tainted,
    }
    type Row = (&'static str, Stored, fn(&mut ApplyResponse));
    let provider_is_at_fault = "mistake is the provider's";
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
            ("left values of memory_thing.a unknown", Stored::Tainted, unknown),
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
            ("left values of memory_thing.a unknown", Stored::Whole, unknown),
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
fn an_object_that_is_there_after_its_destruction_is_kept() {
    let mut fixture = Fixture::new();
    fixture.apply(THING);
    fixture.twist(|twist| {
        twist.apply = Some(Box::new(|q, a| a.new_state = Some(q.prior_state.clone())));
    });
    assert_names_provider(&fixture.apply_errors(""), &["invalid result object after apply"]);
    assert_eq!(fixture.state.resources().count(), 1);
}

#[test]
fn what_is_read_is_whole_and_of_its_type() {
    type Row = (&'static str, fn(&mut ReadResourceResponse));
    let rows: [Row; 4] = [
        ("gave no object", |a| a.new_state = None),
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
fn what_a_data_source_reads_is_whole_and_of_its_type() {
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
fn a_stored_object_is_brought_to_the_present_schema() {
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
fn an_object_of_a_newer_schema_is_refused_without_a_call() {
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
fn attributes_that_the_schema_dropped_are_not_sent() {
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
fn old_providers_may_plan_and_answer_what_others_may_not() {
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
    // What is to be left alone is, whatever such a provider plans.
    let left_alone = "resource \"memory_thing\" \"a\" {\n name = \"a\"\n lifecycle {\n ignore_changes = [name, size]\n }\n}";
    fixture.twist(|twist| {
        twist.plan = Some(Box::new(|_, a| {
            a.legacy_type_system = true;
            a.planned_state = with(a.planned_state.as_ref(), "size", Value::number(8_i64));
        }));
    });
    assert_eq!(actions(&fixture.plan(left_alone)), []);
}

/// All private bytes that a provider is handed, in order.
#[test]
fn private_bytes_go_where_they_belong() {
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
fn a_replacement_is_planned_without_what_is_to_be_left_alone() {
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
fn warnings_of_a_replacement_are_told_once() {
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
fn a_module_tells_the_provider_about_itself() {
    let said = "terraform {\n provider_meta \"memory\" {\n team = \"blue\"\n }\n}\n";
    let heard: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let mut fixture = Fixture::new();
    let told = |meta: Option<&Value>| meta.and_then(|meta| Some(meta.get("team")?.as_str()?.to_owned()));
    let listener = Arc::clone(&heard);
    fixture.twist(|twist| {
        twist.takes_meta = true;
        twist.plan = Some(Box::new(move |q, _| {
            listener.lock().unwrap().push(told(q.provider_meta.as_ref()));
        }));
    });
    fixture.apply(&format!("{said}{THING}"));
    assert_eq!(*heard.lock().unwrap(), [Some("blue".to_owned()), Some("blue".to_owned())]);
    fixture.twist(|twist| twist.takes_meta = false);
    let errors = fixture.plan_errors(&format!("{said}{THING}"));
    assert!(errors.contains("takes no provider_meta"), "{errors}");
}

#[test]
fn a_left_over_may_go_though_the_object_may_not() {
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

use serde::{Deserialize, Serialize};
use wardian_value::Type;

use crate::{
    Action, ActionSteps, Attribute, Block, Context, DataSource, EphemeralResource, ListRequest, ListResource,
    ListResults, Opened, Provider, Resource, Result, Schema, StateUpgrader, definition_errors, validate,
};

struct Sloppy;

#[derive(Serialize, Deserialize)]
struct State {
    name: Option<String>,
    surplus: Option<String>,
}

impl Resource for Sloppy {
    type State = State;

    fn schema(&self) -> Schema {
        Schema::new()
            .version(2)
            .attribute(Attribute::string("name").required().computed())
            .attribute(Attribute::string("Name").force_new())
            .attribute(Attribute::string("count").force_new())
            .attribute(Attribute::integer("size").default("big").force_new())
            .attribute(Attribute::string("found").computed().force_new())
            .attribute(Attribute::string("checked").computed().validate(validate::length(1..)))
            .attribute(Attribute::string("plain").use_state_for_unknown())
            .attribute(Attribute::string("secret").computed().write_only())
            .attribute(Attribute::list("anything", Type::Dynamic).force_new())
            .attribute(
                Attribute::nested_set(
                    "items",
                    [Attribute::string("kind").default("a"), Attribute::string("kind")],
                )
                .force_new(),
            )
            .attribute(Attribute::nested("hidden", [Attribute::string("shown")]).write_only())
            .block(Block::list("rule").min(3).max(2).attribute(Attribute::string("port")))
            .block(Block::map("name").max(2))
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        Ok(plan)
    }

    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        vec![StateUpgrader::json(1, |_| Ok(()))]
    }
}

#[test]
fn definition_errors_have_locations() {
    let mistakes = definition_errors(
        Provider::new("test")
            .resource("test_sloppy", Sloppy)
            .resource("other_sloppy", Sloppy)
            .resource("test_sloppy", Sloppy),
    );
    let expected = [
        "test_sloppy: registered twice",
        "other_sloppy: the name must start with \"test_\"",
        "test_sloppy.count: Terraform reserves the name",
        "test_sloppy.name: a required attribute cannot be optional or computed",
        "test_sloppy.Name: the name must consist of lower-case letters",
        "test_sloppy.size: the default is string, not number",
        "test_sloppy.found: force_new has no effect",
        "test_sloppy.checked: a validator has no effect",
        "test_sloppy.plain: use_state_for_unknown has no effect",
        "test_sloppy.secret: a write-only attribute cannot be computed",
        "test_sloppy.anything: a collection cannot have elements of a dynamic type",
        "test_sloppy.items.kind: a default inside a set",
        "test_sloppy.items.kind: the name is used twice",
        "test_sloppy.hidden.shown: all attributes inside a write-only attribute",
        "test_sloppy.rule: more blocks are required than allowed",
        "test_sloppy.name: the number of these blocks cannot be limited",
        "test_sloppy.name: the name is used twice",
        "test_sloppy.rule.port: can change in place",
        "test_sloppy.plain: can change in place",
        "test_sloppy.found: the Rust type of the state has no such field",
        "test_sloppy.surplus: a field of the Rust type, but not",
        "test_sloppy: each version before 2 needs one upgrader",
    ];
    for expected in expected {
        assert!(
            mistakes.iter().any(|mistake| mistake.starts_with(expected)),
            "not found: {expected}\nin:\n{}",
            mistakes.join("\n")
        );
    }
}

#[derive(Serialize, Deserialize)]
struct Misfit {
    size: String,
}

#[derive(Serialize, Deserialize)]
struct Rule {
    port: i64,
    note: String,
}

#[derive(Serialize, Deserialize)]
struct Nulls {
    name: String,
    rules: Vec<Rule>,
    disk: Vec<Rule>,
    options: Rule,
    id: Option<String>,
}

struct Typed<T>(fn() -> Schema, std::marker::PhantomData<T>);

impl<T: crate::Model + 'static> Resource for Typed<T> {
    type State = T;

    fn schema(&self) -> Schema {
        (self.0)()
    }

    fn create(&self, plan: T, _: &mut Context<'_>) -> Result<T> {
        Ok(plan)
    }
}

#[derive(Deserialize)]
struct WrongConfig {
    #[expect(dead_code, reason = "only decoded")]
    host: bool,
}

fn rule() -> [Attribute; 2] {
    [Attribute::integer("port").required().force_new(), Attribute::string("note").force_new()]
}

#[test]
fn rust_types_that_do_not_fit_are_mistakes() {
    let misfit = || Schema::new().attribute(Attribute::integer("size").required().force_new());
    let nulls = || {
        Schema::new()
            .attribute(Attribute::string("name").force_new())
            .attribute(Attribute::nested_list("rules", rule()).required().force_new())
            .attribute(Attribute::string("id").computed())
            .block(Block::list("disk").attributes(rule()).force_new())
            .block(Block::single("options").attributes(rule()).force_new())
    };
    let schema = Schema::new().attribute(Attribute::string("host").required());
    let mistakes = definition_errors(
        Provider::with_config("test", schema, |_: WrongConfig| Ok(()))
            .resource("test_misfit", Typed::<Misfit>(misfit, std::marker::PhantomData))
            .resource("test_nulls", Typed::<Nulls>(nulls, std::marker::PhantomData)),
    );
    let null = "the value can be null, which the type of the field cannot represent: use `Option<_>`";
    assert_eq!(
        mistakes,
        [
            "provider.host: bool is required, not string".to_owned(),
            "test_misfit.size: string is required, not number".to_owned(),
            format!("test_nulls.name: {null}"),
            format!("test_nulls.rules.note: {null}"),
            format!("test_nulls.disk.note: {null}"),
            format!("test_nulls.options: {null}"),
            format!("test_nulls.options.note: {null}"),
        ]
    );
}

/// A part of a provider whose Rust types do not fit its schema.
struct Wrong;

#[derive(Serialize, Deserialize)]
struct WrongState {
    size: String,
    surplus: Option<String>,
}

fn size() -> Schema {
    Schema::new().attribute(Attribute::integer("size").required())
}

impl DataSource for Wrong {
    type State = WrongState;

    fn schema(&self) -> Schema {
        size()
    }

    fn read(&self, config: WrongState, _: &mut Context<'_>) -> Result<WrongState> {
        Ok(config)
    }
}

impl EphemeralResource for Wrong {
    type State = WrongState;

    fn schema(&self) -> Schema {
        size()
    }

    fn open(&self, config: WrongState, _: &mut Context<'_>) -> Result<Opened<WrongState>> {
        Ok(Opened::new(config))
    }
}

impl ListResource for Wrong {
    type Config = WrongState;
    type Identity = ();
    type State = WrongState;

    fn schema(&self) -> Schema {
        size()
    }

    fn list(&self, _: ListRequest<WrongState>, _: &mut Context<'_>) -> Result<ListResults<(), WrongState>> {
        Ok(Box::new(std::iter::empty()))
    }
}

impl Action for Wrong {
    type Config = WrongState;

    fn schema(&self) -> Schema {
        size()
    }

    fn invoke(&self, _: WrongState, _: &mut Context<'_>) -> Result<ActionSteps> {
        Ok(Box::new(std::iter::empty()))
    }
}

#[test]
fn rust_types_of_each_kind_are_compared() {
    let mistakes = definition_errors(
        Provider::new("test")
            .data_source("test_wrong", Wrong)
            .ephemeral_resource("test_wrong", Wrong)
            .list_resource("test_wrong", Wrong)
            .action("test_wrong", Wrong),
    );
    for expected in [
        "data.test_wrong.size: string is required, not number",
        "data.test_wrong.surplus: a field of the Rust type, but not an attribute of the schema",
        "ephemeral.test_wrong.size: string is required, not number",
        "list.test_wrong.size: string is required, not number",
        "list.test_wrong: the provider has no resource of that name with an identity",
        "action.test_wrong.size: string is required, not number",
    ] {
        assert!(
            mistakes.iter().any(|mistake| mistake == expected),
            "{expected} in:\n{}",
            mistakes.join("\n")
        );
    }
}

//! The calls of the harness that other tests do not use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wardian_value::Type;

use crate::testing::{PlannedAction, ProviderHarness, TestClock, assert_diagnostic, hcl, json, with_clock};
use crate::{
    Action, ActionSteps, Attribute, Block, Context, DataSource, DeferredReason, Diagnostic, Diagnostics,
    EphemeralResource, IdentityAttribute, IdentitySchema, Import, ListRequest, ListResource, ListResult,
    ListResults, Object, Opened, Plan, Provider, Renew, Resource, Result, Schema, clock,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Disk {
    size: Option<i64>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Server {
    name: String,
    disk: Vec<Disk>,
}

struct ServerResource;

impl Resource for ServerResource {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").required().force_new())
            .block(Block::list("disk").attribute(Attribute::integer("size").force_new()))
    }

    fn validate(&self, config: &Object) -> Result<()> {
        let path = crate::Path::root().attribute("disk").index(0).attribute("size");
        match config.value_at(&path) {
            Some(size) if !size.is_known() => Err(Diagnostic::warning("Unknown size", "").at(path).into()),
            _ => Ok(()),
        }
    }

    fn modify_plan(&self, plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
        if plan.planned().is_some_and(|planned| planned.is_unknown("name")) {
            context.defer(DeferredReason::ResourceConfigUnknown);
        }
        Ok(())
    }

    fn create(&self, plan: Server, context: &mut Context<'_>) -> Result<Server> {
        context.set_identity("name", &plan.name)?;
        Ok(plan)
    }

    fn import(&self, import: &mut Import, context: &mut Context<'_>) -> Result<()> {
        let name: String = match import.identity() {
            Some(identity) => identity.get("name")?,
            None => import.id()?.to_owned(),
        };
        context.set_identity("name", &name)?;
        import.set_state(&Server { name, disk: Vec::new() })
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new().attribute(IdentityAttribute::required_for_import("name", Type::String)))
    }
}

#[derive(Deserialize)]
struct Filter {
    prefix: String,
}

#[derive(Serialize)]
struct Identity {
    name: String,
}

struct ServerList;

impl ListResource for ServerList {
    type Config = Filter;
    type Identity = Identity;
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("prefix").required())
    }

    fn list(
        &self,
        request: ListRequest<Filter>,
        _: &mut Context<'_>,
    ) -> Result<ListResults<Identity, Server>> {
        let ListRequest { config, include_objects, .. } = request;
        Ok(Box::new((0..100).map(move |number| {
            if config.prefix == "broken" && number == 40 {
                return Err(Diagnostics::error("Page 2 cannot be read", ""));
            }
            let name = format!("{}-{number}", config.prefix);
            let object = include_objects.then(|| Server { name: name.clone(), disk: Vec::new() });
            Ok(ListResult { identity: Identity { name: name.clone() }, display_name: name, object })
        })))
    }
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

struct Restart;

impl Action for Restart {
    type Config = Target;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("name").required())
    }

    fn invoke(&self, config: Target, _: &mut Context<'_>) -> Result<ActionSteps> {
        let end =
            if config.name == "stuck" { Err(Diagnostics::error("Stuck", "")) } else { Ok("done".into()) };
        Ok(Box::new([Ok(format!("stopping {}", config.name)), end].into_iter()))
    }
}

#[derive(Serialize, Deserialize)]
struct Token {
    value: Option<String>,
}

struct TokenResource;

impl EphemeralResource for TokenResource {
    type State = Token;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("value").computed().sensitive())
    }

    fn open(&self, _: Token, context: &mut Context<'_>) -> Result<Opened<Token>> {
        context.set_private(b"1".to_vec());
        let renew = Renew::At(clock::system_time() + Duration::from_mins(1));
        Ok(Opened { state: Token { value: Some("secret".into()) }, renew })
    }

    fn renew(&self, context: &mut Context<'_>) -> Result<Renew> {
        context.set_private([context.private(), b"+"].concat());
        context.warn("Renewed", "");
        Ok(Renew::Never)
    }

    fn close(&self, context: &mut Context<'_>) -> Result<()> {
        if context.private() == b"1+" { Ok(()) } else { Err(Diagnostics::error("Not renewed", "")) }
    }
}

#[derive(Serialize, Deserialize)]
struct Zone {
    name: String,
}

struct ZoneSource;

impl DataSource for ZoneSource {
    type State = Zone;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("name").required())
    }

    fn read(&self, config: Zone, context: &mut Context<'_>) -> Result<Zone> {
        context.warn("Old zone", "It is closed next year.");
        Ok(config)
    }
}

fn harness() -> ProviderHarness {
    ProviderHarness::new(
        Provider::new("cloud")
            .resource("cloud_server", ServerResource)
            .list_resource("cloud_server", ServerList)
            .action("cloud_restart", Restart)
            .ephemeral_resource("cloud_token", TokenResource)
            .data_source("cloud_zone", ZoneSource),
    )
}

#[test]
fn nested_attributes_can_be_unknown() {
    let config = hcl("name = \"a\"\ndisk {}\ndisk { size = 1 }").unknown("disk[0].size");
    let plan = harness().plan("cloud_server", None, config.clone()).unwrap();
    let size = |index: usize| {
        plan.object.as_ref().unwrap().as_value().get("disk").unwrap().as_elements().unwrap()[index]
            .get("size")
            .unwrap()
            .clone()
    };
    assert!(!size(0).is_known());
    assert_eq!(size(1), wardian_value::Value::number(1));
    let found = harness().validate("cloud_server", config);
    assert_diagnostic(&found, "disk[0].size", "Unknown size");
    for (path, problem) in [("disk[2].size", "Unsupported argument"), ("disk[", "is not a path")] {
        let failed = harness().plan("cloud_server", None, hcl("name = \"a\"").unknown(path)).unwrap_err();
        failed.assert_at("", problem);
    }
}

#[test]
#[should_panic(expected = "warning at \"disk[0].size\": Unknown size")]
fn missing_diagnostic_shows_others() {
    let config = hcl("name = \"a\"\ndisk {}").unknown("disk[0].size");
    assert_diagnostic(&harness().validate("cloud_server", config), "name", "Unknown size");
}

#[test]
fn changes_are_deferred_only_if_allowed() {
    let config = || hcl("").unknown("name");
    assert_eq!(harness().plan("cloud_server", None, config()).unwrap().deferred, None);
    let harness = harness().allowing_deferral();
    let plan = harness.plan("cloud_server", None, config()).unwrap();
    assert_eq!(plan.deferred, Some(DeferredReason::ResourceConfigUnknown));
    harness.apply(&plan).unwrap_err().assert_at("", "Deferred change");
}

#[test]
fn identities_are_read_and_imported() {
    let harness = harness();
    let created = harness.create("cloud_server", json!({ "name": "a" })).unwrap();
    let identity = harness.identity("cloud_server", &created).unwrap().unwrap();
    assert_eq!(identity.get::<String>("name").unwrap(), "a");
    let imported = harness.import_by_identity("cloud_server", &json!({ "name": "b" })).unwrap();
    assert_eq!(imported.get::<String>("name"), "b");
    assert_eq!(harness.import("cloud_server", "c").unwrap().get::<String>("name"), "c");
    let plan = harness.plan("cloud_server", Some(&imported), json!({ "name": "b" })).unwrap();
    assert_eq!(plan.action, PlannedAction::NoOp);
}

#[test]
fn lists_return_objects_up_to_limit() {
    let harness = harness();
    let listed = harness.list("cloud_server", json!({ "prefix": "a" }), true, Some(70)).unwrap();
    assert_eq!(listed.len(), 70);
    assert_eq!(listed[69].display_name, "a-69");
    assert_eq!(listed[69].identity.get::<String>("name").unwrap(), "a-69");
    assert_eq!(listed[69].object.as_ref().unwrap().get::<String>("name").unwrap(), "a-69");
    assert_eq!(harness.list("cloud_server", json!({ "prefix": "a" }), false, None).unwrap().len(), 100);
    let failed = harness.list("cloud_server", json!({ "prefix": "broken" }), false, None).unwrap_err();
    failed.assert_at("", "Page 2");
    assert!(harness.list("cloud_server", json!({}), false, None).is_err());
}

#[test]
fn actions_return_progress_and_errors() {
    let run = harness().invoke_action("cloud_restart", json!({ "name": "a" })).unwrap();
    assert_eq!((run.progress.join(", ").as_str(), run.diagnostics.is_empty()), ("stopping a, done", true));
    let run = harness().invoke_action("cloud_restart", json!({ "name": "stuck" })).unwrap();
    assert_eq!(run.progress, ["stopping stuck"]);
    assert_diagnostic(&run.diagnostics, "", "Stuck");
}

#[test]
fn ephemeral_resources_are_renewed() {
    let harness = harness();
    with_clock(&TestClock::starting_at(UNIX_EPOCH), || {
        let mut token = harness.ephemeral("cloud_token", json!({})).unwrap();
        assert_eq!(token.object().get::<String>("value").unwrap(), "secret");
        assert_eq!(token.renew_at(), Some(SystemTime::UNIX_EPOCH + Duration::from_mins(1)));
        assert_diagnostic(&token.renew().unwrap(), "", "Renewed");
        assert_eq!((token.renew_at(), token.private()), (None, &b"1+"[..]));
        token.close().unwrap();
    });
    harness.open_ephemeral("cloud_token", json!({})).unwrap_err().assert_at("", "Not renewed");
}

#[test]
fn warnings_of_data_sources_are_kept() {
    let zone = harness().read_data_source("cloud_zone", json!({ "name": "a" })).unwrap();
    assert_diagnostic(&zone.warnings, "", "closed next year");
    assert_eq!(zone.get::<String>("name").unwrap(), "a");
}

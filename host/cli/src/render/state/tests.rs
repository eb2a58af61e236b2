//! Compares a state as text with Terraform 1.11.4's output for the same file.

use std::sync::LazyLock;

use wardian_plugin::{Attribute, AttributeType, Block, Deprecation, Description, Setting};
use wardian_state::{Attributes, Object, State, decode_state};
use wardian_value::{Marks, PathMarks, Type, json};

use super::*;

/// Returns a state with modules, keys, outputs of every kind, a tainted and a deposed
/// object, and checks.
pub(in crate::render) fn recorded() -> State {
    decode_state(include_bytes!("../snapshots/state.tfstate")).unwrap().unwrap()
}

/// Returns all objects of a state of the built-in provider.
pub(in crate::render) fn objects(state: &State) -> Vec<StateObject<'_>> {
    let mut objects = Vec::new();
    for (address, provider, instance) in state.instances() {
        let deposed = instance.deposed.iter().map(|(key, object)| (Some(&**key), object));
        for (deposed, object) in instance.current.iter().map(|object| (None, object)).chain(deposed) {
            objects.push(shown(address.clone(), provider, deposed, object));
        }
    }
    objects
}

fn shown<'a>(
    address: ResourceInstanceAddress,
    provider: &'a ProviderConfigAddress,
    deposed: Option<&'a str>,
    object: &'a Object,
) -> StateObject<'a> {
    let schema = if address.mode() == ResourceMode::Data { &*REMOTE_STATE } else { &*DATA };
    let Attributes::Json(text) = &object.attributes else { panic!() };
    let marks: PathMarks =
        object.sensitive_paths.iter().map(|path| (path.clone(), Marks::SENSITIVE)).collect();
    StateObject {
        address,
        deposed,
        provider,
        schema,
        schema_version: object.schema_version,
        value: json::decode(text.as_bytes(), schema.implied_type()).unwrap().mark_at(&marks),
        tainted: object.is_tainted(),
        dependencies: &object.dependencies,
    }
}

static DATA: LazyLock<Schema> = LazyLock::new(|| {
    schema([
        ("id", Type::String),
        ("input", Type::Dynamic),
        ("output", Type::Dynamic),
        ("triggers_replace", Type::Dynamic),
    ])
});

static REMOTE_STATE: LazyLock<Schema> = LazyLock::new(|| {
    schema([
        ("backend", Type::String),
        ("config", Type::Dynamic),
        ("defaults", Type::Dynamic),
        ("outputs", Type::Dynamic),
        ("workspace", Type::String),
    ])
});

fn schema<const N: usize>(attributes: [(&str, Type); N]) -> Schema {
    let attributes = attributes.into_iter().map(|(name, ty)| {
        let attribute = Attribute {
            ty: AttributeType::Value(ty),
            description: Description::default(),
            setting: Setting::OptionalComputed,
            sensitive: false,
            write_only: false,
            deprecation: Deprecation::None,
        };
        (name.into(), attribute)
    });
    Schema::new(0, Block { attributes: attributes.collect(), ..Block::default() })
}

#[test]
fn state_is_rendered_as_in_terraform() {
    let state = recorded();
    let text = render_state(objects(&state), &state.outputs, RenderOptions::default()).into_string();
    assert_eq!(text, include_str!("../snapshots/state.txt"));
}

#[test]
fn empty_state_prints_a_message() {
    let text = render_state([], &BTreeMap::new(), RenderOptions::default()).into_string();
    assert_eq!(text, "The state file is empty. No resources are represented.\n");
}

#[test]
fn single_object_is_rendered() {
    let state = recorded();
    let objects = objects(&state);
    let tainted = objects.iter().find(|object| object.tainted).unwrap();
    let text = render_object(tainted, RenderOptions::default()).into_string();
    assert!(
        text.starts_with("# terraform_data.t: (tainted)\nresource \"terraform_data\" \"t\" {\n"),
        "{text}"
    );
    assert!(text.ends_with("\n}\n"), "{text}");
    assert!(include_str!("../snapshots/state.txt").contains(&text), "{text}");
}

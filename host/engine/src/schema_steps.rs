//! Follows steps through the blocks and attributes of a schema: the static steps of references and
//! the items of `ignore_changes`. Both are checked even if they are never evaluated.
//!
//! A collection of blocks has stricter rules than a value of its type. The steps into an attribute
//! have the rules of an unknown value of its type.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Span, did_you_mean};
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use wardian_value::{Number, PathStep, Str, Type};

/// The result of following steps through a schema.
#[derive(Debug, Default)]
pub struct SchemaSteps<'a> {
    /// The attribute at the end of all steps.
    pub attribute: Option<&'a Attribute>,
    /// The positions of steps, and their errors and warnings, without spans.
    problems: Vec<(usize, Diagnostic)>,
}

impl<'a> SchemaSteps<'a> {
    /// Follows the steps until one is invalid. Cost: O(steps), apart from lookups of names.
    pub fn follow(block: &'a Block, steps: &[PathStep]) -> Self {
        let mut found = Self::default();
        let mut place = Place::Block(block);
        for (position, step) in steps.iter().enumerate() {
            let next = match place.next(step) {
                Ok(next) => next,
                Err(InvalidStep { summary, detail }) => {
                    found.problems.push((position, Diagnostic::error(summary, detail)));
                    return found;
                }
            };
            // Only attributes of blocks are reported, as in Terraform.
            if let (Place::Block(_), Place::Attribute(attribute), PathStep::Attribute(name)) =
                (place, next, step)
                && attribute.deprecation.is_deprecated()
            {
                found.problems.push((position, deprecated(name)));
            }
            place = next;
        }
        if let Place::Attribute(attribute) = place {
            found.attribute = Some(attribute);
        }
        found
    }

    /// Returns the errors and warnings, given the span of each step.
    pub fn diagnostics(self, span: impl Fn(usize) -> Span) -> impl Iterator<Item = Diagnostic> {
        self.problems.into_iter().map(move |(position, problem)| problem.at(span(position)))
    }
}

/// The part of a schema to which steps lead.
#[derive(Clone, Copy)]
enum Place<'a> {
    Block(&'a Block),
    /// The collection of all blocks of one type, and the type's name.
    Blocks(&'a Str, &'a NestedBlock),
    Attribute(&'a Attribute),
    /// An object of a nested attribute.
    Object(&'a BTreeMap<Str, Attribute>),
    Type(&'a Type),
    /// A value whose type the schema does not determine.
    Unknown,
}

struct InvalidStep {
    summary: &'static str,
    detail: String,
}

impl Place<'_> {
    fn next(self, step: &PathStep) -> Result<Self, InvalidStep> {
        match self {
            Self::Block(block) => part_of_block(block, step),
            Self::Blocks(name, nested) => element_of_blocks(name, nested, step),
            Self::Attribute(Attribute { ty: AttributeType::Value(ty), .. }) | Self::Type(ty) => {
                part_of_type(ty, step)
            }
            Self::Attribute(Attribute { ty: AttributeType::Nested(object), .. }) => {
                part_of_nested(object, step)
            }
            Self::Object(attributes) => part_of_object(attributes, step),
            Self::Unknown => Ok(Self::Unknown),
        }
    }
}

fn part_of_block<'a>(block: &'a Block, step: &PathStep) -> Result<Place<'a>, InvalidStep> {
    let name = match step {
        PathStep::Attribute(name) => name,
        PathStep::Key(key) if block.attributes.contains_key(key) || block.block_types.contains_key(key) => {
            return Err(InvalidStep::block_index(&format!("write .{key} instead of the brackets")));
        }
        PathStep::Key(_) | PathStep::Index(_) => {
            return Err(InvalidStep::block_index(
                "use a dot and the name of an argument instead of the brackets",
            ));
        }
    };
    if let Some(attribute) = block.attributes.get(name) {
        return Ok(Place::Attribute(attribute));
    }
    match block.block_types.get_key_value(name) {
        Some((_, nested)) if matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group) => {
            Ok(Place::Block(&nested.block))
        }
        Some((name, nested)) => Ok(Place::Blocks(name, nested)),
        None => Err(InvalidStep::no_attribute(name, block.attributes.keys().chain(block.block_types.keys()))),
    }
}

fn element_of_blocks<'a>(
    name: &str,
    nested: &'a NestedBlock,
    step: &PathStep,
) -> Result<Place<'a>, InvalidStep> {
    match (nested.nesting, step) {
        (BlockNesting::Set, _) => Err(InvalidStep {
            summary: "Cannot index a set value",
            detail: format!(
                "The blocks \"{name}\" are a set, whose elements have no index or key. An expression can \
                 select them with for and if; ignore_changes can only contain all of them, as {name}."
            ),
        }),
        (BlockNesting::List, PathStep::Attribute(attribute)) => Err(InvalidStep {
            summary: "Invalid operation",
            detail: format!(
                "The blocks \"{name}\" are a list: select one of them, for example {name}[0].{attribute}."
            ),
        }),
        // Keys of the wrong type are reported when the reference is evaluated.
        _ => Ok(Place::Block(&nested.block)),
    }
}

fn part_of_nested<'a>(object: &'a NestedObject, step: &PathStep) -> Result<Place<'a>, InvalidStep> {
    let element = Place::Object(&object.attributes);
    match object.nesting {
        ObjectNesting::Single => part_of_object(&object.attributes, step),
        ObjectNesting::List => check_list_step("list of object", step).map(|()| element),
        ObjectNesting::Set => Err(InvalidStep::set_step("set of object", step)),
        ObjectNesting::Map => Ok(element),
    }
}

fn part_of_object<'a>(
    attributes: &'a BTreeMap<Str, Attribute>,
    step: &PathStep,
) -> Result<Place<'a>, InvalidStep> {
    let PathStep::Attribute(name) = step else { return Ok(Place::Unknown) };
    let attribute = attributes.get(name).map(Place::Attribute);
    attribute.ok_or_else(|| InvalidStep::no_attribute(name, attributes.keys()))
}

fn part_of_type<'a>(ty: &'a Type, step: &PathStep) -> Result<Place<'a>, InvalidStep> {
    let kind = || ty.friendly_name();
    match (ty, step) {
        (Type::Dynamic, _) => Ok(Place::Unknown),
        (Type::Object(object), PathStep::Attribute(name)) => match object.attribute(name) {
            Some(ty) => Ok(Place::Type(ty)),
            None => Err(InvalidStep::no_attribute(name, object.iter().map(|(known, _)| known))),
        },
        // An index into an object may be computed, so the type of the result is not known.
        (Type::Object(_), _) => Ok(Place::Unknown),
        (Type::Map(element), _) => Ok(Place::Type(element)),
        (Type::List(element), _) => check_list_step(&kind(), step).map(|()| Place::Type(element)),
        (Type::Set(_), _) => Err(InvalidStep::set_step(&kind(), step)),
        (Type::Tuple(types), PathStep::Index(_) | PathStep::Key(_)) => {
            check_list_step(&kind(), step)?;
            let at = match step {
                PathStep::Index(at) => Some(*at),
                PathStep::Key(key) => {
                    Number::parse(key).ok().and_then(|number| number.as_i64()?.try_into().ok())
                }
                PathStep::Attribute(_) => None,
            };
            let element = at.and_then(|at| types.get(usize::try_from(at).ok()?));
            element.map(Place::Type).ok_or_else(|| {
                InvalidStep::index(format!(
                    "This tuple has {} elements; their indexes begin with 0.",
                    types.len()
                ))
            })
        }
        (Type::Tuple(_), PathStep::Attribute(name)) => Err(InvalidStep::unselected(&kind(), name)),
        (_, PathStep::Attribute(_)) => {
            Err(InvalidStep::unsupported(format!("A {} has no attributes.", kind())))
        }
        _ => Err(InvalidStep::index(format!("A {} has no elements.", kind()))),
    }
}

/// Returns an error if a step does not lead to an element of a list. An unknown list may have any
/// length.
fn check_list_step(kind: &str, step: &PathStep) -> Result<(), InvalidStep> {
    match step {
        PathStep::Index(_) => Ok(()),
        PathStep::Key(key) if Number::parse(key).is_ok() => Ok(()),
        PathStep::Key(key) => Err(InvalidStep::index(format!(
            "This is a {kind}, whose elements are selected with numbers, and {key:?} is not a number."
        ))),
        PathStep::Attribute(name) => Err(InvalidStep::unselected(kind, name)),
    }
}

impl InvalidStep {
    fn index(detail: String) -> Self {
        Self { summary: "Invalid index", detail }
    }

    fn unsupported(detail: String) -> Self {
        Self { summary: "Unsupported attribute", detail }
    }

    fn block_index(advice: &str) -> Self {
        let detail = format!("This is a single block, which has no index or key: {advice}.");
        Self { summary: "Invalid index operation", detail }
    }

    fn set_step(kind: &str, step: &PathStep) -> Self {
        match step {
            PathStep::Attribute(name) => Self::unselected(kind, name),
            PathStep::Key(_) | PathStep::Index(_) => Self::index(format!(
                "This is a {kind}, whose elements have no index or key, only their value. Use a for \
                 expression, or convert the set to a list."
            )),
        }
    }

    fn unselected(kind: &str, name: &str) -> Self {
        Self::unsupported(format!(
            "This is a {kind}, which has no attribute \"{name}\" itself: select an element."
        ))
    }

    fn no_attribute<'a>(name: &str, known: impl Iterator<Item = &'a Str>) -> Self {
        let advice = did_you_mean(name, known.map(|known| &**known));
        Self::unsupported(format!(
            "There is no argument, block or exported attribute named \"{name}\" here.{advice}"
        ))
    }
}

fn deprecated(name: &str) -> Diagnostic {
    let detail = format!(
        "The attribute \"{name}\" is deprecated. The provider's documentation may name a replacement."
    );
    Diagnostic::warning("Deprecated attribute", detail)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wardian_diagnostic::SourceFile;
    use wardian_plugin::{Deprecation, Description, Setting};

    use super::*;

    fn attribute(ty: AttributeType, setting: Setting) -> Attribute {
        let description = Description::default();
        let deprecation = Deprecation::None;
        Attribute { ty, description, setting, sensitive: false, write_only: false, deprecation }
    }

    fn value(ty: Type) -> Attribute {
        attribute(AttributeType::Value(ty), Setting::Optional)
    }

    fn parts() -> BTreeMap<Str, Attribute> {
        let computed = attribute(AttributeType::Value(Type::String), Setting::Computed);
        [("a".into(), value(Type::String)), ("c".into(), computed)].into()
    }

    fn objects(nesting: ObjectNesting) -> Attribute {
        let object = NestedObject { attributes: parts(), nesting };
        attribute(AttributeType::Nested(Arc::new(object)), Setting::Optional)
    }

    fn blocks(nesting: BlockNesting, mut block: Block) -> NestedBlock {
        block.attributes.extend(parts());
        NestedBlock { block, nesting, min_items: 0, max_items: 0 }
    }

    fn schema() -> Block {
        let mut old = value(Type::list(Type::String));
        old.deprecation = Deprecation::Deprecated;
        let inner = blocks(BlockNesting::Set, Block::default());
        let around = Block { block_types: [("inner".into(), inner)].into(), ..Block::default() };
        Block {
            attributes: [
                ("text", value(Type::String)),
                ("any", value(Type::Dynamic)),
                ("list", value(Type::list(Type::String))),
                ("set", value(Type::set(Type::String))),
                ("map", value(Type::map(Type::String))),
                ("object", value(Type::object([("a", Type::String)]))),
                ("tuple", value(Type::tuple([Type::String, Type::list(Type::String)]))),
                ("old", old),
                ("part", objects(ObjectNesting::Single)),
                ("part_list", objects(ObjectNesting::List)),
                ("part_set", objects(ObjectNesting::Set)),
                ("part_map", objects(ObjectNesting::Map)),
            ]
            .into_iter()
            .map(|(name, attribute)| (name.into(), attribute))
            .collect(),
            block_types: [
                ("single", blocks(BlockNesting::Single, Block::default())),
                ("group", blocks(BlockNesting::Group, Block::default())),
                ("block_list", blocks(BlockNesting::List, around)),
                ("block_set", blocks(BlockNesting::Set, Block::default())),
                ("block_map", blocks(BlockNesting::Map, Block::default())),
            ]
            .into_iter()
            .map(|(name, nested)| (name.into(), nested))
            .collect(),
            ..Block::default()
        }
    }

    fn steps(path: &str) -> Vec<PathStep> {
        let file = SourceFile::new("main.tf", path);
        let expression = wardian_lang::parse_expression(&file).unwrap();
        expression.as_traversal().unwrap().relative_path().steps().to_vec()
    }

    fn problems(path: &str) -> Vec<String> {
        let schema = schema();
        let found = SchemaSteps::follow(&schema, &steps(path));
        found.problems.iter().map(|(position, problem)| format!("{position} {}", problem.summary)).collect()
    }

    #[test]
    fn reports_first_invalid_step() {
        for (path, expected) in [
            ("absent.x", "0 Unsupported attribute"),
            ("text.x", "1 Unsupported attribute"),
            ("text[0]", "1 Invalid index"),
            ("list.x", "1 Unsupported attribute"),
            ("list[\"x\"]", "1 Invalid index"),
            ("list[\" 1\"]", "1 Invalid index"),
            ("list[0][0]", "2 Invalid index"),
            ("set[0]", "1 Invalid index"),
            ("set.x", "1 Unsupported attribute"),
            ("map.x.y", "2 Unsupported attribute"),
            ("map[\"x\"][\"y\"]", "2 Invalid index"),
            ("object.b", "1 Unsupported attribute"),
            ("tuple[2]", "1 Invalid index"),
            ("tuple[\"x\"]", "1 Invalid index"),
            ("tuple[\"-1\"]", "1 Invalid index"),
            ("tuple[1][\"x\"]", "2 Invalid index"),
            ("tuple.a", "1 Unsupported attribute"),
            ("part.b", "1 Unsupported attribute"),
            ("part.a[0]", "2 Invalid index"),
            ("part_list.a", "1 Unsupported attribute"),
            ("part_list[\"x\"].a", "1 Invalid index"),
            ("part_set[0].a", "1 Invalid index"),
            ("part_set.a", "1 Unsupported attribute"),
            ("part_map.a.b", "2 Unsupported attribute"),
            ("single[0].a", "1 Invalid index operation"),
            ("group[\"a\"]", "1 Invalid index operation"),
            ("block_list.a", "1 Invalid operation"),
            ("block_list[0][0]", "2 Invalid index operation"),
            ("block_list[0].b", "2 Unsupported attribute"),
            ("block_list[0].inner[0].a", "3 Cannot index a set value"),
            ("block_set.a", "1 Cannot index a set value"),
            ("block_map.a[\"b\"]", "2 Invalid index operation"),
        ] {
            assert_eq!(problems(path), [expected], "{path}");
        }
    }

    #[test]
    fn accepts_steps_that_a_value_may_have() {
        for path in [
            "list[\"0\"]",
            "list[\"1.5\"]",
            "map[0]",
            "map.x",
            "object[\"b\"].x[0]",
            "object[0]",
            "any[0].x",
            "tuple[\"1\"][0]",
            "part[\"b\"].x",
            "part_list[\"0\"].a",
            "part_map[0].a",
            "single.a",
            "block_list[\"x\"].a",
            "block_map.x.a",
            "block_map[\"x\"].a",
            "block_map[0]",
            "block_set",
        ] {
            assert_eq!(problems(path), [""; 0], "{path}");
        }
    }

    #[test]
    fn deprecated_attribute_and_invalid_index_are_both_reported() {
        assert_eq!(problems("old[\"x\"]"), ["0 Deprecated attribute", "1 Invalid index"]);
    }

    #[test]
    fn returns_attribute_only_if_no_step_follows_it() {
        let schema = schema();
        let is_computed = |path| {
            let attribute = SchemaSteps::follow(&schema, &steps(path)).attribute;
            attribute.is_some_and(|attribute| attribute.setting == Setting::Computed)
        };
        for path in
            ["single.c", "block_list[0].c", "block_map.x.c", "part.c", "part_list[0].c", "part_map[\"x\"].c"]
        {
            assert!(is_computed(path), "{path}");
        }
        // The last step of some of these is the key of a map.
        for path in ["single.a", "single", "part", "block_map.c", "part_map.c", "part[\"c\"]"] {
            assert!(!is_computed(path), "{path}");
        }
    }
}

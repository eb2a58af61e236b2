use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_diagnostic::{SourceFile, Span};
use wardian_lang::{ReferenceSubject, Resolved, parse_body};
use wardian_plugin::{BlockNesting, Deprecation, Description, NestedBlock, Setting};
use wardian_value::{Marks, Path, PathStep};

use super::*;

/// A scope with variables by name. No other objects are declared.
struct Variables(BTreeMap<&'static str, Value>);

impl Scope for Variables {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        match subject {
            ReferenceSubject::Variable(name) if self.0.contains_key(&**name) => {
                Ok(Resolved::Whole(self.0[&**name].clone()))
            }
            _ => Err(Diagnostic::error("Unknown", subject.to_string()).at(span.clone()).into()),
        }
    }
}

fn attribute(setting: Setting, ty: AttributeType) -> Attribute {
    Attribute {
        ty,
        setting,
        description: Description::default(),
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

fn block(attributes: &[(&str, Setting, Type)], block_types: Vec<(&str, NestedBlock)>) -> Block {
    Block {
        attributes: attributes
            .iter()
            .map(|(name, setting, ty)| {
                (Str::new(name), attribute(*setting, AttributeType::Value(ty.clone())))
            })
            .collect(),
        block_types: block_types.into_iter().map(|(name, nested)| (Str::new(name), nested)).collect(),
        ..Block::default()
    }
}

fn nested(nesting: BlockNesting, limits: (u64, u64), block: Block) -> NestedBlock {
    NestedBlock { block, nesting, min_items: limits.0, max_items: limits.1 }
}

fn schema() -> Block {
    let inner = || block(&[("v", Setting::Optional, Type::String)], Vec::new());
    let dynamic = block(&[("v", Setting::Optional, Type::Dynamic)], Vec::new());
    let deep = block(
        &[("v", Setting::Optional, Type::String)],
        vec![("leaf", nested(BlockNesting::List, (0, 0), inner()))],
    );
    let mut schema = block(
        &[
            ("name", Setting::Required, Type::String),
            ("size", Setting::Optional, Type::Number),
            ("id", Setting::Computed, Type::String),
            ("old", Setting::OptionalComputed, Type::list(Type::object([("v", Type::String)]))),
        ],
        vec![
            ("one", nested(BlockNesting::Single, (0, 1), inner())),
            ("group", nested(BlockNesting::Group, (0, 1), inner())),
            ("list", nested(BlockNesting::List, (0, 3), deep)),
            ("set", nested(BlockNesting::Set, (0, 0), inner())),
            ("map", nested(BlockNesting::Map, (0, 0), inner())),
            ("any", nested(BlockNesting::List, (0, 0), dynamic)),
        ],
    );
    let object = NestedObject {
        attributes: [
            ("a".into(), attribute(Setting::Required, AttributeType::Value(Type::Number))),
            ("b".into(), attribute(Setting::Optional, AttributeType::Value(Type::String))),
        ]
        .into(),
        nesting: ObjectNesting::List,
    };
    let nested = attribute(Setting::Optional, AttributeType::Nested(Arc::new(object)));
    schema.attributes.insert("objects".into(), nested);
    schema
}

fn scope() -> Variables {
    Variables(BTreeMap::from([
        ("unknown", Value::unknown(Type::list(Type::String))),
        ("secret", Value::string("s").with_marks(Marks::SENSITIVE)),
        ("secrets", Value::list(Type::String, [Value::string("x")]).with_marks(Marks::SENSITIVE)),
        ("names", Value::tuple([Value::string("a"), Value::string("b")])),
        ("by_key", Value::object([("k", Value::string("1")), ("l", Value::string("2"))])),
        ("nothing", Value::null(Type::list(Type::String))),
    ]))
}

fn body(text: &str) -> Body {
    let (body, problems) = parse_body(&SourceFile::new("main.tf", text));
    assert!(problems.is_empty(), "{problems}");
    body
}

fn decoded(text: &str) -> (Value, String) {
    let (value, problems) = decode_body(&body(text), &schema(), &scope());
    (value, problems.to_string())
}

/// Checks the value at one path.
fn check(text: &str, part: &str, expected: &str) {
    let (value, problems) = decoded(&format!("name = \"n\"\n{text}"));
    assert_eq!(problems, "", "{text}");
    assert!(conforms(value.ty(), &schema().implied_type()), "{:?}", value.ty());
    assert_eq!(format!("{:?}", value.get(part).unwrap()), expected, "{text}");
}

fn conforms(ty: &Type, wanted: &Type) -> bool {
    match (ty, wanted) {
        (_, Type::Dynamic) => true,
        (Type::Object(ty), Type::Object(wanted)) => {
            ty.len() == wanted.len()
                && ty.iter().zip(wanted.iter()).all(|((a, ty), (b, wanted))| a == b && conforms(ty, wanted))
        }
        _ => ty == wanted,
    }
}

fn check_problems(text: &str, expected: &[&str]) {
    let (value, problems) = decoded(text);
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected, "{text}");
    assert!(conforms(value.ty(), &schema().implied_type()), "{:?}", value.ty());
}

#[test]
fn decodes_attributes() {
    check("size = \"3\"", "size", "3");
    check("", "id", "null(string)");
    check("objects = [{ a = \"1\" }]", "objects", "[{\"a\": 1, \"b\": null(string)}]");
    check("size = var.secret == \"s\" ? 1 : 2", "size", "(sensitive)");
}

#[test]
fn decodes_blocks_of_every_nesting_mode() {
    check("", "one", "null(object({v=string}))");
    check("", "group", "{\"v\": null(string)}");
    check("", "list", "[]");
    check("", "any", "[]");
    check("one {\n v = 1\n}", "one", "{\"v\": \"1\"}");
    check("group {\n v = true\n}", "group", "{\"v\": \"true\"}");
    check(
        "list {\n v = \"a\"\n leaf {\n v = \"b\"\n }\n}\nlist {}",
        "list",
        "[{\"leaf\": [{\"v\": \"b\"}], \"v\": \"a\"}, {\"leaf\": [], \"v\": null(string)}]",
    );
    check(
        "set {\n v = \"b\"\n}\nset {\n v = \"a\"\n}\nset {\n v = \"b\"\n}",
        "set",
        "{{\"v\": \"a\"}, {\"v\": \"b\"}}",
    );
    check(
        "map \"x\" {\n v = 1\n}\nmap \"a\" {}",
        "map",
        "{\"a\": {\"v\": null(string)}, \"x\": {\"v\": \"1\"}}",
    );
    check("any {\n v = 1\n}\nany {\n v = \"x\"\n}", "any", "[{\"v\": 1}, {\"v\": \"x\"}]");
    check("old = []", "old", "[]");
    check("old {\n v = 1\n}\nold {}", "old", "[{\"v\": \"1\"}, {\"v\": null(string)}]");
}

#[test]
fn expands_dynamic_blocks() {
    check(
        "dynamic \"set\" {\n for_each = var.names\n content {\n v = \"${set.key}${set.value}\"\n }\n}",
        "set",
        "{{\"v\": \"0a\"}, {\"v\": \"1b\"}}",
    );
    check(
        "dynamic \"map\" {\n for_each = var.by_key\n iterator = it\n labels = [\"x${it.key}\"]\n content {\n v = it.value\n }\n}",
        "map",
        "{\"xk\": {\"v\": \"1\"}, \"xl\": {\"v\": \"2\"}}",
    );
    check(
        "list {\n v = \"0\"\n}\ndynamic \"list\" {\n for_each = [\"p\"]\n content {\n v = list.value\n dynamic \"leaf\" {\n for_each = var.names\n content {\n v = \"${list.value}${leaf.value}\"\n }\n }\n }\n}",
        "list",
        "[{\"leaf\": [], \"v\": \"0\"}, {\"leaf\": [{\"v\": \"pa\"}, {\"v\": \"pb\"}], \"v\": \"p\"}]",
    );
    let unknown = |name: &str| {
        format!("dynamic \"{name}\" {{\n for_each = var.unknown\n content {{\n v = {name}.value\n }}\n}}")
    };
    check(&unknown("list"), "list", "unknown(list(object({leaf=list(object({v=string})),v=string})))");
    check(&unknown("set"), "set", "unknown(set(object({v=string})))");
    check(&unknown("one"), "one", "unknown(object({v=string}))");
    check(&unknown("any"), "any", "unknown(any)");
    check("dynamic \"set\" {\n for_each = var.secrets\n content {\n v = \"x\"\n }\n}", "set", "(sensitive)");
    check(
        "dynamic \"old\" {\n for_each = var.names\n content {\n v = old.value\n }\n}",
        "old",
        "[{\"v\": \"a\"}, {\"v\": \"b\"}]",
    );
}

#[test]
fn reports_content_that_does_not_match_schema() {
    check_problems(
        "",
        &["main.tf:1,1-1: Missing required argument; The argument \"name\" must be set here."],
    );
    check_problems(
        "name = []\nsiz = 1\nlists {}\nsize {}\nlist = 1\nobjects = [{}]\n",
        &[
            "main.tf:1,8-10: Incorrect attribute value type; Inappropriate value for attribute \"name\": a string is required.",
            "main.tf:6,11-15: Incorrect attribute value type; Inappropriate value for attribute \"objects\": element 0: attribute \"a\" is required.",
            "main.tf:2,1-4: Unsupported argument; This block has no argument named \"siz\". Did you mean \"size\"?",
            "main.tf:5,1-5: Unsupported argument; This block has no argument named \"list\". To write a \
             block of that name, omit the equals sign: list { ... }.",
            "main.tf:3,1-6: Unsupported block type; This block has no blocks of type \"lists\". Did you mean \"list\"?",
            "main.tf:4,1-5: Unsupported block type; This block has no blocks of type \"size\". To set the argument of that name, write an equals sign: size = ...",
        ],
    );
    check_problems(
        "name = var.none\none {}\none {}\nlist {}\nlist {}\nlist {}\nlist {}\nmap \"a\" {}\nmap \"a\" {}\nmap {}\nset \"x\" {}\n",
        &[
            "main.tf:1,8-16: Unknown; var.none",
            "main.tf:7,1-5: Too many list blocks; No more than 3 \"list\" blocks are allowed here.",
            "main.tf:10,5-6: Missing key for map; A map block needs its key as a label before the brace.",
            "main.tf:9,1-8: Duplicate map block; A map block with the label \"a\" already exists here.",
            "main.tf:3,1-4: Duplicate one block; Only one one block is allowed here; the first is at main.tf:2,1-4.",
            "main.tf:11,5-8: Extraneous label for set; A set block has no labels.",
        ],
    );
    check_problems(
        "name = \"n\"\ndynamic \"lst\" {\n for_each = []\n content {}\n}\ndynamic \"list\" {}\ndynamic \"set\" {\n for_each = var.nothing\n content {}\n}\ndynamic \"one\" {\n for_each = 5\n content {}\n}\n",
        &[
            "main.tf:6,16-17: Missing required argument; The argument \"for_each\" must be set here.",
            "main.tf:6,16-17: Missing dynamic content block; A dynamic block needs a content block that defines each generated block.",
            "main.tf:12,13-14: Invalid dynamic for_each value; A list, a set or a map is required here, but this is number.",
            "main.tf:8,13-24: Invalid dynamic for_each value; A list, a set or a map is required here, but this is null.",
            "main.tf:2,9-14: Unsupported block type; This block has no blocks of type \"lst\". Did you mean \"list\"?",
        ],
    );
}

/// The iterator has precedence over any other meaning of its name.
#[test]
fn dynamic_iterator_shadows_outer_names() {
    for iterator in ["data", "var", "path", "count", "each", "self", "module", "template", "x"] {
        let text = format!(
            "dynamic \"list\" {{\n for_each = {{ k = \"w\" }}\n iterator = {iterator}\n content {{\n \
             v = \"${{{iterator}.key}}${{{iterator}[\"value\"]}}\"\n dynamic \"leaf\" {{\n \
             for_each = {iterator}[*].value\n content {{\n v = jsonencode([{iterator}, leaf.value])\n }}\n }}\n }}\n}}"
        );
        check(&text, "list", r#"[{"leaf": [{"v": "[{\"key\":\"k\",\"value\":\"w\"},\"w\"]"}], "v": "kw"}]"#);
        let found: Vec<String> = references(&body(&text), None).iter().map(ToString::to_string).collect();
        assert_eq!(found, [""; 0], "{iterator}");
    }
    check_problems(
        "name = \"n\"\ndynamic \"list\" {\n for_each = [1]\n content {\n v = list.nothing\n }\n}\n",
        &["main.tf:5,10-18: Unsupported attribute; This object has no attribute named \"nothing\"."],
    );
}

#[test]
fn references_exclude_names_that_body_binds() {
    let text = "a = b.c.d\ndynamic \"list\" {\n for_each = var.x\n content {\n v = list.value + other.value\n leaf {\n w = list.key\n }\n }\n}\ne {\n f = list.value\n}\n";
    let found: Vec<String> = references(&body(text), None).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["b.c.d", "var.x", "other.value", "list.value"]);
}

#[test]
fn span_of_locates_nearest_source() {
    let text = "name = {\n  a = [1, 2]\n}\nlist {\n  v = 1\n}\nlist {\n  v = 2\n}\ndynamic \"set\" {\n  for_each = []\n  content {\n    v = 3\n  }\n}\nmap \"k\" {\n  v = 4\n}\n";
    let body = body(text);
    let attribute = |name: &str| PathStep::Attribute(name.into());
    for (path, expected) in [
        (vec![attribute("name")], "{\n  a = [1, 2]\n}"),
        (vec![attribute("name"), attribute("a"), PathStep::Index(1)], "2"),
        (vec![attribute("name"), PathStep::Key("a".into()), PathStep::Index(7)], "[1, 2]"),
        (vec![attribute("list"), PathStep::Index(1), attribute("v")], "2"),
        (vec![attribute("list"), PathStep::Index(1)], "list"),
        (vec![attribute("set"), PathStep::Index(4), attribute("v")], "3"),
        (vec![attribute("map"), PathStep::Key("k".into()), attribute("v")], "4"),
        (vec![attribute("missing")], ""),
    ] {
        let path = Path::from(path);
        assert_eq!(span_of(&body, &path).unwrap().text(), expected, "{path}");
    }
    assert!(span_of(&body, &Path::root()).is_none());
}

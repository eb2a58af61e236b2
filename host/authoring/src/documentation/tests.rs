use std::sync::Arc;

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, IdentityAttribute,
    IdentitySchema, NestedBlock, NestedObject, ObjectNesting, Parameter, Schema, Setting,
};
use wardian_value::{Str, Type};

use super::*;

fn description(text: &str) -> Description {
    Description { text: text.to_owned(), markdown: false }
}

fn attribute(ty: Type, setting: Setting, text: &str) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: description(text),
        setting,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

fn schema(block: Block) -> Arc<Schema> {
    Arc::new(Schema::new(0, block))
}

/// A provider with one object of each kind.
fn provider() -> ProviderSchema {
    let rule = Block {
        attributes: [("port".into(), attribute(Type::Number, Setting::Required, "The port."))].into(),
        description: description("A rule."),
        ..Block::default()
    };
    let address = NestedObject {
        attributes: [("street".into(), attribute(Type::String, Setting::Optional, "The street."))].into(),
        nesting: ObjectNesting::List,
    };
    let group = Type::object([("id", Type::Number)]);
    let addresses = Attribute {
        ty: AttributeType::Nested(Arc::new(address)),
        ..attribute(Type::Dynamic, Setting::OptionalComputed, "The addresses.")
    };
    let secret = Attribute {
        sensitive: true,
        write_only: true,
        ..attribute(Type::String, Setting::Optional, "A key.")
    };
    let owner = Type::object([("name", Type::String), ("groups", Type::list(group))]);
    let status = Block {
        attributes: [("code".into(), attribute(Type::Number, Setting::Computed, "The code."))].into(),
        description: description("The status."),
        ..Block::default()
    };
    let status = NestedBlock { block: status, nesting: BlockNesting::Single, min_items: 0, max_items: 0 };
    let zone = Block {
        attributes: [
            ("owners".into(), attribute(Type::list(owner), Setting::Optional, "The `owners`.")),
            ("name".into(), attribute(Type::String, Setting::Required, "The name\nof the zone.")),
            ("tags".into(), attribute(Type::map(Type::String), Setting::Optional, "")),
            ("id".into(), attribute(Type::String, Setting::Computed, "The ID.")),
            ("addresses".into(), addresses),
            ("secret".into(), secret),
        ]
        .into(),
        block_types: [
            (
                "rule".into(),
                NestedBlock { block: rule, nesting: BlockNesting::List, min_items: 1, max_items: 2 },
            ),
            ("status".into(), status),
        ]
        .into(),
        description: description(
            "A **zone** of [the *service*](https://dns.example), such as `example.com`.",
        ),
        deprecation: Deprecation::Message("Use `dns_area`.".to_owned()),
    };
    let parameter = Parameter {
        name: "text".to_owned(),
        ty: Type::String,
        allow_null: true,
        allow_unknown: false,
        description: description("The text."),
    };
    let function = Function {
        parameters: vec![parameter.clone()],
        variadic_parameter: Some(Parameter { name: "others".to_owned(), ..parameter }),
        return_type: Type::list(Type::String),
        summary: "Splits a name.".to_owned(),
        description: Description::default(),
        deprecation: Deprecation::None,
    };
    let required = IdentityAttribute {
        ty: Type::String,
        required_for_import: true,
        optional_for_import: false,
        description: "The name of the zone.".to_owned(),
    };
    let view = IdentityAttribute {
        required_for_import: false,
        optional_for_import: true,
        description: String::new(),
        ..required.clone()
    };
    let identity =
        IdentitySchema { version: 0, attributes: [("name".into(), required), ("view".into(), view)].into() };
    let table = |name: &str| [(Str::new(name), schema(zone.clone()))].into_iter().collect();
    ProviderSchema {
        resources: table("dns_zone"),
        data_sources: table("dns_zone"),
        ephemeral_resources: table("dns_token"),
        list_resources: table("dns_zone"),
        actions: table("dns_flush"),
        functions: [("split".into(), function)].into(),
        identities: [("dns_zone".into(), Arc::new(identity))].into(),
        ..ProviderSchema::default()
    }
}

struct Project(tempfile::TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = project.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project
    }

    fn generate(&self) -> Result<Documentation, DocumentationError> {
        let schema = provider();
        let source = ProviderDocumentation { schema: &schema, type_name: "dns", directory: self.0.path() };
        Documentation::generate(source)
    }
}

#[test]
fn pages_are_in_the_layout_of_registries() {
    let pages = Project::new(&[]).generate().unwrap().pages;
    let paths: Vec<&str> = pages.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "docs/actions/flush.md",
            "docs/data-sources/zone.md",
            "docs/ephemeral-resources/token.md",
            "docs/functions/split.md",
            "docs/index.md",
            "docs/list-resources/zone.md",
            "docs/resources/zone.md",
        ]
    );
    for (path, text) in &pages {
        let front_matter = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front_matter, _) = front_matter.unwrap();
        let keys: Vec<&str> = front_matter
            .lines()
            .filter(|line| !line.starts_with([' ', '#']))
            .filter_map(|line| Some(line.split_once(':')?.0))
            .collect();
        // Registries reject a page of the provider that belongs to a category.
        let expected: &[&str] = match path.as_str() {
            "docs/index.md" => &["page_title", "description"],
            _ => &["page_title", "subcategory", "description"],
        };
        assert_eq!(keys, expected, "{path}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
        let folder =
            path.strip_prefix("docs/").and_then(|rest| rest.split_once('/')).map(|(folder, _)| folder);
        assert!(folder.is_none_or(|folder| layout::DIRECTORIES.contains(&folder)), "{path}");
    }
    let title = |path: &str| pages[path].lines().nth(2).unwrap().to_owned();
    assert_eq!(title("docs/index.md"), "page_title: \"dns Provider\"");
    assert_eq!(title("docs/resources/zone.md"), "page_title: \"dns_zone Resource - terraform-provider-dns\"");
    assert_eq!(title("docs/functions/split.md"), "page_title: \"split function - terraform-provider-dns\"");
}

#[test]
fn resource_page_describes_attributes_blocks_and_examples() {
    let project = Project::new(&[
        ("examples/resources/dns_zone/resource.tf", "resource \"dns_zone\" \"a\" {}\n"),
        ("examples/resources/dns_zone/import.sh", "terraform import dns_zone.a example.com\n"),
        (
            "examples/resources/dns_zone/import-by-identity.tf",
            "import {\n  to = dns_zone.a\n  identity = {\n    name = \"example.com\"\n  }\n}\n",
        ),
        (
            "examples/resources/dns_zone/import-by-string-id.tf",
            "import {\n  to = dns_zone.a\n  id = \"example.com\"\n}\n",
        ),
    ]);
    let documentation = project.generate().unwrap();
    insta::assert_snapshot!("resource_page", documentation.pages["docs/resources/zone.md"]);
    insta::assert_snapshot!("function_page", documentation.pages["docs/functions/split.md"]);
    assert!(documentation.missing_descriptions.contains(&"dns_zone.tags".to_owned()));
    assert!(!documentation.missing_examples.iter().any(|path| path.starts_with("examples/resources/")));
}

#[test]
fn templates_replace_generated_pages() {
    let project = Project::new(&[
        (
            "templates/resources/zone.md.tmpl",
            "# {{ .Name }} {{.Type}} of {{ .ProviderShortName }}\n{{- if .HasExample }}\nyes\n{{ else }}\nno\n\
             {{- end }}\n{{ tffile \"examples/x.tf\" }}\n{{ .Description | trimspace }}\n",
        ),
        ("templates/functions.md.tmpl", "{{ .Name }}: {{ codefile \"text\" \"examples/x.tf\" }}"),
        ("templates/index.md", "hand-written"),
        ("examples/x.tf", "a = 1\n"),
    ]);
    let pages = project.generate().unwrap().pages;
    let zone = &pages["docs/resources/zone.md"];
    assert!(
        zone.contains("# dns_zone Resource of dns\nno\n```terraform\na = 1\n```\nA **zone** of"),
        "{zone}"
    );
    let function = &pages["docs/functions/split.md"];
    assert!(function.ends_with("split: ```text\na = 1\n```\n"), "{function}");
    assert!(pages["docs/index.md"].ends_with("hand-written\n"));
}

#[test]
fn mistakes_in_templates_are_reported_with_their_line() {
    for (template, expected) in [
        ("a\n{{ .Nam }}", "templates/index.md.tmpl:2: there is no field .Nam"),
        ("{{ .Name", "templates/index.md.tmpl:1: the action has no end"),
        ("a\n\n{{ if .HasExample }}\nb", "templates/index.md.tmpl:3: the \"if\" has no {{ end }}"),
        ("{{ if .Name }}{{ end }}", "1: .Name is not a condition"),
        ("x {{ end }}", "1: there is no \"if\""),
        ("{{ else }}", "1: there is no \"if\""),
        ("{{ tffile \"../secret\" }}", "1: the path \"../secret\" must be inside"),
        ("{{ tffile \"/etc/hosts\" }}", "1: the path \"/etc/hosts\" must be inside"),
        ("{{ tffile \"missing.tf\" }}", "1: there is no file missing.tf"),
        ("{{- .Name -}}\n\n\n{{ range .X }}", "templates/index.md.tmpl:4: {{ range .X }} is not supported"),
        ("{{}}", "is not supported"),
    ] {
        let project = Project::new(&[("templates/index.md.tmpl", template)]);
        let error = project.generate().unwrap_err().to_string();
        assert!(error.contains(expected), "{template}: {error}");
    }
}

#[test]
fn differences_are_found_and_written_once() {
    let project = Project::new(&[
        ("docs/guides/start.md", "a guide"),
        ("docs/resources/own.md", "a page without a marker"),
        ("docs/resources/old.md", &format!("---\n{MARKER}\n---\n")),
        ("docs/index.md", "old"),
    ]);
    let directory = project.0.path();
    let documentation = project.generate().unwrap();
    let differences = documentation.write(directory).unwrap();
    assert_eq!(differences["docs/index.md"], PageDifference::Outdated);
    assert_eq!(differences["docs/resources/zone.md"], PageDifference::Missing);
    assert_eq!(differences["docs/resources/old.md"], PageDifference::Surplus);
    assert!(!differences.contains_key("docs/resources/own.md"));
    assert!(!directory.join("docs/resources/old.md").exists());
    assert_eq!(fs::read_to_string(directory.join("docs/guides/start.md")).unwrap(), "a guide");
    assert!(documentation.differences(directory).unwrap().is_empty());
}

#[test]
fn names_that_leave_the_directory_are_rejected() {
    let mut schema = provider();
    schema.resources = [(Str::new("../x"), self::schema(Block::default()))].into_iter().collect();
    let source = ProviderDocumentation { schema: &schema, type_name: "dns", directory: Path::new(".") };
    assert!(matches!(Documentation::generate(source), Err(DocumentationError::Name(_))));
}

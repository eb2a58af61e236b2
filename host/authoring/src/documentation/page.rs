//! The pages of a provider's documentation, and the text of a page without a template.

use std::fmt::Write as _;

use wardian_plugin::{Block, Deprecation, Function, IdentitySchema, ProviderSchema};

use super::DocumentationError;
use super::schema_text;
use super::template::Fields;
use crate::scaffold::PROVIDER_PREFIX;

/// The kind of object that a page describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Provider,
    Resource,
    DataSource,
    EphemeralResource,
    ListResource,
    Action,
    Function,
}

impl PageKind {
    pub(super) const ALL: [Self; 7] = [
        Self::Provider,
        Self::Resource,
        Self::DataSource,
        Self::EphemeralResource,
        Self::ListResource,
        Self::Action,
        Self::Function,
    ];

    /// Returns the name of the directory of these pages; `None` for the only page of the provider.
    pub(super) fn folder(self) -> Option<&'static str> {
        match self {
            Self::Provider => None,
            Self::Resource => Some("resources"),
            Self::DataSource => Some("data-sources"),
            Self::EphemeralResource => Some("ephemeral-resources"),
            Self::ListResource => Some("list-resources"),
            Self::Action => Some("actions"),
            Self::Function => Some("functions"),
        }
    }

    /// Returns the template for all pages of this kind.
    pub(super) fn general_template(self) -> Option<&'static str> {
        match self {
            Self::Provider => None,
            Self::Resource => Some("templates/resources.md.tmpl"),
            Self::DataSource => Some("templates/data-sources.md.tmpl"),
            Self::EphemeralResource => Some("templates/ephemeral-resources.md.tmpl"),
            Self::ListResource => Some("templates/list-resources.md.tmpl"),
            Self::Action => Some("templates/actions.md.tmpl"),
            Self::Function => Some("templates/functions.md.tmpl"),
        }
    }

    /// Returns the name that titles and templates use.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Provider => "Provider",
            Self::Resource => "Resource",
            Self::DataSource => "Data Source",
            Self::EphemeralResource => "Ephemeral Resource",
            Self::ListResource => "List Resource",
            Self::Action => "Action",
            Self::Function => "Function",
        }
    }

    fn example_file(self) -> &'static str {
        match self {
            Self::Provider => "provider.tf",
            Self::Resource => "resource.tf",
            Self::DataSource => "data-source.tf",
            Self::EphemeralResource => "ephemeral-resource.tf",
            Self::ListResource => "list-resource.tfquery.hcl",
            Self::Action => "action.tf",
            Self::Function => "function.tf",
        }
    }
}

/// The kinds of examples of an import, in the order of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ImportExample {
    ByIdentity,
    ById,
    Command,
}

impl ImportExample {
    pub(super) const ALL: [Self; 3] = [Self::ByIdentity, Self::ById, Self::Command];

    fn file(self) -> &'static str {
        match self {
            Self::ByIdentity => "import-by-identity.tf",
            Self::ById => "import-by-string-id.tf",
            Self::Command => "import.sh",
        }
    }

    fn introduction(self) -> &'static str {
        match self {
            Self::ByIdentity => {
                "With Terraform 1.12 or later, an [`import` block](https://developer.hashicorp.com/terraform/language/import) \
                 with the attribute `identity` imports an existing object:"
            }
            Self::ById => {
                "With Terraform 1.5 or later, an [`import` block](https://developer.hashicorp.com/terraform/language/import) \
                 with the attribute `id` imports an existing object:"
            }
            Self::Command => {
                "The [`terraform import` command](https://developer.hashicorp.com/terraform/cli/commands/import) \
                 imports an existing object, for example:"
            }
        }
    }
}

/// The description of the object in the schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Described<'a> {
    Block(&'a Block),
    Function(&'a Function),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub(super) kind: PageKind,
    /// The full type name, the function's name, or the provider's type name.
    pub(super) name: &'a str,
    pub(super) described: Described<'a>,
    /// The identity of a resource type.
    pub(super) identity: Option<&'a IdentitySchema>,
}

impl<'a> Page<'a> {
    /// Returns the pages of a provider.
    pub(super) fn all(schemas: &'a ProviderSchema, type_name: &'a str) -> Vec<Self> {
        let described = Described::Block(&schemas.provider.block);
        let mut pages = vec![Self { kind: PageKind::Provider, name: type_name, described, identity: None }];
        let tables = [
            (PageKind::Resource, &schemas.resources),
            (PageKind::DataSource, &schemas.data_sources),
            (PageKind::EphemeralResource, &schemas.ephemeral_resources),
            (PageKind::ListResource, &schemas.list_resources),
            (PageKind::Action, &schemas.actions),
        ];
        for (kind, table) in tables {
            for (name, schema) in table.iter() {
                let identity = schemas.identities.get(name).filter(|_| kind == PageKind::Resource);
                let identity = identity.map(|identity| &**identity);
                pages.push(Self { kind, name, described: Described::Block(&schema.block), identity });
            }
        }
        for (name, function) in &schemas.functions {
            let described = Described::Function(function);
            pages.push(Self { kind: PageKind::Function, name, described, identity: None });
        }
        pages
    }

    /// Returns the path of the page in the project. The file name does not contain the provider's name.
    pub(super) fn path(&self, type_name: &str) -> Result<String, DocumentationError> {
        let Some(folder) = self.kind.folder() else { return Ok("docs/index.md".to_owned()) };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if self.name.is_empty() || !self.name.bytes().all(is_plain) {
            return Err(DocumentationError::Name(self.name.to_owned()));
        }
        Ok(format!("docs/{folder}/{}.md", self.short_name(type_name)))
    }

    /// Returns the type's name without the provider's name.
    fn short_name(&self, type_name: &str) -> &'a str {
        let rest = self.name.strip_prefix(type_name).and_then(|rest| rest.strip_prefix('_'));
        match self.kind {
            PageKind::Function => self.name,
            _ => rest.filter(|rest| !rest.is_empty()).unwrap_or(self.name),
        }
    }

    /// Returns the path of the example in the project.
    pub(super) fn example_path(&self) -> String {
        let file = self.kind.example_file();
        match self.kind.folder() {
            None => format!("examples/provider/{file}"),
            Some(folder) => format!("examples/{folder}/{}/{file}", self.name),
        }
    }

    /// Returns the path of the example of an import.
    pub(super) fn import_path(&self, import: ImportExample) -> Option<String> {
        let file = import.file();
        (self.kind == PageKind::Resource).then(|| format!("examples/resources/{}/{file}", self.name))
    }

    pub(super) fn description(&self) -> &'a str {
        match self.described {
            Described::Block(block) => block.description.text.trim(),
            Described::Function(function) if function.description.text.trim().is_empty() => {
                function.summary.trim()
            }
            Described::Function(function) => function.description.text.trim(),
        }
    }

    fn deprecation(&self) -> &'a Deprecation {
        match self.described {
            Described::Block(block) => &block.deprecation,
            Described::Function(function) => &function.deprecation,
        }
    }

    /// Returns the sections that describe attributes and blocks, or the parameters of a function.
    pub(super) fn schema_text(&self, missing: &mut Vec<String>) -> String {
        if self.description().is_empty() && self.kind != PageKind::Provider {
            missing.push(self.name.to_owned());
        }
        match self.described {
            Described::Block(block) => schema_text::of_block(block, self.name, missing),
            Described::Function(function) => schema_text::of_function(self.name, function, missing),
        }
    }

    /// Returns the text of the page without a template.
    pub(super) fn default_text(&self, fields: &Fields<'_>) -> String {
        let (name, kind) = (self.name, self.kind.title());
        let provider = format!("{PROVIDER_PREFIX}{}", fields.type_name);
        let title = match self.kind {
            PageKind::Provider => format!("{name} Provider"),
            PageKind::Function => format!("{name} function - {provider}"),
            _ => format!("{name} {kind} - {provider}"),
        };
        let heading = match self.kind {
            PageKind::Provider => title.clone(),
            PageKind::Function => format!("function: {name}"),
            _ => format!("{name} ({kind})"),
        };
        let mut text = format!("---\npage_title: \"{title}\"\n");
        // The page of the provider belongs to no category.
        if self.kind != PageKind::Provider {
            text.push_str("subcategory: \"\"\n");
        }
        text.push_str("description: |-\n");
        // In the front matter, the description is one paragraph of plain text.
        let first = self.description().split("\n\n").next().unwrap_or_default();
        for line in plain_text(first).lines() {
            let _ = writeln!(text, "  {}", line.trim());
        }
        let _ = write!(text, "---\n\n# {heading}\n");
        match self.deprecation() {
            Deprecation::None => {}
            Deprecation::Deprecated => text.push_str("\n~> **Deprecated**\n"),
            Deprecation::Message(message) => {
                let _ = write!(text, "\n~> **Deprecated** {}\n", message.trim());
            }
        }
        if !self.description().is_empty() {
            let _ = write!(text, "\n{}\n", self.description());
        }
        if let Some((path, example)) = &fields.example {
            let _ = write!(text, "\n## Example Usage\n\n{}\n", code_block(path, example));
        }
        let _ = write!(text, "\n{}\n", fields.schema);
        let imports = &fields.imports;
        if imports.is_empty() && self.identity.is_none() {
            return text;
        }
        text.push_str("\n## Import\n");
        for (kind, (path, import)) in imports {
            let _ = write!(text, "\n{}\n\n{}\n", kind.introduction(), code_block(path, import));
        }
        if let Some(identity) = self.identity {
            let _ = write!(text, "\n{}\n", schema_text::of_identity(identity));
        }
        text
    }
}

/// Removes code spans, emphasis and the targets of links from Markdown.
fn plain_text(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some(start) = rest.find(['`', '*', '[']) {
        text.push_str(&rest[..start]);
        let marked = &rest[start..];
        let link = marked.strip_prefix('[').and_then(|inner| inner.split_once("]("));
        let link = link.and_then(|(shown, after)| Some((shown, after.split_once(')')?.1)));
        match link {
            Some((shown, after)) if !shown.contains('[') => {
                text.push_str(&shown.replace(['`', '*'], ""));
                rest = after;
            }
            _ => {
                if marked.starts_with('[') {
                    text.push('[');
                }
                rest = &marked[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns a code block with the content of a file.
pub(super) fn code_block(path: &str, content: &str) -> String {
    let language = match path.rsplit('.').next() {
        Some("tf" | "hcl") => "terraform",
        Some("sh") => "shell",
        Some("json") => "json",
        _ => "",
    };
    // The fence is longer than each sequence of backquotes in the content.
    let mut fence = "```".to_owned();
    while content.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}", content.trim_end())
}

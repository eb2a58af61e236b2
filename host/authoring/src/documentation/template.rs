//! Templates of pages: Markdown with actions in `{{ }}`, a subset of the templates of `tfplugindocs`.
//!
//! | action | result |
//! |---|---|
//! | `{{ .Name }}` and the other fields in [`Fields::field`] | a text |
//! | `{{ tffile "PATH" }}`, `{{ codefile "LANGUAGE" "PATH" }}` | a code block with a file of the project |
//! | `{{ tffile .ExampleFile }}`, `{{ codefile "shell" .ImportFile }}` | the same, for a field |
//! | `{{ if .HasExample }}`, `{{ else }}`, `{{ end }}` | text under a condition |
//!
//! `{{-` and `-}}` remove the adjacent space, and `| trimspace` is accepted. Cost: linear in the
//! size of the template and of the files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use super::page::{ImportExample, Page, code_block};
use super::{DocumentationError, read_optional, schema_text};

/// The values of a template's fields.
pub(super) struct Fields<'a> {
    pub(super) page: &'a Page<'a>,
    pub(super) type_name: &'a str,
    /// The path and the content of the example.
    pub(super) example: Option<(String, String)>,
    /// The paths and the contents of the examples of imports.
    pub(super) imports: BTreeMap<ImportExample, (String, String)>,
    pub(super) schema: String,
}

/// A mistake in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateProblem {
    Unclosed,
    UnknownAction(String),
    UnknownField(String),
    NotACondition(String),
    NoOpenCondition,
    OpenCondition,
    OutsideOfProject(String),
    MissingFile(String),
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => formatter.write_str("the action has no end; add \"}}\""),
            Self::UnknownAction(action) => write!(
                formatter,
                "{{{{ {action} }}}} is not supported; use a field such as {{{{ .Description }}}}, {{{{ tffile \
                 \"PATH\" }}}}, {{{{ codefile \"LANGUAGE\" \"PATH\" }}}} or {{{{ if .HasExample }}}}"
            ),
            Self::UnknownField(field) => write!(
                formatter,
                "there is no field {field}; the fields are .Name, .Type, .Description, .ProviderName, \
                 .ProviderShortName, .RenderedProviderName, .ExampleFile, .ImportFile, .ImportIDConfigFile, \
                 .ImportIdentityConfigFile, .HasExample, .HasImport, .HasImportIDConfig, \
                 .HasImportIdentityConfig, .SchemaMarkdown and .IdentitySchemaMarkdown"
            ),
            Self::NotACondition(field) => {
                write!(
                    formatter,
                    "{field} is not a condition; use .HasExample, .HasImport, .HasImportIDConfig or \
                     .HasImportIdentityConfig"
                )
            }
            Self::NoOpenCondition => formatter.write_str("there is no \"if\" that this action belongs to"),
            Self::OpenCondition => formatter.write_str("the \"if\" has no {{ end }}"),
            Self::OutsideOfProject(path) => {
                write!(formatter, "the path \"{path}\" must be inside of the project, and relative")
            }
            Self::MissingFile(path) => write!(formatter, "there is no file {path}"),
        }
    }
}

impl Fields<'_> {
    /// Returns the text of a field.
    fn field(&self, name: &str) -> Option<String> {
        let path = |file: Option<&(String, String)>| file.map(|(path, _)| path.clone()).unwrap_or_default();
        let import = |kind| self.imports.get(&kind);
        Some(match name {
            ".Name" => self.page.name.to_owned(),
            ".Type" => self.page.kind.title().to_owned(),
            ".Description" => self.page.description().to_owned(),
            ".ProviderName" | ".RenderedProviderName" => {
                format!("{}{}", crate::scaffold::PROVIDER_PREFIX, self.type_name)
            }
            ".ProviderShortName" => self.type_name.to_owned(),
            ".ExampleFile" => path(self.example.as_ref()),
            ".ImportFile" => path(import(ImportExample::Command)),
            ".ImportIDConfigFile" => path(import(ImportExample::ById)),
            ".ImportIdentityConfigFile" => path(import(ImportExample::ByIdentity)),
            ".SchemaMarkdown" => self.schema.clone(),
            ".IdentitySchemaMarkdown" => self.page.identity.map(schema_text::of_identity).unwrap_or_default(),
            _ => return Some(self.condition(name)?.to_string()),
        })
    }

    fn condition(&self, name: &str) -> Option<bool> {
        match name {
            ".HasExample" => Some(self.example.is_some()),
            ".HasImport" => Some(self.imports.contains_key(&ImportExample::Command)),
            ".HasImportIDConfig" => Some(self.imports.contains_key(&ImportExample::ById)),
            ".HasImportIdentityConfig" => Some(self.imports.contains_key(&ImportExample::ByIdentity)),
            _ => None,
        }
    }
}

/// An open `if`.
struct Condition {
    line: usize,
    holds: bool,
}

/// Returns the text of a template. `name` is the template's path in the project.
pub(super) fn render(
    template: &str,
    fields: &Fields<'_>,
    directory: &Path,
    name: &Path,
) -> Result<String, DocumentationError> {
    let wrong = |line: usize, problem: TemplateProblem| DocumentationError::Template {
        path: name.to_owned(),
        line,
        problem,
    };
    let mut rendered = String::new();
    let mut conditions: Vec<Condition> = Vec::new();
    let (mut rest, mut line) = (template, 1);
    while let Some((text, after)) = rest.split_once("{{") {
        let is_shown = conditions.iter().all(|one| one.holds);
        let text = if after.starts_with("- ") { text.trim_end() } else { text };
        if is_shown {
            rendered.push_str(text);
        }
        line += rest[..rest.len() - after.len()].matches('\n').count();
        let (action, after) = after.split_once("}}").ok_or_else(|| wrong(line, TemplateProblem::Unclosed))?;
        rest = if action.ends_with(" -") { after.trim_start() } else { after };
        let skipped = after.len() - rest.len();
        let shown = action.strip_prefix('-').unwrap_or(action);
        let shown = shown.strip_suffix('-').unwrap_or(shown).trim();
        let shown = shown.strip_suffix("| trimspace").unwrap_or(shown).trim();
        match evaluate(shown, fields, &mut conditions, line, directory) {
            Ok(Some(value)) if is_shown => rendered.push_str(&value),
            Ok(_) => {}
            Err(Failed::Problem(problem)) => return Err(wrong(line, problem)),
            Err(Failed::File(error)) => return Err(error),
        }
        line += action.matches('\n').count() + after[..skipped].matches('\n').count();
    }
    if let Some(open) = conditions.last() {
        return Err(wrong(open.line, TemplateProblem::OpenCondition));
    }
    rendered.push_str(rest);
    Ok(rendered)
}

enum Failed {
    Problem(TemplateProblem),
    File(DocumentationError),
}

impl From<TemplateProblem> for Failed {
    fn from(problem: TemplateProblem) -> Self {
        Self::Problem(problem)
    }
}

/// Returns the text of an action; `None` if it changes only the conditions.
fn evaluate(
    action: &str,
    fields: &Fields<'_>,
    conditions: &mut Vec<Condition>,
    line: usize,
    directory: &Path,
) -> Result<Option<String>, Failed> {
    let words: Vec<&str> = action.split_whitespace().collect();
    match words.as_slice() {
        ["if", field] => {
            let holds =
                fields.condition(field).ok_or_else(|| TemplateProblem::NotACondition((*field).to_owned()))?;
            conditions.push(Condition { line, holds });
            Ok(None)
        }
        ["else"] => {
            let open = conditions.last_mut().ok_or(TemplateProblem::NoOpenCondition)?;
            open.holds = !open.holds;
            Ok(None)
        }
        ["end"] => {
            conditions.pop().ok_or(TemplateProblem::NoOpenCondition)?;
            Ok(None)
        }
        // Files of text that is not shown need not exist.
        ["tffile" | "codefile", ..] if conditions.iter().any(|one| !one.holds) => Ok(None),
        ["tffile", file] => file_block(None, file, fields, directory).map(Some),
        ["codefile", language, file] => file_block(quoted(language), file, fields, directory).map(Some),
        [field] if field.starts_with('.') => {
            let value = fields.field(field);
            Ok(Some(value.ok_or_else(|| TemplateProblem::UnknownField((*field).to_owned()))?))
        }
        _ => Err(TemplateProblem::UnknownAction(action.to_owned()).into()),
    }
}

fn quoted(word: &str) -> Option<&str> {
    word.strip_prefix('"')?.strip_suffix('"')
}

/// Returns a code block with a file, which a string or a field names.
fn file_block(
    language: Option<&str>,
    file: &str,
    fields: &Fields<'_>,
    directory: &Path,
) -> Result<String, Failed> {
    let path = match quoted(file) {
        Some(path) => path.to_owned(),
        None => fields.field(file).ok_or_else(|| TemplateProblem::UnknownField(file.to_owned()))?,
    };
    let is_inside = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside {
        return Err(TemplateProblem::OutsideOfProject(path).into());
    }
    let content = read_optional(&directory.join(&path)).map_err(Failed::File)?;
    let content = content.ok_or_else(|| TemplateProblem::MissingFile(path.clone()))?;
    let block = code_block(&path, &content);
    let Some(language) = language else { return Ok(block) };
    let fence = block.chars().take_while(|character| *character == '`').count();
    Ok(format!("{}{language}\n{}", "`".repeat(fence), block.split_once('\n').map_or("", |(_, rest)| rest)))
}

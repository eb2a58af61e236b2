//! Reads the files of a directory as one module.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, did_you_mean, system_reason};
use wardian_lang::{Block, Body, SourceBytes, parse_body, parse_json_body};

use super::file_blocks::{BLOCKS, QUERY_BLOCKS, file_body, query_file_body, title};
use super::overrides::{Originals, is_override};
use crate::blocks::{
    ActionBlock, Check, Import, ListBlock, Local, ModuleCall, Moved, Output, ProviderConfig, Removed,
    Resource, Settings, Variable,
};
use crate::content::{one_too_many, unsupported_block};
use crate::files::Files;
use crate::module::Module;
use crate::names::{block_kind, duplicate};

/// The module call that refers to a directory.
#[derive(Clone, Copy)]
pub(super) struct CallOfDirectory<'a> {
    pub(super) call: &'a ModuleCall,
    /// The directory to which the path in the call is relative, in messages.
    pub(super) relative_to: &'static str,
}

/// Reads a directory; returns `None` if it cannot be read. `call` is the module call that refers to
/// it.
pub(super) fn read(
    files: &dyn Files,
    directory: &Path,
    call: Option<CallOfDirectory<'_>>,
    queries: QueryFiles,
    problems: &mut Diagnostics,
) -> Option<Module> {
    let listed = if directory == Path::new("") { Path::new(".") } else { directory };
    let mut names = match files.list(listed) {
        Ok(names) => names,
        Err(error) => {
            problems.push(unreadable_directory(listed, call, &error));
            return None;
        }
    };
    names.retain(|name| {
        let name = name.to_string_lossy();
        is_configuration(&name) || queries == QueryFiles::Included && is_query(&name)
    });
    names.sort();
    let mut module = Module { directory: directory.to_owned(), ..Module::default() };
    let (overrides, ordinary): (Vec<OsString>, Vec<OsString>) =
        names.into_iter().partition(|name| is_override(&name.to_string_lossy()));
    let mut originals = (!overrides.is_empty()).then(Originals::default);
    for name in ordinary.into_iter().chain(overrides) {
        let path = directory.join(&name);
        let name = name.to_string_lossy();
        let Some(file) = read_text(files, &path, problems) else {
            continue;
        };
        module.files.push(Arc::clone(&file));
        let (body, found) = if is_json(&name) { parse_json_body(&file) } else { parse_body(&file) };
        problems.extend(found);
        if is_query(&name) {
            module.add_query_file(&body, problems);
            continue;
        }
        match &mut originals {
            Some(originals) if is_override(&name) => originals.override_with(&mut module, &body, problems),
            Some(originals) => {
                module.add_file(&body, problems);
                originals.add_file(&body);
            }
            None => module.add_file(&body, problems),
        }
    }
    module.check_whole(problems);
    Some(module)
}

/// Whether the query files of a directory are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryFiles {
    #[default]
    Ignored,
    Included,
}

/// Returns true if a file is part of the module. Editors' temporary files are not part of it.
fn is_configuration(name: &str) -> bool {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    !is_temporary(name) && extension(stem) == Some("tf")
}

/// Returns true if a file is a query file.
pub(crate) fn is_query(name: &str) -> bool {
    !is_temporary(name) && (name.ends_with(".tfquery.hcl") || name.ends_with(".tfquery.json"))
}

fn is_temporary(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

fn extension(name: &str) -> Option<&str> {
    Path::new(name).extension()?.to_str()
}

pub(crate) fn is_json(name: &str) -> bool {
    extension(name) == Some("json")
}

fn unreadable_directory(
    directory: &Path,
    call: Option<CallOfDirectory<'_>>,
    error: &io::Error,
) -> Diagnostic {
    let detail = match error.kind() {
        io::ErrorKind::NotFound => format!("The directory {} does not exist.", directory.display()),
        _ => format!("The directory {} cannot be read: {}.", directory.display(), system_reason(error)),
    };
    match call {
        None => Diagnostic::error("Failed to read module directory", detail),
        Some(CallOfDirectory { call, relative_to }) => Diagnostic::error(
            "Unreadable module directory",
            format!("{detail} A local path is relative to {relative_to}."),
        )
        .at(call.source_span.clone())
        .in_block(format!("module \"{}\"", call.name)),
    }
}

pub(crate) fn read_text(
    files: &dyn Files,
    path: &Path,
    problems: &mut Diagnostics,
) -> Option<Arc<SourceFile>> {
    let name = path.display();
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            problems.error(
                "Failed to read file",
                format!("The file {name} cannot be read: {}.", system_reason(&error)),
            );
            return None;
        }
    };
    match text_of(&name.to_string(), bytes) {
        Ok(file) => Some(file),
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

/// Decodes bytes as the text of a file.
pub(crate) fn text_of(name: &str, bytes: Vec<u8>) -> Result<Arc<SourceFile>, Diagnostic> {
    if is_json(name) {
        return json_text(name, bytes);
    }
    let file = SourceBytes::new(name, bytes)?.into_file();
    // Some editors write a byte order mark, which is an error in JSON.
    Ok(match file.text().strip_prefix('\u{feff}') {
        None => file,
        Some(text) => SourceFile::new(name, text),
    })
}

fn json_text(name: &str, bytes: Vec<u8>) -> Result<Arc<SourceFile>, Diagnostic> {
    String::from_utf8(bytes).map(|text| SourceFile::new(name, text)).map_err(|error| {
        // The diagnostic shows the valid text and points at its end.
        let at = error.utf8_error().valid_up_to();
        let file = SourceFile::new(name, String::from_utf8_lossy(error.as_bytes()).into_owned());
        let detail = format!(
            "The file {name} is not valid UTF-8: the byte at offset {at} is invalid. Save the file in that \
             encoding."
        );
        Diagnostic::error("Invalid character encoding", detail).at(Span::new(&file, at, at + 3))
    })
}

impl Module {
    fn add_file(&mut self, body: &Body, problems: &mut Diagnostics) {
        let mut found = Diagnostics::new();
        let body = file_body(body, &mut found);
        self.add_blocks(&body, found, problems, Self::add_block);
    }

    /// Adds the blocks of a query file.
    fn add_query_file(&mut self, body: &Body, problems: &mut Diagnostics) {
        let mut found = Diagnostics::new();
        let body = query_file_body(body, &mut found);
        self.add_blocks(&body, found, problems, Self::add_query_block);
    }

    fn add_blocks(
        &mut self,
        body: &Body,
        found: Diagnostics,
        problems: &mut Diagnostics,
        add: fn(&mut Self, &Block, &mut Diagnostics),
    ) {
        let mut all: Vec<Diagnostic> = found.into_iter().collect();
        for block in &body.blocks {
            let mut found = Diagnostics::new();
            add(self, block, &mut found);
            if !found.is_empty() {
                all.extend(found.in_block(&title(block)));
            }
        }
        all.sort_by_key(|problem| problem.subject.as_ref().map(|span| span.start));
        problems.extend(all);
    }

    fn add_query_block(&mut self, block: &Block, problems: &mut Diagnostics) {
        match &*block.kind {
            "list" => {
                if let Some(list) = ListBlock::read(block, problems) {
                    let key = (list.type_name.clone(), list.name.clone());
                    add(
                        &mut self.lists,
                        key,
                        list,
                        |l| &l.span,
                        problems,
                        |(kind, name)| {
                            (
                                format!("Duplicate list \"{kind}\" configuration"),
                                format!("A {kind} list named \"{name}\""),
                            )
                        },
                    );
                }
            }
            "variable" | "locals" | "provider" => self.add_block(block, problems),
            _ => problems.push(unsupported_block(
                block,
                "a query file",
                QUERY_BLOCKS.into_iter(),
                [].into_iter(),
            )),
        }
    }

    pub(super) fn add_block(&mut self, block: &Block, problems: &mut Diagnostics) {
        match &*block.kind {
            "variable" => {
                if let Some(variable) = Variable::read(block, problems) {
                    add(
                        &mut self.variables,
                        variable.name.clone(),
                        variable,
                        |v| &v.span,
                        problems,
                        |name| {
                            ("Duplicate variable declaration".to_owned(), format!("A variable \"{name}\""))
                        },
                    );
                }
            }
            "locals" => {
                for local in Local::read_all(block, problems) {
                    add(
                        &mut self.locals,
                        local.name.clone(),
                        local,
                        |l| &l.span,
                        problems,
                        |name| {
                            (
                                "Duplicate local value definition".to_owned(),
                                format!("A local value \"{name}\""),
                            )
                        },
                    );
                }
            }
            "output" => {
                if let Some(output) = Output::read(block, problems) {
                    add(
                        &mut self.outputs,
                        output.name.clone(),
                        output,
                        |o| &o.span,
                        problems,
                        |name| ("Duplicate output definition".to_owned(), format!("An output \"{name}\"")),
                    );
                }
            }
            "resource" | "data" | "ephemeral" => {
                if let Some(resource) = Resource::read(block, problems) {
                    self.add_resource(resource, problems);
                }
            }
            "action" => {
                if let Some(action) = ActionBlock::read(block, problems) {
                    add(
                        &mut self.actions,
                        action.key(),
                        action,
                        |a| &a.span,
                        problems,
                        |(kind, name)| {
                            (
                                format!("Duplicate action \"{kind}\" configuration"),
                                format!("A {kind} action named \"{name}\""),
                            )
                        },
                    );
                }
            }
            "list" => {
                let detail = "A list block belongs in a query file, whose name ends with .tfquery.hcl or \
                              .tfquery.json; `wardian query` runs it.";
                problems
                    .push(Diagnostic::error("Unsupported block type", detail).at(block.kind_span.clone()));
            }
            "module" => {
                if let Some(call) = ModuleCall::read(block, problems) {
                    add(
                        &mut self.module_calls,
                        call.name.clone(),
                        call,
                        |c| &c.span,
                        problems,
                        |name| ("Duplicate module call".to_owned(), format!("A module call \"{name}\"")),
                    );
                }
            }
            "provider" => {
                if let Some(config) = ProviderConfig::read(block, problems) {
                    let key = (config.local_name.clone(), config.alias.clone());
                    add(
                        &mut self.provider_configs,
                        key,
                        config,
                        |c| &c.span,
                        problems,
                        |(name, alias)| {
                            let what = match alias {
                                None => format!("A default configuration of the provider \"{name}\""),
                                Some(alias) => {
                                    format!("A configuration \"{alias}\" of the provider \"{name}\"")
                                }
                            };
                            ("Duplicate provider configuration".to_owned(), what)
                        },
                    );
                }
            }
            "check" => {
                if let Some(check) = Check::read(block, problems) {
                    if let Some(data) = check.data.clone() {
                        self.add_resource(data, problems);
                    }
                    add(
                        &mut self.checks,
                        check.name.clone(),
                        check,
                        |c| &c.span,
                        problems,
                        |name| {
                            (
                                format!("Duplicate check \"{name}\" configuration"),
                                format!("A check \"{name}\""),
                            )
                        },
                    );
                }
            }
            "terraform" => self.add_settings(Settings::read(block, problems), problems),
            "moved" => self.moved.extend(Moved::read(block, problems)),
            "removed" => self.removed.extend(Removed::read(block, problems)),
            "import" => self.imports.extend(Import::read(block, problems)),
            "required_providers" => problems.push(
                Diagnostic::error(
                    "Invalid required_providers block",
                    "A required_providers block must be inside a terraform block.",
                )
                .at(block.header_span.clone()),
            ),
            other => {
                let detail = format!(
                    "A configuration file has no blocks of type \"{other}\".{}",
                    did_you_mean(other, BLOCKS)
                );
                problems
                    .push(Diagnostic::error("Unsupported block type", detail).at(block.kind_span.clone()));
            }
        }
    }

    fn add_resource(&mut self, resource: Resource, problems: &mut Diagnostics) {
        add(
            &mut self.resources,
            resource.key(),
            resource,
            |r| &r.span,
            problems,
            |(mode, kind, name)| {
                let block = block_kind(*mode);
                (
                    format!("Duplicate {block} \"{kind}\" configuration"),
                    format!("A {kind} {block} named \"{name}\""),
                )
            },
        );
    }

    fn add_settings(&mut self, settings: Settings, problems: &mut Diagnostics) {
        self.required_versions.extend(settings.required_version);
        for backend in settings.backends {
            match &self.backend {
                None => self.backend = Some(backend),
                Some(first) => {
                    let summary = "Duplicate backend configuration".to_owned();
                    problems.push(duplicate(summary, "A backend", &first.span, &backend.span));
                }
            }
        }
        for cloud in settings.clouds {
            match &self.cloud {
                None => self.cloud = Some(cloud),
                Some(first) => {
                    let summary = "Duplicate HCP Terraform configurations".to_owned();
                    problems.push(duplicate(summary, "A cloud block", &first.span, &cloud.span));
                }
            }
        }
        for state_store in settings.state_stores {
            match &self.state_store {
                None => self.state_store = Some(state_store),
                Some(first) => {
                    let summary = "Duplicate state store configuration".to_owned();
                    problems.push(duplicate(summary, "A state store", &first.span, &state_store.span));
                }
            }
        }
        for (span, encryption) in settings.encryptions {
            match &self.encryption_span {
                None => (self.encryption, self.encryption_span) = (Some(encryption), Some(span)),
                Some(first) => {
                    problems.push(one_too_many("Duplicate encryption configuration", first, &span));
                }
            }
        }
        for (name, meta) in settings.provider_metas {
            add(
                &mut self.provider_metas,
                name,
                meta,
                |meta| &meta.span,
                problems,
                |name| {
                    let what = format!("A provider_meta block for \"{name}\"");
                    ("Duplicate provider_meta block".to_owned(), what)
                },
            );
        }
        for (span, entries) in settings.required_providers {
            if let Some(first) = &self.required_providers_span {
                problems.push(one_too_many("Duplicate required providers configuration", first, &span));
                continue;
            }
            self.required_providers_span = Some(span);
            self.required_providers.extend(entries);
        }
    }

    /// Checks settings that may occur in several files.
    fn check_whole(&self, problems: &mut Diagnostics) {
        if let (Some(backend), Some(cloud)) = (&self.backend, &self.cloud) {
            let detail = format!(
                "The state has a single location: remove this block, or the cloud block at {}.",
                cloud.span
            );
            problems.push(
                Diagnostic::error("Both a backend and cloud configuration are present", detail)
                    .at(backend.span.clone())
                    .in_block("terraform"),
            );
        }
        if let (Some(store), Some(other)) = (&self.state_store, self.backend.as_ref().or(self.cloud.as_ref()))
        {
            let detail = format!(
                "The state has a single location: remove this block, or the block at {}.",
                other.span
            );
            problems.push(
                Diagnostic::error("Both a state store and another state location are present", detail)
                    .at(store.span.clone())
                    .in_block("terraform"),
            );
        }
    }
}

/// Adds a declaration, or reports it if a declaration with the same name exists.
fn add<K: Ord, V>(
    known: &mut BTreeMap<K, V>,
    key: K,
    value: V,
    span: impl Fn(&V) -> &Span,
    problems: &mut Diagnostics,
    describe: impl Fn(&K) -> (String, String),
) {
    match known.get(&key) {
        Some(first) => {
            let (summary, what) = describe(&key);
            problems.push(duplicate(summary, &what, span(first), span(&value)));
        }
        None => {
            known.insert(key, value);
        }
    }
}

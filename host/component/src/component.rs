//! Counts the sections of components, and multiplies the counts by the number of instances.
//!
//! The cost of an instance is the cost of its definition, including all nested instances. The cost
//! of a definition is known at its end, and only complete definitions can be instantiated, so it is
//! sufficient to read each section once.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, CoreType, Encoding,
    Instance, Parser, Payload,
};

use crate::limits::{CheckError, ComponentCounts, ComponentLimits, add, count, raise, within};
use crate::module::Module;
use crate::types;

/// The counts that one instance of a definition adds.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    instances: u64,
    items: u64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.instances = self.instances.saturating_add(other.instances);
        self.items = self.items.saturating_add(other.items);
    }

    fn add_items(&mut self, items: u64) {
        self.items = self.items.saturating_add(items);
    }
}

/// A definition that can be instantiated; `None` if it comes from an import or an instance.
type Definition = Option<Cost>;

/// A component that is being read.
#[derive(Default)]
struct Component {
    cost: Cost,
    components: Vec<Definition>,
    modules: Vec<Definition>,
    /// The number of items of each instance, including the items of the instances that it exports.
    /// Every reference to an instance copies these items.
    instances: Vec<u64>,
}

enum Frame {
    Component(Component),
    Module(Module),
}

/// Counts the elements of an expanded component.
///
/// # Errors
/// Returns an error if the bytes cannot be parsed or a count exceeds its limit.
pub fn check(bytes: &[u8], limits: &ComponentLimits) -> Result<ComponentCounts, CheckError> {
    read(bytes, limits, Code::Counted)
}

/// Counts like [`check`], but does not read the code of functions. This is about 100 times faster,
/// and sufficient before imports and exports are read.
///
/// # Errors
/// Returns an error if the bytes cannot be parsed or a count exceeds its limit.
pub fn check_structure(bytes: &[u8], limits: &ComponentLimits) -> Result<ComponentCounts, CheckError> {
    read(bytes, limits, Code::Skipped)
}

/// Whether the code of functions is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    Counted,
    Skipped,
}

fn read(bytes: &[u8], limits: &ComponentLimits, code: Code) -> Result<ComponentCounts, CheckError> {
    let mut reader = Reader { bytes, code, frames: Vec::new(), counts: ComponentCounts::default(), limits };
    for payload in Parser::new(0).parse_all(bytes) {
        reader.payload(payload?)?;
    }
    Ok(reader.counts)
}

struct Reader<'a> {
    bytes: &'a [u8],
    code: Code,
    frames: Vec<Frame>,
    counts: ComponentCounts,
    limits: &'a ComponentLimits,
}

impl Reader<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> Result<(), CheckError> {
        match payload {
            Payload::Version { encoding, .. } => {
                self.frames.push(match encoding {
                    Encoding::Component => Frame::Component(Component::default()),
                    Encoding::Module => Frame::Module(Module::default()),
                });
                let (nesting, limit) = (count(self.frames.len()), self.limits.nesting);
                return raise("nested components", &mut self.counts.nesting, nesting, limit);
            }
            Payload::End(_) => return self.end(),
            Payload::CodeSectionEntry(_) if self.code == Code::Skipped => return Ok(()),
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(&alias?);
                    self.item(1)?;
                }
                return Ok(());
            }
            _ => {}
        }
        match self.frames.last_mut() {
            Some(Frame::Module(module)) => module.section(payload, &mut self.counts, self.limits),
            Some(Frame::Component(_)) => self.section(payload),
            None => Ok(()),
        }
    }

    fn section(&mut self, payload: Payload<'_>) -> Result<(), CheckError> {
        match payload {
            Payload::ComponentTypeSection(section) => {
                let section = self.bytes.get(section.range()).unwrap_or_default();
                types::count(section, &mut self.counts, self.limits)?;
            }
            Payload::CoreTypeSection(section) => {
                for ty in section {
                    let types = match ty? {
                        CoreType::Rec(group) => count(group.types().len()),
                        CoreType::Module(declarations) => count(declarations.len()),
                    };
                    self.types(types)?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let kind = import?.ty.kind();
                    self.define(kind, None, 1);
                    self.item(1)?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export?;
                    let items = self.exported(export.kind, export.index);
                    let definition = self.definition(export.kind, export.index);
                    self.define(export.kind, definition, items);
                    self.item(items)?;
                }
            }
            Payload::ComponentCanonicalSection(section) => self.item(u64::from(section.count()))?,
            Payload::InstanceSection(section) => {
                for instance in section {
                    match instance? {
                        Instance::Instantiate { module_index, args } => {
                            let module = self.definition(ComponentExternalKind::Module, module_index);
                            self.instance(module, count(args.len()))?;
                        }
                        Instance::FromExports(exports) => self.item(1 + count(exports.len()))?,
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    self.component_instance(&instance?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn component_instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), CheckError> {
        let items = match instance {
            ComponentInstance::Instantiate { component_index, args } => {
                let component = self.definition(ComponentExternalKind::Component, *component_index);
                let mut items = 1_u64;
                for argument in args {
                    items = items.saturating_add(self.exported(argument.kind, argument.index));
                }
                self.instance(component, items)?;
                // The exports of an instance are part of its content.
                component.map_or(1, |component| component.items).min(self.limits.items)
            }
            ComponentInstance::FromExports(exports) => {
                let mut items = 1_u64;
                for export in exports {
                    items = items.saturating_add(self.exported(export.kind, export.index));
                }
                self.item(items)?;
                items
            }
        };
        self.define(ComponentExternalKind::Instance, None, items);
        Ok(())
    }

    fn instance(&mut self, definition: Definition, arguments: u64) -> Result<(), CheckError> {
        let inside = definition.ok_or(CheckError::Unresolved)?;
        if let Some(component) = self.component() {
            component.cost.add(Cost { instances: 1, items: arguments });
            component.cost.add(inside);
        }
        self.check_cost()
    }

    /// Adds items to the component that is being read.
    fn item(&mut self, items: u64) -> Result<(), CheckError> {
        if let Some(component) = self.component() {
            component.cost.add_items(items);
        }
        self.check_cost()
    }

    /// Checks the cost of a component even if it is never instantiated, since a component above a
    /// limit has no legitimate use.
    fn check_cost(&mut self) -> Result<(), CheckError> {
        let Some(cost) = self.component().map(|component| component.cost) else { return Ok(()) };
        within("instances, including nested instances", cost.instances, self.limits.instances)?;
        within("imports, exports and aliases of all instances", cost.items, self.limits.items)
    }

    fn types(&mut self, number: u64) -> Result<(), CheckError> {
        add("types", &mut self.counts.types, number, self.limits.types)
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match *alias {
            ComponentAlias::InstanceExport { kind, instance_index, .. } => {
                let items = self.exported(ComponentExternalKind::Instance, instance_index);
                self.define(kind, None, items);
            }
            ComponentAlias::CoreInstanceExport { .. } => {}
            ComponentAlias::Outer { kind, count: levels, index } => {
                let kind = match kind {
                    ComponentOuterAliasKind::Component => ComponentExternalKind::Component,
                    ComponentOuterAliasKind::CoreModule => ComponentExternalKind::Module,
                    ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => return,
                };
                let outer =
                    usize::try_from(levels).ok().and_then(|levels| self.frames.len().checked_sub(levels + 1));
                let definition = match outer.and_then(|at| self.frames.get(at)) {
                    Some(Frame::Component(outer)) => outer.definition(kind, index),
                    _ => None,
                };
                self.define(kind, definition, 1);
            }
        }
    }

    /// Adds a definition or an instance to its index space.
    fn define(&mut self, kind: ComponentExternalKind, definition: Definition, items: u64) {
        let Some(component) = self.component() else { return };
        match kind {
            ComponentExternalKind::Component => component.components.push(definition),
            ComponentExternalKind::Module => component.modules.push(definition),
            ComponentExternalKind::Instance => component.instances.push(items),
            ComponentExternalKind::Func | ComponentExternalKind::Value | ComponentExternalKind::Type => {}
        }
    }

    fn definition(&mut self, kind: ComponentExternalKind, index: u32) -> Definition {
        self.component()?.definition(kind, index)
    }

    /// Returns the number of items that a reference to an instance copies.
    fn exported(&mut self, kind: ComponentExternalKind, index: u32) -> u64 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match self.component() {
            Some(component) if kind == ComponentExternalKind::Instance => {
                component.instances.get(index).copied().unwrap_or(1)
            }
            _ => 1,
        }
    }

    fn component(&mut self) -> Option<&mut Component> {
        match self.frames.last_mut() {
            Some(Frame::Component(component)) => Some(component),
            _ => None,
        }
    }

    fn end(&mut self) -> Result<(), CheckError> {
        let (kind, cost) = match self.frames.pop() {
            Some(Frame::Component(component)) => (ComponentExternalKind::Component, component.cost),
            Some(Frame::Module(module)) => {
                module.finish(&mut self.counts, self.limits)?;
                (ComponentExternalKind::Module, Cost { instances: 0, items: module.imports })
            }
            None => return Ok(()),
        };
        if self.frames.is_empty() {
            self.counts.instances = cost.instances;
            self.counts.items = self.counts.items.saturating_add(cost.items);
        }
        self.define(kind, Some(cost), 1);
        Ok(())
    }
}

impl Component {
    fn definition(&self, kind: ComponentExternalKind, index: u32) -> Definition {
        let definitions = match kind {
            ComponentExternalKind::Component => &self.components,
            ComponentExternalKind::Module => &self.modules,
            _ => return None,
        };
        usize::try_from(index).ok().and_then(|index| definitions.get(index)).copied().flatten()
    }
}

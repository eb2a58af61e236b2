//! Reads the sections of one core module, and counts their elements.

use wasmparser::{DataKind, ElementItems, FunctionBody, Operator, Payload, TypeRef};

use crate::function;
use crate::function_types::ModuleTypes;
use crate::limits::{CheckError, ComponentCounts, ComponentLimits, add, count};

/// Up to this size, the initial content of a memory is stored with its gaps.
const MAX_SPARSE_IMAGE: u64 = 16 << 20;

/// A module that is being read.
#[derive(Default)]
pub(crate) struct Module {
    types: ModuleTypes,
    imported_functions: usize,
    bodies: usize,
    /// The imports, which add to the cost of each instance.
    pub(crate) imports: u64,
    image_end: u64,
    image_bytes: u64,
}

impl Module {
    pub(crate) fn section(
        &mut self,
        payload: Payload<'_>,
        counts: &mut ComponentCounts,
        limits: &ComponentLimits,
    ) -> Result<(), CheckError> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    let group = group?;
                    self.types.add(&group);
                    add("types", &mut counts.types, count(group.types().len()), limits.types)?;
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if let TypeRef::Func(ty) | TypeRef::FuncExact(ty) = import?.ty {
                        self.types.functions.push(ty);
                    }
                    self.imports = self.imports.saturating_add(1);
                    items(1, counts, limits)?;
                }
                self.imported_functions = self.types.functions.len();
            }
            Payload::FunctionSection(section) => {
                add("functions", &mut counts.functions, u64::from(section.count()), limits.functions)?;
                for ty in section {
                    self.types.functions.push(ty?);
                }
            }
            Payload::ExportSection(section) => items(section.count(), counts, limits)?,
            Payload::TableSection(section) => defined(section.count(), counts, limits)?,
            Payload::MemorySection(section) => defined(section.count(), counts, limits)?,
            Payload::TagSection(section) => defined(section.count(), counts, limits)?,
            Payload::GlobalSection(section) => defined(section.count(), counts, limits)?,
            Payload::ElementSection(section) => {
                segments(section.count(), counts, limits)?;
                for segment in section {
                    let elements = match segment?.items {
                        ElementItems::Functions(elements) => elements.count(),
                        ElementItems::Expressions(_, elements) => elements.count(),
                    };
                    add(
                        "elements of all segments",
                        &mut counts.elements,
                        u64::from(elements),
                        limits.elements,
                    )?;
                }
            }
            Payload::DataSection(section) => {
                segments(section.count(), counts, limits)?;
                for segment in section {
                    let segment = segment?;
                    let bytes = count(segment.data.len());
                    self.image_bytes = self.image_bytes.saturating_add(bytes);
                    if let DataKind::Active { offset_expr, .. } = segment.kind {
                        let start = match offset_expr.get_operators_reader().read()? {
                            Operator::I32Const { value } => u64::from(value.cast_unsigned()),
                            Operator::I64Const { value } => value.cast_unsigned(),
                            _ => 0,
                        };
                        self.image_end = self.image_end.max(start.saturating_add(bytes));
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.body(&body, counts, limits)?,
            _ => {}
        }
        Ok(())
    }

    fn body(
        &mut self,
        body: &FunctionBody<'_>,
        counts: &mut ComponentCounts,
        limits: &ComponentLimits,
    ) -> Result<(), CheckError> {
        let at = u32::try_from(self.imported_functions + self.bodies).unwrap_or(u32::MAX);
        self.bodies += 1;
        function::count(body, self.types.function(at), &self.types, counts, limits)
    }

    /// Adds the counts that are known only at the end of the module.
    pub(crate) fn finish(
        &self,
        counts: &mut ComponentCounts,
        limits: &ComponentLimits,
    ) -> Result<(), CheckError> {
        let image = self.image_bytes.max(self.image_end.min(MAX_SPARSE_IMAGE));
        let what = "bytes of the initial content of memories";
        add(what, &mut counts.memory_image, image, limits.memory_image)
    }
}

fn items(number: u32, counts: &mut ComponentCounts, limits: &ComponentLimits) -> Result<(), CheckError> {
    add("imports, exports and aliases", &mut counts.items, number.into(), limits.items)
}

fn defined(number: u32, counts: &mut ComponentCounts, limits: &ComponentLimits) -> Result<(), CheckError> {
    let what = "memories, tables, globals and tags";
    add(what, &mut counts.definitions, number.into(), limits.definitions)
}

fn segments(number: u32, counts: &mut ComponentCounts, limits: &ComponentLimits) -> Result<(), CheckError> {
    add("data and element segments", &mut counts.segments, number.into(), limits.segments)
}

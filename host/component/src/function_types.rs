//! The function types of a core module.

use wasmparser::{CompositeInnerType, RecGroup};

use crate::limits::count;

/// The numbers of parameters and results.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FunctionType {
    pub(crate) parameters: u64,
    pub(crate) results: u64,
}

impl FunctionType {
    pub(crate) fn values(self) -> u64 {
        self.parameters + self.results
    }
}

#[derive(Default)]
pub(crate) struct ModuleTypes {
    types: Vec<FunctionType>,
    /// Indexes of types: imported functions, then defined ones.
    pub(crate) functions: Vec<u32>,
}

impl ModuleTypes {
    pub(crate) fn ty(&self, index: u32) -> FunctionType {
        let ty = usize::try_from(index).ok().and_then(|index| self.types.get(index));
        ty.copied().unwrap_or_default()
    }

    pub(crate) fn function(&self, index: u32) -> FunctionType {
        let ty = usize::try_from(index).ok().and_then(|index| self.functions.get(index));
        ty.map_or_else(FunctionType::default, |ty| self.ty(*ty))
    }

    pub(crate) fn add(&mut self, group: &RecGroup) {
        for ty in group.types() {
            self.types.push(match &ty.composite_type.inner {
                CompositeInnerType::Func(ty) => {
                    FunctionType { parameters: count(ty.params().len()), results: count(ty.results().len()) }
                }
                _ => FunctionType::default(),
            });
        }
    }
}

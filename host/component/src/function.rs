//! Counts the local variables, blocks and values of one function.

use wasmparser::{BlockType, FunctionBody, Operator};

use crate::function_types::{FunctionType, ModuleTypes};
use crate::limits::{self, CheckError, ComponentCounts, ComponentLimits, add, raise};

/// Counts a function of `ty`.
pub(crate) fn count(
    body: &FunctionBody<'_>,
    ty: FunctionType,
    types: &ModuleTypes,
    counts: &mut ComponentCounts,
    limits: &ComponentLimits,
) -> Result<(), CheckError> {
    let size = limits::count(body.range().len());
    raise("bytes of a function", &mut counts.function_size, size, limits.function_size)?;
    let mut locals = ty.parameters;
    for group in body.get_locals_reader()? {
        locals = locals.saturating_add(u64::from(group?.0));
    }
    raise("local variables of a function", &mut counts.locals, locals, limits.locals)?;
    add("local variables of all functions", &mut counts.total_locals, locals, limits.total_locals)?;
    let mut code =
        Code { types, limits, locals, labels: vec![Label::of_block(ty.results)], values: 0, loops: 0 };
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        code.operator(&operators.read()?, counts)?;
    }
    counts.values = counts.values.max(code.values);
    let what = "operands and results of the instructions of all functions";
    add(what, &mut counts.total_values, code.values, limits.total_values)
}

/// An open block, which branches can target.
struct Label {
    /// The number of values that a branch to this label passes.
    arity: u64,
    is_loop: bool,
}

impl Label {
    fn of_block(arity: u64) -> Self {
        Self { arity, is_loop: false }
    }
}

struct Code<'a> {
    types: &'a ModuleTypes,
    limits: &'a ComponentLimits,
    locals: u64,
    labels: Vec<Label>,
    values: u64,
    loops: u64,
}

impl Code<'_> {
    fn operator(&mut self, operator: &Operator<'_>, counts: &mut ComponentCounts) -> Result<(), CheckError> {
        match operator {
            Operator::Block { blockty } | Operator::If { blockty } => self.begin(*blockty, false, counts),
            Operator::TryTable { try_table } => {
                self.pass(limits::count(try_table.catches.len()))?;
                self.begin(try_table.ty, false, counts)
            }
            Operator::Loop { blockty } => self.begin(*blockty, true, counts),
            Operator::End => {
                if self.labels.pop().is_some_and(|label| label.is_loop) {
                    self.loops = self.loops.saturating_sub(1);
                }
                Ok(())
            }
            Operator::Br { relative_depth } | Operator::BrIf { relative_depth } => {
                self.pass(self.arity(*relative_depth))
            }
            Operator::BrTable { targets } => {
                let mut values = self.arity(targets.default());
                for target in targets.targets() {
                    values = values.saturating_add(self.arity(target?)).saturating_add(1);
                }
                self.pass(values)
            }
            Operator::Return => self.pass(self.labels.first().map_or(0, |label| label.arity)),
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                self.pass(self.types.function(*function_index).values())
            }
            Operator::CallIndirect { type_index, .. }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallRef { type_index } => self.pass(self.types.ty(*type_index).values()),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        ty: BlockType,
        is_loop: bool,
        counts: &mut ComponentCounts,
    ) -> Result<(), CheckError> {
        let ty = match ty {
            BlockType::Empty => FunctionType::default(),
            BlockType::Type(_) => FunctionType { parameters: 0, results: 1 },
            BlockType::FuncType(index) => self.types.ty(index),
        };
        self.pass(ty.values())?;
        self.labels.push(Label { arity: if is_loop { ty.parameters } else { ty.results }, is_loop });
        let (nesting, limit) = (limits::count(self.labels.len()), self.limits.block_nesting);
        raise("nested blocks of a function", &mut counts.block_nesting, nesting, limit)?;
        if is_loop {
            self.loops += 1;
            let what = "nested loops of a function, multiplied by its local variables";
            let variables = self.loops.saturating_mul(self.locals);
            raise(what, &mut counts.loop_variables, variables, self.limits.loop_variables)?;
        }
        Ok(())
    }

    fn pass(&mut self, values: u64) -> Result<(), CheckError> {
        add(
            "operands and results of the instructions of a function",
            &mut self.values,
            values,
            self.limits.values,
        )
    }

    fn arity(&self, depth: u32) -> u64 {
        let at = usize::try_from(depth).ok().and_then(|depth| self.labels.len().checked_sub(depth + 1));
        at.and_then(|at| self.labels.get(at)).map_or(0, |label| label.arity)
    }
}

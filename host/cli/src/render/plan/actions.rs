//! Renders the invocations of actions.

use std::collections::HashMap;

use wardian_address::ResourceInstanceAddress;
use wardian_engine::{ActionInvocation, InvocationTrigger, Plan, ResourceChange};
use wardian_printable::{append, append_line, printable};

use crate::render::RenderOptions;
use crate::render::difference::{Forcing, Sides, schema};
use crate::render::layout::{self, Context};
use crate::render::style::{Page, Style};

/// The invocations of a plan by the object whose change triggers them.
pub(super) struct Invocations<'a> {
    by_object: HashMap<&'a ResourceInstanceAddress, Vec<&'a ActionInvocation>>,
}

impl<'a> Invocations<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let mut by_object: HashMap<_, Vec<_>> = HashMap::new();
        for invocation in &plan.invocations {
            if let Some(resource) = invocation.trigger.resource() {
                by_object.entry(resource).or_default().push(invocation);
            }
        }
        Self { by_object }
    }

    /// Writes the invocations before and after a change, below it.
    pub(super) fn write(&self, page: &mut Page, change: &ResourceChange) {
        let Some(invocations) = self.by_object.get(&change.address).filter(|_| change.deposed.is_none())
        else {
            return;
        };
        for (is_before, place) in [(true, "before"), (false, "after")] {
            let mut of_phase = invocations.iter().filter(|invocation| {
                matches!(&invocation.trigger, InvocationTrigger::Lifecycle { event, .. }
                    if event.is_before() == is_before)
            });
            let Some(first) = of_phase.next() else { continue };
            append_line!(page, "\n    # Actions to be invoked {place} this change in order:");
            write_invocation(page, first);
            for invocation in of_phase {
                write_invocation(page, invocation);
            }
        }
    }
}

/// Writes the invocations that the user requested.
pub(super) fn write_requested(page: &mut Page, plan: &Plan, options: RenderOptions) {
    let requested = plan.invocations.iter().filter(|one| one.trigger == InvocationTrigger::Command);
    let requested: Vec<&ActionInvocation> = requested.collect();
    if requested.is_empty() {
        return;
    }
    append_line!(page, "\n{} will invoke the following action(s):", options.product.name());
    for invocation in requested {
        page.push("\n");
        page.paint(Style::Bold, printable!("  # {}", invocation.address));
        page.push(" will be invoked\n");
        write_invocation(page, invocation);
    }
}

fn write_invocation(page: &mut Page, invocation: &ActionInvocation) {
    let ActionInvocation { address, config, schema, .. } = invocation;
    append_line!(page, "    action \"{}\" \"{}\" {{", address.type_name, address.name);
    let sides = Sides::new(Some(config), Some(config));
    let shown = schema::of_block(sides, &schema.block, &Forcing::default());
    append!(page, "        config ");
    layout::write(page, &shown, 2, Context::of_state());
    page.push("\n    }\n");
}

//! Detects resources that refer to themselves.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Expression, Reference, ReferenceMode, ReferenceSubject};

use crate::blocks::Resource;
use crate::configuration::Configuration;
use crate::decode::references;
use crate::names::resource_mode;

impl Configuration {
    /// Reports every resource that refers to itself: in `count` or `for_each`, or, if it has
    /// exactly one instance, in its arguments.
    pub(crate) fn check_self_references(&self, problems: &mut Diagnostics) {
        for resource in self.modules().flat_map(|node| node.module.resources.values()) {
            let repetition = resource.count.iter().chain(&resource.for_each);
            for reference in repetition.flat_map(Expression::references) {
                if resource.is_named_by(&reference.subject) {
                    problems.push(self_referential(resource, reference));
                }
            }
            if !resource.is_repeated() {
                problems.extend(resource.check_own_arguments());
            }
        }
    }

    /// Reports resources with `count` or `for_each` whose arguments refer to the resource itself.
    /// Such a reference is an error only if the resource has instances, which is known only after
    /// planning.
    pub fn check_self_references_of_instances(&self) -> Diagnostics {
        let resources = self.modules().flat_map(|node| node.module.resources.values());
        resources.filter(|resource| resource.is_repeated()).flat_map(Resource::check_own_arguments).collect()
    }
}

impl Resource {
    /// Reports arguments of the resource, and items of `replace_triggered_by`, that refer to the
    /// resource itself. Such references are allowed in provisioners, because they run when the
    /// object exists.
    pub fn check_own_arguments(&self) -> Diagnostics {
        let arguments = references(&self.body, None);
        let triggers = self.lifecycle.replace_triggered_by.iter().flat_map(Expression::references);
        let own = arguments.iter().chain(triggers).filter(|named| self.is_named_by(&named.subject));
        own.map(|reference| self_referential(self, reference)).collect()
    }

    fn is_repeated(&self) -> bool {
        self.count.is_some() || self.for_each.is_some()
    }

    fn is_named_by(&self, subject: &ReferenceSubject) -> bool {
        matches!(subject, ReferenceSubject::Resource { mode, kind, name }
            if resource_mode(*mode) == self.mode && *kind == self.type_name && *name == self.name)
    }
}

fn self_referential(resource: &Resource, reference: &Reference) -> Diagnostic {
    let subject = &reference.subject;
    let advice = match subject {
        ReferenceSubject::Resource { mode: ReferenceMode::Managed, .. } => {
            "Its attributes are known only when the object exists; provisioners and postconditions can \
             read them as self."
        }
        _ => "Its attributes are known only after it is read; postconditions can read them as self.",
    };
    let detail = format!("The configuration of {subject} cannot refer to {subject} itself. {advice}");
    Diagnostic::error("Self-referential block", detail)
        .at(reference.span.clone())
        .in_block(resource.context())
}

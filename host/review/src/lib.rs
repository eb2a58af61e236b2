//! The review model of a plan: the information that a reviewer needs, without any rendering.
//!
//! [`Review::from_json`] parses the JSON document of a plan, as Terraform's and Wardian's `show -json`
//! print it, and returns its changes with their attribute differences and causes, groups of instances
//! that change in the same way, the attributes that change most often, drift, dependencies between
//! changed resources, the invocations of actions, and the results of checks. Each renderer (terminal, HTML,
//! Markdown, text) reads the same model. [`line_difference`] compares texts with several lines.
//!
//! Invariants:
//! - A sensitive value is [`ReviewedValue::Sensitive`], which has no content, so no renderer can show
//!   one. Values are masked while the document is parsed.
//! - Text in the model is not escaped. Each renderer escapes all text for its format.
//! - Time and memory are linear in the size of the document. Changes are converted one at a time, and
//!   equal texts share their memory.
//!
//! The crate performs no I/O. Of the workspace, it depends only on `address`.

mod cause;
mod change;
mod configuration;
mod dependencies;
mod difference;
mod document;
mod finding;
mod group;
mod invocation;
mod line_difference;
mod review;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text_pool;
mod value;

pub use cause::{PlannedReason, ReferencePlace, ReviewCause};
pub use change::{ChangeClass, ChangeId, ChangeKind, ReplaceOrder, ReviewedChange, ReviewedOutput};
pub use configuration::{ConfigurationFacts, LocalReferences, SourcePosition};
pub use dependencies::{DependencyGraph, ResourceId, ResourceNode};
pub use document::ReviewError;
pub use finding::{CheckCounts, FindingSubject, PluginAccess, ReviewFinding, ReviewWarning};
pub use group::{AttributeFrequency, ChangeGroup, GroupAction, GroupAttribute, GroupValue};
pub use invocation::{
    ActionArgument, ActionEvent, GroupedInvocations, InvocationId, ReviewedInvocation, ReviewedTrigger,
};
pub use line_difference::{DifferenceLine, line_difference, omitted_start, omitted_starts};
pub use review::{Review, ReviewCounts};
pub use value::{AttributeChange, AttributeEffect, AttributePath, ReviewedValue};

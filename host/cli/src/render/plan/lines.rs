//! The sentences around the changes of a plan. Terraform's and OpenTofu's sentences are reproduced
//! literally, because tools search for them.

use wardian_engine::Mode;
use wardian_printable::{PrintableText, printable};

use crate::product::Product;

impl Product {
    /// Returns the sentence before the action symbols.
    pub(super) fn plan_introduction(self) -> PrintableText {
        if self.is_own() {
            return "The selected providers produced the following execution plan. Each action is marked with \
                    a symbol:"
                .into();
        }
        printable!(
            "{} used the selected providers to generate the following execution plan. Resource actions are \
             indicated with the following symbols:",
            self.name()
        )
    }

    /// Returns the explanation of a plan without changes.
    pub(super) fn no_changes(self, mode: Mode) -> PrintableText {
        let name = self.name();
        match (mode, self.is_own()) {
            (Mode::Normal, true) => printable!(
                "{name} compared the remote objects with the configuration and found no differences: there \
                 is nothing to do."
            ),
            (Mode::Normal, false) => printable!(
                "{name} has compared your real infrastructure against your configuration and found no \
                 differences, so no changes are needed."
            ),
            (Mode::RefreshOnly, true) => printable!(
                "{name} compared the remote objects with the state and found no changes since the last apply."
            ),
            (Mode::RefreshOnly, false) => printable!(
                "{name} has checked that the real remote objects still match the result of your most recent \
                 changes, and found no differences."
            ),
            (Mode::Destroy, true) => printable!(
                "Either no objects have been created yet, or they were already deleted outside of {name}."
            ),
            (Mode::Destroy, false) => printable!(
                "Either you have not created any objects yet or the existing objects were already deleted \
                 outside of {name}."
            ),
        }
    }

    /// Returns the sentence about a plan that failed before any change was found.
    pub(super) fn planning_failed(self) -> PrintableText {
        if self.is_own() {
            return "An error ended the planning before any change was found.".into();
        }
        printable!("{} encountered an error while generating this plan.", self.name())
    }

    /// Returns the sentence after changes that affect only outputs.
    pub(super) fn outputs_note(self) -> PrintableText {
        if self.is_own() {
            return "Applying this plan stores the new output values in the state. No infrastructure is changed."
                .into();
        }
        printable!(
            "You can apply this plan to save these new output values to the {} state, without changing any real \
             infrastructure.",
            self.name()
        )
    }

    /// Returns the note after a plan that was not saved.
    pub(super) fn plan_not_saved(self) -> PrintableText {
        let (name, command) = (self.name(), self.command());
        if self.is_own() {
            return printable!(
                "Note: You didn't use -out to save this plan, so `{command} apply` creates a new plan, whose \
                 actions may differ."
            );
        }
        printable!(
            "Note: You didn't use the -out option to save this plan, so {name} can't guarantee to take exactly \
             these actions if you run \"{command} apply\" now."
        )
    }

    /// Returns the line before the command that applies a saved plan.
    pub(super) fn how_to_apply(self) -> &'static str {
        if self.is_own() {
            "To perform exactly these actions, run:"
        } else {
            "To perform exactly these actions, run the following command to apply:"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_contain_the_product_name() {
        for (product, name) in [(Product::Terraform, "Terraform"), (Product::OpenTofu, "OpenTofu")] {
            assert_eq!(
                product.plan_introduction().as_str(),
                format!(
                    "{name} used the selected providers to generate the following execution plan. Resource \
                     actions are indicated with the following symbols:"
                )
            );
            assert!(!product.no_changes(Mode::Normal).as_str().contains("Wardian"));
        }
        assert!(Product::OpenTofu.plan_not_saved().as_str().ends_with("if you run \"tofu apply\" now."));
        assert!(Product::Wardian.plan_not_saved().as_str().contains("`wardian apply`"));
    }
}

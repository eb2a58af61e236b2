//! The product whose wording the output uses: Wardian, Terraform or OpenTofu.
//!
//! Tools that run `terraform` or `tofu` search the output for lines with the program's name. If
//! this program is run under one of these names, it prints that product's lines; under its own
//! name, it prints Wardian's lines. The environment variable for the output takes precedence over
//! the name.

use std::path::Path;

use wardian_app::ProcessEnvironment;

use crate::failure::Usage;

/// The product whose wording the output uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Product {
    #[default]
    Wardian,
    Terraform,
    OpenTofu,
}

impl Product {
    /// Determines the product from the program name and the environment.
    ///
    /// # Errors
    /// Returns an error if the environment contains the name of an unknown product.
    pub(crate) fn for_process(
        program: Option<&Path>,
        environment: &ProcessEnvironment,
    ) -> Result<Self, Usage> {
        if let Some(text) = environment.output_product() {
            return Self::parse(text).ok_or_else(|| Usage {
                summary: "Invalid value for WARDIAN_OUTPUT".to_owned(),
                detail: format!("\"{text}\" cannot be used: it must be wardian, terraform or tofu."),
                command: String::new(),
            });
        }
        let stem = program.and_then(Path::file_stem).and_then(|stem| stem.to_str());
        Ok(stem.and_then(Self::parse).unwrap_or_default())
    }

    fn parse(name: &str) -> Option<Self> {
        match name {
            "wardian" => Some(Self::Wardian),
            "terraform" => Some(Self::Terraform),
            "tofu" | "opentofu" => Some(Self::OpenTofu),
            _ => None,
        }
    }

    /// Returns the product's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Wardian => "Wardian",
            Self::Terraform => "Terraform",
            Self::OpenTofu => "OpenTofu",
        }
    }

    /// Returns the name of the product's program.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Wardian => "wardian",
            Self::Terraform => "terraform",
            Self::OpenTofu => "tofu",
        }
    }

    /// Replaces Wardian's commands in a message, such as `wardian init`, by the product's commands.
    pub(crate) fn adapt_commands(self, message: &str) -> String {
        let command = self.command();
        let quoted = message.replace("`wardian ", &format!("`{command} "));
        quoted.replace("\"wardian ", &format!("\"{command} "))
    }

    /// Returns whether Wardian's own wording is used.
    pub(crate) const fn is_own(self) -> bool {
        matches!(self, Self::Wardian)
    }

    /// Returns the key of the version in JSON messages. Wardian uses Terraform's key.
    pub(crate) const fn message_key(self) -> &'static str {
        match self {
            Self::Wardian | Self::Terraform => "terraform",
            Self::OpenTofu => "tofu",
        }
    }

    /// Returns the module name in JSON messages.
    pub(crate) const fn message_module(self) -> &'static str {
        match self {
            Self::Wardian | Self::Terraform => "terraform.ui",
            Self::OpenTofu => "tofu.ui",
        }
    }

    /// Returns the product's name in the first JSON message.
    pub(crate) const fn message_name(self) -> &'static str {
        match self {
            Self::Wardian | Self::Terraform => "Terraform",
            Self::OpenTofu => "OpenTofu",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(program: &str, output: Option<&str>) -> Option<Product> {
        let variables = output.map(|text| ("WARDIAN_OUTPUT".to_owned(), text.to_owned()));
        let environment: ProcessEnvironment = variables.into_iter().collect();
        Product::for_process(Some(Path::new(program)), &environment).ok()
    }

    #[test]
    fn commands_in_messages_use_the_product_name() {
        let message = "Run `wardian init` or \"wardian plan\". Wardian is compatible.";
        let expected = "Run `tofu init` or \"tofu plan\". Wardian is compatible.";
        assert_eq!(Product::OpenTofu.adapt_commands(message), expected);
        assert_eq!(Product::Wardian.adapt_commands(message), message);
    }

    #[test]
    fn program_name_selects_the_product() {
        for (program, expected) in [
            ("wardian", Product::Wardian),
            ("/usr/local/bin/terraform", Product::Terraform),
            ("terraform.exe", Product::Terraform),
            ("./tofu", Product::OpenTofu),
            ("terraform-ls", Product::Wardian),
            ("", Product::Wardian),
        ] {
            assert_eq!(product(program, None), Some(expected), "{program}");
        }
    }

    #[test]
    fn environment_overrides_the_program_name() {
        assert_eq!(product("terraform", Some("wardian")), Some(Product::Wardian));
        assert_eq!(product("wardian", Some("terraform")), Some(Product::Terraform));
        assert_eq!(product("wardian", Some("opentofu")), Some(Product::OpenTofu));
        assert_eq!(product("wardian", Some("")), Some(Product::Wardian));
        assert_eq!(product("wardian", Some("pulumi")), None);
    }
}

//! The arguments of `login` and `logout`.

use clap::Args;

use super::options::ColorArguments;

/// The host of HCP Terraform.
const DEFAULT_LOGIN_HOST: &str = "app.terraform.io";

/// `login`.
#[derive(Args, Debug)]
pub(crate) struct LoginArguments {
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// The host.
    #[arg(value_name = "HOSTNAME", default_value = DEFAULT_LOGIN_HOST)]
    pub(crate) host: String,
}

/// `logout`.
#[derive(Args, Debug)]
pub(crate) struct LogoutArguments {
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// The host.
    #[arg(value_name = "HOSTNAME", default_value = DEFAULT_LOGIN_HOST)]
    pub(crate) host: String,
}

//! What each plugin may touch, and why.
//!
//! A plugin has nothing but clocks and randomness unless a line here says
//! otherwise. Policy files will be read in this place; until then the table is
//! the policy.
//!
//! | plugin | has | because |
//! |---|---|---|
//! | `hashicorp/local` | the root module's directory, to read and write | it reads and writes files of the configuration; relative paths start there |

use std::path::Path;

use wardian_plugin::address::ProviderAddress;
use wardian_sandbox::{Access, Grants};

/// What a provider may touch in a run in `working_directory`, which is absolute.
pub(crate) fn of(address: &ProviderAddress, working_directory: &Path) -> Grants {
    match (address.is_on_default_host(), address.namespace(), address.type_name()) {
        (true, "hashicorp", "local") => {
            Grants::nothing().with_working_directory(working_directory, Access::ReadWrite)
        }
        _ => Grants::nothing(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(address: &str) -> Grants {
        of(&ProviderAddress::parse(address).unwrap(), Path::new("/work"))
    }

    #[test]
    fn only_the_local_provider_of_the_default_host_reaches_files() {
        assert_eq!(grants("hashicorp/local").directories.len(), 2);
        for other in ["hashicorp/random", "acme/local", "example.com/hashicorp/local"] {
            assert_eq!(grants(other), Grants::nothing(), "{other}");
        }
    }
}

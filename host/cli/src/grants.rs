//! What each plugin may touch, and why.
//!
//! A plugin has nothing but clocks and randomness unless a line here says
//! otherwise. Policy files will be read in this place; until then the table is
//! the policy.
//!
//! | plugin | has | because |
//! |---|---|---|
//! | `hashicorp/local`, embedded or a development override | the root module's directory, to read and write | it reads and writes files of the configuration; relative paths start there |
//! | `hashicorp/tfcoremock`, the same | the same | its resources are files there, and what types it has stands in one |
//!
//! A grant is for code, not for a name: whoever can put a file into a mirror, or a
//! repository under test, can call it `hashicorp/local`. A component from there has
//! nothing. A development override has, since the person named the file themselves.

use std::path::Path;

use wardian_install::package::Origin;
use wardian_plugin::address::ProviderAddress;
use wardian_sandbox::{Access, Grants};

/// What a provider may touch in a run in `working_directory`, which is absolute.
pub(crate) fn of(address: &ProviderAddress, origin: &Origin, working_directory: &Path) -> Grants {
    if !matches!(origin, Origin::Embedded | Origin::DevelopmentOverride(_)) {
        return Grants::nothing();
    }
    match (address.is_on_default_host(), address.namespace(), address.type_name()) {
        (true, "hashicorp", "local" | "tfcoremock") => {
            Grants::nothing().with_working_directory(working_directory, Access::ReadWrite)
        }
        _ => Grants::nothing(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(address: &str) -> Grants {
        of(&ProviderAddress::parse(address).unwrap(), &Origin::Embedded, Path::new("/srv"))
    }

    #[test]
    fn a_name_alone_is_granted_nothing() {
        let address = ProviderAddress::parse("hashicorp/local").unwrap();
        let installed = Origin::Installed("terraform-provider-local.wasm".into());
        assert_eq!(of(&address, &installed, Path::new("/srv")), Grants::nothing());
    }

    #[test]
    fn only_the_file_providers_of_the_default_host_reach_files() {
        for one in ["hashicorp/local", "hashicorp/tfcoremock"] {
            assert_eq!(grants(one).directories.len(), 2, "{one}");
        }
        for other in ["hashicorp/random", "acme/local", "acme/tfcoremock", "example.com/hashicorp/local"] {
            assert_eq!(grants(other), Grants::nothing(), "{other}");
        }
    }
}

//! The random provider: values that are generated once, and remain the same until one of their
//! keepers changes.
//!
//! Its schemas and states are compatible with `hashicorp/random` 3.7; README.md lists every
//! resource and the few differences. The provider needs only randomness; it does not access the
//! network, files or environment variables.

mod bytes;
mod characters;
mod encoding;
mod entropy;
mod ephemeral_password;
mod id;
mod integer;
mod keepers;
mod password;
mod password_hash;
mod pet;
mod pet_name;
mod seed_table;
mod seeded;
mod shuffle;
mod string;
mod string_arguments;
mod uuid;

use wardian_sdk::Provider;

pub fn provider() -> Provider {
    Provider::new("random")
        .updatable_resource("random_bytes", bytes::RandomBytes)
        .updatable_resource("random_id", id::RandomId)
        .updatable_resource("random_integer", integer::RandomInteger)
        .updatable_resource("random_password", password::RandomPassword)
        .updatable_resource("random_pet", pet::RandomPet)
        .updatable_resource("random_shuffle", shuffle::RandomShuffle)
        .updatable_resource("random_string", string::RandomString)
        .updatable_resource("random_uuid", uuid::RandomUuid)
        .ephemeral_resource("random_password", ephemeral_password::EphemeralPassword)
}

wardian_sdk::export_provider!(provider);

#[cfg(test)]
mod tests;

//! The random provider: values that are drawn once and stay until one of
//! their keepers changes.
mod characters;
mod encoding;
mod entropy;
mod password_hash;
mod pet_name;
mod seed_table;
mod seeded;

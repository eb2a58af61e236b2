//! The engine against a provider that lives in this process and does as it is
//! told, mistakes included.

mod apply;
mod fixture;
mod order;
mod plan;
mod plan_file;
mod provider;
mod violations;

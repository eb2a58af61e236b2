//! The commands, each in its own module.

mod apply;
mod audit;
mod console;
#[cfg(debug_assertions)]
mod crash;
mod fmt;
mod force_unlock;
mod get;
mod graph;
mod import;
mod init;
mod metadata;
mod modules;
mod output;
mod plan;
mod plugin_inspect;
mod policy_check;
mod policy_explain;
mod policy_grant;
mod providers;
mod providers_lock;
mod providers_mirror;
mod refresh;
pub(crate) mod serve;
mod show;
mod state_identities;
mod state_list;
mod state_mv;
mod state_pull;
mod state_push;
mod state_replace_provider;
mod state_rm;
mod state_show;
mod taint;
mod validate;
mod version;
mod workspace;

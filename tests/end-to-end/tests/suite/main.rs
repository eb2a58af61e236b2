//! What a person sees, command by command.

mod bad_configuration;
mod bad_plugins;
mod bad_states;
mod command_line;
mod crashes;
mod declarations;
mod ephemeral_values;
#[cfg(unix)]
mod failing_writes;
mod initialisation;
mod interrupts;
mod language_commands;
#[cfg(unix)]
mod local_exec_faults;
mod main_job;
mod mock_resources;
#[cfg(unix)]
mod native_plugins;
mod plan_files;
mod policies;
mod provisioners;
#[cfg(unix)]
mod reattached_plugins;
mod recorded;
#[cfg(unix)]
mod remote_faults;
#[cfg(unix)]
mod remote_provisioners;
mod secrets;
mod security_model;
#[cfg(unix)]
mod sshd;
mod state_files;
mod state_lock;
#[cfg(unix)]
mod terminal;
mod terraform_reads;
#[cfg(unix)]
mod third_party_provisioners;
mod untrusted;
mod winrm_provisioners;
mod workspaces;

/// A file beside this one that nobody names here would never run.
#[test]
fn no_file_is_forgotten() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite");
    let this = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
            assert!(this.contains(&format!("\nmod {module};")), "{name} is not in main.rs");
        }
    }
}

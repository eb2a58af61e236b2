//! End-to-end tests of each command's behaviour.

mod capability_consent;
mod command_line;
mod compilation;
#[cfg(unix)]
mod completion;
mod configuration_commands;
mod configuration_errors;
#[cfg(unix)]
mod console_terminal;
mod core_workflow;
mod crash;
mod ephemeral_values;
mod examples;
mod granted_paths;
mod init;
#[cfg(unix)]
mod install_accounts;
#[cfg(unix)]
mod install_components;
#[cfg(unix)]
mod install_faults;
#[cfg(unix)]
mod install_interruptions;
#[cfg(unix)]
mod install_module_pins;
#[cfg(unix)]
mod install_publishers;
#[cfg(unix)]
mod install_publishing;
#[cfg(unix)]
mod install_requests;
#[cfg(unix)]
mod install_scenarios;
#[cfg(unix)]
mod install_setup;
#[cfg(unix)]
mod install_untrusted;
mod interrupts;
mod killed_applies;
#[cfg(unix)]
mod lists_and_actions;
#[cfg(unix)]
mod local_exec_errors;
mod logs_and_traces;
mod misbehaving_plugins;
mod mock_resources;
#[cfg(unix)]
mod native_plugins;
mod native_supervision;
#[cfg(unix)]
mod newcomer;
mod options;
mod plugin_authoring;
mod plugin_debugging;
mod plugin_development;
mod policy_commands;
mod policy_learn;
mod policy_remedies;
mod policy_templates;
#[cfg(unix)]
mod product_names;
#[cfg(unix)]
mod progress_footer;
mod provisioners;
#[cfg(unix)]
mod reattached_plugins;
mod recorded_commands;
mod recorded_states;
mod redaction;
#[cfg(unix)]
mod remote_provisioner_errors;
#[cfg(unix)]
mod remote_provisioners;
#[cfg(unix)]
mod remote_states;
mod review_documents;
#[cfg(unix)]
mod review_view;
mod saved_plans;
mod screens;
mod security_model;
#[cfg(unix)]
mod sshd;
mod state_encryption;
mod state_errors;
mod state_files;
mod state_lock;
mod state_stores;
mod terminal_text;
mod terraform_interop;
mod test_command;
#[cfg(unix)]
mod third_party_provisioners;
mod tool_patterns;
mod untrusted;
mod untrusted_native;
#[cfg(unix)]
mod untrusted_states;
mod winrm_provisioners;
mod workspaces;
#[cfg(unix)]
mod write_errors;

/// Verifies that every test file is declared here, since the tests in other files would never run.
#[test]
fn every_test_file_is_a_module() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite");
    let this = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
            assert!(this.contains(&format!("\nmod {module};")), "{name} is not in main.rs");
        }
    }
}

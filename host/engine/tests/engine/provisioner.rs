//! A provisioner that executes its command and records the calls.
//!
//! `say x` prints x; `fail x` prints x and fails; `wait` runs until a stop request; other commands
//! do nothing.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Notify;
use wardian_plugin::*;
use wardian_value::{Path, Str, Type, Value};

use crate::provider::{World, attribute, block};

pub struct MemoryProvisioners {
    pub world: Arc<World>,
    pub stopped: Arc<Notify>,
}

#[async_trait]
impl ProvisionerSource for MemoryProvisioners {
    fn provisioner_types(&self) -> Vec<Str> {
        vec![Str::new("local-exec")]
    }

    async fn provisioner(&self, type_name: &str) -> Result<Option<Arc<dyn Provisioner>>, PluginDiagnostics> {
        let provisioner: Arc<dyn Provisioner> =
            Arc::new(Memory { world: Arc::clone(&self.world), stopped: Arc::clone(&self.stopped) });
        Ok((type_name == "local-exec").then_some(provisioner))
    }
}

struct Memory {
    world: Arc<World>,
    stopped: Arc<Notify>,
}

#[async_trait]
impl Provisioner for Memory {
    async fn schema(&self, _context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics> {
        let block = block([
            ("command", attribute(Type::String, Setting::Required)),
            ("environment", attribute(Type::map(Type::String), Setting::Optional)),
        ]);
        Ok(Arc::new(Schema::new(0, block)))
    }

    async fn validate_config(&self, _context: &CallContext, config: Value) -> PluginDiagnostics {
        match config.get("command").and_then(Value::as_str) {
            Some("never") => vec![PluginDiagnostic {
                attribute: Some(Path::root().attribute("command")),
                ..PluginDiagnostic::error("Invalid command", "Never is no command.")
            }],
            _ => Vec::new(),
        }
    }

    async fn provision(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics {
        let command = request.config.get("command").and_then(Value::as_str).unwrap_or("?").to_owned();
        let subject = context.address().map(|address| &**address).unwrap_or_default();
        let reached = match request.connection.get("host").and_then(Value::as_str) {
            Some(host) => {
                let user = request.connection.get("user").and_then(Value::as_str).unwrap_or("nobody");
                format!(" as {user} at {host}")
            }
            None => String::new(),
        };
        self.world.calls.lock().unwrap().push(format!("{subject}: {command}{reached}"));
        match command.split_once(' ').unwrap_or((&command, "")) {
            ("say", text) => output(text),
            ("fail", text) => {
                output(text);
                return vec![PluginDiagnostic::error("memory provisioner error", format!("It said {text}."))];
            }
            ("wait", _) => {
                self.stopped.notified().await;
                return vec![PluginDiagnostic::error("memory provisioner error", "It was stopped.")];
            }
            _ => {}
        }
        Vec::new()
    }

    async fn stop(&self) -> Result<(), String> {
        self.stopped.notify_waiters();
        Ok(())
    }
}

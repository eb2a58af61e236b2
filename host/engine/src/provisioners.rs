//! The provisioners of a run and the schema of `connection` blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use futures::future::join_all;
use wardian_config::{Configuration, Provisioner as ProvisionerBlock};
use wardian_diagnostic::{Diagnostic, Diagnostics, closest};
use wardian_plugin::{
    Attribute, AttributeType, Block, CallContext, Deprecation, Description, Provisioner, ProvisionerSource,
    RedactingProvisioner, Schema, SensitiveValues, Setting,
};
use wardian_value::{Str, Type};

use crate::plugin_diagnostics::from_plugin;

/// The provisioners that a configuration uses, with their schemas.
#[derive(Clone, Default)]
pub struct Provisioners {
    known: BTreeMap<Str, KnownProvisioner>,
    types: Vec<Str>,
}

/// A provisioner and its schema.
#[derive(Clone)]
pub struct KnownProvisioner {
    pub schema: Arc<Schema>,
    pub provisioner: Arc<dyn Provisioner>,
}

impl Provisioners {
    /// Loads the provisioners that a configuration uses, concurrently.
    pub async fn load(
        source: &dyn ProvisionerSource,
        configuration: &Configuration,
        secrets: &SensitiveValues,
    ) -> Result<Self, Diagnostics> {
        let names: BTreeSet<&Str> = blocks(configuration).map(|block| &block.type_name).collect();
        let loads = names.into_iter().map(|name| async move {
            let loaded = match source.provisioner(name).await {
                Ok(Some(provisioner)) => {
                    let provisioner: Arc<dyn Provisioner> =
                        Arc::new(RedactingProvisioner::new(provisioner, secrets.clone()));
                    provisioner
                        .schema(&CallContext::default())
                        .await
                        .map(|schema| Some(KnownProvisioner { schema, provisioner }))
                }
                Ok(None) => Ok(None),
                Err(diagnostics) => Err(diagnostics),
            };
            (name, loaded)
        });
        let mut known = BTreeMap::new();
        let mut diagnostics = Diagnostics::new();
        for (name, loaded) in join_all(loads).await {
            match loaded {
                Ok(loaded) => known.extend(loaded.map(|loaded| (name.clone(), loaded))),
                Err(found) => diagnostics.extend(found.iter().map(from_plugin)),
            }
        }
        diagnostics.into_result(Self { known, types: source.provisioner_types() })
    }

    /// Returns a provisioner that the configuration uses; `None` if the type does not exist.
    pub fn get(&self, type_name: &str) -> Option<&KnownProvisioner> {
        self.known.get(type_name)
    }

    /// Returns the error for a provisioner block whose type does not exist.
    pub fn missing(&self, block: &ProvisionerBlock) -> Diagnostic {
        let name = &*block.type_name;
        let advice = match closest(name, self.types.iter().map(|known| &**known)) {
            Some(near) => format!("Did you mean \"{near}\"?"),
            None if self.types.is_empty() => "No provisioners are available.".to_owned(),
            None => {
                let names: Vec<&str> = self.types.iter().map(|name| &**name).collect();
                format!("Available provisioners: {}.", names.join(", "))
            }
        };
        let detail = format!(
            "There is no provisioner \"{name}\". {advice} If it is your own plugin, put its file into a \
             plugin directory, such as ~/.terraform.d/plugins, and run `wardian init`."
        );
        Diagnostic::error("Missing required provisioner plugin", detail).at(block.span.clone())
    }

    /// Requests that all provisioners stop their running operations gracefully.
    pub fn stop_all(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let known: Vec<Arc<dyn Provisioner>> =
            self.known.values().map(|known| Arc::clone(&known.provisioner)).collect();
        Box::pin(async move {
            // Errors are ignored: if a provisioner fails to stop, the walk still waits for its
            // operations.
            let _ = join_all(known.iter().map(|provisioner| provisioner.stop())).await;
        })
    }
}

pub fn blocks(configuration: &Configuration) -> impl Iterator<Item = &ProvisionerBlock> {
    configuration.modules().flat_map(|node| {
        let removed = node.module.removed.iter().flat_map(|block| &block.provisioners);
        let resources = node.module.resources.values().flat_map(|resource| &resource.provisioners);
        removed.chain(resources)
    })
}

/// Returns the schema of `connection` blocks. It is the same for all provisioners.
pub fn connection_schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        use Setting::{Optional, Required};
        let block = block([
            ("agent", Type::Bool, Optional),
            ("agent_identity", Type::String, Optional),
            ("bastion_certificate", Type::String, Optional),
            ("bastion_host", Type::String, Optional),
            ("bastion_host_key", Type::String, Optional),
            ("bastion_password", Type::String, Optional),
            ("bastion_port", Type::Number, Optional),
            ("bastion_private_key", Type::String, Optional),
            ("bastion_user", Type::String, Optional),
            ("cacert", Type::String, Optional),
            ("certificate", Type::String, Optional),
            ("host", Type::String, Required),
            ("host_key", Type::String, Optional),
            ("https", Type::Bool, Optional),
            ("insecure", Type::Bool, Optional),
            ("password", Type::String, Optional),
            ("port", Type::Number, Optional),
            ("private_key", Type::String, Optional),
            ("proxy_host", Type::String, Optional),
            ("proxy_port", Type::Number, Optional),
            ("proxy_scheme", Type::String, Optional),
            ("proxy_user_name", Type::String, Optional),
            ("proxy_user_password", Type::String, Optional),
            ("script_path", Type::String, Optional),
            ("target_platform", Type::String, Optional),
            ("timeout", Type::String, Optional),
            ("type", Type::String, Optional),
            ("use_ntlm", Type::Bool, Optional),
            ("user", Type::String, Optional),
        ]);
        Schema::new(0, block)
    });
    &SCHEMA
}

fn block<const COUNT: usize>(attributes: [(&'static str, Type, Setting); COUNT]) -> Block {
    let attribute = |(name, ty, setting)| {
        let attribute = Attribute {
            ty: AttributeType::Value(ty),
            description: Description::default(),
            setting,
            sensitive: false,
            write_only: false,
            deprecation: Deprecation::None,
        };
        (Str::new(name), attribute)
    };
    Block { attributes: attributes.into_iter().map(attribute).collect(), ..Block::default() }
}

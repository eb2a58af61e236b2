//! The configuration of the provider does not implement serde's trait.
//! at: Provider::with_config
//! says: `Config` cannot be a configuration
//! remedy: #[derive(Deserialize)]
struct Config {
    token: String,
}

fn provider() -> Provider<()> {
    Provider::with_config("cloud", Schema::new(), |_: Config| Ok(()))
}

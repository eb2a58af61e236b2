//! A nested attribute contains a block.
//! at: network: Network
//! says: the field `network` is a nested attribute, but its type has blocks
//! remedy: add `block` to the options of the field, or remove `block` inside the type
#[derive(Serialize, Deserialize, Schema)]
#[schema(nested)]
struct Rule {
    port: i64,
}

#[derive(Serialize, Deserialize, Schema)]
#[schema(nested)]
struct Network {
    #[attr(block)]
    rule: Vec<Rule>,
}

#[derive(Serialize, Deserialize, Schema)]
struct Server {
    network: Network,
}

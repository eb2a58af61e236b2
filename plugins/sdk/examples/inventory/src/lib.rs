//! The provider `inventory`, which needs no service. The same provider exists in Go, JavaScript and
//! Python, in the directories of their SDKs; the tests in `tests/end-to-end` run all four.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wardian_sdk::shared::{self, Expectation, RateLimiter};
use wardian_sdk::{
    Attribute, Block, Context, DataSource, Diagnostic, Diagnostics, Dynamic, Function, FunctionError, Import,
    Object, Parameter, Provider, Resource, Result, Schema, StateUpgrader, Type, Update, Value, http, log,
    validate,
};

/// The maximum number of units that the warehouse stores.
const CAPACITY: i128 = 1000;

/// The configured provider.
pub struct Client {
    prefix: String,
}

impl Client {
    fn id(&self, name: &str) -> String {
        format!("{}-{}", self.prefix, slug(name))
    }
}

fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

struct Item;

#[derive(Clone, Serialize, Deserialize)]
struct State {
    name: String,
    quantity: i128,
    price: Option<Dynamic>,
    tags: Option<BTreeMap<String, String>>,
    groups: Option<BTreeSet<String>>,
    size: Option<Size>,
    note: Option<Dynamic>,
    supplier: Option<String>,
    pin: Option<String>,
    id: Option<String>,
    total: Option<i128>,
    locked: Option<bool>,
    part: Vec<Part>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Size {
    width: f64,
    height: f64,
    unit: String,
    area: Option<f64>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Part {
    name: String,
    count: Option<i128>,
}

impl State {
    fn stored(self, context: &Context<'_, Client>) -> Self {
        let parts: i128 = self.part.iter().map(|part| part.count.unwrap_or(1)).sum();
        let has_pin = context.config().is_some_and(|config| !config.is_null("pin"));
        Self {
            id: Some(self.id.unwrap_or_else(|| context.client().id(&self.name))),
            total: Some(self.quantity * (1 + parts)),
            locked: Some(has_pin),
            size: self.size.map(|size| Size { area: Some(size.width * size.height), ..size }),
            ..self
        }
    }
}

impl Resource<Client> for Item {
    type State = State;

    fn schema(&self) -> Schema {
        let size = [
            Attribute::number("width").required().description("The width."),
            Attribute::number("height").required().description("The height."),
            Attribute::string("unit").default("cm").description("The unit of both lengths."),
            Attribute::number("area").computed().description("The product of both lengths."),
        ];
        let not_negative = validate::custom(|value: &Value| match value.as_number() {
            Some(number) if number.is_sign_negative() => Err("must not be negative"),
            _ => Ok(()),
        });
        Schema::new()
            .version(1)
            .description("An item of the inventory.")
            .attribute(
                Attribute::string("name")
                    .required()
                    .force_new()
                    .description("The name, from which the ID is derived."),
            )
            .attribute(
                Attribute::number("quantity")
                    .default(1)
                    .validate(not_negative)
                    .description("The number of units."),
            )
            .attribute(Attribute::number("price").optional().description("The price of a unit."))
            .attribute(Attribute::map("tags", Type::String).optional().description("Labels with values."))
            .attribute(
                Attribute::set("groups", Type::String).optional().description("The groups of the item."),
            )
            .attribute(Attribute::nested("size", size).optional().description("The size of the item."))
            .attribute(Attribute::dynamic("note").optional().description("A value of any type."))
            .attribute(
                Attribute::string("supplier")
                    .optional()
                    .sensitive()
                    .description("The supplier, which is confidential."),
            )
            .attribute(
                Attribute::string("pin")
                    .optional()
                    .write_only()
                    .description("The PIN of the shelf, which is not stored."),
            )
            .attribute(Attribute::string("id").computed().use_state_for_unknown().description("The ID."))
            .attribute(
                Attribute::number("total")
                    .computed()
                    .description("The number of units, including the parts."),
            )
            .attribute(Attribute::bool("locked").computed().description("Whether the shelf has a PIN."))
            .block(
                Block::list("part")
                    .attribute(Attribute::string("name").required().description("The name of the part."))
                    .attribute(
                        Attribute::number("count")
                            .optional()
                            .description("The number of parts of each unit."),
                    ),
            )
    }

    fn validate(&self, config: &Object) -> Result<()> {
        if config.value("price").as_number().is_some_and(wardian_sdk::Number::is_zero) {
            let warning = Diagnostic::warning("The item is free", "Its price is zero.");
            return Err(warning.at_attribute("price").into());
        }
        Ok(())
    }

    fn create(&self, plan: State, context: &mut Context<'_, Client>) -> Result<State> {
        assert!(plan.name != "broken", "the shelf is broken");
        let quantity = plan.quantity;
        let state = plan.stored(context);
        log::write(log::Level::Info, "item stored", &[("id", state.id.as_deref().unwrap_or_default())]);
        if state.name == "slow" {
            context.record_state(&state)?;
            context.sleep(Duration::from_mins(10))?;
        }
        if quantity > CAPACITY {
            let partial = State { quantity: CAPACITY, total: Some(CAPACITY), ..state };
            context.save_partial(&partial)?;
            let detail = format!("Only {CAPACITY} units were stored.");
            return Err(Diagnostic::error("The warehouse is full", detail).at_attribute("quantity").into());
        }
        Ok(state)
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_, Client>) -> Result<()> {
        let id = import.id()?.to_owned();
        let name = id.split_once('-').map(|(_, name)| name).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(Diagnostics::error("Invalid ID", format!("{id:?} is not PREFIX-NAME.")));
        };
        import.set_state(&State {
            name: name.to_owned(),
            quantity: 1,
            price: None,
            tags: None,
            groups: None,
            size: None,
            note: None,
            supplier: None,
            pin: None,
            total: Some(1),
            locked: Some(false),
            part: Vec::new(),
            id: Some(id),
        })
    }

    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        // Version 0 has `count` instead of `quantity`, and no `locked`.
        vec![StateUpgrader::json(0, |state| {
            state["quantity"] = state["count"].take();
            state["locked"] = false.into();
            if state["part"].is_null() {
                state["part"] = serde_json::json!([]);
            }
            Ok(())
        })]
    }
}

impl Update<Client> for Item {
    fn update(&self, _: State, plan: State, context: &mut Context<'_, Client>) -> Result<State> {
        Ok(plan.stored(context))
    }
}

struct Lookup;

#[derive(Serialize, Deserialize)]
struct ItemIds {
    names: Vec<String>,
    ids: Option<BTreeMap<String, String>>,
    found: Option<usize>,
}

impl DataSource<Client> for Lookup {
    type State = ItemIds;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("The IDs of items.")
            .attribute(
                Attribute::list("names", Type::String).required().description("The names of the items."),
            )
            .attribute(Attribute::map("ids", Type::String).computed().description("The ID of each name."))
            .attribute(Attribute::number("found").computed().description("The number of names."))
    }

    fn read(&self, config: ItemIds, context: &mut Context<'_, Client>) -> Result<ItemIds> {
        let ids = config.names.iter().map(|name| (name.clone(), context.client().id(name))).collect();
        Ok(ItemIds { found: Some(config.names.len()), ids: Some(ids), ..config })
    }
}

struct Document;

#[derive(Serialize, Deserialize)]
struct Page {
    url: String,
    status: Option<u16>,
    kind: Option<String>,
    body: Option<String>,
}

impl DataSource<Client> for Document {
    type State = Page;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("A document of a server.")
            .attribute(Attribute::string("url").required().description("The address."))
            .attribute(Attribute::number("status").computed().description("The status of the response."))
            .attribute(Attribute::string("kind").computed().description("The content type."))
            .attribute(Attribute::string("body").computed().description("The text."))
    }

    fn read(&self, config: Page, _: &mut Context<'_, Client>) -> Result<Page> {
        let response = match http::get(&config.url).header("accept", "text/plain").send() {
            Ok(response) => response,
            Err(http::Error::Denied { .. }) => {
                let error = Diagnostic::error("The document could not be read", "denied");
                return Err(error.at_attribute("url").into());
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Page {
            url: config.url,
            status: Some(response.status()),
            kind: response.header("content-type").map(str::to_owned),
            body: Some(response.text()?.to_owned()),
        })
    }
}

struct Ticket;

#[derive(Serialize, Deserialize)]
struct QueueTicket {
    queue: String,
    number: Option<u64>,
}

impl DataSource<Client> for Ticket {
    type State = QueueTicket;

    fn schema(&self) -> Schema {
        Schema::new()
            .description("The next number of a queue, which begins in each run.")
            .attribute(Attribute::string("queue").required().description("The name of the queue."))
            .attribute(Attribute::number("number").computed().description("The number."))
    }

    fn read(&self, config: QueueTicket, _: &mut Context<'_, Client>) -> Result<QueueTicket> {
        RateLimiter::per_second("tickets", 1000).burst(100).wait()?;
        let key = format!("queue/{}", config.queue);
        let _queue = shared::lock(&key)?;
        let last = shared::get::<u64>(&key)?;
        let expected = last.as_ref().map_or(Expectation::Absent, |last| Expectation::Version(last.version));
        let number = last.map_or(0, |last| last.value) + 1;
        if shared::put(&key, &number, expected)?.is_none() {
            return Err(Diagnostics::error("The queue has changed", config.queue));
        }
        Ok(QueueTicket { number: Some(number), ..config })
    }
}

#[derive(Deserialize)]
struct Config {
    prefix: Option<String>,
}

/// Returns the provider.
#[must_use]
pub fn provider() -> Provider<Client> {
    let schema = Schema::new().description("A provider that needs no service.").attribute(
        Attribute::string("prefix").optional().description("The prefix of each ID; by default `item`."),
    );
    Provider::with_config("inventory", schema, |config: Config| {
        Ok(Client { prefix: config.prefix.unwrap_or_else(|| "item".to_owned()) })
    })
    .updatable_resource("inventory_item", Item)
    .data_source("inventory_lookup", Lookup)
    .data_source("inventory_document", Document)
    .data_source("inventory_ticket", Ticket)
    .function(
        Function::new("slug", Type::String)
            .summary("Converts a name to a part of an ID.")
            .parameter(Parameter::string("text").description("The name."))
            .run(|(text,): (String,)| match slug(&text) {
                result if result.is_empty() => {
                    Err(FunctionError::argument(0, "the text contains no letter and no digit"))
                }
                result => Ok(result),
            }),
    )
    .function(
        Function::new("total", Type::Number)
            .summary("Adds integers of any size.")
            .variadic(Parameter::number("numbers").description("The integers."))
            .run(|(numbers,): (Vec<i128>,)| Ok(numbers.iter().sum::<i128>())),
    )
    .function(
        Function::new("describe", Type::String)
            .summary("Describes a value of any type.")
            .parameter(Parameter::new("value", Type::Dynamic).description("The value."))
            .run(|(value,): (Dynamic,)| Ok(value.0.ty().to_json())),
    )
}

wardian_sdk::export_provider!(
    provider,
    network { hosts: ["127.0.0.1", "localhost"], schemes: ["http"], ports: ["*"], reason: "reads documents" },
);

#[cfg(test)]
mod tests {
    #[test]
    fn provider_is_valid() {
        wardian_sdk::assert_valid_provider(super::provider());
    }
}

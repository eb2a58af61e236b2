//! hashicups: the provider of HashiCorp's tutorial, which orders coffee from a demonstration API.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wardian_sdk::http::{self, Request};
use wardian_sdk::{
    Context, DataSource, Explain as _, Function, Import, Parameter, Provider, Resource, Result, Schema, Type,
    Update, clock,
};

/// Orders coffee from HashiCups.
#[derive(Serialize, Deserialize, Schema)]
#[schema(provider)]
struct Config {
    /// The URL of the API.
    #[attr(validate(http_url))]
    host: String,
    username: String,
    #[attr(sensitive)]
    password: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Client {
    host: String,
    token: String,
}

impl Client {
    fn sign_in(config: Config) -> Result<Self> {
        let request = http::post(format!("{}/signin", config.host), "").json(&config);
        let session: Json = request.send()?.error_for_status().explain("Sign-in failed")?.json()?;
        Ok(Self { host: config.host, token: session["token"].as_str().unwrap_or_default().to_owned() })
    }

    fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, format!("{}/{path}", self.host)).header("Authorization", self.token.as_str())
    }

    fn order(&self, id: i64) -> Result<Option<Order>> {
        found(&self.request("GET", &format!("orders/{id}")))
    }

    /// Creates or changes an order, and returns its new state.
    fn save(&self, method: &str, path: &str, plan: &Order) -> Result<Order> {
        let saved: Order = self.request(method, path).json(&plan.items).send()?.error_for_status()?.json()?;
        Ok(Order { last_updated: Some(httpdate::fmt_http_date(clock::system_time())), ..saved })
    }
}

/// Returns the response; `None` if the object does not exist.
fn found<T: DeserializeOwned>(request: &Request) -> Result<Option<T>> {
    let response = request.send()?;
    if response.status() == 404 { Ok(None) } else { Ok(Some(response.error_for_status()?.json()?)) }
}

/// An order.
#[derive(Serialize, Deserialize, Schema)]
struct Order {
    /// The number of the order.
    #[attr(computed, use_state_for_unknown)]
    id: Option<i64>,
    /// The time of the last change by Wardian.
    #[attr(computed)]
    last_updated: Option<String>,
    items: Vec<Item>,
}

#[derive(Serialize, Deserialize, Schema)]
struct Item {
    coffee: OrderedCoffee,
    /// The number of cups.
    #[attr(validate(range(1..)))]
    quantity: i64,
}

#[derive(Serialize, Deserialize, Schema)]
#[schema(computed)]
struct OrderedCoffee {
    #[attr(required)]
    id: i64,
    name: Option<String>,
    teaser: Option<String>,
    description: Option<String>,
    price: Option<f64>,
    image: Option<String>,
}

struct Orders;

impl Resource<Client> for Orders {
    type State = Order;

    fn schema(&self) -> Schema {
        Schema::for_type::<Order>()
    }

    fn create(&self, plan: Order, context: &mut Context<'_, Client>) -> Result<Order> {
        context.client().save("POST", "orders", &plan)
    }

    fn read(&self, state: Order, context: &mut Context<'_, Client>) -> Result<Option<Order>> {
        let order = context.client().order(state.id.unwrap_or_default())?;
        Ok(order.map(|order| Order { last_updated: state.last_updated, ..order }))
    }

    fn delete(&self, state: Order, context: &mut Context<'_, Client>) -> Result<()> {
        let path = format!("orders/{}", state.id.unwrap_or_default());
        found::<Json>(&context.client().request("DELETE", &path)).map(drop)
    }

    fn import(&self, import: &mut Import, context: &mut Context<'_, Client>) -> Result<()> {
        import.with_key(|id: i64| context.client().order(id))
    }
}

impl Update<Client> for Orders {
    fn update(&self, prior: Order, plan: Order, context: &mut Context<'_, Client>) -> Result<Order> {
        context.client().save("PUT", &format!("orders/{}", prior.id.unwrap_or_default()), &plan)
    }
}

/// The coffees on the menu.
#[derive(Serialize, Deserialize, Schema)]
#[schema(computed)]
struct Menu {
    coffees: Option<Vec<Coffee>>,
}

#[derive(Serialize, Deserialize, Schema)]
#[schema(computed)]
struct Coffee {
    id: Option<i64>,
    name: Option<String>,
    teaser: Option<String>,
    description: Option<String>,
    price: Option<f64>,
    image: Option<String>,
    ingredients: Option<Vec<Ingredient>>,
}

#[derive(Serialize, Deserialize, Schema)]
#[schema(computed)]
struct Ingredient {
    id: Option<i64>,
}

struct Coffees;

impl DataSource<Client> for Coffees {
    type State = Menu;

    fn schema(&self) -> Schema {
        Schema::for_type::<Menu>()
    }

    fn read(&self, _: Menu, context: &mut Context<'_, Client>) -> Result<Menu> {
        Ok(Menu { coffees: found(&context.client().request("GET", "coffees"))? })
    }
}

pub fn provider() -> Provider<impl Sized> {
    Provider::with_config("hashicups", Schema::for_type::<Config>(), Client::sign_in)
        .configured_form(Client::clone, Ok)
        .updatable_resource("hashicups_order", Orders)
        .data_source("hashicups_coffees", Coffees)
        .function(
            Function::new("compute_tax", Type::Number)
                .summary("Computes the total of a price and its tax")
                .parameter(Parameter::number("price").description("The price."))
                .parameter(Parameter::number("rate").description("The tax rate: 0.085 is 8.5 %."))
                .run(|(price, rate): (f64, f64)| Ok(((price + price * rate) * 100.0).round() / 100.0)),
        )
}

wardian_sdk::export_provider!(
    provider,
    configured_form,
    network {
        hosts: ["localhost"],
        schemes: ["http"],
        ports: ["19090"],
        addresses: ["loopback"],
        reason: "orders coffee through the API",
    },
);

#[cfg(test)]
mod tests;

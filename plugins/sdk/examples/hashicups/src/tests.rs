//! Tests with a small server in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use wardian_sdk::Value;
use wardian_sdk::http::{Request, Response};
use wardian_sdk::testing::{PlannedAction, ProviderHarness, hcl, with_mock_http};

/// The API: it signs in one user, knows two coffees and stores orders.
#[derive(Default)]
struct Server {
    orders: RefCell<BTreeMap<i64, Json>>,
}

impl Server {
    fn respond(&self, request: &Request) -> Response {
        let path = request.url().strip_prefix("http://localhost:19090").unwrap_or_default();
        let body: Json = serde_json::from_slice(request.content()).unwrap_or_default();
        if path == "/signin" {
            assert_eq!(
                (body["username"].as_str(), body["password"].as_str()),
                (Some("education"), Some("test123"))
            );
            return Response::new(200, json!({ "token": "t0ken" }).to_string());
        }
        let mut headers = request.headers();
        if !headers.any(|(name, value)| name == "Authorization" && value == b"t0ken") {
            return Response::new(401, "not signed in");
        }
        let mut orders = self.orders.borrow_mut();
        let id = path.strip_prefix("/orders/").and_then(|id| id.parse::<i64>().ok());
        let found = match (request.method(), id) {
            ("GET", None) if path == "/coffees" => Some(json!([coffee(1), coffee(2)])),
            ("GET", Some(id)) => orders.get(&id).cloned(),
            ("DELETE", Some(id)) => orders.remove(&id),
            ("PUT", Some(id)) if !orders.contains_key(&id) => None,
            (_, id) => {
                let id = id.unwrap_or(i64::try_from(orders.len()).unwrap() + 1);
                let items: Vec<Json> = body
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|item| json!({ "coffee": coffee(item["coffee"]["id"].as_i64().unwrap()), "quantity": item["quantity"] }))
                    .collect();
                let order = json!({ "id": id, "items": items });
                orders.insert(id, order.clone());
                Some(order)
            }
        };
        found.map_or_else(|| Response::new(404, ""), |json| Response::new(200, json.to_string()))
    }
}

fn coffee(id: i64) -> Json {
    json!({
        "id": id, "name": format!("Coffee {id}"), "teaser": "", "description": "", "price": if id == 1 { 2.5 } else { 5.0 },
        "image": format!("/{id}.png"), "ingredients": [{ "id": 6 }]
    })
}

fn with_server(test: impl FnOnce(&ProviderHarness)) {
    let server = Server::default();
    with_mock_http(
        move |request| Ok(server.respond(request)),
        || {
            let harness = ProviderHarness::new(super::provider());
            let config =
                hcl("host = \"http://localhost:19090\"\nusername = \"education\"\npassword = \"test123\"");
            harness.configure(config).unwrap();
            test(&harness);
        },
    );
}

fn items(quantity: i64) -> Json {
    json!({ "items": [{ "coffee": { "id": 1 }, "quantity": quantity }, { "coffee": { "id": 2 }, "quantity": 1 }] })
}

#[test]
fn provider_is_valid() {
    wardian_sdk::assert_valid_provider(super::provider());
}

#[test]
fn order_is_created_changed_and_deleted() {
    with_server(|harness| {
        let order = harness.create("hashicups_order", items(2)).unwrap();
        assert_eq!(order.get::<i64>("id"), 1);
        let name = order.object().value("items").as_elements().unwrap()[1]
            .get("coffee")
            .unwrap()
            .get("name")
            .cloned();
        assert_eq!(name, Some(Value::string("Coffee 2")));

        let order = harness.read("hashicups_order", &order).unwrap().unwrap();
        assert_eq!(
            harness.plan("hashicups_order", Some(&order), items(2)).unwrap().action,
            PlannedAction::NoOp
        );
        let plan = harness.plan("hashicups_order", Some(&order), items(3)).unwrap();
        assert_eq!(plan.action, PlannedAction::Update);
        let order = harness.apply(&plan).unwrap().unwrap();
        assert_eq!(order.get::<i64>("id"), 1);

        harness.delete("hashicups_order", &order).unwrap();
        assert!(harness.read("hashicups_order", &order).unwrap().is_none());
    });
}

#[test]
fn order_is_imported_by_its_number() {
    with_server(|harness| {
        harness.create("hashicups_order", items(2)).unwrap();
        let order = harness.import("hashicups_order", "1").unwrap();
        assert_eq!(order.object().value("items").as_elements().map(<[_]>::len), Some(2));
        let absent = harness.import("hashicups_order", "7").unwrap_err();
        assert!(absent.diagnostics.to_string().contains("Cannot import non-existent remote object"));
        let malformed = harness.import("hashicups_order", "first").unwrap_err();
        assert!(malformed.diagnostics.to_string().contains("must be a whole number, got: \"first\""));
    });
}

#[test]
fn quantity_is_checked() {
    with_server(|harness| {
        let errors = harness.create("hashicups_order", items(0)).unwrap_err().diagnostics;
        assert!(errors.to_string().contains("items[0].quantity value must be at least 1"), "{errors}");
    });
}

#[test]
fn coffees_are_read() {
    with_server(|harness| {
        let menu = harness.read_data_source("hashicups_coffees", json!({})).unwrap();
        let coffees = menu.value("coffees");
        let prices: Vec<Value> = coffees
            .as_elements()
            .unwrap()
            .iter()
            .map(|coffee| coffee.get("price").unwrap().clone())
            .collect();
        assert_eq!(prices, [Value::number(wardian_sdk::Number::from_f64(2.5).unwrap()), Value::number(5)]);
    });
}

#[test]
fn tax_is_rounded() {
    with_server(|harness| {
        let arguments = [Value::number(5), Value::number(wardian_sdk::Number::from_f64(0.0857).unwrap())];
        let total = harness.call_function("compute_tax", &arguments).unwrap();
        assert_eq!(total, Value::number(wardian_sdk::Number::from_f64(5.43).unwrap()));
    });
}

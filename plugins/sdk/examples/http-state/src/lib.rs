//! A provider with a state store, `httpstate_objects`, which keeps each state as an object of an HTTP
//! service.
//!
//! ```text
//! terraform {
//!   required_providers {
//!     httpstate = { source = "acme/httpstate" }
//!   }
//!   state_store "httpstate_objects" {
//!     provider "httpstate" {
//!       token = "..."
//!     }
//!     address = "https://states.example.com/team"
//!   }
//! }
//! ```
//!
//! | request | meaning |
//! |---|---|
//! | `GET ADDRESS/` | a JSON array with the names of all objects |
//! | `GET`, `PUT`, `DELETE ADDRESS/NAME` | an object; 404 if it does not exist |
//! | `PUT` with `If-None-Match: *` | creates an object; 412 if it exists |
//! | `DELETE` with `If-Match: ETAG` | deletes this version of an object; 412 if it has another one |
//!
//! A state has the object `NAME.tfstate`, and its lock the object `NAME.lock`, which contains the
//! holder. A lock is created with `If-None-Match`, so only one client can create it, and deleted with
//! `If-Match`, so a client deletes only the lock that it has read.

use serde::Deserialize;
use wardian_sdk::http::{self, Request, Response};
use wardian_sdk::state_store::{Lock, LockInfo, StateContext, StateStore, Unlock};
use wardian_sdk::{Attribute, Diagnostics, Provider, Result, Schema, validate};

const STATE: &str = ".tfstate";
const LOCK: &str = ".lock";

/// The configuration of the provider.
#[derive(Debug, Deserialize)]
pub struct ProviderConfig {
    token: Option<String>,
}

/// The credentials that requests contain.
#[derive(Debug)]
pub struct Credentials {
    token: Option<String>,
}

/// The state store `httpstate_objects`.
#[derive(Clone, Copy, Debug)]
pub struct Objects;

/// The arguments of the state store.
#[derive(Debug, Deserialize)]
pub struct Config {
    address: String,
    /// An address to which each write is reported.
    report_to: Option<String>,
}

type Context<'a> = StateContext<'a, Config, Credentials>;

/// Returns the URL of an object. Workspace names contain no characters that must be escaped.
fn url(context: &Context<'_>, name: &str) -> String {
    format!("{}/{name}", context.config().address.trim_end_matches('/'))
}

fn object(context: &Context<'_>, suffix: &str) -> String {
    url(context, &format!("{}{suffix}", context.state_id()))
}

/// Sends a request with the credentials.
fn send(context: &Context<'_>, request: Request) -> Result<Response> {
    let request = match &context.client().token {
        Some(token) => request.header("Authorization", format!("Bearer {token}")),
        None => request,
    };
    Ok(request.send()?)
}

/// Returns the holder of the lock and the version of its object.
fn holder(context: &Context<'_>) -> Result<Option<(LockInfo, String)>> {
    let response = send(context, http::get(object(context, LOCK)))?;
    if response.status() == 404 {
        return Ok(None);
    }
    let response = response.error_for_status()?;
    let version = response.header("ETag").unwrap_or_default().to_owned();
    Ok(Some((response.json()?, version)))
}

impl StateStore<Credentials> for Objects {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("address").required().validate(validate::length(1..)))
            .attribute(Attribute::string("report_to").optional())
    }

    fn read(&self, context: &mut Context<'_>) -> Result<Vec<u8>> {
        let response = send(context, http::get(object(context, STATE)))?;
        if response.status() == 404 {
            return Ok(Vec::new());
        }
        Ok(response.error_for_status()?.body().to_vec())
    }

    fn write(&self, state: Vec<u8>, context: &mut Context<'_>) -> Result<()> {
        let length = state.len();
        send(context, http::put(object(context, STATE), state))?.error_for_status()?;
        if let Some(address) = context.config().report_to.clone() {
            let text = format!("{}: {length} bytes", context.state_id());
            if let Err(error) = http::post(address, text).send() {
                context.warn("Write was not reported", format!("{error}."));
            }
        }
        Ok(())
    }

    fn lock(&self, request: &LockInfo, context: &mut Context<'_>) -> Result<Lock> {
        let body = serde_json::to_vec(request)
            .map_err(|error| Diagnostics::error("Lock cannot be encoded", format!("{error}.")))?;
        let create = http::put(object(context, LOCK), body).header("If-None-Match", "*");
        let response = send(context, create)?;
        if response.status() != 412 {
            response.error_for_status()?;
            return Ok(Lock::Locked(request.id.clone()));
        }
        Ok(Lock::Held(holder(context)?.map(|(holder, _)| holder)))
    }

    fn unlock(&self, id: &str, context: &mut Context<'_>) -> Result<Unlock> {
        let version = match holder(context)? {
            Some((holder, version)) if holder.id == id => version,
            other => return Ok(Unlock::OtherLock(other.map(|(holder, _)| holder))),
        };
        let delete = http::delete(object(context, LOCK)).header("If-Match", version);
        let response = send(context, delete)?;
        if response.status() == 412 {
            return Ok(Unlock::OtherLock(holder(context)?.map(|(holder, _)| holder)));
        }
        response.error_for_status()?;
        Ok(Unlock::Unlocked)
    }

    fn states(&self, context: &mut Context<'_>) -> Result<Vec<String>> {
        let response = send(context, http::get(url(context, "")))?.error_for_status()?;
        let names: Vec<String> = response.json()?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(STATE)).map(str::to_owned).collect())
    }

    fn delete(&self, context: &mut Context<'_>) -> Result<()> {
        let response = send(context, http::delete(object(context, STATE)))?;
        if response.status() != 404 {
            response.error_for_status()?;
        }
        Ok(())
    }
}

/// Returns the provider that the component exports.
pub fn provider() -> Provider<Credentials> {
    let schema = Schema::new().attribute(Attribute::string("token").optional().sensitive());
    Provider::with_config("httpstate", schema, |config: ProviderConfig| {
        Ok(Credentials { token: config.token })
    })
    .state_store("httpstate_objects", Objects)
}

wardian_sdk::export_state_store_provider!(
    provider,
    network { hosts: ["states.example.com"], reason: "stores states" },
);

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use wardian_sdk::state_store::testing::StateStoreHarness;
    use wardian_sdk::testing::with_mock_http;

    use super::*;

    const CONFIG: &str = r#"{ "address": "https://states.example.com/team", "report_to": null }"#;

    /// Answers a request to the service, whose objects have their length as version.
    fn respond(objects: &RefCell<BTreeMap<String, Vec<u8>>>, request: &Request) -> Response {
        let name = request.url().trim_start_matches("https://states.example.com/team/").to_owned();
        let mut objects = objects.borrow_mut();
        let has = |header: &str| request.headers().any(|(name, _)| name == header);
        if !has("Authorization") {
            return Response::new(401, "");
        }
        match request.method() {
            "GET" if name.is_empty() => {
                Response::new(200, serde_json::to_vec(&objects.keys().collect::<Vec<_>>()).unwrap())
            }
            "GET" => match objects.get(&name) {
                Some(body) => Response::new(200, body.clone()).with_header("ETag", "1"),
                None => Response::new(404, ""),
            },
            "PUT" if has("If-None-Match") && objects.contains_key(&name) => Response::new(412, ""),
            "PUT" => {
                objects.insert(name, request.content().to_vec());
                Response::new(201, "")
            }
            _ => match objects.remove(&name) {
                Some(_) => Response::new(204, ""),
                None => Response::new(404, ""),
            },
        }
    }

    fn with_service(test: impl FnOnce(&StateStoreHarness)) {
        let objects = RefCell::new(BTreeMap::new());
        with_mock_http(
            move |request| Ok(respond(&objects, request)),
            || {
                let token = r#"{ "token": "t" }"#;
                let harness = StateStoreHarness::new(provider, token, "httpstate_objects", CONFIG);
                test(&harness.unwrap());
            },
        );
    }

    #[test]
    fn provider_is_valid() {
        wardian_sdk::assert_valid_provider(provider());
    }

    #[test]
    fn states_are_written_listed_and_deleted() {
        with_service(|store| {
            assert_eq!(store.read("default").unwrap(), b"");
            store.write("default", b"{\"serial\":1,\"version\":4}").unwrap();
            store.write("b", b"{}").unwrap();
            assert_eq!(store.read("default").unwrap(), b"{\"serial\":1,\"version\":4}");
            assert_eq!(store.states().unwrap(), ["b", "default"]);
            store.delete("b").unwrap();
            store.delete("b").unwrap();
            assert_eq!(store.states().unwrap(), ["default"]);
        });
    }

    #[test]
    fn lock_is_held_until_its_id_releases_it() {
        with_service(|store| {
            let ann = LockInfo { id: "1".into(), who: "ann".into(), ..LockInfo::default() };
            let bob = LockInfo { id: "2".into(), who: "bob".into(), ..LockInfo::default() };
            assert_eq!(store.lock("default", &ann).unwrap(), Lock::Locked("1".into()));
            assert_eq!(store.lock("default", &bob).unwrap(), Lock::Held(Some(ann.clone())));
            assert_eq!(store.unlock("default", "2").unwrap(), Unlock::OtherLock(Some(ann)));
            assert_eq!(store.unlock("default", "1").unwrap(), Unlock::Unlocked);
            assert_eq!(store.lock("default", &bob).unwrap(), Lock::Locked("2".into()));
        });
    }

    #[test]
    fn error_of_the_service_is_reported() {
        with_mock_http(
            |_| Ok(Response::new(503, "no space")),
            || {
                let store =
                    StateStoreHarness::new(provider, r#"{ "token": null }"#, "httpstate_objects", CONFIG);
                let problem = store.unwrap().write("default", b"{}").unwrap_err();
                assert!(problem.concat().contains("503"), "{problem:?}");
            },
        );
    }
}

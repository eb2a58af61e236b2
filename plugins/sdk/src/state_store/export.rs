//! Exports a provider with state stores from a component.

use std::cell::{OnceCell, RefCell};
use std::marker::PhantomData;
use std::thread::LocalKey;

use super::bindings::exports::wardian::plugin::state_store as protocol;
use super::service::{Reader, StoreService, Writer};
use crate::bindings::wardian::plugin::types;
use crate::export::Exported;

/// Provides access to a component's state stores. [`crate::export_state_store_provider!`] implements
/// it.
pub trait ExportedStores: Exported {
    /// Returns the cell that contains the state stores.
    fn stores() -> &'static LocalKey<OnceCell<StoreService>>;

    /// Creates the state stores when they are first called.
    fn make_stores() -> StoreService;
}

/// The type that implements the exports of a component.
pub struct Component<E>(PhantomData<E>);

fn with<E: ExportedStores, T>(answer: impl FnOnce(&StoreService) -> T) -> T {
    E::stores().with(|stores| answer(stores.get_or_init(E::make_stores)))
}

/// A state that the host fetches in chunks.
pub struct StateReader(RefCell<Reader>);

impl protocol::GuestStateReader for StateReader {
    fn next(&self) -> protocol::ReadStateResponse {
        self.0.borrow_mut().next()
    }
}

/// A state that the host sends in chunks.
pub struct StateWriter(RefCell<Writer>);

impl protocol::GuestStateWriter for StateWriter {
    fn write(&self, chunk: protocol::StateChunk) -> Vec<types::Diagnostic> {
        self.0.borrow_mut().write(&chunk)
    }

    fn finish(&self) -> Vec<types::Diagnostic> {
        self.0.borrow_mut().finish()
    }
}

impl<E: ExportedStores> protocol::Guest for Component<E> {
    type StateReader = StateReader;
    type StateWriter = StateWriter;

    fn get_state_store_schemas() -> protocol::StateStoreSchemas {
        with::<E, _>(StoreService::schemas)
    }

    fn validate_state_store_config(type_name: String, config: Vec<u8>) -> Vec<types::Diagnostic> {
        with::<E, _>(|stores| stores.validate(&type_name, &config))
    }

    fn configure_state_store(
        request: protocol::ConfigureStateStoreRequest,
    ) -> protocol::ConfigureStateStoreResponse {
        let client = crate::export::client::<E>();
        with::<E, _>(|stores| stores.configure(&request, client))
    }

    fn read_state_bytes(type_name: String, state_id: String) -> protocol::StateReader {
        let reader = with::<E, _>(|stores| stores.read(&type_name, &state_id));
        protocol::StateReader::new(StateReader(RefCell::new(reader)))
    }

    fn write_state_bytes(type_name: String, state_id: String) -> protocol::StateWriter {
        let writer = with::<E, _>(|stores| stores.write(&type_name, &state_id));
        protocol::StateWriter::new(StateWriter(RefCell::new(writer)))
    }

    fn lock_state(
        type_name: String,
        state_id: String,
        request: protocol::LockInfo,
    ) -> protocol::LockStateResponse {
        with::<E, _>(|stores| stores.lock(&type_name, &state_id, &request))
    }

    fn unlock_state(type_name: String, state_id: String, lock_id: String) -> protocol::UnlockStateResponse {
        with::<E, _>(|stores| stores.unlock(&type_name, &state_id, &lock_id))
    }

    fn get_states(type_name: String) -> protocol::GetStatesResponse {
        with::<E, _>(|stores| stores.states(&type_name))
    }

    fn delete_state(type_name: String, state_id: String) -> Vec<types::Diagnostic> {
        with::<E, _>(|stores| stores.delete(&type_name, &state_id))
    }
}

/// Exports a provider with state stores from the component. The arguments are those of
/// [`crate::export_provider!`].
///
/// ```
/// # use std::cell::RefCell;
/// # use std::collections::BTreeMap;
/// #
/// # use wardian_sdk::state_store::{Lock, LockInfo, StateContext, StateStore, Unlock};
/// # use wardian_sdk::{Provider, Result, Schema};
/// #
/// # #[derive(Default)]
/// # struct Memory {
/// #     states: RefCell<BTreeMap<String, Vec<u8>>>,
/// #     lock: RefCell<Option<LockInfo>>,
/// # }
/// #
/// # #[derive(serde::Deserialize)]
/// # struct Config {}
/// #
/// # impl StateStore for Memory {
/// #     type Config = Config;
/// #
/// #     fn schema(&self) -> Schema {
/// #         Schema::new()
/// #     }
/// #
/// #     fn read(&self, context: &mut StateContext<'_, Config>) -> Result<Vec<u8>> {
/// #         Ok(self.states.borrow().get(context.state_id()).cloned().unwrap_or_default())
/// #     }
/// #
/// #     fn write(&self, state: Vec<u8>, context: &mut StateContext<'_, Config>) -> Result<()> {
/// #         self.states.borrow_mut().insert(context.state_id().to_owned(), state);
/// #         Ok(())
/// #     }
/// #
/// #     fn lock(&self, request: &LockInfo, _: &mut StateContext<'_, Config>) -> Result<Lock> {
/// #         let mut lock = self.lock.borrow_mut();
/// #         Ok(match &*lock {
/// #             Some(holder) => Lock::Held(Some(holder.clone())),
/// #             None => Lock::Locked(lock.insert(request.clone()).id.clone()),
/// #         })
/// #     }
/// #
/// #     fn unlock(&self, id: &str, _: &mut StateContext<'_, Config>) -> Result<Unlock> {
/// #         let mut lock = self.lock.borrow_mut();
/// #         Ok(match &*lock {
/// #             Some(holder) if holder.id == id => {
/// #                 *lock = None;
/// #                 Unlock::Unlocked
/// #             }
/// #             other => Unlock::OtherLock(other.clone()),
/// #         })
/// #     }
/// #
/// #     fn states(&self, _: &mut StateContext<'_, Config>) -> Result<Vec<String>> {
/// #         Ok(self.states.borrow().keys().cloned().collect())
/// #     }
/// #
/// #     fn delete(&self, context: &mut StateContext<'_, Config>) -> Result<()> {
/// #         self.states.borrow_mut().remove(context.state_id());
/// #         Ok(())
/// #     }
/// # }
/// fn provider() -> Provider {
///     Provider::new("cloud").state_store("cloud_memory", Memory::default())
/// }
///
/// wardian_sdk::export_state_store_provider!(
///     provider,
///     network { hosts: ["states.example.com"], reason: "stores states" },
/// );
/// ```
#[macro_export]
macro_rules! export_state_store_provider {
    ($provider:path $(, $capability:ident $needed:tt)* $(,)?) => {
        $crate::declare_capabilities!($($capability $needed),*);

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "exports of a component are functions with fixed symbol names")]
        const _: () = {
            $crate::export_provider_world!($provider, This, false);

            impl $crate::state_store::export::ExportedStores for This {
                fn stores()
                -> &'static ::std::thread::LocalKey<::std::cell::OnceCell<$crate::state_store::StoreService>>
                {
                    ::std::thread_local! {
                        static STORES: ::std::cell::OnceCell<$crate::state_store::StoreService> =
                            const { ::std::cell::OnceCell::new() };
                    }
                    &STORES
                }

                fn make_stores() -> $crate::state_store::StoreService {
                    $provider().into()
                }
            }

            type Stores = $crate::state_store::export::Component<This>;
            $crate::state_store::bindings::export_state_store_world!(
                Stores with_types_in $crate::state_store::bindings
            );
        };
    };
}

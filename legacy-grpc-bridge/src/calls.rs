//! Defines the provider calls, with their RPCs in each protocol version.

use std::time::Duration;

use crate::method::RpcMethod;
use crate::protocol::tfplugin as m;
use crate::protocol::tfplugin5::provider as five;
use crate::protocol::tfplugin6::provider as six;
use crate::{NativeLimits, ProtocolVersion};

/// The systems that a call may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only the plugin.
    Local,
    /// The plugin and a remote system.
    Remote,
}

/// A call in both protocol versions.
pub(crate) struct Rpc<Q, A> {
    five: RpcMethod<Q, A>,
    six: RpcMethod<Q, A>,
    reach: Reach,
}

impl<Q, A> Rpc<Q, A> {
    const fn local(five: RpcMethod<Q, A>, six: RpcMethod<Q, A>) -> Self {
        Self { five, six, reach: Reach::Local }
    }

    const fn remote(five: RpcMethod<Q, A>, six: RpcMethod<Q, A>) -> Self {
        Self { five, six, reach: Reach::Remote }
    }

    pub(crate) const fn method(&self, version: ProtocolVersion) -> RpcMethod<Q, A> {
        match version {
            ProtocolVersion::Five => self.five,
            ProtocolVersion::Six => self.six,
        }
    }

    /// Returns the call's name for messages. The name is the name in protocol 6, which is clearer
    /// than the name in protocol 5.
    pub(crate) fn name(&self) -> &'static str {
        self.six.name()
    }

    pub(crate) fn time(&self, limits: &NativeLimits) -> Duration {
        match self.reach {
            Reach::Local => limits.local_call,
            Reach::Remote => limits.remote_call,
        }
    }
}

/// Defines a call with the request `Request` and the response `Response` or `Event`.
macro_rules! call {
    ($name:ident: $reach:ident, $module:ident::$answer:ident, $five:ident, $six:ident) => {
        pub(crate) const $name: Rpc<m::$module::Request, m::$module::$answer> =
            Rpc::$reach(five::$five, six::$six);
    };
}

call!(IDENTITY_SCHEMAS: local, get_resource_identity_schemas::Response, GET_RESOURCE_IDENTITY_SCHEMAS, GET_RESOURCE_IDENTITY_SCHEMAS);
call!(VALIDATE_PROVIDER: local, validate_provider_config::Response, PREPARE_PROVIDER_CONFIG, VALIDATE_PROVIDER_CONFIG);
call!(CONFIGURE: remote, configure_provider::Response, CONFIGURE, CONFIGURE_PROVIDER);
call!(STOP: local, stop_provider::Response, STOP, STOP_PROVIDER);
call!(VALIDATE_RESOURCE: local, validate_resource_config::Response, VALIDATE_RESOURCE_TYPE_CONFIG, VALIDATE_RESOURCE_CONFIG);
call!(VALIDATE_DATA: local, validate_resource_config::Response, VALIDATE_DATA_SOURCE_CONFIG, VALIDATE_DATA_RESOURCE_CONFIG);
call!(VALIDATE_EPHEMERAL: local, validate_resource_config::Response, VALIDATE_EPHEMERAL_RESOURCE_CONFIG, VALIDATE_EPHEMERAL_RESOURCE_CONFIG);
call!(VALIDATE_ACTION: local, validate_action_config::Response, VALIDATE_ACTION_CONFIG, VALIDATE_ACTION_CONFIG);
call!(VALIDATE_LIST: local, validate_list_resource_config::Response, VALIDATE_LIST_RESOURCE_CONFIG, VALIDATE_LIST_RESOURCE_CONFIG);
call!(UPGRADE_STATE: local, upgrade_resource_state::Response, UPGRADE_RESOURCE_STATE, UPGRADE_RESOURCE_STATE);
call!(UPGRADE_IDENTITY: local, upgrade_resource_identity::Response, UPGRADE_RESOURCE_IDENTITY, UPGRADE_RESOURCE_IDENTITY);
call!(READ: remote, read_resource::Response, READ_RESOURCE, READ_RESOURCE);
call!(PLAN: remote, plan_resource_change::Response, PLAN_RESOURCE_CHANGE, PLAN_RESOURCE_CHANGE);
call!(APPLY: remote, apply_resource_change::Response, APPLY_RESOURCE_CHANGE, APPLY_RESOURCE_CHANGE);
call!(IMPORT: remote, import_resource_state::Response, IMPORT_RESOURCE_STATE, IMPORT_RESOURCE_STATE);
call!(MOVE: local, move_resource_state::Response, MOVE_RESOURCE_STATE, MOVE_RESOURCE_STATE);
call!(GENERATE: local, generate_resource_config::Response, GENERATE_RESOURCE_CONFIG, GENERATE_RESOURCE_CONFIG);
call!(READ_DATA: remote, read_data_source::Response, READ_DATA_SOURCE, READ_DATA_SOURCE);
call!(OPEN: remote, open_ephemeral_resource::Response, OPEN_EPHEMERAL_RESOURCE, OPEN_EPHEMERAL_RESOURCE);
call!(RENEW: remote, renew_ephemeral_resource::Response, RENEW_EPHEMERAL_RESOURCE, RENEW_EPHEMERAL_RESOURCE);
call!(CLOSE: remote, close_ephemeral_resource::Response, CLOSE_EPHEMERAL_RESOURCE, CLOSE_EPHEMERAL_RESOURCE);
call!(FUNCTION: local, call_function::Response, CALL_FUNCTION, CALL_FUNCTION);
call!(LIST: remote, list_resource::Event, LIST_RESOURCE, LIST_RESOURCE);
call!(PLAN_ACTION: remote, plan_action::Response, PLAN_ACTION, PLAN_ACTION);
call!(INVOKE_ACTION: remote, invoke_action::Event, INVOKE_ACTION, INVOKE_ACTION);

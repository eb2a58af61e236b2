"""Serves resource types over Terraform's plugin protocol 6: the handshake of go-plugin on the standard
output, and gRPC over a Unix domain socket with mutual TLS."""

import base64
import datetime
import os
import sys
import tempfile
import threading
from concurrent import futures

import grpc
import msgpack
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import common_pb2
import plugin_pb2
import plugin_pb2_grpc
import tfplugin6_pb2
import tfplugin6_pb2_grpc

# The extension type of unknown values. Values with refinements have type 12.
UNKNOWN = msgpack.ExtType(0, b"\0")


class ResourceType:
    """A type whose objects are created and deleted, but never changed in place.

    `attributes` maps names to pairs of a type, in JSON, and "required", "optional" or "computed"."""

    attributes = {}

    def create(self, values):
        """Creates the object. Returns the values of the computed attributes."""
        raise NotImplementedError

    def read(self, values):
        """Returns the values of the object, or None if it no longer exists."""
        return values

    def delete(self, values):
        """Deletes the object."""


def serve(types):
    """Serves resource types, a map from their names, until the host requests the end."""
    if os.environ.get("TF_PLUGIN_MAGIC_COOKIE") is None:
        sys.exit("This program is a plugin. Terraform or Wardian starts it.")
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    tfplugin6_pb2_grpc.add_ProviderServicer_to_server(Provider(types), server)
    stopped = threading.Event()
    plugin_pb2_grpc.add_GRPCControllerServicer_to_server(Controller(stopped), server)
    address = os.path.join(tempfile.mkdtemp(prefix="plugin"), "socket")
    host = os.environ.get("PLUGIN_CLIENT_CERT")
    if host is None:
        certificate = ""
        server.add_insecure_port("unix:" + address)
    else:
        key, pem, der = own_certificate()
        certificate = base64.b64encode(der).decode().rstrip("=")
        credentials = grpc.ssl_server_credentials(
            [(key, pem)], root_certificates=host.encode(), require_client_auth=True
        )
        server.add_secure_port("unix:" + address, credentials)
    server.start()
    print(f"1|6|unix|{address}|grpc|{certificate}", flush=True)
    stopped.wait()
    server.stop(grace=0.2).wait()


def own_certificate():
    """Creates a key, and a certificate in PEM and DER format."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=7))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    encoded = serialization.Encoding
    return key, certificate.public_bytes(encoded.PEM), certificate.public_bytes(encoded.DER)


class Controller(plugin_pb2_grpc.GRPCControllerServicer):
    def __init__(self, stopped):
        self.stopped = stopped

    def Shutdown(self, request, context):
        self.stopped.set()
        return plugin_pb2.Empty()


class Provider(tfplugin6_pb2_grpc.ProviderServicer):
    def __init__(self, types):
        self.types = types

    def GetProviderSchema(self, request, context):
        schemas = {name: schema(kind.attributes) for name, kind in self.types.items()}
        return tfplugin6_pb2.GetProviderSchema.Response(provider=schema({}), resource_schemas=schemas)

    def ValidateProviderConfig(self, request, context):
        return common_pb2.ValidateProviderConfig.Response(prepared_config=request.config)

    def ConfigureProvider(self, request, context):
        return common_pb2.ConfigureProvider.Response()

    def StopProvider(self, request, context):
        return common_pb2.StopProvider.Response()

    def ValidateResourceConfig(self, request, context):
        return common_pb2.ValidateResourceConfig.Response()

    def UpgradeResourceState(self, request, context):
        state = common_pb2.DynamicValue(json=request.raw_state.json)
        return common_pb2.UpgradeResourceState.Response(upgraded_state=state)

    def PlanResourceChange(self, request, context):
        prior, planned = decode(request.prior_state), decode(request.proposed_new_state)
        response = common_pb2.PlanResourceChange.Response(planned_state=request.proposed_new_state)
        if planned is None:
            return response
        attributes = self.types[request.type_name].attributes
        changed = [name for name in attributes if prior is not None and prior[name] != planned[name]]
        for name in changed:
            step = common_pb2.AttributePath.Step(attribute_name=name)
            response.requires_replace.append(common_pb2.AttributePath(steps=[step]))
        if prior is None or changed:
            computed = [name for name, (_, mode) in attributes.items() if mode == "computed"]
            response.planned_state.CopyFrom(encode({**planned, **dict.fromkeys(computed, UNKNOWN)}))
        return response

    def ApplyResourceChange(self, request, context):
        kind = self.types[request.type_name]
        prior, planned = decode(request.prior_state), decode(request.planned_state)
        response = common_pb2.ApplyResourceChange.Response(new_state=request.planned_state)
        try:
            if planned is None:
                kind.delete(prior)
            else:
                response.new_state.CopyFrom(encode({**planned, **kind.create(planned)}))
        except Exception as error:
            response.new_state.CopyFrom(request.prior_state)
            response.diagnostics.append(diagnostic(error))
        return response

    def ReadResource(self, request, context):
        response = common_pb2.ReadResource.Response(new_state=request.current_state)
        try:
            response.new_state.CopyFrom(encode(self.types[request.type_name].read(decode(request.current_state))))
        except Exception as error:
            response.diagnostics.append(diagnostic(error))
        return response


def diagnostic(error):
    summary = f"{type(error).__name__}: {error}"
    return common_pb2.Diagnostic(severity=common_pb2.Diagnostic.ERROR, summary=summary)


def schema(attributes):
    block = tfplugin6_pb2.Schema.Block()
    for name, (kind, mode) in attributes.items():
        block.attributes.add(name=name, type=kind.encode(), **{mode: True})
    return tfplugin6_pb2.Schema(block=block)


def encode(value):
    return common_pb2.DynamicValue(msgpack=msgpack.packb(value))


def decode(value):
    return msgpack.unpackb(value.msgpack) if value.msgpack else None

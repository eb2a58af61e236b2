"""A provider whose resources use the network as real providers do: with the official Kubernetes client,
with gRPC, and with plain sockets."""

import json
import socket
import time

import grpc
import kubernetes

import plugin_server

# Seconds until a server must respond.
TIMEOUT = 60
STRING, NUMBER = '"string"', '"number"'


class Namespace(plugin_server.ResourceType):
    attributes = {
        "kubeconfig": (STRING, "required"),
        "context": (STRING, "required"),
        "name": (STRING, "required"),
        "labels": ('["map","string"]', "optional"),
        "uid": (STRING, "computed"),
    }

    def api(self, values):
        client = kubernetes.config.new_client_from_config(
            config_file=values["kubeconfig"], context=values["context"], persist_config=False
        )
        # Each failure is reported immediately.
        client.configuration.retries = False
        return kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(client.configuration))

    def create(self, values):
        metadata = {"name": values["name"], "labels": values["labels"]}
        created = self.api(values).create_namespace({"metadata": metadata}, _request_timeout=TIMEOUT)
        return {"uid": created.metadata.uid}

    def read(self, values):
        try:
            found = self.api(values).read_namespace(values["name"], _request_timeout=TIMEOUT)
        except kubernetes.client.ApiException as error:
            if error.status == 404:
                return None
            raise
        return {**values, "labels": found.metadata.labels, "uid": found.metadata.uid}

    def delete(self, values):
        self.api(values).delete_namespace(values["name"], _request_timeout=TIMEOUT)


class Connection(plugin_server.ResourceType):
    """A connection that is used `messages` times, with `pause` seconds between the messages. It is
    closed before the object has been created."""

    attributes = {
        "protocol": (STRING, "required"),
        "host": (STRING, "required"),
        "port": (NUMBER, "required"),
        "messages": (NUMBER, "required"),
        "pause": (NUMBER, "required"),
        "result": (STRING, "computed"),
    }

    def create(self, values):
        exchange = {"tcp": over_tcp, "grpc": over_grpc}[values["protocol"]]
        address = (values["host"], values["port"])
        return {"result": json.dumps(exchange(address, values["messages"], values["pause"]))}


def paced(messages, pause):
    for number in range(messages):
        if number > 0:
            time.sleep(pause)
        yield f"message {number}\n".encode()


def over_tcp(address, messages, pause):
    """Sends each message, and receives the response before the next one."""
    count = 0
    with socket.create_connection(address, timeout=TIMEOUT) as connection:
        responses = connection.makefile("rb")
        for message in paced(messages, pause):
            connection.sendall(message)
            if responses.readline() != message:
                raise ConnectionError(f"the server did not return {message}")
            count += 1
    return {"exchanged": count}


def over_grpc(address, messages, pause):
    """Sends each message on one stream. Between the messages, the client sends a ping each second, and
    closes the connection if the server does not respond to it within two seconds."""
    options = [
        ("grpc.keepalive_time_ms", 1000),
        ("grpc.keepalive_timeout_ms", 2000),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.enable_retries", 0),
    ]
    host, port = address
    with grpc.insecure_channel(f"{host}:{port}", options=options) as channel:
        exchange = channel.stream_stream("/interop.Echo/Exchange")
        stream = exchange(paced(messages, pause), timeout=messages * pause + TIMEOUT)
        peers = [response.decode() for response in stream]
    return {"exchanged": len(peers), "connections": len(set(peers))}


if __name__ == "__main__":
    plugin_server.serve({"peers_namespace": Namespace(), "peers_connection": Connection()})

"""The servers that the plugins contact, each on a port of the loopback interface. Prints as JSON the ports,
and a name for the servers of gRPC and HTTP/2 if the machine has one, and writes a line of JSON for each request, or for each connection, to a log."""

import asyncio
import http.server
import json
import pathlib
import socket
import socketserver
import ssl
import sys
import threading
import uuid
from concurrent import futures

import grpc
import hypercorn.asyncio
import hypercorn.config

NAMESPACES = "/api/v1/namespaces"
TOKEN = "a-token-of-the-suite"


class Log:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")
        self.lock = threading.Lock()

    def write(self, server, **facts):
        with self.lock:
            self.file.write(json.dumps({"server": server, **facts}) + "\n")
            self.file.flush()


class ApiServer(http.server.ThreadingHTTPServer):
    """Kubernetes' API for namespaces. A client authenticates with a certificate or with the token."""

    daemon_threads = True

    def __init__(self, name, context, log):
        super().__init__(("127.0.0.1", 0), ApiRequest)
        self.name, self.context, self.log, self.namespaces = name, context, log, {}

    def get_request(self):
        connection, address = self.socket.accept()
        self.log.write(self.name, connection=address[1])
        return connection, address

    def handle_error(self, request, client_address):
        # A client that closes its connection is not an error of the server.
        pass


class ApiRequest(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *arguments):
        pass

    def identity(self):
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return "token"
        return "certificate" if self.request.getpeercert() else None

    def respond(self, status, document):
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def fail(self, status, reason):
        failure = {"status": "Failure", "code": status, "reason": reason, "message": reason}
        self.respond(status, {"kind": "Status", "apiVersion": "v1", **failure})

    def handle_method(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        identity = self.identity()
        self.server.log.write(self.server.name, method=self.command, path=path, identity=identity)
        namespaces = self.server.namespaces
        if identity is None:
            self.fail(401, "Unauthorized")
        elif (self.command, path) == ("GET", NAMESPACES):
            self.respond(200, {"kind": "NamespaceList", "apiVersion": "v1", "items": list(namespaces.values())})
        elif (self.command, path) == ("POST", NAMESPACES):
            metadata = json.loads(content)["metadata"]
            name = metadata["name"]
            if name in namespaces:
                return self.fail(409, "AlreadyExists")
            metadata["uid"] = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
            metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
            status = {"phase": "Active"}
            namespaces[name] = {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata, "status": status}
            self.respond(201, namespaces[name])
        elif not path.startswith(NAMESPACES + "/") or path[len(NAMESPACES) + 1 :] not in namespaces:
            self.fail(404, "NotFound")
        elif self.command == "GET":
            self.respond(200, namespaces[path[len(NAMESPACES) + 1 :]])
        elif self.command == "DELETE":
            self.respond(200, namespaces.pop(path[len(NAMESPACES) + 1 :]))
        else:
            self.fail(405, "MethodNotAllowed")

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = handle_method


class TokenServer(http.server.ThreadingHTTPServer):
    """The server from which the exec credential program obtains the token."""

    daemon_threads = True

    def __init__(self, log):
        super().__init__(("127.0.0.1", 0), TokenRequest)
        self.log = log


class TokenRequest(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.server.log.write("token", method=self.command, path=self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(TOKEN.encode())


class EchoServer(socketserver.ThreadingTCPServer):
    """Returns each line."""

    daemon_threads = True

    def __init__(self, log):
        super().__init__(("127.0.0.1", 0), EchoConnection)
        self.log = log


class EchoConnection(socketserver.StreamRequestHandler):
    def handle(self):
        self.server.log.write("echo", connection=self.client_address[1])
        for line in self.rfile:
            self.wfile.write(line)


class EchoService(grpc.GenericRpcHandler):
    """For each message of a stream, returns the address of the connection."""

    def __init__(self, log):
        self.log = log

    def service(self, details):
        if details.method == "/interop.Echo/Exchange":
            return grpc.stream_stream_rpc_method_handler(self.exchange)
        return None

    def exchange(self, requests, context):
        for _ in requests:
            self.log.write("grpc", connection=context.peer())
            yield context.peer().encode()


def own_name():
    """Returns a name of this machine and its address, if that is a loopback address. Some clients do not
    look up `localhost`."""
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        return None, "127.0.0.1"
    return (name, address) if address.startswith("127.") else (None, "127.0.0.1")


def grpc_server(address, log):
    options = [
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 500),
        ("grpc.http2.min_ping_interval_without_data_ms", 500),
        ("grpc.keepalive_permit_without_calls", 1),
    ]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=options)
    server.add_generic_rpc_handlers([EchoService(log)])
    port = server.add_insecure_port(f"{address}:0")
    server.start()
    return server, port


def http2_server(address, certificates, log):
    """Serves HTTP/2 over TLS. The response contains the version of HTTP."""

    async def application(scope, receive, send):
        if scope["type"] != "http":
            return
        log.write("http2", method=scope["method"], path=scope["path"], version=scope["http_version"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["http_version"].encode()})

    listener = socket.create_server((address, 0))
    config = hypercorn.config.Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.certfile, config.keyfile = str(certificates / "server.crt"), str(certificates / "server.key")
    config.alpn_protocols = ["h2"]
    config.errorlog = None

    def run():
        never = lambda: asyncio.Event().wait()  # noqa: E731
        asyncio.run(hypercorn.asyncio.serve(application, config, shutdown_trigger=never))

    threading.Thread(target=run, daemon=True).start()
    return listener, listener.getsockname()[1]


def main(certificates, log):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    servers = {
        "api": ApiServer("api", context, log),
        "other": ApiServer("other", context, log),
        "token": TokenServer(log),
        "echo": EchoServer(log),
    }
    for server in servers.values():
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ports = {name: server.server_address[1] for name, server in servers.items()}
    name, address = own_name()
    kept_grpc, ports["grpc"] = grpc_server(address, log)
    kept_http2, ports["http2"] = http2_server(address, certificates, log)
    print(json.dumps({"ports": ports, "name": name}), flush=True)
    # The end of the standard input is the end of the suite.
    sys.stdin.read()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), Log(sys.argv[2]))

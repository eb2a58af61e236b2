"""OpenTofu's rules for providers and modules in OCI registries, and its lock of the plugin cache.

Written from OpenTofu's documentation, with Python's standard library only, so that it shares no
mistake with Wardian.
"""

import fcntl
import hashlib
import io
import json
import os
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
import zipfile

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
PROVIDER = "application/vnd.opentofu.provider"
PROVIDER_TARGET = "application/vnd.opentofu.provider-target"
MODULE = "application/vnd.opentofu.modulepkg"
MAX_MANIFEST = 4 << 20
SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)


class Unusable(Exception):
    """What OpenTofu would report as an error."""


def require(condition, message):
    if not condition:
        raise Unusable(message)


class WithoutCredentials(urllib.request.HTTPRedirectHandler):
    """Follows redirects of blobs without the credentials of the registry."""

    def redirect_request(self, request, *arguments):
        redirected = super().redirect_request(request, *arguments)
        if redirected is not None:
            redirected.remove_header("Authorization")
        return redirected


class Registry:
    """A client of one OCI registry."""

    def __init__(self, url, authority):
        self.url = url.rstrip("/")
        context = ssl.create_default_context(cafile=authority)
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), WithoutCredentials
        )
        self.token = None

    def get(self, path, accept=None, limit=None):
        request = urllib.request.Request(urllib.parse.urljoin(self.url + "/", path))
        if accept:
            request.add_header("Accept", accept)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with self.opener.open(request, timeout=60) as response:
                body = response.read() if limit is None else response.read(limit + 1)
                require(limit is None or len(body) <= limit, f"{path} is larger than {limit} bytes")
                return body, response.headers
        except urllib.error.HTTPError as error:
            challenge = error.headers.get("WWW-Authenticate", "")
            if error.code == 401 and challenge.startswith("Bearer ") and self.token is None:
                self.authenticate(challenge)
                return self.get(path, accept, limit)
            raise Unusable(f"{path}: status {error.code}") from error

    def authenticate(self, challenge):
        fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        query = urllib.parse.urlencode({"service": fields["service"], "scope": fields["scope"]})
        with self.opener.open(f"{fields['realm']}?{query}", timeout=60) as response:
            answer = json.load(response)
        self.token = answer.get("token") or answer["access_token"]

    def tags(self, repository):
        """Returns all tags, from all pages."""
        path, tags = f"v2/{repository}/tags/list", []
        while path:
            body, headers = self.get(path)
            tags += json.loads(body)["tags"] or []
            following = re.match(r'<([^>]+)>; *rel="next"', headers.get("Link", ""))
            path = following.group(1) if following else None
        return tags

    def versions(self, repository):
        """Returns the versions that the tags stand for. Other tags are ignored."""
        names = (tag.replace("_", "+") for tag in self.tags(repository))
        return sorted(name for name in names if SEMVER.fullmatch(name))

    def document(self, repository, reference, media_type):
        """Returns a manifest or an index, and its bytes."""
        body, headers = self.get(
            f"v2/{repository}/manifests/{reference}", f"{INDEX}, {MANIFEST}", MAX_MANIFEST
        )
        found = headers.get("Content-Type", "").split(";")[0]
        require(found == media_type, f"{reference} is {found}, not {media_type}")
        if reference.startswith("sha256:"):
            require(digest(body) == reference, f"{reference} has another digest")
        document = json.loads(body)
        require(document.get("schemaVersion") == 2, f"{reference} has no schema version 2")
        require(document.get("mediaType") == media_type, f"{reference} does not repeat its media type")
        return document, body

    def blob(self, repository, descriptor):
        body, _ = self.get(f"v2/{repository}/blobs/{descriptor['digest']}")
        require(len(body) == descriptor["size"], "a blob has another size than its descriptor")
        require(digest(body) == descriptor["digest"], "a blob has another digest than its descriptor")
        return body

    def provider_package(self, repository, version, os_name, architecture):
        """Returns the zip file of a provider for a platform."""
        index, _ = self.document(repository, version.replace("+", "_"), INDEX)
        require(index.get("artifactType") == PROVIDER, "the index is not a provider")
        entries = [
            entry
            for entry in index["manifests"]
            if entry.get("artifactType") == PROVIDER_TARGET
            and entry.get("mediaType") == MANIFEST
            and "os.version" not in entry["platform"]
            and (entry["platform"]["os"], entry["platform"]["architecture"]) == (os_name, architecture)
        ]
        require(len(entries) == 1, f"{len(entries)} entries for {os_name}_{architecture}")
        manifest, _ = self.document(repository, entries[0]["digest"], MANIFEST)
        require(manifest.get("artifactType") == PROVIDER_TARGET, "the manifest is not a provider target")
        return self.blob(repository, self.only_layer(manifest, "archive/zip"))

    def module_package(self, repository, reference="latest"):
        """Returns the zip file of a module package."""
        manifest, _ = self.document(repository, reference, MANIFEST)
        require(manifest.get("artifactType") == MODULE, "the manifest is not a module package")
        return self.blob(repository, self.only_layer(manifest, "archive/zip"))

    @staticmethod
    def only_layer(manifest, media_type):
        layers = [layer for layer in manifest["layers"] if layer["mediaType"] == media_type]
        require(len(layers) == 1, f"{len(layers)} layers of {media_type}")
        return layers[0]


def digest(body):
    return "sha256:" + hashlib.sha256(body).hexdigest()


def executable(package, provider):
    """Returns the name of the executable in the root of a provider's package."""
    names = sorted(zipfile.ZipFile(io.BytesIO(package)).namelist())
    start = f"terraform-provider-{provider}"
    for name in names:
        rest = name.removeprefix(start)
        if rest != name and (rest == "" or rest[0] in "_."):
            return name
    raise Unusable(f"no executable is in {names}")


class CacheLock:
    """OpenTofu's lock of one package in the plugin cache: an exclusive lock of the whole file
    `OS_ARCH.lock` beside the package."""

    def __init__(self, cache, provider, version, platform):
        directory = os.path.join(cache, *provider.split("/"), version)
        os.makedirs(directory, exist_ok=True)
        self.path = os.path.join(directory, platform + ".lock")
        self.file = open(self.path, "a+")

    def acquire(self):
        fcntl.lockf(self.file, fcntl.LOCK_EX)

    def try_acquire(self):
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            return False

    def release(self):
        fcntl.lockf(self.file, fcntl.LOCK_UN)

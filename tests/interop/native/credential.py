"""An exec credential program of Kubernetes: obtains a token from a server, over a connection of its own.

Usage: peers-credential token API_VERSION URL"""

import json
import sys
import urllib.request

_, command, version, url = sys.argv
assert command == "token", sys.argv
with urllib.request.urlopen(url) as response:
    token = response.read().decode()
print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}}))

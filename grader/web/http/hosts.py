"""The names by which a service may be called.

A page of another site may send a browser here under a name of its own that leads to this address
(DNS rebinding); for the browser that is then one site.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

#: Whoever calls from the machine itself may use its own names.
_LOOPBACK = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?")
#: Probes call a process by its address. These tell nothing about people.
_OPERATION_PATHS = {"/healthz", "/readyz", "/metrics"}
_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """What the Host header of a request may be."""

    names: frozenset[bytes]

    def has(self, host: bytes) -> bool:
        """Whether a request with this header may be answered."""
        return host.lower() in self.names or bool(_LOOPBACK.fullmatch(host))

    def may_answer(self, scope: Scope) -> bool:
        """Whether a request may be answered; one without a Host, or with two, may not."""
        sent = [value for name, value in scope["headers"] if name == b"host"]
        return (len(sent) == 1 and self.has(sent[0])) or scope["path"] in _OPERATION_PATHS


def make_known_hosts(base_url: str) -> KnownHosts:
    """The names of a service that browsers reach at this URL, which has no usual port."""
    parts = urlsplit(base_url)
    names = {parts.netloc}
    if parts.port is None:
        names.add(f"{parts.netloc}:{_USUAL_PORTS[parts.scheme]}")
    return KnownHosts(frozenset(each.encode() for each in names))

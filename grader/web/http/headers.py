"""The headers that every response carries."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "img-src 'self' data:",
    )
)

#: Set unless the route has set them itself: a launch inside an LMS, say, has its own ancestors.
DEFAULTS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Nearly everything is about one person, so that what may be kept must say so.
    "Cache-Control": "no-store",
}
_HTTPS_ONLY = "max-age=31536000; includeSubDomains"


def add_headers(headers: MutableHeaders, *, request_id: str, is_https: bool) -> None:
    """Complete the headers of a response in place."""
    for name, value in DEFAULTS.items():
        headers.setdefault(name, value)
    if is_https:
        headers.setdefault("Strict-Transport-Security", _HTTPS_ONLY)
    headers["X-Request-ID"] = request_id

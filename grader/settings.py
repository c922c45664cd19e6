"""Settings of the service: `GRADER_*` environment variables, all optional."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from grader.errors import OperatorError


def _default_folder() -> Path:
    """Return the data folder of the XDG standard."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "keyset"


class Settings(BaseSettings):
    """The settings; `grader settings` lists them with these descriptions."""

    model_config = SettingsConfigDict(env_prefix="GRADER_", extra="ignore", frozen=True)

    data_folder: Path = Field(
        default_factory=_default_folder,
        description="The folder of the SQLite file, which only its owner can read.",
    )
    database_url: str = Field(
        default="",
        description="The database: sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME. "
        "By default a SQLite file in the data folder.",
    )
    secret_key_file: str = Field(
        default="",
        description="A file with the keys that seal the secrets of course runs and the private "
        "signing keys in the database, the newest first. By default they are stored as they are.",
    )
    secret_key: SecretStr = Field(
        default=SecretStr(""),
        description="The same keys themselves, separated by spaces, where there is no file.",
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        default=8000, description="The port to listen on; 0 takes any free port."
    )
    base_url: str = Field(
        default="",
        description="The URL of the service for browsers, such as https://grader.example.edu; "
        "requests for other hosts are refused. By default the address it listens on.",
    )
    workers: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="The number of processes; more than one needs PostgreSQL."
    )
    job_workers: Annotated[int, Field(ge=0, le=64)] = Field(
        default=1,
        description="The number of processes that work on jobs beside the service, while there are "
        "any; 0 leaves them to `grader worker`.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses and networks of proxies, separated by commas, whose X-Forwarded-For "
        "and X-Forwarded-Proto are trusted. By default those of this machine if the service "
        "listens on a loopback address, and none otherwise.",
    )
    log_format: Literal["auto", "json", "text"] = Field(
        default="auto",
        description="The format of the log; auto is text on a terminal and JSON elsewhere.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level that is logged."
    )
    body_bytes: Annotated[int, Field(ge=1024)] = Field(
        default=2**20, description="The maximum size of a request body, in bytes."
    )
    body_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=15, description="The maximum time for a request body to arrive, in seconds."
    )
    reads_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=600, description="The maximum read requests per caller and minute."
    )
    checks_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=120, description="The maximum requests to check answers per caller and minute."
    )
    submits_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=60,
        description="The maximum requests to submit or judge answers per caller and minute.",
    )
    megabytes_per_minute: Annotated[int, Field(ge=2)] = Field(
        default=4,
        description="The maximum megabytes of bodies above 16 KiB per caller and minute; "
        "uploaded files count an eighth.",
    )
    sign_ins_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=10, description="The maximum sign-in attempts per address and minute."
    )
    anonymous_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=600,
        description="The maximum requests per address and minute of those who are not signed in.",
    )
    refusal_seconds: Annotated[float, Field(ge=0, le=10)] = Field(
        default=3,
        description="How late at most a caller who exceeds a budget is refused, in seconds.",
    )
    failed_sign_ins: Annotated[int, Field(ge=1)] = Field(
        default=10,
        description="The maximum wrong passwords per login in 15 minutes; links work beyond that.",
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, listed: str) -> str:
        for proxy in _split_list(listed):
            if problem := _describe_proxy_problem(proxy):
                raise PydanticCustomError("proxies", "{problem}", {"problem": problem})
        return listed

    @property
    def proxies(self) -> list[str]:
        """The addresses and networks of proxies that are trusted."""
        given = _split_list(self.trusted_proxies)
        # Whoever can connect from this machine could take its place as a proxy as well.
        return given or (_OWN_ADDRESSES if _is_loopback(self.host) else [])

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, value: str) -> str:
        """The URL as browsers write it: in small letters, without a usual port."""
        return _read_base_url(value) if value else ""

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, value: str) -> str:
        """The address as it is; what is wrong is told without it, since it may have a password."""
        scheme, _, rest = value.partition("://")
        if not value or (scheme == "sqlite" and rest.startswith("/") and rest.strip("/")):
            return value
        if scheme in ("postgresql", "postgresql+psycopg") and rest.partition("/")[2]:
            return value
        raise _make_error(
            "It must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, with the file or "
            "the name of the database"
        )

    @property
    def address_of_database(self) -> str:
        """The address of the database; by default a file in the data folder."""
        return self.database_url or f"sqlite:///{self.data_folder / 'keyset.sqlite'}"


#: A proxy on the same machine.
_OWN_ADDRESSES = ["127.0.0.1", "::1"]


def _split_list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _describe_proxy_problem(proxy: str) -> str:
    """Why this cannot be a trusted proxy; empty if it can."""
    everybody = "then every client could choose its own address. Name the proxies"
    if proxy == "*":
        return f"* would trust everybody, and {everybody}"
    try:
        network = ip_network(proxy, strict=False)
    except ValueError:
        return f"{proxy!r} is not an address or a network, such as 10.0.0.5 or 10.0.0.0/24"
    if network.prefixlen == 0:
        return f"{proxy} is every address, and {everybody}"
    if "/" in proxy and str(network.network_address) != proxy.partition("/")[0].lower():
        return f"{proxy} is an address inside a network; the network is {network}"
    return ""


#: A name, an IPv4 address, or an IPv6 address in brackets.
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
_USUAL_PORTS = {"http": 80, "https": 443}


def _read_base_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise _make_error("It is no URL") from None
    if parts.scheme not in _USUAL_PORTS:
        raise _make_error("It must begin with https:// or http://")
    if "@" in parts.netloc:
        raise _make_error("It must have no user and no password")
    if parts.path not in ("", "/") or "?" in value or "#" in value:
        raise _make_error("It must have no path, query or fragment: the service needs a whole host")
    host = parts.netloc.lower()
    if port is not None:
        host = host.removesuffix(f":{port}")
    if not _HOST.fullmatch(host):
        raise _make_error("Its host must be a name or an address, in ASCII")
    is_usual = port in (None, _USUAL_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}" if is_usual else f"{parts.scheme}://{host}:{port}"


def _make_error(sentence: str) -> PydanticCustomError:
    # Pydantic would say before a ValueError that it is one; the full stop is added to all errors.
    return PydanticCustomError("setting", "{sentence}", {"sentence": sentence})


def load_settings() -> Settings:
    """Read the settings from the environment.

    Raises
    ------
    OperatorError
        If a variable has an invalid value; the message lists all of them.
    """
    try:
        return Settings()
    except ValidationError as error:
        lines = [f"GRADER_{str(each['loc'][0]).upper()}: {each['msg']}." for each in error.errors()]
        raise OperatorError("\n".join(lines)) from None

"""Settings of the service: `GRADER_*` environment variables, all optional."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError
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
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        default=8000, description="The port to listen on; 0 takes any free port."
    )
    base_url: str = Field(
        default="",
        description="The URL of the service for browsers, such as https://grader.example.edu. "
        "By default the address it listens on.",
    )
    workers: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="The number of processes; more than one needs PostgreSQL."
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.",
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
    submits_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=60,
        description="The maximum requests to check or submit answers per caller and minute.",
    )
    sign_ins_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=10, description="The maximum sign-in attempts per address and minute."
    )

    @property
    def address_of_database(self) -> str:
        """The address of the database; by default a file in the data folder."""
        return self.database_url or f"sqlite:///{self.data_folder / 'keyset.sqlite'}"


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

"""Settings of the service: `GRADER_*` variables, all optional. `grader settings` lists them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from grader.errors import OperatorError


def _default_folder() -> Path:
    """Where the service keeps its data: as the XDG standard says, else in the home folder."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "keyset"


class Settings(BaseSettings):
    """What an operator may set."""

    model_config = SettingsConfigDict(env_prefix="GRADER_", extra="ignore", frozen=True)

    data_folder: Path = Field(
        default_factory=_default_folder,
        description="Where the SQLite file is kept, readable by its owner alone.",
    )
    database_url: str = Field(
        default="",
        description="The database: sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME. "
        "Without it a SQLite file in the data folder.",
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        default=8000, description="The port to listen on; 0 takes any that is free."
    )
    base_url: str = Field(
        default="",
        description="How browsers reach the service, such as https://grader.example.edu. "
        "Without it the address it listens on.",
    )
    workers: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="How many processes serve; more than one needs PostgreSQL."
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Whose X-Forwarded-For and X-Forwarded-Proto are believed, by address.",
    )
    log_format: Literal["auto", "json", "text"] = Field(
        default="auto", description="How log lines are written; auto is text on a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="What is logged."
    )
    body_bytes: Annotated[int, Field(ge=1024)] = Field(
        default=2**20, description="The largest body that is read, in bytes."
    )
    body_seconds: Annotated[float, Field(gt=0)] = Field(
        default=15, description="How long the body of a request may take to arrive."
    )
    reads_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=600, description="How often a caller may read."
    )
    submits_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=60, description="How often a caller may check or send answers."
    )
    sign_ins_per_minute: Annotated[int, Field(ge=1)] = Field(
        default=10, description="How often an address may try to sign in."
    )

    @property
    def address_of_database(self) -> str:
        """The database's address, by default of a file in the data folder."""
        return self.database_url or f"sqlite:///{self.data_folder / 'keyset.sqlite'}"


def load_settings() -> Settings:
    """The settings of the environment.

    Raises
    ------
    OperatorError
        With every variable that cannot be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        lines = [f"GRADER_{str(each['loc'][0]).upper()}: {each['msg']}." for each in error.errors()]
        raise OperatorError("\n".join(lines)) from None

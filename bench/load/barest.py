"""The barest endpoint that is durable: decode the body, insert one row, commit, answer.

It knows no token, no question and no grade. Each request is one transaction, committed as durably
as the service commits: SQLite with `synchronous = FULL`, PostgreSQL with its defaults.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from fastapi import FastAPI
from pydantic import BaseModel

from bench.load.students import PATH

#: The database's address, in the environment of the process.
ADDRESS = "BAREST_DATABASE"
_TABLE = "CREATE TABLE IF NOT EXISTS answers (id {serial} PRIMARY KEY, answer TEXT NOT NULL)"
_CONNECTIONS = 16


class Answer(BaseModel):
    """The same body as an attempt by numbers."""

    answer: dict[str, list[float]]


class Stored(BaseModel):
    """What is told of the stored row."""

    id: int
    size: int


@dataclass(slots=True)
class _Store:
    """What inserts one row and commits it."""

    insert: Callable[[str], Awaitable[int]] | None = None


def make_app() -> FastAPI:
    """The app, for uvicorn."""
    store = _Store()
    url = os.environ[ADDRESS]

    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncIterator[None]:
        opened = _open_sqlite if url.startswith("sqlite:///") else _open_postgresql
        async with opened(url) as store.insert:
            yield

    app = FastAPI(lifespan=run)

    @app.post(PATH, status_code=201)
    async def create(body: Answer) -> Stored:
        assert store.insert is not None, "the app has started"
        answer = body.answer["q"]
        return Stored(id=await store.insert(str(answer)), size=len(answer))

    return app


@asynccontextmanager
async def _open_sqlite(url: str) -> AsyncIterator[Callable[[str], Awaitable[int]]]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(_TABLE.format(serial="INTEGER"))

    # One connection on the loop's own thread is faster than any number of threads.
    async def insert(answer: str) -> int:
        # Outside a transaction every statement is committed by itself.
        cursor = connection.execute("INSERT INTO answers (answer) VALUES (?)", (answer,))
        return cursor.lastrowid or 0

    yield insert
    connection.close()


@asynccontextmanager
async def _open_postgresql(url: str) -> AsyncIterator[Callable[[str], Awaitable[int]]]:
    connections = [
        await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(_CONNECTIONS)
    ]
    free: asyncio.Queue[psycopg.AsyncConnection[tuple[int]]] = asyncio.Queue()
    for each in connections:
        free.put_nowait(each)
    async with connections[0].transaction():
        # Several processes may start at once.
        await connections[0].execute("SELECT pg_advisory_xact_lock(1)")
        await connections[0].execute(_TABLE.format(serial="BIGSERIAL"))

    async def insert(answer: str) -> int:
        connection = await free.get()
        try:
            cursor = await connection.execute(
                "INSERT INTO answers (answer) VALUES (%s) RETURNING id", (answer,)
            )
            row = await cursor.fetchone()
            return row[0] if row else 0
        finally:
            free.put_nowait(connection)

    yield insert
    for each in connections:
        await each.close()

# Two stages: the first installs what the lock file names, the second is what runs.
# The Python is the oldest that will do, on which the tests run.
FROM python:3.11-slim-bookworm AS build

WORKDIR /source
COPY requirements-bootstrap.lock requirements.lock ./
RUN pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
        -r requirements-bootstrap.lock
# Bytecode is compiled here, because without it every start takes seconds.
RUN uv venv /opt/keyset && \
    uv pip install --no-cache --python /opt/keyset/bin/python --compile-bytecode \
        --require-hashes -r requirements.lock

# What changes often comes last, so that a change of the code installs nothing anew.
COPY pyproject.toml README.md LICENSE requirements-dev.lock ./
COPY alembic alembic
COPY rubrics rubrics
COPY grader grader
RUN uv build --no-cache --wheel --out-dir dist \
        --build-constraints requirements-dev.lock --require-hashes && \
    uv pip install --no-cache --python /opt/keyset/bin/python --compile-bytecode \
        --no-deps --offline dist/*.whl


FROM python:3.11-slim-bookworm

RUN useradd --uid 10001 --user-group --home-dir /data --no-create-home --shell /usr/sbin/nologin keyset && \
    install --directory --owner keyset --group keyset --mode 0700 /data
COPY --from=build /opt/keyset /opt/keyset

# Many small products are faster on one thread.
ENV PATH=/opt/keyset/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    GRADER_DATA_FOLDER=/data

# Without GRADER_DATABASE_URL the SQLite file is kept here.
VOLUME /data
WORKDIR /data
USER 10001
EXPOSE 8000

HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=2); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]

ENTRYPOINT ["grader"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]

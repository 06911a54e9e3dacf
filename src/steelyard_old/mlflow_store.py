"""MLflow as a place: its package loaded late and kept quiet, tracking URIs shown without secrets, its faults in our words."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from steelyard_old.errors import SourceError, SteelyardError, UsageError
from steelyard_old.redaction import redact, remember, shortened

PREFIX = "mlflow:"
VARIABLE = "MLFLOW_TRACKING_URI"
INSTALL = "pip install 'steelyard[mlflow]'"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_SECRETS = ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD")
_SETTINGS = {  # what MLflow does where the user has not said otherwise
    "MLFLOW_DISABLE_TELEMETRY": "true",  # a result is nobody's business but that of the server it is sent to
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # standard output is the answer's
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # its own seven keep one waiting for minutes before a server is said to be away
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",  # seconds; of its own, 120
    "GIT_PYTHON_REFRESH": "quiet",
}
_LONGEST = 300  # letters of what MLflow says


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """Where runs are tracked. `shown` is what may be printed of the URI."""

    shown: str
    uri: str = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def parse_tracking(uri: str) -> Tracking:
    """A tracking URI: a server, a database, or a folder. Nothing is opened.

    >>> parse_tracking("https://ada:secret@mlflow.example:5000/team").shown, parse_tracking("sqlite:///mlflow.db").shown
    ('https://mlflow.example:5000/team', 'sqlite:///mlflow.db')
    """
    uri = uri.strip()
    if not uri or any(ord(char) < 32 for char in uri):
        raise UsageError(
            f"The address of MLflow must be {_NEED}; there is {'control characters in it' if uri else 'none'}.",
            got="no address" if not uri else "control characters in it",
            need=_NEED,
        )
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"The address of MLflow is malformed; it must be {_NEED}.", got="a malformed URL", need=_NEED) from None
    if parts.scheme in ("http", "https") and not host:
        raise UsageError(
            f"The address of MLflow must be {_NEED}; this is {parts.scheme} without a host.",
            got=f"{parts.scheme} without a host",
            need=_NEED,
        )
    if not parts.netloc:
        return Tracking(shown=uri.partition("?")[0], uri=uri)
    secrets = tuple(unquote(part) for part in (parts.password, parts.username if parts.password is None else None) if part)
    for secret in secrets:
        remember(secret)
    place = f"[{host}]" if host and ":" in host else host
    return Tracking(shown=f"{parts.scheme}://{place}{f':{port}' if port else ''}{parts.path}", uri=uri, secrets=(*secrets, parts.netloc))


_NEED = "a tracking URI, such as http://127.0.0.1:5000 or sqlite:///mlflow.db"


def from_environment() -> Tracking:
    """The tracking URI that MLflow's own variable names. MLflow would otherwise make an empty database here."""
    uri = os.environ.get(VARIABLE)
    if not uri:
        raise UsageError(f"{VARIABLE} is not set.", got="no tracking URI", need=_NEED, hint=f"export {VARIABLE}=http://127.0.0.1:5000")
    return parse_tracking(uri)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """MLflow without telemetry, progress bars and lines on standard output, as long as this lasts; what the user has set stays."""
    for name in _SECRETS:
        remember(os.environ.get(name))
    missing = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    logger = logging.getLogger("mlflow")
    level = logger.level
    os.environ.update(missing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _load()
            logger.setLevel(logging.ERROR)
            yield
    finally:
        logger.setLevel(level)
        for name, value in missing.items():
            if os.environ.get(name) == value:
                del os.environ[name]


def _load() -> None:
    try:
        import mlflow.tracking  # noqa: F401 - loaded here, with warnings off and telemetry disabled
    except ImportError as fault:
        if fault.name and fault.name.partition(".")[0] != "mlflow":
            raise SourceError("MLflow is installed, but cannot be loaded.", got=str(fault), hint=INSTALL) from None
        raise SourceError("MLflow is not installed.", got="no package mlflow", need="mlflow-skinny or mlflow", hint=INSTALL) from None


def client_of(tracking: Tracking) -> Any:
    """A client of MLflow; to be used inside `quiet` and `faults`."""
    from mlflow.tracking import MlflowClient

    if urlsplit(tracking.uri).scheme.partition("+")[0] in _DATABASES:
        import importlib.util

        if importlib.util.find_spec("sqlalchemy") is None or importlib.util.find_spec("alembic") is None:
            raise SourceError(
                f"The small package of MLflow cannot open the database {tracking.shown}.",
                got="mlflow-skinny, which speaks to servers",
                need="the whole package",
                hint="pip install mlflow, or name a server",
            )
    return MlflowClient(tracking_uri=tracking.uri)


@contextlib.contextmanager
def faults(tracking: Tracking, what: str) -> Iterator[None]:
    """Whatever MLflow says on the way as one of our errors, without a secret. what: what could not be done."""
    try:
        yield
    except SteelyardError:
        raise
    except Exception as fault:  # MLflow's own, those of requests, of SQLAlchemy, of clouds: each has its own classes
        raise _source_error(tracking, what, fault) from None


def is_missing(fault: Exception) -> bool:
    """Whether MLflow says that there is no such thing."""
    return str(getattr(fault, "error_code", "")) in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND", "404")


def _source_error(tracking: Tracking, what: str, fault: Exception) -> SourceError:
    said = " ".join(redact(str(fault) or type(fault).__name__).split())
    for secret in sorted(tracking.secrets, key=len, reverse=True):
        said = said.replace(secret, "***")
    away = "failed with exception" in said or type(fault).__name__ in ("ConnectionError", "ConnectTimeout", "ReadTimeout", "Timeout")
    if away and "too many" not in said:
        return SourceError(f"No answer from MLflow at {tracking.shown}.", got=_short(said), need="a server that answers", hint=_AWAY)
    if "MLFLOW_ALLOW_FILE_STORE" in said:
        return SourceError(f"MLflow does not open the folder {tracking.shown} by itself any more.", got=_short(said), hint=_FOLDER)
    if any(f"error code {code}" in said for code in ("401", "403")) or "PERMISSION_DENIED" in str(getattr(fault, "error_code", "")):
        return SourceError(f"MLflow at {tracking.shown} refused access.", got=_short(said), need="the rights to do this", hint=_RIGHTS)
    return SourceError(f"{what}: {_short(said).rstrip('.')}.", got=_short(said), need=f"MLflow at {tracking.shown} to do it")


_AWAY = "is it running, and is the address right? MLFLOW_HTTP_REQUEST_TIMEOUT says how long to wait"
_FOLDER = "set MLFLOW_ALLOW_FILE_STORE=true, or use a server or sqlite:///mlflow.db"
_RIGHTS = "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"


def _short(said: str) -> str:
    return shortened(said, _LONGEST)

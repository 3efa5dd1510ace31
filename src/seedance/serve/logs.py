"""What the server tells on standard error: text on a terminal, JSON where a machine reads."""

from __future__ import annotations

import logging
import sys

import structlog

from seedance.facts.errors import UsageError
from seedance.settings.fields import LogSettings

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def set_up(settings: LogSettings) -> None:
    """Configures structlog and the standard library's logging, once per process.

    Raises:
        UsageError: an unknown level or form.
    """
    level = _LEVELS.get(settings.level)
    if level is None:
        raise UsageError(f"log level {settings.level!r} is not known", hint=", ".join(_LEVELS))
    if settings.form not in {"auto", "text", "json"}:
        raise UsageError(f"log form {settings.form!r} is not known", hint="auto, text or json")
    text = settings.form == "text" or (settings.form == "auto" and sys.stderr.isatty())
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *([] if text else [structlog.processors.format_exc_info]),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(
        level=max(level, logging.WARNING),
        stream=sys.stderr,
        format="%(levelname)s %(name)s: %(message)s",
    )

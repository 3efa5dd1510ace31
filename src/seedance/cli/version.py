"""`seedancectl version`: the client's version and the server's."""

from __future__ import annotations

import platform
from typing import Annotated, Any

import typer

from seedance.cli import options
from seedance.cli.options import Output
from seedance.cli.output import is_document, show_text, show_values
from seedance.cli.session import Session, connected

PATH = "/api/v1/version"


def client_version() -> str:
    """Version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("seedance")
    except PackageNotFoundError:
        return "unknown"


@connected
def version(
    session: Session,
    *,
    client: Annotated[
        bool, typer.Option("--client", help="Only the client's version; asks no server.")
    ] = False,
    output: options.OutputFormat = Output.TABLE,
) -> None:
    """Show the version of the client and of the server.

    Examples:
      seedancectl version
      seedancectl version --client
      seedancectl version -o json
    """
    document: dict[str, Any] = {
        "client": {"version": client_version(), "python": platform.python_version()}
    }
    if not is_document(output):
        show_text(f"Client Version: {document['client']['version']}")
    if not client:
        try:
            document["server"] = session.client().get(PATH).json()
        finally:
            # The client's version is known, whatever the server says.
            if is_document(output) and "server" not in document:
                show_values(document, output)
        if not is_document(output):
            show_text(f"Server Version: {document['server'].get('version', 'unknown')}")
    if is_document(output):
        show_values(document, output)

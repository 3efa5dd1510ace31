"""`seedancectl config`: which servers the client knows and which one it talks to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from seedance.cli import options
from seedance.cli.contexts import (
    DEFAULT_CONTEXT,
    ClientContext,
    check_server,
    config_document,
    config_path,
    load_config,
    save_config,
)
from seedance.cli.grammar import Verb, Verbs
from seedance.cli.options import Output
from seedance.cli.output import is_document, show_table, show_values
from seedance.cli.session import Session, connected, read_token, zone_of
from seedance.cli.tables import Column, Table
from seedance.cli.terminal import say


def context_names() -> list[str]:
    """Names of the contexts, for completion."""
    return list(load_config().contexts)


config_app = typer.Typer(cls=Verbs, no_args_is_help=True, rich_markup_mode=None)


@config_app.callback()
def config() -> None:
    """Show and change which server the client talks to.

    Examples:
      seedancectl config set-server https://seedance.example.org --name prod
      seedancectl config get-contexts
      seedancectl config use-context prod
    """


@config_app.command(cls=Verb)
@connected
def view(session: Session, *, output: options.OutputFormat = Output.YAML) -> None:
    """Show the configuration file and what is in force.

    Examples:
      seedancectl config view
      seedancectl config view -o json

    The token itself is never shown.
    """
    document = config_document(load_config())
    client = session.client()
    document["inForce"] = {
        "file": str(config_path()),
        "server": client.server,
        "token": "yes" if client.token else "none",
        "zone": session.zone(),
    }
    show_values(document, output if is_document(output) else Output.YAML)


@config_app.command("set-server", cls=Verb)
def set_server(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server.")],
    *,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the context.")
    ] = DEFAULT_CONTEXT,
    token_file: options.TokenFile = "",
    certificate_authority: options.CertificateAuthority = "",
    zone: options.Zone = "",
    namespace: options.Namespace = "",
) -> None:
    """Add or change a context and use it from now on.

    Examples:
      seedancectl config set-server http://127.0.0.1:9091
      seedancectl config set-server https://seedance.example.org --name prod --token-file ~/prod

    What an option does not name stays as it was.
    """
    loaded = load_config()
    given = {
        "token_file": _absolute(token_file),
        "certificate_authority": _absolute(certificate_authority),
        "zone": zone,
        "namespace": namespace,
    }
    if zone:
        zone_of(zone)
    if token_file:
        read_token(Path(given["token_file"]))
    before = loaded.contexts.get(name, ClientContext(name=name))
    changed = {key: value for key, value in given.items() if value}
    if before.server != check_server(url):
        # A token belongs to the server it was given for.
        changed = {"token_file": "", "certificate_authority": "", **changed}
    context = replace(before, server=check_server(url), **changed)
    path = save_config(loaded.with_context(context))
    say(f"context {name} is {context.server}, in {path}")


@config_app.command("get-contexts", cls=Verb)
def get_contexts(output: options.OutputFormat = Output.TABLE) -> None:
    """List the contexts; the one in use is marked.

    Examples:
      seedancectl config get-contexts
      seedancectl config get-contexts -o name
    """
    loaded = load_config()
    if is_document(output):
        show_values(config_document(loaded), output)
        return
    columns = (
        Column("CURRENT"),
        Column("NAME"),
        Column("SERVER"),
        Column("NAMESPACE"),
        Column("TOKEN-FILE", wide=True),
        Column("ZONE", wide=True),
    )
    contexts = list(loaded.contexts.values())
    rows = tuple(
        (
            "*" if each.name == loaded.current else "",
            each.name,
            each.server,
            each.namespace,
            each.token_file,
            each.zone,
        )
        for each in contexts
    )
    show_table(Table(columns, rows, tuple(each.name for each in contexts)), output)


@config_app.command("use-context", cls=Verb)
def use_context(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of a context.", autocompletion=context_names),
    ],
) -> None:
    """Use another context from now on.

    Examples:
      seedancectl config use-context prod
    """
    loaded = load_config()
    context = loaded.pick(name)
    save_config(loaded.with_context(context))
    say(f"now using {context.name}: {context.server}")


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute()) if path else ""

"""The commands of `seedance`. Each reads its flags, calls one function, prints what it says."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from seedance.facts.errors import UsageError
from seedance.serve import upkeep
from seedance.serve.ending import FINE, PROBLEMS, USAGE
from seedance.settings.load import Loaded, SettingsError, described, load

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Seedance's server: know and govern what Kubernetes and GPU training cost.",
)
store_app = typer.Typer(no_args_is_help=True, help="Check, back up and restore the store.")
token_app = typer.Typer(no_args_is_help=True, help="Make, list and revoke tokens.")
app.add_typer(store_app, name="store")
app.add_typer(token_app, name="token")


class Form(StrEnum):
    """How `seedance settings` prints."""

    TABLE = "table"
    JSON = "json"


Data = Annotated[str | None, typer.Option("--data", help="Folder of store, log and tokens.")]
Config = Annotated[
    Path | None, typer.Option("--config", help="YAML file of settings (topic: {name: value}).")
]
Listen = Annotated[
    str | None, typer.Option("--listen", help="Address and port, 127.0.0.1:9091 by default.")
]
Clusters = Annotated[
    list[str] | None,
    typer.Option("--cluster", help="Cluster to watch: NAME=KUBECONFIG[#CONTEXT]. Repeatable."),
]
Kubeconfig = Annotated[
    str | None, typer.Option("--kubeconfig", help="Short for one cluster: FILE[#CONTEXT].")
]
ManifestPaths = Annotated[
    list[str] | None,
    typer.Option("--manifests", help="File or folder of price books and rules. Repeatable."),
]
HostNames = Annotated[
    list[str] | None,
    typer.Option("--host-name", help="Name under which browsers reach this server. Repeatable."),
]
TlsCert = Annotated[str | None, typer.Option("--tls-cert", help="Certificate chain, PEM.")]
TlsKey = Annotated[str | None, typer.Option("--tls-key", help="Private key, PEM.")]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Listen for others without tokens or TLS. Think first."),
]
LogLevel = Annotated[str | None, typer.Option("--log", help="debug, info, warning or error.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting: topic.name=value. Repeatable."),
]


@app.command()
def serve(
    *,
    data: Data = None,
    listen: Listen = None,
    cluster: Clusters = None,
    kubeconfig: Kubeconfig = None,
    manifests: ManifestPaths = None,
    config: Config = None,
    host_name: HostNames = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    insecure: Insecure = False,
    log: LogLevel = None,
    sets: Sets = None,
) -> int:
    """Run the server: receiver, inventory, settling, API and pages, in one process.

    Examples:
      seedance serve --kubeconfig ~/.kube/config
      seedance serve --cluster prod=prod.yaml --cluster lab=lab.yaml#admin --manifests prices/
    """
    flags = {
        "store.data": data,
        "web.listen": listen,
        "kubernetes.clusters": cluster,
        "kubernetes.kubeconfig": kubeconfig,
        "settle.manifests": manifests,
        "web.hosts": host_name,
        "web.tls_cert": tls_cert,
        "web.tls_key": tls_key,
        "web.insecure": insecure or None,
        "log.level": log,
    }
    loaded = _load(flags, sets, config)
    from seedance.serve.run import serve as run_server  # noqa: PLC0415 - heavy

    return run_server(loaded.settings, started=_announce)


@app.command()
def settings(
    *,
    data: Data = None,
    listen: Listen = None,
    config: Config = None,
    sets: Sets = None,
    output: Annotated[Form, typer.Option("-o", "--output", help="table or json.")] = Form.TABLE,
) -> int:
    """Show every setting in force and where its value comes from."""
    loaded = _load({"store.data": data, "web.listen": listen}, sets, config)
    rows = list(loaded.lines())
    if output is Form.JSON:
        entries = [dict(zip(("name", "value", "origin"), row, strict=True)) for row in rows]
        _print(json.dumps(entries, indent=2, ensure_ascii=False))
    else:
        _table(("NAME", "VALUE", "FROM"), rows)
    return FINE


@app.command()
def version() -> int:
    """Show the version of this program."""
    from importlib import metadata  # noqa: PLC0415 - most commands save it

    _print(metadata.version("seedance"))
    return FINE


@app.command()
def demo(
    *,
    exit_after: Annotated[
        bool, typer.Option("--exit", help="End after printing instead of staying.")
    ] = False,
    listen: Listen = None,
    days: Annotated[int, typer.Option("--days", help="Days of history, 1 to 14.")] = 14,
) -> int:
    """Start on a throw-away store with a believable cluster, print its costs, and stay."""
    from seedance.demo.play import main as play  # noqa: PLC0415 - heavy
    from seedance.serve.run import serve as run_server  # noqa: PLC0415

    return play(run_server, leave=exit_after, listen=listen or "", days=days)


@store_app.command()
def check(*, data: Data = None, config: Config = None) -> int:
    """Look for damage: parts, sums, rows that point to nothing. Needs the server stopped."""
    problems = upkeep.check(_load({"store.data": data}, None, config).settings)
    for problem in problems:
        _print(problem)
    if not problems:
        _note("the store is sound")
    return PROBLEMS if problems else FINE


@store_app.command()
def backup(
    target: Annotated[str, typer.Argument(help="Folder that does not exist yet.")],
    *,
    data: Data = None,
    config: Config = None,
) -> int:
    """Copy the store into a folder; through the server where one runs on it."""
    _print(upkeep.backup(_load({"store.data": data}, None, config).settings, Path(target)))
    return FINE


@store_app.command()
def restore(
    source: Annotated[str, typer.Argument(help="Folder that `store backup` wrote.")],
    *,
    data: Data = None,
    config: Config = None,
) -> int:
    """Make an empty data folder from a backup."""
    _print(upkeep.restore(_load({"store.data": data}, None, config).settings, Path(source)))
    return FINE


@token_app.command()
def create(
    *,
    role: Annotated[str, typer.Option("--role", help="ingest, view, edit or admin.")],
    name: Annotated[str, typer.Option("--name", help="What it is for; shown in the list.")] = "",
    cluster: Annotated[
        str, typer.Option("--cluster", help="The only cluster it may see or write to.")
    ] = "",
    data: Data = None,
    config: Config = None,
) -> int:
    """Make a token and print it, once. A running server knows it at once."""
    book = upkeep.tokens(_load({"store.data": data}, None, config).settings)
    token, text = book.create(role, name=name, cluster=cluster)
    _note(f"token {token.id} ({token.name}), role {token.role}; it is not shown again:")
    _print(text)
    return FINE


@token_app.command("list")
def list_tokens(*, data: Data = None, config: Config = None) -> int:
    """List tokens: id, name, role, cluster, when made. Never the secret."""
    book = upkeep.tokens(_load({"store.data": data}, None, config).settings)
    rows = [(t.id, t.name, t.role, t.cluster or "*", t.created) for t in book.all()]
    _table(("ID", "NAME", "ROLE", "CLUSTER", "CREATED"), rows)
    return FINE


@token_app.command()
def revoke(
    which: Annotated[str, typer.Argument(help="Id or name of the token.")],
    *,
    data: Data = None,
    config: Config = None,
) -> int:
    """Revoke a token; a running server refuses it from the next request on."""
    gone = upkeep.tokens(_load({"store.data": data}, None, config).settings).revoke(which)
    _note(f"token {gone.id} ({gone.name}) is revoked")
    return FINE


def command(arguments: list[str]) -> int:
    """Runs one command line; its exit code. Raises what the command raises."""
    program = typer.main.get_command(app)
    try:
        ended: Any = program.main(args=arguments, prog_name="seedance", standalone_mode=False)
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as error:
        # typer ends the process itself, and with 1, when it sees a closed pipe.
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise
    return ended if isinstance(ended, int) else FINE


def _misused(error: typer.TyperException) -> int:
    text = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        _print(text)
        return FINE
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "seedance"
    sys.stderr.write(f"error: {text[:1].lower() + text[1:].rstrip('.')}\n  see: {where} -h\n")
    return USAGE


def _load(flags: dict[str, Any], sets: list[str] | None, config: Path | None) -> Loaded:
    known = {entry.name for entry in described()}
    for text in sets or ():
        name, found, value = text.partition("=")
        if not found or name not in known:
            raise SettingsError(
                f"--set {text!r}: there is no setting {name!r}", hint="see: seedance settings"
            )
        if flags.get(name) is not None:
            raise UsageError(f"{name} is set twice on the command line")
        flags[name] = value
    return load(flags, file=config)


def _announce(running: Any) -> bool:
    _note(f"Seedance serves {running.url}  (Ctrl-C ends it)")
    return False


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        _print("   ".join(cells).rstrip())


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")

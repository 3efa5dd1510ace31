"""The options of all commands, each declared once.

A command takes what it needs in its signature (`window: options.Window = "7d"`). The options
that every command has (`--server` and so on) are added by `session.connected`, so no command
repeats them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from seedance.cli import candidates


class Output(StrEnum):
    """Output formats."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"


class Idle(StrEnum):
    """What happens to what nobody is charged for."""

    ROWS = "rows"
    SHARE = "share"
    HIDE = "hide"


Server = Annotated[
    str,
    typer.Option("--server", "-s", metavar="URL", help="Address of the server."),
]
Context = Annotated[
    str,
    typer.Option("--context", metavar="NAME", help="Context of the configuration file to use."),
]
TokenFile = Annotated[
    str,
    typer.Option("--token-file", metavar="FILE", help="File that holds the token, and only that."),
]
CertificateAuthority = Annotated[
    str,
    typer.Option(
        "--certificate-authority", metavar="FILE", help="PEM file of the authority to trust."
    ),
]
RequestTimeout = Annotated[
    str,
    typer.Option(
        "--request-timeout",
        metavar="DURATION",
        help="How long to wait for the server: 30s, 2m; 0 waits for ever. 30s by default.",
    ),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Show each request, its status, time and size on stderr.",
    ),
]

OutputFormat = Annotated[
    Output,
    typer.Option("--output", "-o", help="json is the API's answer, unchanged."),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Only this namespace.",
        autocompletion=candidates.namespaces,
    ),
]
AllNamespaces = Annotated[
    bool,
    typer.Option(
        "--all-namespaces", "-A", help="All namespaces, even where the context names one."
    ),
]
Selector = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Only what has these labels: app=web,tier!=cache.",
    ),
]
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="Only this cluster, by name or UID.",
        autocompletion=candidates.clusters,
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="TIME",
        help="As it was then: 2026-11-30T12:00:00Z, or 2h for two hours ago.",
    ),
]
Watch = Annotated[
    bool,
    typer.Option("--watch", "-w", help="Stay, and print what changes until Ctrl-C."),
]
SortCostsBy = Annotated[
    str,
    typer.Option(
        "--sort-by",
        "--sort",
        metavar="FIELD",
        help="cost, unusedCost, idle, efficiency or name; -FIELD puts the largest first.",
        autocompletion=candidates.cost_orders,
    ),
]
SortObjectsBy = Annotated[
    str,
    typer.Option(
        "--sort-by",
        "--sort",
        metavar="FIELD",
        help="name, namespace, kind, age, node or cluster; -FIELD puts the last first.",
    ),
]
Limit = Annotated[
    int,
    typer.Option("--limit", min=0, metavar="ROWS", help="At most so many rows; 0 means all."),
]
Offset = Annotated[
    int,
    typer.Option("--offset", min=0, metavar="ROWS", help="Leave out so many rows at the start."),
]
Zone = Annotated[
    str,
    typer.Option(
        "--zone", metavar="ZONE", help="Time zone of days and of times shown: UTC, Asia/Shanghai."
    ),
]
WindowWord = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="WINDOW",
        help="today, yesterday, week, lastweek, month, lastmonth, 30m, 12h, 7d, or two RFC 3339 "
        "instants with a comma between.",
        autocompletion=candidates.windows,
    ),
]
By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="DIMENSIONS",
        help="Group by these, with commas: cluster, node, namespace, workload, pod, container, "
        "domain, environment, team, resource, label:KEY, annotation:KEY …",
        autocompletion=candidates.dimensions,
    ),
]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="DIMENSION:VALUE",
        help="Only rows of this value; may be repeated, then all must hold: namespace:ml, "
        "label:app!=web, pod~:worker.",
        autocompletion=candidates.filter_starts,
    ),
]
StepLength = Annotated[
    str,
    typer.Option(
        "--step",
        metavar="STEP",
        help="One row for each hour, day, week or month of the window, or for each 6h.",
    ),
]
IdleRows = Annotated[
    Idle,
    typer.Option(
        "--idle", help="Show idle cost as rows, share it out by what is charged, or hide it."
    ),
]
IdleByNode = Annotated[
    bool,
    typer.Option(
        "--idle-by-node", help="With --idle share: a node's idle cost goes to its own pods."
    ),
]

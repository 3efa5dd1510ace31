"""The commands of `seedancectl`, put together.

One line a verb; each verb lives in a module of its own. Importing this pulls no server library
and neither pydantic nor the HTTP client: those are imported by the commands that need them.
"""

from __future__ import annotations

import typer

from seedance.cli import options
from seedance.cli.completion import completion
from seedance.cli.configure import config_app
from seedance.cli.cost import cost
from seedance.cli.describe import describe
from seedance.cli.explain import explain
from seedance.cli.get import get
from seedance.cli.grammar import Verb, Verbs
from seedance.cli.session import Common
from seedance.cli.top import top
from seedance.cli.version import version

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def root(
    ctx: typer.Context,
    *,
    server: options.Server = "",
    context: options.Context = "",
    token_file: options.TokenFile = "",
    certificate_authority: options.CertificateAuthority = "",
    request_timeout: options.RequestTimeout = "",
    verbose: options.Verbose = 0,
) -> None:
    """Show what Kubernetes costs: by team, workload, node or label, now and in the past.

    Examples:
      seedancectl cost --by namespace,team --window 7d
      seedancectl get pods -n ml --at 2h
      seedancectl describe workload trainer -n ml

    The same options stand before or after the verb. Exit codes: 0 fine, 1 difference or
    violation, 2 usage, 3 not found, 4 unreachable, 5 refused, 6 no data, 70 bug.
    """
    ctx.obj = Common(
        server=server,
        context=context,
        token_file=token_file,
        certificate_authority=certificate_authority,
        request_timeout=request_timeout,
        verbose=verbose,
    )


for verb in (cost, get, describe, top, explain, version, completion):
    app.command(cls=Verb)(verb)
app.add_typer(config_app, name="config")

"""The program `seedance`: command line of the server and its composition root.

Belongs here: commands, start and end of the process, the wiring of rooms to each other. May not be
here: anything that a room could do itself.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of `seedance`; light, so that a missing part can be told of by name."""
    from seedance.serve.ending import run  # noqa: PLC0415 - what is missing is caught in there

    sys.exit(run(sys.argv[1:]))

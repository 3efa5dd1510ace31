"""`seedancectl completion`: scripts for the shells, and the candidates they ask for.

A script calls `seedancectl __complete WORD… INCOMPLETE` and reads one candidate a line, with a
tab before its description; the last line `:4` tells kubectl's plugin completion that files are
no candidates (`:0`: they are). Nothing is ever evaluated by the shell.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from seedance.cli.output import show_text

COMPLETE = "__complete"

_NO_FILES, _FILES = ":4", ":0"

_BASH = """\
# bash completion for seedancectl: source this file, or put it into bash-completion's folder.
_seedancectl() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in :*) ;; *) COMPREPLY+=("${line%%$'\\t'*}") ;; esac
    done < <(seedancectl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _seedancectl seedancectl
"""

_ZSH = """\
#compdef seedancectl
# zsh completion for seedancectl: source this file, or save it as _seedancectl in $fpath.
_seedancectl() {
    local -a found
    local value help
    while IFS=$'\\t' read -r value help; do
        [[ $value == :* ]] || found+=("${value//:/\\\\:}:$help")
    done < <(seedancectl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then _describe seedancectl found; else _files; fi
}
compdef _seedancectl seedancectl
"""

_FISH = """\
# fish completion for seedancectl: source this file, or save it in ~/.config/fish/completions.
function __seedancectl_candidates
    set -l words (commandline -opc) (commandline -ct)
    seedancectl __complete $words[2..-1] 2>/dev/null | string match -v ':*'
end
complete -c seedancectl -f -a '(__seedancectl_candidates)'
"""


class Shell(StrEnum):
    """Shells that have a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH}


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell to print the script for.")],
) -> None:
    """Print the completion script of a shell.

    Examples:
      source <(seedancectl completion bash)
      seedancectl completion zsh > ~/.zfunc/_seedancectl
      seedancectl completion fish > ~/.config/fish/completions/seedancectl.fish
    """
    show_text(SCRIPTS[shell])


def candidates(command: Any, words: Sequence[str]) -> int:
    """Print what could stand for the last of `words`; always 0, a shell shows no errors."""
    from typer._click.shell_completion import get_completion_class  # noqa: PLC0415
    from typer._completion_classes import completion_init  # noqa: PLC0415

    completion_init()
    # Any shell's class knows the candidates; how they are printed is ours.
    asking = get_completion_class("fish")
    if asking is None:
        return 0
    *before, incomplete = words or [""]
    asked = asking(command, {}, "seedancectl", "_SEEDANCECTL_COMPLETE")
    found = asked.get_completions(list(before), incomplete)
    lines = [f"{item.value}\t{item.help}" if item.help else str(item.value) for item in found]
    sys.stdout.write("\n".join([*lines, _NO_FILES if lines else _FILES]) + "\n")
    return 0

"""`svctoolkit completion`: the script that lets a shell complete command lines with Tab."""

from __future__ import annotations

import argparse

from svctoolkit.cli import _parser
from svctoolkit.cli._command import Command, Exit

_WORDS = "words"  # what the scripts call

_SCRIPTS = {
    "bash": r"""_svctoolkit() {
  local line="${COMP_LINE:0:COMP_POINT}" words current prefix
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  local IFS=$'\n'
  COMPREPLY=($(svctoolkit completion words -- "${words[@]:1}" 2>/dev/null))
  # bash splits words at colons and equals signs: it replaces only what follows the last one
  if [[ $current == *[:=]* ]]; then
    prefix="${current%"${current##*[:=]}"}"
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
  fi
}
complete -o bashdefault -o default -F _svctoolkit svctoolkit
""",
    "zsh": r"""#compdef svctoolkit
_svctoolkit() {
  local -a found
  found=("${(@f)$(svctoolkit completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then
    compadd -- "${found[@]}"
  else
    _files
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _svctoolkit svctoolkit
""",
    "fish": r"""function __svctoolkit_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc)[2..-1]
    set -l found (svctoolkit completion words -- $words "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c svctoolkit -f -a '(__svctoolkit_complete)'
""",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    shell = _parser.one_of("shell", tuple(_SCRIPTS))
    parser.add_argument("shell", type=lambda text: text if text == _WORDS else shell(text), metavar="bash|zsh|fish")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    if args.shell != _WORDS:
        _terminal.out(_SCRIPTS[args.shell].rstrip())
        return Exit.OK
    from svctoolkit.cli._completion import candidates
    from svctoolkit.cli._main import COMMANDS

    found = candidates(args.words, COMMANDS)
    if found:
        _terminal.out("\n".join(map(_terminal.plain, found)))
    return Exit.OK


command = Command(
    help="print a script that completes svctoolkit command lines in a shell",
    description="""
        Print a script for bash, zsh or fish. It completes commands, options and their values, destination types, keys
        of the workspace in the current folder, environments, reports and, after FILE::, scenarios.

        Run the example for your shell once, and open a new terminal.
    """,
    examples=(
        "svctoolkit completion bash >> ~/.bashrc",
        "svctoolkit completion zsh >> ~/.zshrc",
        "svctoolkit completion fish > ~/.config/fish/completions/svctoolkit.fish",
    ),
    add_arguments=_add_arguments,
    run=_run,
)

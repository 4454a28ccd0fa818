"""The command `closedset`: its sub-commands, and the one place where a process of it ends.

A command is a file of its own; nothing heavy is imported before the command that needs it runs.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

from closedset_cli import diagnostics, streams
from closedset_cli.diagnostics import ExitCode, UsageRefused
from closedset_cli.interrupts import Interrupts

#: The sub-commands in the order help lists them: each is the function of that name in the file of that name, or the
#: group of that name where a command has commands of its own.
COMMANDS = (
    "demo", "init", "check", "load", "loads", "diff", "gc", "rejects", "search", "batch", "schema", "vocab", "correct",
    "merge", "coverage", "receipt", "verify", "explain", "bench", "eval",
)  # fmt: skip


def app(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """The command with some of its sub-commands: a process that runs one need not build the others."""
    built = typer.Typer(
        name="closedset",
        help='Answers "all of them" questions over exported tables, and says whether the answer is all of them.',
        epilog="Exit codes: 0 answered (gaps included), 2 refused, 3 not as it was (verify), 4 would lose something "
        "(check), 69 unavailable, 70 broken, 74 the reply could not be written, 130 interrupted.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    built.callback()(_options)
    for name in commands:
        command = getattr(import_module(f"closedset_cli.{name}"), name)
        if isinstance(command, typer.Typer):
            built.add_typer(command, name=name)
        else:
            built.command(name)(command)
    return built


def _version(asked: bool) -> None:
    if asked:
        import closedset

        streams.reply(f"closedset {closedset.__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code; as the process's own command line, end the process with it."""
    code = _run(arguments)
    if arguments is None:
        streams.leave(code)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    """Every exception ends here, as `diagnostics.ended` says."""
    interrupts = None
    try:
        streams.prepare()
        interrupts = Interrupts()
        typed = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
        wanted = typed[:1] if typed and typed[0] in COMMANDS else COMMANDS
        code = get_command(app(wanted)).main(args=typed, prog_name="closedset", standalone_mode=False)
        streams.finish()
        return code if isinstance(code, int) else ExitCode.OK
    except (Exception, KeyboardInterrupt) as error:
        return _end(_usage(error) or error, interrupts is not None and interrupts.seen)


def _usage(error: BaseException) -> UsageRefused | None:
    """A fault that typer found in the command line, as one of ours; the bare command's help is such a one."""
    if not isinstance(error, typer.TyperException):
        return None
    fix = ""
    context = getattr(error, "ctx", None)
    asks = context is not None and context.info_name in ("search", "explain")
    if asks and "unexpected extra argument" in str(error).lower():
        fix = "; quote a whole condition: -w 'relation.slot >= value'"
    where = f" (see: {context.command_path} --help)" if context is not None else ""
    return UsageRefused(f"{error.format_message().rstrip('.')}{fix}{where}")


def _end(error: BaseException, interrupted: bool) -> ExitCode:
    code, said = diagnostics.ended(error, interrupted)
    if isinstance(error, diagnostics.PipeClosed):
        streams.abandon()
    if said:
        streams.talk(f"closedset: {said}")
    return code

"""The command line program `jaxguide`: one function per command, without logic."""

import importlib
from typing import Any

import click

from jaxguide import __version__
from jaxguide.base.did_you_mean import did_you_mean

# Command -> module and attribute. Running a command imports only its module, so that it starts quickly.
_COMMANDS = {
    "start": "jaxguide.cli.start:start",
    "watch": "jaxguide.cli.for_students:watch",
    "list": "jaxguide.cli.for_students:list_",
    "next": "jaxguide.cli.for_students:next_",
    "progress": "jaxguide.cli.for_students:progress",
    "check": "jaxguide.cli.for_students:check",
    "hint": "jaxguide.cli.for_students:hint",
    "solution": "jaxguide.cli.for_students:solution",
    "reset": "jaxguide.cli.for_students:reset",
    "grade": "jaxguide.cli.grade:grade",
    "report": "jaxguide.cli.report:report",
    "export": "jaxguide.cli.export:export",
    "print": "jaxguide.cli.for_authors:print_",
    "verify": "jaxguide.cli.for_authors:verify",
    "doctor": "jaxguide.cli.upkeep:doctor",
    "completion": "jaxguide.cli.upkeep:completion",
}
# The first command below each heading of the help.
_HEADINGS = {"start": "Learn JAX", "grade": "Grade a class", "print": "Write a course", "doctor": "Look after jaxguide"}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: list[tuple[str, list[tuple[str, str]]]] = []
        for name in _COMMANDS:
            command = self.get_command(ctx, name)
            sections += [(_HEADINGS[name], [])] if name in _HEADINGS else []
            sections[-1][1].append((name.ljust(10), command.get_short_help_str() if command else ""))
        for heading, rows in sections:
            with formatter.section(heading):
                formatter.write_dl(rows)

    def main(self, *args: Any, **options: Any) -> Any:
        # Only a process that runs nothing else may be replaced; see `begin_with_zygote`.
        options.setdefault("obj", {"runs_nothing_else": not args and "args" not in options})
        return super().main(*args, **options)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            text = f"There is no command `{args[0]}`."
            raise click.UsageError(text + did_you_mean(args[0], _COMMANDS, most=1), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="jaxguide")
def main() -> None:
    """Learn and teach JAX: lessons that check themselves, and an autograder.

    \b
    Example: jaxguide watch      (in a terminal and your own editor)
             jaxguide start      (in JupyterLab)
    """

"""The commands that look after jaxguide itself: `doctor` and `completion`."""

import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from jaxguide.cli.common import course_meant, json_option, print_json, read_course_settings, students_course_option


@click.command(short_help="See whether jaxguide works here, and what to do if not.")
@students_course_option
@json_option
def doctor(folder: Path | None, as_json: bool) -> None:
    """Report installed versions, JAX's devices and settings, and known problems with their remedies.

    Also report whether submissions can be isolated here and what is missing if not, and how workers start and what
    keeps them from starting faster.

    Also report what the course requires and is not installed.

    The exit status is 1 if there is a serious problem that neither lessons nor the grader fix by themselves.

    \b
    Example: jaxguide doctor --json
    """
    from jaxguide.debug import doctor as diagnose
    from jaxguide.grading.workers.readiness import add_isolation, add_requirements

    settings = read_course_settings(course_meant(folder), as_json=as_json)
    diagnosis = add_requirements(add_isolation(diagnose()), settings)
    if as_json:
        print_json(diagnosis.to_plain())
    else:
        click.echo(str(diagnosis))
    sys.exit(0 if diagnosis.healthy else 1)


@click.command(short_help="Let your shell complete commands when you press Tab.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes the names of commands, exercises and lessons.

    \b
    Example: eval "$(jaxguide completion bash)"                                 (in ~/.bashrc)
             eval "$(jaxguide completion zsh)"                                  (in ~/.zshrc)
             jaxguide completion fish > ~/.config/fish/completions/jaxguide.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "jaxguide", "_JAXGUIDE_COMPLETE").source())

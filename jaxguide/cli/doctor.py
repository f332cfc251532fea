"""The command `doctor`: report the installation, the isolation of submissions, and known problems."""

import sys
from pathlib import Path

import click

from jaxguide.cli.common import course_meant, json_option, print_json, read_course_settings, students_course_option


@click.command(short_help="See whether jaxguide works here, and what to do if not.")
@students_course_option
@json_option
def doctor(folder: Path | None, as_json: bool) -> None:
    """Report installed versions, JAX's devices and settings, and known problems with their remedies.

    Also report the isolation tier for grading and what keeps it from being better, and how workers start and what keeps
    them from starting faster. The tier is always tested again; other commands then use the result.

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

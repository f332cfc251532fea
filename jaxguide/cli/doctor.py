"""The command `doctor`."""

import sys

import click

from jaxguide.cli.common import json_option, print_json


@click.command(short_help="Report versions, devices, settings and known trouble.")
@json_option
def doctor(as_json: bool) -> None:
    """Report what is installed, which devices JAX uses, how it is set, and known trouble with its remedy.

    What keeps submissions apart in grading is tried out and reported too: the isolation tier, and why it is no better;
    how their workers start, and why no faster. The tier is always tried anew; other commands then go by what was found.

    The exit status is 1 where something serious was found that neither lessons nor the grader cure by themselves.

    \b
    Example: jaxguide doctor --json
    """
    from jaxguide.debug import doctor as diagnose
    from jaxguide.grading.workers.diagnosis import add_isolation

    diagnosis = add_isolation(diagnose())
    if as_json:
        print_json(diagnosis.to_plain())
    else:
        click.echo(str(diagnosis))
    sys.exit(0 if diagnosis.healthy else 1)

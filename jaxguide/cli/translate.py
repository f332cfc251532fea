"""The command `translate`: collect the messages to translate, and compile the translations."""

import importlib.util
import sys
from pathlib import Path

import click

from jaxguide.base.text import _
from jaxguide.cli.common import course_option


@click.command(short_help="Start or update a translation.")
@click.argument("language")
@course_option
@click.option(
    "--to",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; by default the package's, or the course's folder locale/.",
)
def translate(language: str, folder: Path | None, target: Path | None) -> None:
    """Collect the messages to translate into LANGUAGE (de, pt_BR, zh_CN), and compile the translations.

    Run it before you translate and again afterwards: it keeps translations and lists mistakes in them.

    \b
    Example: jaxguide translate de
             jaxguide translate de --course my_course
    """
    from jaxguide.base.catalogues import COURSE, LOCALE, PACKAGE
    from jaxguide.course.books.folders import course_folders

    if importlib.util.find_spec("babel") is None:
        raise click.ClickException(_("Translating needs Babel: pip install 'jaxguide[translate]'"))
    from jaxguide.translation.extract import book_messages, course_messages, package_messages
    from jaxguide.translation.update import BadCatalogue, compile_for_students, template, translation_summary, update

    where = course_folders(folder)
    sources = {COURSE: course_messages(where)} | ({} if folder is not None else {PACKAGE: package_messages()})
    into = target or (where.locale if folder is not None else LOCALE)
    try:
        done = [update(into, domain, language, template(found)) for domain, found in sources.items()]
        if folder is not None:
            compile_for_students(done[0].path, template(book_messages(where)))
    except (BadCatalogue, OSError, SyntaxError) as error:
        raise click.ClickException(str(error)) from None
    for updated in done:
        for problem in updated.problems:
            click.echo(problem, err=True)
        click.echo(translation_summary(updated))
    sys.exit(1 if any(updated.problems for updated in done) else 0)

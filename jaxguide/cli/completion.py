"""The command `completion`: print the script with which a shell completes commands, exercises and lessons."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Let your shell complete commands when you press Tab.")
@click.argument("shell", type=click.Choice(SHELLS))
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

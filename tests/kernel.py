"""Run cells in a real Jupyter kernel, or in an IPython shell of this process."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def run_in_kernel(cells: Sequence[str]) -> list[str]:
    """Run cells and return what each shows: its printed text, then its last value. An error in a cell raises."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    NotebookClient(notebook, timeout=300).execute()
    return ["".join(map(_text, cell.outputs)) for cell in notebook.cells]


def _text(output: dict[str, Any]) -> str:
    return str(output["text"] if "text" in output else output["data"]["text/plain"])


@contextmanager
def shell_here() -> Iterator[Any]:
    """Provide an IPython shell in this process; restore `__main__` at the end, which a shell replaces for good."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    main = sys.modules["__main__"]
    # The shell must not write into the home folder.
    try:
        yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    finally:
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = main

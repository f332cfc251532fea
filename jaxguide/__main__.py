"""Run the program: `python -m jaxguide` equals `jaxguide`."""

import jaxguide  # noqa: F401  (says so in one sentence where Python is too old)
from jaxguide.cli import main

if __name__ == "__main__":
    main(prog_name="jaxguide")

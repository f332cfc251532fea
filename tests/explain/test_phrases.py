"""Test that JAX still says what the catalogue looks for."""

import subprocess
import sys
from pathlib import Path

# No case raises these.
WITHOUT_A_CASE = {
    "LINEN_IMMUTABLE",
    "LINEN_NO_COLLECTIONS",
    "SCAN_NO_LENGTH",
}


def test_every_phrase_matches_an_error_that_a_case_raises() -> None:
    script = Path(__file__).with_name("list_phrases.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    phrases, missing = (line.split(":")[1].split() for line in done.stdout.splitlines()[-2:])
    of_missing = tuple(f"{library.upper()}_" for library in missing)
    of_missing += ("OPTAX_APPLY", "OPTAX_INIT") if "equinox" in missing else ()  # what optax says of equinox's models
    assert {name for name in phrases if not name.startswith(of_missing)} == WITHOUT_A_CASE

"""Report what is installed, how JAX is configured, and known problems with their remedies."""

import contextlib
import importlib.metadata
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

import jaxguide
from jaxguide import compat
from jaxguide.base.files import user_folder
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off

_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "matplotlib", "ipykernel", "jupyterlab")
# Compilation fails for a reduction over at least this many elements that feeds an unordered callback.
_PRINT_SIZE = 4096
# Heading -> the facts below it, in this order; all others are below "JAX".
_SECTIONS = {
    "": (),
    "Versions and devices": ("jaxguide", "Python", *_PACKAGES, "system", "devices"),
    "JAX": (),
    "Grading": ("grading", "isolation", "workers"),
    "Files": ("cache",),
}


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong or surprising on this machine, and what to do.

    Args:
        name: a short fixed name, such as 'debug_print_fails_to_compile'.
        serious: correct code fails or runs somewhere else; otherwise it is only worth knowing.
        what: what happens, in one sentence.
        remedy: what to do, in one sentence.
        cured: lessons and the grader apply the remedy themselves, so only your own scripts need it.
        about: the heading to report it under, "JAX" or "Grading"; '' for what comes before all headings.
    """

    name: str
    serious: bool
    what: str
    remedy: str
    cured: bool = False
    about: str = ""

    def __str__(self) -> str:
        word = "✗ Problem:" if self.serious else "! Worth knowing:"
        return f"{'✓ Fixed in lessons and in grading:' if self.cured else word} {self.what}\n  {self.remedy}"


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What was found.

    Args:
        facts: versions, devices and settings, each as a name and its value.
        troubles: empty if nothing is known to be wrong.
    """

    facts: dict[str, str] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        """Return whether nothing serious was found, except what lessons and the grader fix."""
        return not any(trouble.serious and not trouble.cured for trouble in self.troubles)

    def to_plain(self) -> dict[str, Any]:
        """Return this as dict, list, str and bool only."""
        troubles = [dict(vars(trouble)) for trouble in self.troubles]
        return {"healthy": self.healthy, "facts": dict(self.facts), "troubles": troubles}

    def __str__(self) -> str:
        return "\n\n".join(self._blocks())

    __repr__ = __str__

    def _blocks(self) -> Iterator[str]:
        """Yield each heading with the facts below it, in aligned lines, and the troubles that it is about."""
        width = max(map(len, self.facts), default=0)
        below = "\n" + " " * (width + 2)
        homes = {name: heading for heading, names in _SECTIONS.items() for name in names}
        for heading in _SECTIONS:
            facts = {name: value for name, value in self.facts.items() if homes.get(name, "JAX") == heading}
            lines = [f"{name:<{width}}  {value.replace(chr(10), below)}" for name, value in facts.items()]
            lines += ["✓ jaxguide works here."] if self.healthy and not heading else []
            lines += [str(one) for one in self.troubles if one.about == heading]
            said = "\n".join(lines)
            if lines:
                yield f"{heading}\n{textwrap.indent(said, '  ')}" if heading else said


def diagnose(measured: bool) -> Diagnosis:
    """Report JAX's versions, devices and settings, and known problems with their remedies.

    This starts JAX's backend.

    >>> diagnose(measured=False).facts["jax"] == jax.__version__
    True

    Args:
        measured: compile a small function, to measure what fails on this machine rather than look it up.
    """
    # The print flag is not set, on purpose: report this process as it is.
    facts = {"jaxguide": jaxguide.__version__, "Python": f"{platform.python_version()} ({sys.executable})"}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            facts[package] = importlib.metadata.version(package)
    facts["system"] = f"{platform.system()} {platform.machine()}"
    facts["cache"] = f"{user_folder()}, which you can delete at any time"
    # `jaxguide start` needs it.
    facts.setdefault("jupyterlab", 'not installed: use `jaxguide watch`, or pip install "jaxguide[notebook]"')
    troubles = [_mismatched_versions(facts)]
    try:
        devices = jax.devices()
    except RuntimeError as error:
        facts["devices"] = "none"
        what = f"JAX cannot start: {str(error).splitlines()[0].rstrip(' .')}."
        remedy = "Unset JAX_PLATFORMS, or set it to an available platform, such as cpu; then restart Python."
        troubles.append(Trouble("no_backend", True, what, remedy))
    else:
        kinds = sorted({device.device_kind for device in devices})
        facts["devices"] = f"{len(devices)} {devices[0].platform} ({', '.join(kinds)})"
        troubles += [_unused_gpu(devices[0].platform), _print_fails() if measured else None]
    facts |= _settings()
    troubles.append(_draws_differ())
    return Diagnosis(facts, [trouble for trouble in troubles if trouble])


def _settings() -> dict[str, str]:
    config: Any = jax.config  # its fields are defined at run time
    partitionable = "on" if config.jax_threefry_partitionable else "off: random numbers as in JAX before 0.5"
    found = {
        "PRNG": f"{config.jax_default_prng_impl}, threefry_partitionable {partitionable}",
        "64 bits": "on" if config.jax_enable_x64 else "off: float32 is the widest float",
    }
    switches = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_check_tracer_leaks", "jax_debug_key_reuse")
    active = [name for name in switches if getattr(config, name, False)]
    if active:
        found["switched on"] = ", ".join(active)
    variables = sorted(name for name in os.environ if name.startswith("JAX_") or name == "XLA_FLAGS")
    if variables:
        found["environment"] = " ".join(f"{name}={os.environ[name]}" for name in variables)
    return found


def _mismatched_versions(facts: dict[str, str]) -> Trouble | None:
    lib, front = facts.get("jaxlib", ""), facts.get("jax", "")
    if not lib or lib.split(".")[:2] == front.split(".")[:2]:
        return None
    return Trouble(
        "versions_differ",
        True,
        f"jax {front} and jaxlib {lib} do not match.",
        "Install matching versions: pip install --upgrade jax jaxlib",
    )


def _unused_gpu(used: str) -> Trouble | None:
    if used != "cpu" or os.environ.get("JAX_PLATFORMS") or not shutil.which("nvidia-smi"):
        return None
    return Trouble(
        "gpu_not_used",
        False,
        "This machine seems to have an NVIDIA GPU, but JAX runs on the CPU.",
        'Install JAX for GPUs: pip install "jax[cuda13]", or set JAX_PLATFORMS=cpu if you want to use the CPU.',
    )


@flags_off(*CHECKS, DISABLE_JIT)
def _print_fails() -> Trouble | None:
    if not _fails_to_compile():
        return None
    flag = compat.print_flag(importlib.metadata.version("jaxlib"))
    given = os.environ.get("XLA_FLAGS", "")
    what = (
        f"jax.jit of a function that prints a reduction of {_PRINT_SIZE} or more elements with jax.debug.print fails "
        "to compile on this machine (INTERNAL: RET_CHECK failure)."
    )
    cured = False
    if flag is None:
        remedy = "Pass ordered=True to jax.debug.print in such functions, and report it to JAX: no flag is known."
    elif flag in given.split():
        remedy = "The flag that fixes it is set, but JAX had already started: restart, and set it before the first use."
    elif flag.split("=")[0] in given:
        remedy = f"XLA_FLAGS sets the flag that fixes it to another value: set {flag}."
    else:
        # Lessons and workers are separate processes: their flags do not affect this one.
        cured = True
        remedy = (
            "A lesson's first cell, %load_ext jaxguide and the grader set the flag that fixes it. For your own "
            f"scripts, set it before JAX starts: XLA_FLAGS={flag}"
        )
    return Trouble("debug_print_fails_to_compile", True, what, remedy, cured, about="JAX" if cured else "")


def _fails_to_compile() -> bool:
    def probe(x: jax.Array) -> jax.Array:
        y = jnp.tanh(x)
        jax.debug.callback(lambda mean: None, y.mean())
        return y

    config: Any = jax.config
    cached = config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)  # a cached program would prove nothing
    try:
        with _quiet_stderr():  # compile only: nothing runs or is printed
            jax.jit(probe).lower(jax.ShapeDtypeStruct((_PRINT_SIZE,), "float32")).compile()
    except jax.errors.JaxRuntimeError:
        return True
    finally:
        jax.config.update("jax_enable_compilation_cache", cached)
    return False


def _draws_differ() -> Trouble | None:
    config: Any = jax.config
    if config.jax_threefry_partitionable:
        return None
    return Trouble(
        "draws_of_older_jax",
        False,
        "jax_threefry_partitionable is off, so random numbers differ from those of other installations.",
        "Unset JAX_THREEFRY_PARTITIONABLE; for the numbers of older documents use jaxguide.keys.documented_draws().",
    )


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Hide the compiler's log of a failure, which it writes to the file descriptor."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)

"""Define `Answer`, the only way for checks to use a student's function, in this process or another."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxguide.course.judging.evaluate import Request, Step, evaluate
from jaxguide.course.judging.values import Data, show, to_data
from jaxguide.course.verdict import ErrorInfo, StudentError
from jaxguide.keys import KeyUse
from jaxguide.tracing import Program


@dataclasses.dataclass(frozen=True)
class Observation:
    """Everything observed in one call.

    Args:
        value: what it returned.
        arguments: the arguments as the call left them.
        error: the exception that it raised.
        lines: the printed lines, in order.
        warnings: the warnings.
        traces, compiles: how often it was traced and compiled.
    """

    value: Data
    arguments: tuple[Data, ...]
    error: ErrorInfo | None
    lines: list[str]
    warnings: list[str]
    traces: int
    compiles: int

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Observation":
        error = ErrorInfo.from_plain(plain["error"]) if plain["error"] else None
        return cls(**{**plain, "error": error})


@dataclasses.dataclass
class CallLog:
    """The last call and its value, for the card, and everything that the student's code printed, in order."""

    name: str = ""
    request: Request | None = None
    value: Data = None
    printed: str = ""

    @property
    def is_called(self) -> bool:
        """Whether the function has been called since the current check started."""
        return self.request is not None

    @property
    def last(self) -> str:
        """The last call as a student would type it; formatted only when a card needs it."""
        return write_call(self.name, self.request) if self.request else ""


class Answer(ABC):
    """A student's function, with plain data as arguments and results.

    Transformations return another Answer: `answer.jit`, `answer.vmap(in_axes=0)`, `answer.grad()`, and chains of them.
    """

    def __init__(self, name: str, steps: tuple[Step, ...] = (), log: CallLog | None = None):
        self.name = name
        self.steps = steps
        self.log = log if log is not None else CallLog()

    @abstractmethod
    def _ask(self, request: Request) -> dict[str, Any]:
        """Send a request to the function and return the reply of `evaluate`."""

    @abstractmethod
    def _with(self, steps: tuple[Step, ...]) -> "Answer":
        """Return the same answer with other steps."""

    @property
    def jit(self) -> "Answer":
        """The answer under `jax.jit`."""
        return self._with((*self.steps, Step("jit")))

    def vmap(self, in_axes: Any = 0, out_axes: Any = 0) -> "Answer":
        """Return the answer under `jax.vmap`."""
        return self._with((*self.steps, Step("vmap", (("in_axes", in_axes), ("out_axes", out_axes)))))

    def grad(self, argnums: int | tuple[int, ...] = 0) -> "Answer":
        """Return the answer under `jax.grad`."""
        return self._with((*self.steps, Step("grad", (("argnums", argnums),))))

    @property
    def documented_draws(self) -> "Answer":
        """The answer under the PRNG setting of the source documents, which was JAX's default before 0.5.0."""
        return self._with((*self.steps, Step("documented_draws")))

    def then(self, *args: Any) -> "Answer":
        """Return the function that the answer returns for `args`, as an Answer."""
        return self._with((*self.steps, Step("then", (("args", to_data(args)),))))

    def __call__(self, *args: Any, **kwargs: Any) -> Data:
        """Call the function and return its value as data.

        Raises:
            StudentError: the function raised.
        """
        return self._question("value", args, kwargs)

    def observe(self, *args: Any, **kwargs: Any) -> Observation:
        """Call the function with cleared caches and return everything that was observed.

        Raises:
            StudentError: the function raised; use `observe_error` if it should.
        """
        return _unless_raised(self._observations([(args, kwargs)]))[0]

    def observe_error(self, *args: Any, **kwargs: Any) -> Observation:
        """Call a function that should raise, and return the observation for `expect_raises`."""
        return self._observations([(args, kwargs)])[0]

    def observe_calls(self, calls: Sequence[tuple[Any, ...]]) -> list[Observation]:
        """Call the function several times in a row, starting with cleared caches, and return what each call showed.

        Raises:
            StudentError: one of the calls raised.
        """
        return _unless_raised(self._observations([(tuple(args), {}) for args in calls]))

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """Return the program that the function traces to, as data."""
        return Program.from_plain(self._question("program", args, kwargs))

    def key_use(self, *args: Any, **kwargs: Any) -> KeyUse:
        """Return the PRNG keys that a call consumes, and the problems found in their use."""
        return KeyUse.from_plain(self._question("key_use", args, kwargs))

    def _observations(self, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Observation]:
        request = Request(self.steps, "observe", tuple((to_data(args), to_data(kwargs)) for args, kwargs in calls))
        return [Observation.from_plain(plain) for plain in self._send(request)]

    def _question(self, question: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Data:
        return self._send(Request(self.steps, question, ((to_data(args), to_data(kwargs)),)))

    def _send(self, request: Request) -> Data:
        self.log.name, self.log.request = self.name, request
        reply = self._ask(request)
        self.log.printed += reply.get("printed", "")
        if "error" in reply:
            raise StudentError(ErrorInfo.from_plain(reply["error"]))
        self.log.value = reply["value"]
        return reply["value"]


def _unless_raised(observations: list[Observation]) -> list[Observation]:
    for one in observations:
        if one.error is not None:
            raise StudentError(one.error)
    return observations


class LocalAnswer(Answer):
    """An answer in this process, for immediate feedback and for trusted code."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        names: Mapping[str, Any],
        steps: tuple[Step, ...] = (),
        log: CallLog | None = None,
    ):
        super().__init__(name, steps, log)
        self.function = function
        self.names = names

    def _with(self, steps: tuple[Step, ...]) -> "LocalAnswer":
        return LocalAnswer(self.name, self.function, self.names, steps, self.log)

    def _ask(self, request: Request) -> dict[str, Any]:
        return evaluate(self.function, request, self.names)


def write_call(name: str, request: Request) -> str:
    """Write a request as the call that a student would type."""
    text = name
    for step in request.steps:
        options = dict(step.options)
        if step.name == "then":
            text = f"{text}({_write_arguments(options['args'], {})})"
        elif step.name == "documented_draws":
            text = f"[jax.threefry_partitionable(False)] {text}"
        else:
            given = {k: v for k, v in options.items() if v != 0}
            text = f"jax.{step.name}({', '.join([text, *(f'{k}={v!r}' for k, v in given.items())])})"
    args, kwargs = request.calls[0]
    return f"{text}({_write_arguments(args, kwargs)})"


def _write_arguments(args: tuple[Data, ...], kwargs: dict[str, Data]) -> str:
    shown = [show(arg, 120) for arg in args] + [f"{name}={show(value, 120)}" for name, value in kwargs.items()]
    return ", ".join(shown)

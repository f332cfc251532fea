"""Define `Answer`, the only way for checks to use a student's function, in this process or another."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxguide.base.plain import read_plain
from jaxguide.course.judging.calls import CallLog, Observation
from jaxguide.course.judging.evaluate import Request, Step, evaluate
from jaxguide.course.judging.values import Data, to_data
from jaxguide.course.verdict import ErrorInfo, StudentError
from jaxguide.keys import KeyReport
from jaxguide.tracing import Program


class Answer(ABC):
    """A student's function, with plain data as arguments and results.

    Transformations return another Answer, and can be chained: `answer.jit`, `answer.vmap(in_axes=0)`,
    `answer.sum.grad()`.
    """

    def __init__(self, name: str):
        self.name = name
        self.steps: tuple[Step, ...] = ()
        self.log = CallLog()

    @abstractmethod
    def _ask(self, request: Request) -> dict[str, Any]:
        """Send a request to the function and return the reply of `evaluate`."""

    def _with(self, step: str, **options: Any) -> "Answer":
        """Return the same answer, with the same log, with one more step."""
        answer = copy.copy(self)
        answer.steps = (*self.steps, Step(step, tuple(options.items())))
        return answer

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            message = "`answer.{name}` is not supported; for a derivative, use `answer.grad()` or `answer.sum.grad()`"
            raise AttributeError(message.format(name=name))

    @property
    def jit(self) -> "Answer":
        """The answer under `jax.jit`."""
        return self._with("jit")

    def vmap(self, in_axes: Any = 0, out_axes: Any = 0) -> "Answer":
        """Return the answer under `jax.vmap`."""
        return self._with("vmap", in_axes=in_axes, out_axes=out_axes)

    def grad(self, argnums: int | tuple[int, ...] = 0) -> "Answer":
        """Return the answer under `jax.grad`."""
        return self._with("grad", argnums=argnums)

    @property
    def sum(self) -> "Answer":
        """The answer with everything in its result added up to one number, as `grad` needs it."""
        return self._with("sum")

    @property
    def documented_draws(self) -> "Answer":
        """The answer under the PRNG setting of the source documents, which was JAX's default before 0.5.0."""
        return self._with("documented_draws")

    def at_breakpoints(self, *commands: str) -> "Answer":
        """Type commands at the answer's breakpoints; it returns its value, how often it stopped, and what they gave."""
        return self._with("at_breakpoints", commands=commands)

    def then(self, *args: Any, beside: tuple[Any, ...] | None = None) -> "Answer":
        """Return the function that the answer returns for `args`, as an Answer; after it, one is made for `beside`."""
        return self._with("then", args=to_data(args), beside=to_data(beside))

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
        return self._unless_raised(self._observations([(args, kwargs)], self.log.explains))[0]

    def observe_error(self, *args: Any, **kwargs: Any) -> Observation:
        """Call a function that should raise, and return the observation for `expect_raises`."""
        return self._observations([(args, kwargs)])[0]

    def observe_calls(self, calls: Sequence[tuple[Any, ...]]) -> list[Observation]:
        """Call the function several times in a row, starting with cleared caches, and return what each call showed.

        Raises:
            StudentError: one of the calls raised.
        """
        return self._unless_raised(self._observations([(tuple(args), {}) for args in calls], self.log.explains))

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """Return the program that the function traces to, as data."""
        return Program.from_plain(self._question("program", args, kwargs))

    def key_use(self, *args: Any, **kwargs: Any) -> KeyReport:
        """Return the PRNG keys that a call consumes, and the problems found in their use."""
        return KeyReport.from_plain(self._question("key_use", args, kwargs))

    def _observations(
        self, calls: list[tuple[tuple[Any, ...], dict[str, Any]]], explains: bool = False
    ) -> list[Observation]:
        data = tuple((to_data(args), to_data(kwargs)) for args, kwargs in calls)
        request = Request(self.steps, "observe", data, explains)
        found = [read_plain(Observation, plain) for plain in self._send(request)]
        for number, one in enumerate(found):
            self.log.add(request, number, one)
        return found

    def _unless_raised(self, observations: list[Observation]) -> list[Observation]:
        for number, one in enumerate(observations):
            if one.error is not None:
                self.log.raised = number
                raise StudentError(one.error)
        return observations

    def _question(self, question: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Data:
        request = Request(self.steps, question, ((to_data(args), to_data(kwargs)),), self.log.explains)
        reply = self._send(request)
        self.log.add(request, 0, reply)
        return reply

    def _send(self, request: Request) -> Data:
        self.log.name, self.log.request, self.log.raised = self.name, request, None
        reply = self._ask(request)
        self.log.printed += reply.get("printed", "")
        if "error" in reply:
            raise StudentError(read_plain(ErrorInfo, reply["error"]))
        return reply["value"]


class LocalAnswer(Answer):
    """An answer in this process, for immediate feedback and for trusted code."""

    def __init__(self, name: str, function: Callable[..., Any], names: Mapping[str, Any]):
        super().__init__(name)
        self.function = function
        self.names = names

    def _ask(self, request: Request) -> dict[str, Any]:
        return evaluate(self.function, request, self.names)

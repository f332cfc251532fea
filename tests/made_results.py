"""Results of made-up exercises, one for each kind of card."""

from typing import Any

from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, ExplanationText, Kind, Verdict

P, F, N = Verdict.PASSED, Verdict.FAILED, Verdict.NOT_CHECKED


def check(name: str, fact: str, verdict: Verdict, *, hidden: bool = False, **more: Any) -> CheckResult:
    return CheckResult(name, fact, "value", Kind.RELATION, 1.0, hidden, verdict, **more)


def exercise(name: str, title: str, verdict: Verdict, checks: list[CheckResult], **more: Any) -> ExerciseResult:
    return ExerciseResult(name, title, "random_numbers", 2, verdict, 0.0, checks, **more)


FAILED = exercise(
    "two_draws",
    "Draw twice",
    F,
    [
        check("shape", "Both draws are float32 scalars.", P),
        check(
            "draws_differ",
            "The two draws differ.",
            F,
            message="Both draws are the same number: both came from one key.",
            idea="A key is spent once it is drawn from: `split` it first.",
            call="two_draws(jax.random.key(3))",
            got="(-0.3721109, -0.3721109)",
            expected="two different numbers",
        ),
        check("same", "The same key gives the same draws.", N),
        check("jit", "It works under `jax.jit`.", N),
    ],
    hint="hint(two_draws) shows hint 1 of 3.",
)
RAISED = exercise(
    "per_row",
    "Normalise each row",
    Verdict.ERROR,
    [
        check(
            "runs",
            "It runs under `jax.jit`.",
            Verdict.ERROR,
            message="Your code raised TracerBoolConversionError: attempted boolean conversion.",
            idea="The value is not known while tracing, so Python's `if` cannot choose.",
            error=ErrorInfo("TracerBoolConversionError", "attempted boolean conversion.", 4, "if r @ r > 0:"),
        )
    ],
)
EXPLAINED = exercise(
    "signs",
    "Find the signs",
    Verdict.ERROR,
    [
        check(
            "runs",
            "It runs.",
            Verdict.ERROR,
            message="Your code raised TracerBoolConversionError: attempted boolean conversion.",
            error=ErrorInfo(
                "TracerBoolConversionError",
                "attempted boolean conversion. " + "The error occurred while tracing the function. " * 6,
                4,
                "if x > 0:",
                "cell [7]",
                ExplanationText(
                    "`if` needs a known value, but `x` is traced",
                    "`x` is a traced float32[] here.",
                    "Python's `if` must choose now.",
                    (("Choose with `jnp.where`.", "y = jnp.where(x > 0, x, -x)"), ("Or decide outside.", "")),
                    "https://docs.jax.dev/en/latest/errors.html",
                ),
            ),
        )
    ],
)
PASSED = exercise("right", "A right one", P, [check("a", "It is a.", P), check("b", "It is b.", P)])
NOT_STARTED = exercise("many", "Many keys", Verdict.NOT_ATTEMPTED, [check("a", "It is a.", N)])
GUESSED = exercise("guess_shape", "Which shape?", P, [], note="(2,)", reveal=(3, 2))
PARTLY = exercise("init", "Layers", Verdict.PARTLY_RIGHT, [check("a", "It is a.", P), check("b", "It is b.", F)])
GRADED = exercise(
    "stream",
    "A stream",
    F,
    [
        check("a", "It is a.", P),
        check(
            "secret",
            "No two steps share a key.",
            F,
            hidden=True,
            message="secret message 123",
            idea="Epoch and step both matter.",
            call="stream(secret 123)",
            got="secret got 123",
            expected="secret expected 123",
            difference="- secret line 123",
            extent="123 of 123 elements differ.",
            error=ErrorInfo("Leak123", "secret error 123", 7, "raise Leak"),
            misconceptions=("epoch_plus_step",),
            says=("epoch plus step",),
        ),
    ],
    hidden_printed="secret print 123",
)
ALL = [FAILED, RAISED, EXPLAINED, PASSED, NOT_STARTED, GUESSED, PARTLY, GRADED]

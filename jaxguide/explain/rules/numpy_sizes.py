"""Explain sizes that NumPy is given while they are traced: `np.zeros(n)`, `np.random.normal(size=n)`."""

import re

from jaxguide.base.text import _
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called, is_traced_integer

_DRAWS = ("normal", "uniform", "exponential")


@explains(error_texts.NUMPY_SIZE)
def numpy_size(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `np.random.normal(size=n)` with a traced `n`."""
    call = scene.call()
    traced = scene.spot.first(call, is_traced_integer)
    if call is None or traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    function = scene.quote(call.func)
    draws = called(call) in _DRAWS  # of `np.random`, or of a generator that `np.random.default_rng` made
    static = static_fix(scene, tracer)
    return scene.explanation(
        "numpy_size_of_tracer",
        title=_("`{function}` needs a size that is still traced").format(function=function),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("NumPy draws now, once, while JAX records the program, and the size comes later.")
        if draws
        else _("NumPy makes its array now, while JAX records the program, and the size comes later."),
        fixes=[
            static or scene.advice(_("Give NumPy a size that is known, such as a shape, or a static argument.")),
            scene.fix(
                _("Draw with JAX, from a key that the function takes as an argument; the size is static there too."),
                code=f"{scene.random}.{called(call)}(key, ({variable},))",
            )
            if draws
            else None,
        ],
        link=error_texts.STATIC_LINK,
    )

"""Test the reasons of retraces and recompiles: every part of what JAX compares, and which object holds it."""

import collections
import dataclasses
import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from jaxguide.tracing import Retrace, jit_events, watch_traces

pytestmark = pytest.mark.long

X3, X4 = np.ones(3, np.float32), np.ones(4, np.float32)


@pytest.fixture(autouse=True)
def _errors_show(monkeypatch):
    monkeypatch.setattr(jit_events, "listeners_may_raise", True)


def fresh(**options):
    """Return a jitted function that has not been traced."""

    def step(state, x=None):
        return jax.tree.leaves((state, x))[:1]

    return jax.jit(step, **options)


def reasons(run):
    """Return the reasons and remedies of the retraces in a call."""
    with watch_traces() as traces:
        run()
    return [(retrace.reason, retrace.remedy) for retrace in traces.retraces]


class Transformation(NamedTuple):
    init: Any
    update: Any


def made_by_closures(rate):
    def init(params):
        return params

    def update(grads):
        return rate * grads

    return Transformation(init, update)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    step: Any
    tx: Any = dataclasses.field(metadata={"static": True})
    train: bool = dataclasses.field(default=True, metadata={"static": True})


@jax.tree_util.register_pytree_node_class
class Variable:
    """Numbered children, and metadata that is no attribute as it is."""

    def __init__(self, data, attrs):
        self.data, self.attrs = data, dict(attrs)

    def tree_flatten(self):
        return (self.data,), ("time", tuple(sorted(self.attrs.items())))

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux[1])


@jax.tree_util.register_pytree_node_class
class Listed:
    """Metadata that lists the names of attributes beside their values, as some libraries keep them."""

    def __init__(self, w, bias, width):
        self.w, self.bias, self.flag, self.width = w, bias, True, width

    def tree_flatten(self):
        names = ("flag", "bias", "width")
        return (self.w,), (names, tuple(getattr(self, name) for name in names))

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux[1][1], aux[1][2])


Point, Other = collections.namedtuple("Point", "x y"), collections.namedtuple("Other", "x y")

TREES = {
    "another optimizer": (
        lambda: State(X3, made_by_closures(0.1)),
        lambda: State(X3, made_by_closures(0.2)),
        "the static part `state.tx.init` of `state` is again `init`, but a new function object",
        "create `state.tx` once, outside the loop",
    ),
    "static field": (
        lambda: State(X3, None),
        lambda: State(X3, None, train=False),
        "the static part `state.train` of `state` was True and is now False",
        "keep it the same in every call",
    ),
    "entry of the metadata": (
        lambda: Variable(X3, {"units": "K", "history": "a.nc"}),
        lambda: Variable(X3, {"units": "K", "history": "b.nc"}),
        "`history` in the static part of `state` was 'a.nc' and is now 'b.nc'",
        "leave it out of the static part",
    ),
    "listed attribute": (
        lambda: Listed(X3, True, 3),
        lambda: Listed(X3, False, 3),
        "the static part `state.bias` of `state` was True and is now False",
        "keep it the same",
    ),
    "numbered child": (
        lambda: Variable(X3, {}),
        lambda: Variable(X4, {}),
        "argument `state.data` was float32[3] and is now float32[4]",
        "pad `state.data`",
    ),
    "deep leaf": (
        lambda: {"opt": [Point(X3, np.int32(0))]},
        lambda: {"opt": [Point(X3, 0)]},
        "argument `state['opt'][0].y` was int32[] and is now a Python int (weakly typed int32[])",
        "`jnp.asarray(state['opt'][0].y, dtype=jnp.int32)`",
    ),
    "named tuple": (
        lambda: {"m": Point(X3, X3)},
        lambda: {"m": (X3, X3)},
        "argument `state['m']` was a Point of 2 and is now a tuple of 2",
        "pass `state` with the same containers",
    ),
    "order of keys": (
        lambda: collections.OrderedDict(a=X3, b=X3),
        lambda: collections.OrderedDict(b=X3, a=X3),
        "the order of the keys of `state` was 'a', 'b' and is now 'b', 'a'",
        "or as a plain dict, whose keys JAX sorts",
    ),
    "lost part": (
        lambda: {"a": X3, "b": X3},
        lambda: {"a": X3, "b": None},
        "argument `state['b']` was float32[3] and is now None",
        "pass None as `state['b']` in every call or in none",
    ),
    "bool": (lambda: 1, lambda: True, "was a Python int (weakly typed int32[]) and is now a Python bool (bool[])", ""),
}


@pytest.mark.parametrize("case", TREES)
def test_a_difference_of_trees_is_told_where_it_is(case):
    first, second, reason, remedy = TREES[case]
    step = fresh()
    ((found, advice),) = reasons(lambda: (step(first()), step(second())))
    assert reason in found
    assert remedy in advice


def test_several_shapes_in_one_argument_are_not_told_to_be_padded():
    step = fresh()
    ((_, remedy),) = reasons(lambda: (step({"w": X3, "b": X3}), step({"w": X4, "b": X4})))
    assert remedy == "pass `state` with arrays of the same shapes in every call"


def test_another_shape_and_another_dtype_both_get_a_remedy():
    step = fresh()
    ((_, remedy),) = reasons(lambda: (step(X3), step(np.ones(4, np.float16))))
    assert "`jnp.pad`" in remedy
    assert "`jnp.asarray(state, dtype=jnp.float32)`" in remedy


def test_many_differences_are_counted():
    step = fresh()
    ((found, _),) = reasons(lambda: (step([X3] * 20), step([X4] * 20)))
    assert found == "arguments `state[0]`, `state[1]`, `state[2]` and 17 more were float32[3] and are now float32[4]"
    step = fresh()
    ((found, _),) = reasons(lambda: (step([np.ones(n) for n in range(9)]), step([np.ones(n + 1) for n in range(9)])))
    assert found.endswith("argument `state[5]` was float32[5] and is now float32[6]; 3 more differences")


class Silent:
    def __init__(self, order):
        self.order = order


class Hashed(Silent):
    def __hash__(self):
        return hash(self.order)


class Compared(Hashed):
    def __eq__(self, other):
        return self.order == other.order

    __hash__ = Hashed.__hash__


@dataclasses.dataclass
class Run:
    depth: int
    log: list

    def __hash__(self):
        return hash((self.depth, tuple(self.log)))


class Scaling:
    """An object that can be called, without equality."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return self.scale * x


STATICS = {
    "no __eq__": (
        Silent(1),
        Silent(1),
        "again an object of type `Silent`, but not equal",
        "`__eq__` and `__hash__` in",
    ),
    "only __hash__": (Hashed(1), Hashed(1), "again an object of type `Hashed`", "which lacks `__eq__`"),
    "contents": (Compared(1), Compared(2), "static argument `x.order` was 1 and is now 2", "`Compared` compares its"),
    "log in the hash": (
        Run(2, []),
        Run(2, [0.5]),
        "static argument `x.log` was [] and is now [0.5]",
        "`Run` compares its `log`, and each value needs a separate trace: leave it out of `__eq__` and `__hash__`",
    ),
    "closures": (
        made_by_closures(0.1),
        made_by_closures(0.1),
        "static argument `x.init` is again `init`, but a new function object",
        "create `x` once, outside the loop",
    ),
    "not a number": (float("nan"), float("nan"), "is again nan, but not equal", "which is not equal to itself"),
    "long names": (
        "a" * 70 + "b",
        "a" * 70 + "c",
        "static argument `x` was ...aaaaaaaaaaaaaaaaaaaab' and is now ...aaaaaaaaaaaaaaaaaaaac'",
        "pass one `x`, or expect one for each",
    ),
    "type": (1, True, "static argument `x` was 1 and is now True", "`static_argnums`"),
    "function": (max, min, "static argument `x` was `max` and is now `min`", "each function needs a separate trace"),
    "object that can be called": (
        Scaling(1.0),
        Scaling(2.0),
        "static argument `x` is again an object of type `Scaling`, but not equal to the previous one",
        "define `__eq__` and `__hash__` in `Scaling`",
    ),
}


@pytest.mark.parametrize("case", STATICS)
def test_a_difference_of_static_arguments_is_told_with_its_field(case):
    first, second, reason, remedy = STATICS[case]
    step = fresh(static_argnums=1)
    ((found, advice),) = reasons(lambda: (step(X3, first), step(X3, second)))
    assert reason in found
    assert remedy in advice


def test_a_class_that_is_defined_again_is_told():
    def config():
        @dataclasses.dataclass(frozen=True)
        class Config:
            depth: int

        return Config(2)

    step = fresh(static_argnums=1)
    ((found, advice),) = reasons(lambda: (step(X3, config()), step(X3, config())))
    assert found.startswith("static argument `x` is again ")
    assert found.endswith(", but its class is another: its definition ran again")
    assert advice == "define the class once"
    step = fresh()
    ((found, advice),) = reasons(lambda: (step(State(X3, config())), step(State(X3, config()))))
    assert found.endswith(", but its class is another: its definition ran again")
    assert advice == "define the class once"


def test_a_static_argument_that_was_changed_in_place_is_told():
    config = Compared(1)
    with watch_traces() as traces:
        step = fresh(static_argnums=1)
        step(X3, config)
        config.order = 2
        step(X3, config)
    # JAX 0.10 finds the old trace by the object.
    assert [one.reason for one in traces.retraces] in (
        [],
        ["static argument `x` is the same object, but its hash or equality changed with its contents"],
    )


class Trainer:
    def update(self, w):
        return w - 1

    def fit(self, w):
        return jax.jit(self.update)(w)

    def __call__(self, w):
        return w + 1


def test_a_method_that_is_jitted_in_each_call_is_traced_each_time():
    trainer = Trainer()
    with watch_traces() as traces:
        for _ in range(3):
            trainer.fit(X3)
    assert (traces.traces, traces.compiles) == (3, 3)
    assert {one.reason for one in traces.retraces} == {
        "each access to the method makes a new object, and JAX forgot the earlier one with its trace"
    }
    update = trainer.update  # kept, so JAX finds its trace
    with watch_traces() as traces:
        for _ in range(2):
            jax.jit(update)(X4)
    assert (traces.traces, traces.retraces) == (1, [])


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "checkpoint"])
def test_a_transformation_in_each_call_is_named(name):
    def loss(w):
        return (w**2).sum()

    found = reasons(lambda: [jax.jit(getattr(jax, name)(loss))(X3) for _ in range(2)])
    assert found == [
        (
            "the function object is new, because a transformation such as `jax.grad` made another one of the same "
            "function",
            "apply the transformation and `jax.jit` once, outside the loop, and call the result",
        )
    ]


def test_a_new_callable_object_is_told():
    with watch_traces() as traces:
        for _ in range(2):
            jax.jit(Trainer())(X3)
    assert (traces.traces, traces.compiles) == (2, 2)
    assert [one.reason for one in traces.retraces] == ["the object that is called is a new `Trainer`"]


def test_settings_and_contexts_that_count_are_named_and_others_are_not():
    step = fresh()
    contexts = {
        "JAX's setting `jax_enable_x64` was False and is now True": lambda: jax.enable_x64(True),
        "JAX's setting `jax_numpy_rank_promotion` was allow and is now raise": lambda: jax.numpy_rank_promotion(
            "raise"
        ),
        "JAX's setting `jax_default_device` was None and is now": lambda: jax.default_device(jax.devices()[0]),
        "the mesh in context was none and is now the mesh ('x': 1)": lambda: jax.set_mesh(
            jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
        ),
    }
    step(X3)
    for reason, context in contexts.items():
        with watch_traces() as traces:
            step.clear_cache()
            step(X3)
            with context():
                step(X3)
        assert traces.retraces[-1].reason.startswith(reason)
    with watch_traces() as traces:
        step(X4)
        with jax.log_compiles(False), jax.debug_nans(True):
            step(X4)
    assert traces.traces == 1


def test_named_axes_are_told():
    step = fresh()

    def run():
        jax.vmap(step, axis_name="i")(np.ones((2, 3), np.float32))
        jax.vmap(step, axis_name="i")(np.ones((4, 3), np.float32))

    ((reason, _),) = reasons(run)
    assert reason == ("the set of named axes in scope, from `vmap` or `shard_map`, was {'i': 2} and is now {'i': 4}")


def test_a_reason_that_is_not_seen_is_not_guessed():
    unknown = Retrace("`step`", None, (), "compiled without a new trace")
    assert str(unknown).startswith("`step` was compiled without a new trace: its call is the same")
    assert "the reason is not known" in str(unknown)
    assert "jax_explain_cache_misses" in unknown.remedy


def test_what_a_listener_cannot_inspect_does_not_end_the_program(monkeypatch):
    monkeypatch.setattr(jit_events, "listeners_may_raise", False)

    class Broken:
        def __getattr__(self, name):
            raise RuntimeError("a bug")

    with jit_events.hearing(Broken()):
        assert fresh()(X3)[0].shape == (3,)


SEVERAL_DEVICES = """
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

from jaxguide.tracing import watch_traces

devices = np.array(jax.devices())
x = jnp.ones(8)
two, others, four = Mesh(devices[:2], ("x",)), Mesh(devices[2:], ("x",)), Mesh(devices, ("x",))
explicit = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))


def on(mesh, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


CASES = {
    "one device and a mesh": (x, on(two)),
    "another device": (x, jax.device_put(x, devices[1])),
    "committed": ({"a": x, "b": x}, {"a": x, "b": jax.device_put(x, devices[0])}),
    "sharded and replicated": (on(two, "x"), on(two)),
    "other devices": (on(two, "x"), on(others, "x")),
    "another mesh": (on(two, "x"), on(four, "x")),
    "explicit": (on(four, "x"), on(explicit, "x")),
    "several": ({"a": x, "b": x, "c": x}, {"a": on(two), "b": on(two), "c": on(two)}),
    "the same": (on(two, "x"), on(two, "x")),
}
found = {}
for name, calls in CASES.items():
    step = jax.jit(lambda state: jax.tree.map(lambda leaf: leaf + 1, state))
    with watch_traces() as traces:
        for call in calls:
            step(call)
    (one,) = traces
    found[name] = [one.traces, one.compiles, [[o.reason, o.remedy] for o in (*one.retraces, *one.recompiles)]]
print(json.dumps(found))
"""

PLACES = {
    "one device and a mesh": (
        2,
        "argument `state` was uncommitted on one device and is now replicated over the mesh ('x': 2)",
        "place `state` the same way before each call: `jax.device_put(x, sharding)`",
    ),
    "another device": (
        1,
        "argument `state` was not committed to a device and is now committed to cpu:1",
        "commit `state` in every call or in none",
    ),
    "committed": (
        1,
        "argument `state['b']` was not committed to a device and is now committed to cpu:0",
        "commit `state['b']` in every call or in none",
    ),
    "sharded and replicated": (
        1,
        "argument `state` was sharded as P('x') over the mesh ('x': 2) and is now replicated over the mesh ('x': 2)",
        "with one `sharding`",
    ),
    "other devices": (
        1,
        "argument `state` was sharded as P('x') over the mesh ('x': 2) of cpu:0, cpu:1 and is now sharded as P('x') "
        "over the mesh ('x': 2) of cpu:2, cpu:3",
        "a program is compiled for particular devices",
    ),
    "another mesh": (
        2,
        "argument `state` was sharded as P('x') over the mesh ('x': 2) and is now sharded as P('x') over the mesh "
        "('x': 4)",
        "with one `sharding`",
    ),
    "explicit": (
        2,
        "argument `state` was sharded as P('x') over the mesh ('x': 4) and is now sharded as P('x') over the mesh "
        "('x': 4; explicit)",
        "with one `sharding`",
    ),
    "several": (
        2,
        "arguments `state['a']`, `state['b']` and `state['c']` were uncommitted on one device and are now replicated "
        "over the mesh ('x': 2)",
        "place `state['a']` the same way",
    ),
}


def test_shardings_and_devices_are_told():
    environment = {
        **os.environ,
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL_DEVICES], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("the same") == [1, 1, []]
    for name, (traces, reason, remedy) in PLACES.items():
        assert found[name][:2] == [traces, 2]
        ((told, advice),) = found[name][2]
        assert told == reason
        assert remedy in advice
        assert "jnp.pad" not in advice

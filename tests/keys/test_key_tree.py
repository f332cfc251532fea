"""Test the tree of keys: right names, lines and marks, short trees of large programs, and readable in every format."""

import re
import xml.etree.ElementTree as ElementTree

import jax
import jax.numpy as jnp
import pytest
from jax import lax, random

from jaxguide.base.render import Picture
from jaxguide.keys import KeyStream, check_keys

KEYS = {
    "typed": lambda: random.key(7),
    "legacy": lambda: random.PRNGKey(7),
    "rbg": lambda: random.key(7, impl="rbg"),
}


def rows(fn, *args):
    """Return the tree's lines without line numbers and sources, with two spaces between columns."""
    lines = str(check_keys(fn, *args).tree).split("\n\n")[1].splitlines()
    shown = [re.match(r"([│ ]*)(.*?)\s*(line \d+.*)?$", line) for line in lines]
    return [match[1] + re.sub(r" {2,}", "  ", match[2]) for match in shown]


def three_ways(key):
    first, second, _third = random.split(key, 3)
    x = random.normal(first)
    y = random.normal(second)
    return x + y + random.uniform(second)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("around", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_it_shows_names_uses_and_states(kind, around):
    picture = check_keys(around(three_ways), KEYS[kind]()).tree
    assert isinstance(picture, Picture)
    assert picture.text.startswith("Keys of three_ways: 3 keys made, 3 draws, 1 key reused, 1 key not used.\n")
    assert rows(around(three_ways), KEYS[kind]()) == [
        "key  split into 3  ✓ spent",
        "├─ first  normal  ✓ spent",
        "├─ second  ✗ reused: drawn from twice",
        "│  ├─  normal",
        "│  └─  uniform",
        "└─ _third  ○ not used",
    ]
    assert "\n\n✗ `second` was drawn from twice (" in picture.text


def test_each_line_stands_beside_what_it_did():
    text = str(check_keys(three_ways, random.key(0)).tree)
    start = three_ways.__code__.co_firstlineno
    for offset, source in enumerate(
        ["first, second, _third = random.split(key, 3)", "x = random.normal(first)", "y = random.normal(second)"], 1
    ):
        assert f"line {start + offset}: {source}" in text


# Programs, and a line that their tree must contain.

CASES = []


def case(*expected):
    def register(fn):
        CASES.append((fn, expected))
        return fn

    return register


@case("├─ keys[0]  normal  ✓ spent", "├─ … 997 more", "└─ keys[999]  normal  ✓ spent")
def wide_split(key):
    keys = random.split(key, 1000)
    return jax.vmap(random.normal)(keys)


@case("│  └─  uniform", "├─ keys[50]  ✗ reused: drawn from twice", "├─ … 48 more", "└─ keys[99]  normal  ✓ spent")
def wide_split_with_one_mistake(key):
    keys = random.split(key, 100)
    return jax.vmap(random.normal)(keys).sum() + random.uniform(keys[50])


@case(
    "key  split into 2, 64 times over  ✓ spent",
    "├─ round 1: sub  normal  ✓ spent",
    "├─ … 61 more",
    "├─ round 64: sub  normal  ✓ spent",
    "└─ key after round 64  uniform  ✓ spent",
)
def long_scan(key):
    def step(key, x):
        key, sub = random.split(key)
        return key, x + random.normal(sub)

    key, xs = lax.scan(step, key, jnp.zeros(64))
    return xs.sum() + random.uniform(key)


@case(
    "key  split into 2, 64 times over  ✓ spent",
    "├─ round 1: sub  normal  ✓ spent",
    "├─ … 61 more",
    "├─ round 64: sub  normal  ✓ spent",
    "└─ key after round 64  … not followed",
    "key  uniform  ✓ spent",
)
def longer_scan(key):
    def step(key, x):
        key, sub = random.split(key)
        return key, x + random.normal(sub)

    key, xs = lax.scan(step, key, jnp.zeros(200))
    return xs.sum() + random.uniform(key)


@case(
    "key  split into 2, 4 times over  ✓ spent", "├─ round 2: sub  normal  ✓ spent", "└─ key after round 4  ○ not used"
)
def python_loop(key):
    total = 0.0
    for _ in range(4):
        key, sub = random.split(key)
        total += random.normal(sub)
    return total


@case("├─ round 2  ✗ reused: both split and drawn from", "├─ … 16 more  ✗ 16 of them reused")
def long_scan_with_a_mistake(key):
    def step(key, x):
        new, sub = random.split(key)
        return new, random.normal(sub) + random.normal(key)

    return lax.scan(step, key, jnp.zeros(20))[1]


@case("key  fold_in, 50 numbers  ✓ spent", "├─ k (0)  normal  ✓ spent", "├─ … 47 more", "└─ k (49)  normal  ✓ spent")
def folds_in_a_loop(key):
    total = 0.0
    for i in range(50):
        k = random.fold_in(key, i)
        total += random.normal(k)
    return total


@case(
    "key  fold_in, 3 numbers  ✓ spent",
    "│  ├─ k (0)  split into 2  ✓ spent",
    "│  │  └─ b  bernoulli  ✓ spent",
    "│  ├─ … 7 more",
    "│  └─ k (9)  split into 2  ✓ spent",
    "└─ epoch_key (2)  fold_in, 10 numbers  ✓ spent",
)
def loops_in_a_loop(key):
    total = 0.0
    for epoch in range(3):
        epoch_key = random.fold_in(key, epoch)
        for step in range(10):
            k = random.fold_in(epoch_key, step)
            a, b = random.split(k)
            total += random.normal(a) + random.bernoulli(b)
    return total


@case("├─ layer #0  normal  ✓ spent", "├─ layer #1  normal  ✓ spent", "└─ layer #2  normal  ✓ spent")
def loop_over_keys(key):
    return [random.normal(layer) for layer in random.split(key, 3)]


@case("├─ a  normal  ✓ spent", "├─ rest[0]  normal  ✓ spent", "└─ rest[1]  ○ not used")
def starred(key):
    a, *rest = random.split(key, 3)
    return random.normal(a) + random.normal(rest[0])


@case("├─ self.a  normal  ✓ spent", "└─ d['b']  uniform  ✓ spent")
def attributes_and_elements(key):
    class Box:
        pass

    self, d = Box(), {}
    self.a, d["b"] = random.split(key)
    return random.normal(self.a) + random.uniform(d["b"])


@case("key  from seed 3  ✓ spent", "└─  split into 2", "   ├─ a  normal  ✓ spent")
def seeded(_key):
    key = random.key(3)
    a, _ = random.split(key)
    return random.normal(a)


@case("a key  from seed 3, 2 times  ✗ reused: built from one seed twice")
def seeded_twice(_key):
    return random.normal(random.key(3)) + random.normal(random.key(3))


@case("key  ✗ reused: split twice", "│  ├─ a  ✗ reused: drawn from twice", "└─  split into 2")
def split_twice(key):
    a, b = random.split(key)
    c, d = random.split(key)
    return random.normal(a) + random.normal(b) + random.normal(c) + random.normal(d)


@case("key  ✗ reused: the same number was folded into a key twice", "├─ a, fold_in 3  ✗ reused: drawn from twice")
def folded_twice(key):
    a = random.fold_in(key, 3)
    b = random.fold_in(key, 3)
    return random.normal(a), random.normal(b)


@case("key  normal, 5 times  ✗ reused: drawn from 5 times")
def drawn_in_a_loop(key):
    return [random.normal(key) for _ in range(5)]


@case("key  normal  ✗ reused: used for several rows")
def shared_by_rows(key):
    return jax.vmap(lambda x: x + random.normal(key))(jnp.ones(4))


@case("key  ✓ spent", "├─  clone")
def cloned(key):
    return random.normal(key) + random.normal(random.clone(key))


@case(
    "key  KeyStream  ✓ spent",
    "└─ stream  ✓ spent",
    "   ├─ fold_in 0  normal  ✓ spent",
    "   └─ fold_in 1  split into 2  ✓ spent",
    "      ├─ b  normal  ✓ spent",
)
def with_a_stream(key):
    stream = KeyStream(key)
    a = random.normal(stream.next())
    b, c = stream.take(2)
    return a + random.normal(b) + random.normal(c)


@pytest.mark.parametrize(("fn", "expected"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_the_tree_has_the_line(fn, expected):
    found = rows(fn, random.key(0))
    for line in expected:
        assert line in found
    assert len(found) <= 40


def test_a_helper_that_is_called_twice_is_told_by_its_calls():
    def dropout(key, x):
        return jnp.where(random.bernoulli(key, 0.5, x.shape), x, 0.0)

    def network(key):
        h = dropout(key, jnp.ones(3))
        return dropout(key, h)

    text = str(check_keys(network, random.key(0)).tree)
    assert re.search(r"├─ +bernoulli +line \d+: h = dropout\(key, jnp.ones\(3\)\)", text)
    assert re.search(r"└─ +bernoulli +line \d+: return dropout\(key, h\)", text)


def test_arguments_are_named_as_the_function_calls_them():
    def loss(params, stream, *rest):
        return random.normal(params["rng"]) + random.normal(stream.next()) + random.normal(rest[1][0])

    found = rows(
        loss, {"rng": random.key(0), "other": random.key(1)}, KeyStream(2), 1.0, random.split(random.key(3), 2)
    )
    assert found == [
        "params['other']  ○ not used",
        "params['rng']  normal  ✓ spent",
        "stream.key  fold_in 0  ✓ spent",
        "└─ a key  normal  ✓ spent",
        "rest[1][0]  normal  ✓ spent",
        "rest[1][1]  ○ not used",
    ]


def test_a_key_from_an_enclosing_scope_and_rows_under_vmap_have_their_names():
    closed = random.key(3)
    assert rows(lambda x: x + random.normal(closed), 1.0) == ["closed  normal  ✓ spent"]

    def some(keys, flags):
        return jax.vmap(lambda k, flag: lax.cond(flag, random.normal, lambda k: 0.0, k))(keys, flags)

    found = rows(some, random.split(random.key(0), 3), jnp.array([True, False, True]))
    assert found == ["keys[0]  normal  ✓ spent", "keys[1]  ○ not used", "keys[2]  normal  ✓ spent"]


def test_deep_and_bushy_programs_stay_small():
    def chain(key, depth):
        if depth == 0:
            return random.normal(key)
        a, b = random.split(key)
        return chain(a, depth - 1) + random.normal(b)

    def bush(key, depth):
        if depth == 0:
            return random.normal(key)
        a, b = random.split(key)
        return bush(a, depth - 1) + bush(b, depth - 1)

    for fn, depth, folded in ((chain, 150, r"… 2\d\d keys below"), (bush, 7, r"… 30 keys below")):
        found = rows(fn, random.key(0), depth)
        assert len(found) <= 60
        assert re.search(folded, "\n".join(found))


def test_a_mistake_in_a_part_that_is_left_out_is_told():
    def deep(key, depth):
        if depth == 0:
            return random.normal(key) + random.normal(key)
        a, _ = random.split(key)
        return deep(a, depth - 1)

    assert any("keys below" in row and "✗ 1 of them reused" in row for row in rows(deep, random.key(0), 30))


def test_keys_are_counted_and_a_program_without_keys_says_so():
    assert str(check_keys(lambda x: x + 1, 1.0).tree) == "Keys of <lambda>: no keys were used."
    text = str(check_keys(wide_split, random.key(0)).tree)
    assert text.startswith("Keys of wide_split: 1000 keys made, 1000 draws, no key")


def test_a_program_that_needs_values_is_drawn_too():
    def branch(key, x):
        return random.normal(key) if x > 0 else x

    assert rows(branch, random.key(0), jnp.float32(1)) == ["key  normal  ✓ spent"]


# The formats of the picture.


def test_the_svg_has_a_title_a_description_and_the_same_words():
    picture = check_keys(three_ways, random.key(0)).tree
    root = ElementTree.fromstring(picture.svg)
    space = "{http://www.w3.org/2000/svg}"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None
    assert title.text == "Keys of three_ways"
    assert description is not None
    assert description.text.startswith("Keys of three_ways: 3 keys made")
    assert "`second` was drawn from twice" in description.text
    words = [text.text for text in root.iter(f"{space}text")]
    for said in ("key", "split into 3", "✓ spent", "✗ reused: drawn from twice", "○ not used", "uniform"):
        assert said in words
    width, height = float(root.get("width")), float(root.get("height"))
    (box,) = root.iter(f"{space}rect")
    assert box.find(f"{space}title").text == "✗ reused: drawn from twice"
    assert 0 <= float(box.get("x")) <= float(box.get("x")) + float(box.get("width")) <= width
    assert 0 <= float(box.get("y")) <= float(box.get("y")) + float(box.get("height")) <= height
    assert box.get("fill") == "none"


def test_a_notebook_gets_the_drawing_the_mistakes_and_the_text():
    def noisy(key, x):
        return (x < 1) * random.normal(key) + random.normal(key)

    picture = check_keys(noisy, random.key(0), 1.0).tree
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.text == repr(picture)
    html = bundle["text/html"]
    assert "<svg" in html
    assert "<details><summary>As text</summary><pre" in html
    assert re.search(r"✗ <code[^>]*>key</code> was drawn from twice", html)
    assert "(x &lt; 1)" in html
    assert "<table" not in html
    assert "<style" not in html
    ElementTree.fromstring(html)  # well formed

"""Test that the lessons' data are the same on every computer, and what their docstrings promise."""

import hashlib

import numpy as np
import pytest
from scipy.special import j1

from jaxguide.data import harbour, moons, rings, sensors


@pytest.mark.parametrize(
    ("arrays", "digest"),
    [
        ([harbour()], "950b2eb1a823befb"),
        ([sensors(256, 96)], "40727295eeb5a420"),
        (moons(200), "81e5942b87b4b2cd"),
        (rings(80), "7a4fd9b076847d80"),
    ],
    ids=["harbour", "sensors", "moons", "rings"],
)
def test_every_byte_is_known(arrays: list[np.ndarray], digest: str) -> None:
    assert hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16] == digest


def test_the_harbour_has_dead_pixels_and_burnt_out_spots() -> None:
    picture = harbour()
    dead, burnt_out = picture == 0, picture == 255
    assert dead.sum() == 200
    assert burnt_out.sum() == 123
    rest = picture[~dead & ~burnt_out]
    assert rest.min() >= 10
    assert rest.max() <= 235


def test_each_moon_is_half_a_circle() -> None:
    points, labels = moons(201)
    assert labels.tolist() == [0, 1] * 100 + [0]
    from_centre = points - np.stack([labels, 0.5 * labels], axis=1)
    assert abs(np.hypot(*from_centre.T) - 1).max() < 0.4
    assert from_centre[labels == 0, 1].min() > -0.4
    assert from_centre[labels == 1, 1].max() < 0.4


def test_the_rings_follow_their_formula() -> None:
    radii, intensities = rings(500)
    x = radii / 1.3
    off = intensities - (2 * j1(x) / x) ** 2
    assert 0.0035 < off.std() < 0.0045
    assert radii[0] == np.float32(0.1)
    assert radii[-1] == 12

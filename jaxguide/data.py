"""Provide data for lessons, drawn with NumPy: fixed seeds and rounding make it the same on every computer."""

import numpy as np
from numpy.typing import NDArray

# `RandomState` gives the same numbers in every release of NumPy; `default_rng` does not promise that.


def harbour() -> NDArray[np.uint8]:
    """Return a noisy photograph of a harbour.

    >>> from jaxguide.data import harbour
    >>> picture = harbour()
    >>> picture.shape, picture.dtype, int((picture == 0).sum())
    ((128, 128), dtype('uint8'), 200)

    Returns:
        uint8[128,128]. The 200 dead pixels are 0, the burnt-out spots 255, and all others 10 to 235.
    """
    random = np.random.RandomState(7)
    y, x = np.indices((128, 128))
    picture = np.where(y < 76, 130.0 + y, 95 + 12 * np.sin(0.9 * y + 2 * np.sin(x / 9)))  # sky and water
    picture[(y > 68 - 8 * np.sin(x / 20)) & (y < 76)] = 85  # hills
    crane = (105, 12, 110, 92), (46, 20, 122, 24), (52, 24, 53, 50), (47, 50, 58, 58)
    for left, top, right, bottom in ((88, 92, 128, 128), *crane):  # a quay, and a crane on it
        picture[top:bottom, left:right] = 50
    picture[(abs(7 * y + x - 191) < 7) & (x > 50) & (x < 107)] = 50  # its cable
    for mast, water, size in ((18, 84, 14), (74, 86, 12), (46, 112, 24)):  # boats
        picture[(abs(x - mast) < water + size - y) & (y > water) & (y < water + size // 3)] = 35
        picture[(x > mast) & (2 * (x - mast) < y - water + 2 * size) & (y < water - 1)] = 225
    picture = (picture + random.normal(0, 6, picture.shape)).clip(10, 235)
    for row, column in random.randint(5, 123, (6, 2)):
        picture[(y - row) ** 2 + (x - column) ** 2 < 8] = 255
    picture.flat[random.permutation(128 * 128)[:200]] = 0
    return picture.round().astype(np.uint8)


def sensors(b: int, n: int) -> NDArray[np.float32]:
    """Return temperatures of a day, as measured at many places.

    >>> from jaxguide.data import sensors
    >>> series = sensors(256, 96)
    >>> series.shape, series.dtype
    ((256, 96), dtype('float32'))

    Args:
        b: how many places.
        n: how many measurements at each, evenly over the day.

    Returns:
        float32[b,n]: a row for each place, in degrees Celsius, with noise.
    """
    random = np.random.RandomState(2)
    mean, swing, warmest = random.uniform((8, 2, 0.5), (18, 8, 0.7), (b, 3)).T[:, :, None]
    waves: NDArray[np.float64] = mean + swing * np.cos(2 * np.pi * (np.arange(n) / n - warmest))
    return (waves + random.normal(0, 1, (b, n))).astype(np.float32)


def moons(n: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return points on two interleaved half moons, with noise.

    >>> from jaxguide.data import moons
    >>> points, labels = moons(200)
    >>> points.shape, points.dtype, labels[:4]
    ((200, 2), dtype('float32'), array([0, 1, 0, 1], dtype=int32))

    Args:
        n: how many points.

    Returns:
        A tuple `(points, labels)`: the points, float32[n,2], and the moon of each, int32[n]: 0 for the upper
        one and 1 for the lower one, in turn.
    """
    random = np.random.RandomState(3)
    labels = np.arange(n, dtype=np.int32) % 2
    angles = np.pi * (random.uniform(0, 1, n) + labels)
    centres = np.stack([labels, 0.5 * labels], axis=1)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1) + centres
    return (points + random.normal(0, 0.1, (n, 2))).astype(np.float32), labels


def rings(n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the light behind a small round hole: bright in the middle, with rings around it, and noise.

    >>> from jaxguide.data import rings
    >>> radii, intensities = rings(80)
    >>> radii.shape, radii.dtype, intensities.shape, intensities.dtype
    ((80,), dtype('float32'), (80,), dtype('float32'))

    Args:
        n: how many measurements.

    Returns:
        A tuple `(radii, intensities)` of float32[n]: the distances from the middle, from 0.1 to 12, and the intensities
        there: (2 J₁(x) / x)² with x = radius / 1.3, and noise of 0.004.
    """
    from scipy.special import j1  # Only this needs SciPy.

    random = np.random.RandomState(4)
    radii = np.linspace(0.1, 12, n)
    x = radii / 1.3
    intensities = (2 * j1(x) / x) ** 2 + random.normal(0, 0.004, n)
    return radii.astype(np.float32), intensities.astype(np.float32)

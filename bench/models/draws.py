"""Seeded numbers that are the same bits on every machine.

Parameters of light models and of restored skeletons come from here. The bits are those of
Philox4x64-10, a counter-based generator whose raw stream numpy keeps stable, and everything after
them is integer arithmetic plus single IEEE-754 operations (one multiply, one add), which every
machine rounds alike. No function of the maths library is used, because those differ in the last
bit from one platform to the next.
"""

import hashlib

import numpy as np

# 2^18 draws per step keep the temporary arrays inside a processor cache.
CHUNK_DRAWS = 1 << 18

# The sum of four independent 16-bit integers is bell-shaped; these are its exact mean and its
# standard deviation sqrt(4 * (2^32 - 1) / 12), written out so that no square root is computed.
SUM_MEAN = np.float32(4 * 65535 / 2)
SUM_DEVIATION = np.float32(37837.226971876606)


def seed_of(*parts):
    """Returns a 128-bit seed that names its parts, so that no tensor depends on another's draws."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


def _in_chunks(seed, count, draw):
    """Fills a float32 array of `count` numbers, `draw` turning raw 64-bit words into numbers."""
    generator = np.random.Philox(key=seed)
    result = np.empty(count, dtype=np.float32)
    for begin in range(0, count, CHUNK_DRAWS):
        size = min(CHUNK_DRAWS, count - begin)
        words = generator.random_raw(size).astype("<u8", copy=False)
        result[begin : begin + size] = draw(words)
    return result


def uniform(seed, count, low, high):
    """Returns `count` float32 numbers in [low, high).

    The number lies in the middle of one of 2^23 cells, so that a range around zero gives no zero.
    """
    low, high = np.float32(low), np.float32(high)
    step = np.float32((high - low) * np.float32(2.0**-24))

    def draw(words):
        odd = ((words >> np.uint64(41)).astype(np.uint32) << np.uint32(1)) | np.uint32(1)
        return odd.astype(np.float32) * step + low

    return _in_chunks(seed, count, draw)


def normal(seed, count, mean, deviation):
    """Returns `count` float32 numbers, bell-shaped around `mean` and within 3.5 deviations of it.

    A sum of four uniforms is close enough to a normal for parameters, and is exact arithmetic.
    """
    mean = np.float32(mean)
    scale = np.float32(np.float32(deviation) / SUM_DEVIATION)

    def draw(words):
        quarters = words.view("<u2").reshape(-1, 4).astype(np.uint32)
        total = quarters.sum(axis=1, dtype=np.uint32)
        return (total.astype(np.float32) - SUM_MEAN) * scale + mean

    return _in_chunks(seed, count, draw)

"""The built-in picture descriptor in plain numpy (double), from the formula at
the head of src/embed/hog.c: every step is a dense product or a sum over all
pixels, with nothing saved. One picture at a time, short and slow on purpose.
"""
import numpy as np

LONGEST = 64
DIRECTIONS = 9
FLOOR = .05
CLIP = .25
WEIGHT = .5


def area_weights(pixels, cells):
    """[cells, pixels]: the part of each output pixel that an input pixel covers."""
    width = pixels / cells
    left = np.maximum.outer(np.arange(cells) * width, np.arange(pixels))
    right = np.minimum.outer((np.arange(cells) + 1) * width, np.arange(pixels) + 1)
    return np.maximum(right - left, 0) / width


def resize(picture, h, w):
    """[height, width, channels] -> [h, w, channels], means over areas."""
    height, width, _ = picture.shape
    return np.einsum("yi,xj,ijc->yxc", area_weights(height, h), area_weights(width, w), picture.astype(float),
                     optimize=True)


def small_shape(height, width):
    longest = max(height, width)
    if longest <= LONGEST:
        return height, width
    return tuple(max(1, int(np.floor(LONGEST * side / longest + .5))) for side in (height, width))


def without_alpha(picture):
    return picture[:, :, :{1: 1, 2: 1, 3: 3, 4: 3}[picture.shape[2]]]


def gradients(p):
    """[h, w, channels] -> gx, gy [h, w] of the channel where they are largest."""
    wide = np.concatenate([p[:, :1], p, p[:, -1:]], 1)
    tall = np.concatenate([p[:1], p, p[-1:]], 0)
    gx, gy = wide[:, 2:] - wide[:, :-2], tall[2:] - tall[:-2]
    best = np.argmax(gx ** 2 + gy ** 2, axis=2)[:, :, None]
    return np.take_along_axis(gx, best, 2)[:, :, 0], np.take_along_axis(gy, best, 2)[:, :, 0]


def by_direction(gx, gy):
    """[h, w, 9]: each magnitude shared by the circular distance to the directions."""
    turn = DIRECTIONS * (np.angle(gx + 1j * gy) % np.pi) / np.pi
    away = np.abs(turn[:, :, None] - np.arange(DIRECTIONS))
    away = np.minimum(away, DIRECTIONS - away)
    return np.hypot(gx, gy)[:, :, None] * np.maximum(0, 1 - away)


def cells_along(size, cell):
    return max(1, int(np.floor(size / cell + .5)))


def shares(size, n):
    """[n, size]: how much of a pixel goes to each cell."""
    u = (np.arange(size) + .5) * n / size - .5
    return np.maximum(0, 1 - np.abs(u - np.arange(n)[:, None])) * n / size


def members(size, n):
    """[n, size]: rows that average the pixels of each thumbnail cell."""
    inside = (np.arange(size) * n // size == np.arange(n)[:, None]).astype(float)
    return inside / inside.sum(1, keepdims=True)


def normalised(b):
    return b / np.sqrt((b * b).sum() + FLOOR ** 2)


def describe(picture):
    """uint8 [height, width, channels] -> [D]."""
    h, w = small_shape(*picture.shape[:2])
    p = np.sqrt(without_alpha(resize(picture, h, w)) / 255)
    cell = max(2, int(np.ceil(max(h, w) / 8)))
    ny, nx = cells_along(h, cell), cells_along(w, cell)
    cells = np.einsum("jy,ix,yxk->jik", shares(h, ny), shares(w, nx), by_direction(*gradients(p)))
    blocks = [normalised(np.minimum(normalised(cells[y:y + 2, x:x + 2].ravel()), CLIP))
              for y in range(max(1, ny - 1)) for x in range(max(1, nx - 1))]
    thumbnail = np.einsum("jy,ix,yxc->jic", members(h, ny), members(w, nx), p).ravel()
    thumbnail *= WEIGHT * np.sqrt(len(blocks) / len(thumbnail))
    return np.concatenate(blocks + [thumbnail])

"""What a notebook shows: a histogram as SVG, small pictures as PNG."""

import base64
import html
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT, _FOOT, _BINS = 480, 120, 34, 48


def histogram(ratios: npt.NDArray[np.float64], flagged: npt.NDArray[np.bool_]) -> str:
    """Samples by their ratio, flagged ones dark: SVG. The tallest bar is cut where it dwarfs the others."""
    kept = np.isfinite(ratios)
    if not kept.any():
        return ""
    low, high = np.quantile(ratios[kept], [0, 1])
    high = max(high, low + 1e-6)
    edges = np.linspace(low, high, _BINS + 1)
    counts = [np.histogram(ratios[kept & mask], edges)[0] for mask in (np.ones(len(ratios), bool), flagged)]
    # Square roots, so that a handful of suspects shows beside thousands of others.
    scale = (_HEIGHT - 8) / max(1.0, float(np.sqrt(counts[0].max())))
    step = _WIDTH / _BINS
    bars = []
    for values, colour in zip(counts, ("#b8c4d6", "#c0392b"), strict=True):
        for place, count in enumerate(values):
            if count > 0:
                height = max(1.0, scale * float(np.sqrt(count)))
                bars.append(
                    f'<rect x="{place * step:.1f}" y="{_HEIGHT - height:.1f}" width="{step - 1:.1f}" '
                    f'height="{height:.1f}" fill="{colour}"><title>{edges[place]:.3g} to {edges[place + 1]:.3g}: '
                    f"{count:,}</title></rect>"
                )
    ticks = "".join(
        f'<text x="{share * _WIDTH:.0f}" y="{_HEIGHT + 13}" text-anchor="{anchor}">{low + share * (high - low):.2f}</text>'
        for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + _FOOT}" width="{_WIDTH}" role="img" '
        f'style="font: 11px sans-serif; fill: currentColor">{"".join(bars)}'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}" stroke="currentColor"/>{ticks}'
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 28}" text-anchor="middle">own error / best other error (rer); '
        "red: flagged labels; heights are square roots of counts</text></svg>"
    )


def png(picture: npt.NDArray[np.uint8]) -> bytes:
    """[H, W], [H, W, 1..4] of uint8 as a PNG file."""
    if picture.ndim == 2:
        picture = picture[:, :, None]
    height, width, channels = picture.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row starts with its filter, 0: none
    rows[:, 1:] = picture.reshape(height, width * channels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


class Page:
    """A report that a notebook shows in place; str() of it is the HTML."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<a report of {len(self._text):,} characters; a notebook shows it, report(path) writes it>"

    def _repr_html_(self) -> str:
        # A page of its own, so that neither's styles reach the other; as high as the window, for it scrolls itself.
        return (
            f'<iframe srcdoc="{html.escape(self._text, quote=True)}" title="rer report" '
            'style="width: 100%; height: 90vh; min-height: 600px; border: 0"></iframe>'
        )


def image_tag(picture: npt.NDArray[Any], title: str) -> str:
    data = base64.b64encode(png(np.ascontiguousarray(picture, np.uint8))).decode()
    # In style: notebooks have a rule for the height of pictures, which an attribute would lose against.
    style = "height: 64px; width: auto; max-width: none; margin: 2px; image-rendering: pixelated"
    return f'<img src="data:image/png;base64,{data}" style="{style}" title="{html.escape(title, quote=True)}">'

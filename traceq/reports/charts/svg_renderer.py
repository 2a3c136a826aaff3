"""matplotlib's drawing as SVG elements without styles: its own SVG backend cannot do without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, cast

from matplotlib.backend_bases import RendererBase
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from traceq.printable import printable
from traceq.reports.charts.palette import in_css

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text
    from matplotlib.transforms import Transform

_POINTS_PER_INCH = 72
_ANCHORS = {"center": "middle", "right": "end"}
_LETTERS: dict[Any, str] = {Path.CURVE3: "Q", Path.CURVE4: "C"}

# Red, green, blue and, perhaps, alpha.
_Rgb = Sequence[float]


class SvgRenderer(RendererBase):
    """Collects `elements`. `height` in pixels, `font` is the size in points that the element <svg> itself asks for.

    Nothing is clipped: charts choose their limits. There are no images.
    """

    def __init__(self, height: int, dpi: float, font: float) -> None:
        super().__init__()
        self.elements: list[str] = []
        self._height = height
        self._dpi = dpi
        self._font = font
        self._upside_down = Affine2D().scale(1, -1).translate(0, height)

    def flipy(self) -> bool:
        """SVG counts from the upper edge."""
        return True

    def get_canvas_width_height(self) -> tuple[float, float]:
        """Only the height matters, to turn what counts from the lower edge."""
        return 0, self._height

    def points_to_pixels(self, points: Any) -> Any:
        """At the dpi of the figure."""
        return points * self._dpi / _POINTS_PER_INCH

    def draw_path(
        self,
        gc: GraphicsContextBase,
        path: Path,
        transform: Transform,
        rgbFace: Any = None,  # noqa: N803 (matplotlib's name)
    ) -> None:
        """A path element, unless nothing of it can be seen."""
        paint = [*self._fill(gc, rgbFace), *self._stroke(gc)]
        data = _data(path, transform + self._upside_down)
        if data and (rgbFace is not None or gc.get_linewidth()):
            self.elements.append(f'<path d="{data}" {" ".join(paint)}/>')

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: bool | str = False,  # noqa: ARG002 (our style has no formulas)
        mtext: Text | None = None,
    ) -> None:
        """A text element, anchored as the text is aligned: the page's font has other widths than the one of the layout."""
        attributes = []
        if mtext is not None and not angle:
            x = float(mtext.get_transform().transform(mtext.get_unitless_position())[0])
            anchor = _ANCHORS.get(str(mtext.get_horizontalalignment()))
            attributes += [f'text-anchor="{anchor}"'] if anchor else []
        at = f'x="{number(x)}" y="{number(y)}"'
        if angle:
            attributes.append(f'transform="rotate({number(-angle)} {number(x)} {number(y)})"')
        if prop.get_size_in_points() != self._font:
            attributes.append(f'font-size="{number(self.points_to_pixels(prop.get_size_in_points()))}"')
        colour = _colour(gc.get_rgb())
        attributes += [f'fill="{colour}"'] if colour != "currentColor" else []
        self.elements.append(f"<text {' '.join((at, *attributes))}>{escape(printable(s))}</text>")

    def _fill(self, gc: GraphicsContextBase, face: _Rgb | None) -> Iterator[str]:
        if face is None:
            yield 'fill="none"'
            return
        yield f'fill="{_colour(face)}"'
        yield from _opacity("fill-opacity", gc, face)

    def _stroke(self, gc: GraphicsContextBase) -> Iterator[str]:
        if not gc.get_linewidth():
            return
        yield f'stroke="{_colour(gc.get_rgb())}"'
        width = number(self.points_to_pixels(gc.get_linewidth()))
        if width != "1":
            yield f'stroke-width="{width}"'
        yield from _opacity("stroke-opacity", gc, gc.get_rgb())
        dashes = cast("Sequence[float] | None", gc.get_dashes()[1])
        if dashes is not None:
            yield f'stroke-dasharray="{" ".join(number(self.points_to_pixels(each)) for each in dashes)}"'


def _opacity(attribute_name: str, gc: GraphicsContextBase, colour: _Rgb) -> Iterator[str]:
    alpha = gc.get_alpha() if gc.get_forced_alpha() or len(colour) == 3 else colour[3]  # noqa: PLR2004
    if alpha != 1:
        yield f'{attribute_name}="{alpha:.2g}"'


def _colour(rgb: _Rgb) -> str:
    hexadecimal = "#" + "".join(f"{round(part * 255):02x}" for part in rgb[:3])
    return in_css(hexadecimal) or hexadecimal


def _data(path: Path, transform: Transform) -> str:
    """The path's data; lines along an axis, of which there are many, in short, and none that is too short to be seen."""
    parts = []
    last = ("", "")
    segments = cast("Iterable[tuple[Any, int]]", path.iter_segments(transform, simplify=False))
    for points, code in segments:
        if code == Path.CLOSEPOLY:
            parts.append("Z")
            continue
        pairs = [(number(x), number(y)) for x, y in zip(points[::2], points[1::2], strict=True)]
        end = pairs[-1]
        if code == Path.MOVETO:
            parts.append(f"M{end[0]} {end[1]}")
        elif code in _LETTERS:
            parts.append(_LETTERS[code] + " ".join(f"{x} {y}" for x, y in pairs))
        elif end != last:
            parts.append(_line(last, end, parts))
        last = end
    return "".join(parts)


def _line(start: tuple[str, str], end: tuple[str, str], before: list[str]) -> str:
    """Also takes back the line before where this one goes on in its direction."""
    letter = "V" if start[0] == end[0] else "H" if start[1] == end[1] else "L"
    if letter != "L" and before and before[-1][0] == letter:
        before.pop()
    return f"L{end[0]} {end[1]}" if letter == "L" else f"{letter}{end[1] if letter == 'V' else end[0]}"


def number(value: float) -> str:
    """A tenth of a pixel is exact enough; as short as can be."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def attribute(text: str) -> str:
    """`text` fit to stand between double quotes."""
    return escape(printable(text))

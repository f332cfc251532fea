"""Render results as text, HTML and SVG that suit light and dark themes and screen readers."""

from jaxguide.base.render.picture import Picture
from jaxguide.base.render.svg import Drawing

__all__ = ["Drawing", "Picture"]

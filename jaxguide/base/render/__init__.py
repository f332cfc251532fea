"""Show what helpers found as text, HTML and SVG that read well in light and dark, on screen and to screen readers."""

from jaxguide.base.render.picture import Picture
from jaxguide.base.render.svg import Drawing

__all__ = ["Drawing", "Picture"]

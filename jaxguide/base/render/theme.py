"""Define colours and fonts that follow JupyterLab's and VS Code's theme, light or dark.

JupyterLab's sanitizer, which untrusted notebooks pass through, keeps `style` but drops declarations that are not in its
grammar, including most that use `var(...)`. So important declarations have a plain one before the one with a variable.
"""

FOREGROUND = "var(--jp-content-font-color1, var(--vscode-editor-foreground, CanvasText))"
BACKGROUND = "var(--jp-layout-color1, var(--vscode-editor-background, Canvas))"
LINE = "var(--jp-border-color1, var(--vscode-panel-border, GrayText))"
CODE_FONT = "var(--jp-code-font-family, var(--vscode-editor-font-family, monospace))"

# Tone -> a fixed colour, then the theme's. Only edges are coloured, so text keeps the theme's contrast.
EDGES = {
    "good": ("#388e3c", "var(--jp-success-color1, var(--vscode-testing-iconPassed, #388e3c))"),
    "partly": ("#c77700", "var(--jp-warn-color1, var(--vscode-editorWarning-foreground, #c77700))"),
    "bad": ("#d32f2f", "var(--jp-error-color1, var(--vscode-testing-iconFailed, #d32f2f))"),
    # JupyterLab's border colour is too faint (contrast 1.9 to 1 on white) for the lines of a drawing.
    "quiet": ("#757575", "var(--vscode-descriptionForeground, #757575)"),
}

WRAP = "white-space:pre-wrap;overflow-wrap:break-word;word-break:normal"
CODE = f"{WRAP};font-family:{CODE_FONT};background:none;color:inherit;padding:0;margin:0;border:0"


def edge(tone: str, width_px: int) -> str:
    """Return the CSS of a coloured left edge.

    >>> edge("good", 5).split(";")[0]
    'border-left-width:5px'
    """
    own, theme = EDGES[tone]
    return f"border-left-width:{width_px}px;border-left-style:solid;border-left-color:{own};border-left-color:{theme}"


def frame(tone: str) -> str:
    """Return the CSS of a box with a coloured left edge, in the theme's colours."""
    return (
        f"background-color:{BACKGROUND};color:{FOREGROUND};{edge(tone, 5)};"
        "padding:0.5em 0.5em 0.5em 1em;margin:0.3em 0;max-width:60em;line-height:1.45"
    )


# Kinds of code -> JupyterLab's colour for it. Elsewhere, and in untrusted notebooks, code has the colour of text.
TOKENS = {
    "keyword": "font-weight:bold;color:var(--jp-mirror-editor-keyword-color, inherit)",
    "string": "color:var(--jp-mirror-editor-string-color, inherit)",
    "number": "color:var(--jp-mirror-editor-number-color, inherit)",
    "comment": "font-style:italic;color:var(--jp-mirror-editor-comment-color, inherit)",
    "builtin": "color:var(--jp-mirror-editor-builtin-color, inherit)",
}

"""A page to explore explanations with: one file, nothing loaded from anywhere, safe with any text."""

import json
from collections.abc import Sequence
from importlib.resources import files

from nmt_cli.drawing.attention import attention_svg, markup_text
from nmt_cli.explanation.explanation import Explanation

# Nothing may be fetched, whatever a sentence contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

_SCRIPTS = ("elements.js", "attention.js", "beam.js", "page.js")  # in the order in which they need each other

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="note">{note}</p>
</header>
<main id="explanations"></main>
<noscript>
<p>The interactive view needs JavaScript; this is the picture without it.</p>
{pictures}
</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def explanation_page(explanations: Sequence[Explanation]) -> str:
    """The page of one or more explanations of one model."""
    first = explanations[0]
    languages = f"{first.source_lang} → {first.target_lang}"
    return _PAGE.format(
        policy=_POLICY,
        title=markup_text(f"nmt explain: {first.system}, {languages}"),
        note=markup_text(first.note),
        style=_resource("page.css"),
        pictures="\n".join(map(_picture, explanations)),
        data=script_data([explanation.to_data() for explanation in explanations]),
        script="\n".join(map(_resource, _SCRIPTS)),
    )


def script_data(data: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _picture(explanation: Explanation) -> str:
    said = f"<p>{markup_text(explanation.source)}<br>{markup_text(explanation.translation)}</p>"
    if explanation.word_attention is None:
        return said
    return said + attention_svg(
        explanation.source_labels, explanation.target_labels, explanation.word_attention
    )


def _resource(name: str) -> str:
    return files("nmt_cli.explanation").joinpath(name).read_text(encoding="utf-8")

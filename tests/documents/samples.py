"""Documents with as many peculiarities of their formats as fit on a page."""

PO = r"""# Translators
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. extracted
#: main.c:10
#, c-format
msgid "Copied %s to %s.\n"
msgstr ""

# a human wrote this
#: main.c:12
msgctxt "menu"
msgid "_Open"
msgstr ""

#: main.c:14
#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#| msgid "old"
msgid ""
"a long text that spans lines and contains a \"quotation\", a\ttab and a back\\slash "
"and goes on"
msgstr ""

#, fuzzy
msgid "unsure"
msgstr "unsicher"

msgid "done"
msgstr "fertig"

#~ msgid "obsolete"
#~ msgstr "veraltet"
"""

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file source-language="en" original="a" datatype="plaintext">
    <body>
      <trans-unit id="1">
        <source>Click <g id="1">the button</g> &amp; wait<x id="2"/>.</source>
      </trans-unit>
      <trans-unit id="2"><source>Empty</source><target/></trans-unit>
      <trans-unit id="3"><source>Human</source><target state="final">Mensch</target></trans-unit>
      <trans-unit id="4" translate="no"><source>Keep</source></trans-unit>
    </body>
  </file>
</xliff>
"""

XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f"><unit id="u"><segment id="s"><source>Hello <pc id="1">big</pc> world</source></segment>
 <ignorable><source> </source></ignorable>
 <segment state="final"><source>Done</source><target>Fertig</target></segment></unit></file></xliff>
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
A first line
and <i>a second</i> one.

2
00:00:03,000 --> 00:00:05,000
- Hello!
- Hi, {\\an8}there.


3
00:00:06,000 --> 00:00:07,000 X1:40 X2:600
42
"""

VTT = """WEBVTT - a title

STYLE
::cue { color: white }

NOTE a comment
that goes on

intro
00:01.000 --> 00:02.000 align:start
<v Anna>Hello &amp; welcome

00:03.000 --> 00:04.000
<c.loud>Stop!</c>
"""

MARKDOWN = """---
title: Kept
---

# A heading #

A paragraph with *emphasis*, **strong words**, `code`, a [link](http://x.org "title"), an
![image](a.png), a footnote[^1] and <kbd>keys</kbd>. A second sentence: \\*stars\\*.\x20\x20
After a break.

Setext
======

> A quotation
> of two lines.

- one item
  that goes on
- [ ] a task
  1. nested text

    indented in a list

```python
code = "kept"
```

| Head | Other |
|:-----|------:|
| a cell | `a \\| b` |

[label]: http://x.org
[^1]: The note.

See [label] and [the text][label].

<div>
HTML stays.
</div>

    indented code
"""

HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="description" content="A page">
<title>The title &ndash; here</title><style>p { color: red }</style><script>if (a < b) { x("</p>") }</script></head>
<body>
<!-- a comment -->
<p class='x'>Some <b>bold <i>and</i></b> text&nbsp;with <a href="u?a=1&amp;b" title="A title">a link</a>,<br>
<code>x = 1</code> and an <img src=a.png alt="Alternative text">.</p>
<p translate="no">Not this.</p>
<ul><li>One<li>Two &lt; three</ul>
<pre>
 kept
</pre>
<table><tr><td>Cell</td><td>12</td></tr></table>
</body></html>
"""

JSON = """{
  "@@locale": "en",
  "greeting": "Hello {name}, \\u00e4 \\"quoted\\"",
  "nested": {"list": ["one", "two"], "n": 1.5e3, "t": true},
  "plural": "{count, plural, one {# file} other {# files}}",
  "described": {"message": "The message", "description": "For translators"},
  "empty": ""
}
"""

ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- comment -->
    <string name="app" translatable="false">App</string>
    <string name="hi">It\\'s <b>%1$s</b> &amp; you\\nhere</string>
    <string name="g">Send to <xliff:g id="n" example="Bo">%2$s</xliff:g> now</string>
    <string name="ref">@string/hi</string>
    <string name="html"><![CDATA[See <a href="x">the page</a>]]></string>
    <plurals name="files"><item quantity="one">One file</item><item quantity="other">%d files</item></plurals>
</resources>
"""

PROPERTIES = """# comment
! another
greeting = Hello, {0}!
path=C:\\\\dir
long = a value \\
       that goes on
umlaut : \\u00fcber
apostrophe = It''s {0}
empty =
"""

TEXT = """A TITLE

This is a paragraph of
two lines. It has two sentences.

  Indented text
  goes on here.

- an item
- another item
----
Last line without a break"""

SAMPLES = {
    "po": PO,
    "xliff": XLIFF,
    "srt": SRT,
    "vtt": VTT,
    "markdown": MARKDOWN,
    "html": HTML,
    "json": JSON,
    "android": ANDROID,
    "properties": PROPERTIES,
    "text": TEXT,
}
MONOLINGUAL = [name for name in SAMPLES if name not in ("po", "xliff")]

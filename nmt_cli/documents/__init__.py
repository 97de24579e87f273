"""Documents in, documents out: only their text changes. Reading order:

document             segments, markup, entries, and the edits that put a translation in its place; options, encodings
placeholders         what must arrive in a translation exactly once, and the check that it does; accelerators
sentences            segments → sentences, as the model sees them
insertion            markup back into a translation, by attention
segment_translation  segments → translated segments, or the reason why not
po, plural_forms     gettext PO
plain_text           paragraphs; SubRip and WebVTT subtitles
markdown, markdown_inline  blocks, and what is inside them
tokens               tags and entities of markup languages, with their positions
web_page             HTML
xliff                XLIFF 1.2 and 2.x
android              Android strings.xml
messages             JSON and Java properties
formats              formats by name
memory               translation memory: texts that were translated before
journal              what an interrupted command had translated
driver               files → translated files

Nothing here knows a model: a translator is a function from lines to translations, with attention on request.
"""

"""A self-contained translator for exported models: NumPy, ONNX Runtime and sentencepiece, nothing else of the package.

words, segments            pieces to words, long lines in chunks; the torch translator uses them too
placeholders               format strings, tags, paths …, and the symbols that stand for them
folder                     an exported folder and its settings, checked
search                     beam search and greedy search
model                      vocabularies, ONNX sessions and shortlist: what search calls a decoder
translation, translate     a translated line and its output formats; the translator and its command line

`nmt export` writes all of it into the exported folder as the single file translate.py.
"""

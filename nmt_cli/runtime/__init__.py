"""A self-contained translator for exported models: NumPy, ONNX Runtime and sentencepiece, nothing else of the package.

words, segments, formats   pieces to words, long lines in chunks, output formats; the torch translator uses them too
search, settings           beam search and greedy search; the checked settings of a folder
vocabulary, model          an exported folder: text to ids, and the ONNX sessions
translation, translate     a translated line; the translator and its command line

`nmt export` writes all of it into the exported folder as the single file translate.py.
"""

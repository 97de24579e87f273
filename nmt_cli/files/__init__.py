"""Files, read and written so that nothing is lost. Reading order:

byte_stream   files and standard input as chunks of bytes, decompressed
line_reader   the one line reader
line_writer   the one line writer; an output file that can be continued
atomic        files and directories that are written completely or not at all
guarded       a directory that may come from a stranger
manifest      manifest.json: the files of a directory and their hashes; which directories may be replaced
languages     language codes, and the names of the raw validation and test text
verified      large files are hashed once
"""

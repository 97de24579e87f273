"""The translator behind HTTP. Reading order:

settings     limits, access and logging
models       run directories and exported folders behind one interface
batcher      dynamic batching: a queue and a thread for each model
routing      from language to language, directly or through a pivot; detection of languages
languages    names of languages
layout       what of a text is translated: lines, or the text nodes of HTML
choices      what a person can choose instead of a word
requests     JSON and forms within their limits; errors as answers
access       API keys and the rate limit
downloads    translated files that wait to be fetched
metrics      counters for Prometheus
service      what all endpoints share; loading models again
api          the endpoints
openapi      the description of the API
files        the page and its scripts
app          routes, security headers, access log
process      the HTTP server: signals, deadlines, shutdown

page/ has the page itself.
"""

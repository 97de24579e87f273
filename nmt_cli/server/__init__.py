"""The translator behind HTTP. Reading order:

models       run directories and exported folders behind one interface
batcher      dynamic batching: a queue and a thread for each model
routing      languages, and the models from one to another, directly or through a pivot
requests     JSON and forms within their limits; errors as answers
documents    lines, HTML and files: what of them is translated; translated files that wait to be fetched
access       API keys and the rate limit
metrics      counters for Prometheus
service      settings, and what all endpoints share; loading models again
api          the endpoints
openapi      the description of the API
app          routes, files of the page, security headers, access log
process      the HTTP server: signals, deadlines, shutdown

page/ has the page itself; page.js describes its parts.
"""

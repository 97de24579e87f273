"""Command-line options: one `Annotated` alias per option, and what follows from several of them.

shared        the panels of the help page, and options of most commands
training      nmt preprocess, nmt demo-data, nmt train, nmt average, nmt recipe
translation   nmt translate, nmt score, nmt rerank, nmt generate, nmt explain, nmt caption, nmt export
serving       nmt serve
evaluation    nmt evaluate, nmt align, nmt align-eval
checks        arguments checked before anything heavy is imported
"""

"""Command-line options: one `Annotated` alias per option, and what follows from several of them.

panels        the panels of the help page, which make the options
shared        options of most commands
data          nmt preprocess, nmt demo-data, nmt recipe
training      nmt train, nmt average
translation   nmt translate, nmt score, nmt generate, nmt explain
evaluation    nmt evaluate, nmt align-eval
checks        arguments checked before anything heavy is imported
"""

"""The JSON schema of `nmt evaluate --json`: python -m nmt_cli.evaluation.schema > docs/evaluation.schema.json"""

import json
from typing import Any

from pydantic import TypeAdapter

from nmt_cli.evaluation.result import AlignmentEvaluation, Evaluation


def schema() -> dict[str, Any]:
    """The schema, made from the models of the result."""
    adapter: TypeAdapter[Evaluation | AlignmentEvaluation] = TypeAdapter(Evaluation | AlignmentEvaluation)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nmt evaluate --json",
        **adapter.json_schema(mode="serialization"),
    }


def schema_text() -> str:
    """The published file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")

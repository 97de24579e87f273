"""The API over HTTP: LibreTranslate's fields, status codes and errors, and what is ours."""

import json
import re
import subprocess
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from libretranslatepy import LibreTranslateAPI

from nmt_cli.documents.document import DocumentOptions
from nmt_cli.documents.driver import rendered
from nmt_cli.documents.formats import FORMATS, reader
from nmt_cli.documents.segment_translation import SegmentTranslator
from nmt_cli.server.openapi import openapi_document
from nmt_cli.server.service import ServerSettings
from nmt_cli.translator import Details, Translator
from tests.documents.samples import SAMPLES
from tests.server.servers import Answer, Client, serving, until
from tests.server.upper import Upper
from tests.translator.runs import LINES

SPEC = openapi_document()


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is as an OpenAPI schema says, without fields that the schema does not have."""
    if "oneOf" in schema:
        return any(fits(value, one) for one in schema["oneOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types: dict[str, Any] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
        "array": list,
        "object": dict,
    }
    if not any(isinstance(value, types[kind]) for kind in kinds):
        return False
    if isinstance(value, list):
        return all(fits(one, schema["items"]) for one in value)
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        return set(schema["required"]) <= set(value) <= set(properties) and all(
            fits(one, properties[name]) for name, one in value.items()
        )
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value) if "minimum" in schema else True
    )


def documented(path: str, method: str, answer: Answer) -> bool:
    """Whether an answer is as the document says."""
    content = SPEC["paths"][path][method]["responses"][str(answer.status)]["content"]
    return fits(answer.json, content["application/json"]["schema"])


def test_every_documented_endpoint_answers_as_documented(client: Client) -> None:
    pair = {"source": "auto", "target": "yy"}
    answers = {
        ("/translate", "post"): client.post("/translate", q=["ba be.", "bi"], alternatives=2, **pair),
        ("/explain", "post"): client.post("/explain", q="ba be.", source="xx", target="yy"),
        ("/detect", "post"): client.form("/detect", q="ba be bi"),
        ("/languages", "get"): client.get("/languages"),
        ("/frontend/settings", "get"): client.get("/frontend/settings"),
        ("/health", "get"): client.get("/health"),
        ("/translate_file", "post"): upload(client, "a.txt", b"ba\nbe\n"),
    }
    for (path, method), answer in answers.items():
        assert answer.status == 200, answer.body
        assert documented(path, method, answer), (path, answer.json)
    assert {path for path, _ in answers} | {"/metrics"} == set(SPEC["paths"])
    assert client.get("/spec").json == SPEC


def upload(client: Client, name: str, content: bytes, **fields: str) -> Answer:
    values = {"source": "xx", "target": "yy", **fields}
    parts = [
        f'--cut\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in values.items()
    ]
    head = f'--cut\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = "".join(parts).encode() + head.encode() + content + b"\r\n--cut--\r\n"
    return client.request(
        "POST", "/translate_file", body, {"Content-Type": "multipart/form-data; boundary=cut"}
    )


def test_libretranslatepy_translates_detects_and_lists_languages(client: Client) -> None:
    api = LibreTranslateAPI(client.address, api_key="not needed")
    assert api.translate("ba be.", "xx", "yy") == client.translate("ba be.")["translatedText"]
    assert api.detect("der schöne Garten")[0]["language"] == "zz"
    assert {"code": "xx", "name": "xx", "targets": ["yy", "zz"]} in api.languages()


def test_curl_sends_forms(client: Client) -> None:
    fields = ["-d", "source=xx", "-d", "target=yy", "--data-urlencode", "q=ba be."]
    command = ["curl", "--silent", "--fail", f"{client.address}/translate", *fields]
    try:
        found = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    except FileNotFoundError:
        pytest.skip("curl is not installed")
    assert json.loads(found) == client.translate("ba be.")


def test_the_server_translates_like_the_library_alone_and_together(client: Client, run: Path) -> None:
    lines = LINES[:60]
    expected = [one.text for one in Translator.load(run, device="cpu").translate(lines)]
    assert client.translate(lines)["translatedText"] == expected
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda line: client.translate(line)["translatedText"], lines))
    assert found == expected
    metrics = client.get("/metrics").body.decode()
    alone = int(
        next(line for line in metrics.split("\n") if 'nmt_batch_lines_bucket{le="1"}' in line).split()[-1]
    )
    total = int(
        next(line for line in metrics.split("\n") if line.startswith("nmt_batch_lines_count")).split()[-1]
    )
    assert alone < total  # some requests did share a batch


def test_text_keeps_its_lines_and_indentation(client: Client) -> None:
    text = "\n  ba be.\r\n\r\n\tbi bo.  \n \nba be."
    one, other = client.translate(["ba be.", "bi bo."])["translatedText"]
    assert client.translate(text)["translatedText"] == f"\n  {one}\r\n\r\n\t{other}  \n \n{one}"


def test_a_long_line_is_translated_in_parts_like_the_library_does(client: Client, run: Path) -> None:
    line = " ".join(LINES[:60])
    expected = Translator.load(run, device="cpu").translate(line)
    assert expected.parts > 1
    assert client.translate(line)["translatedText"] == expected.text


def test_forms_and_json_are_equal(client: Client) -> None:
    fields = {"q": "ba be.", "source": "xx", "target": "yy", "alternatives": "2"}
    assert client.form("/translate", **fields).json == client.post("/translate", **fields).json
    query = "/translate?source=xx&target=yy&alternatives=2&q=ba+be."
    assert client.request("POST", query).json == client.post("/translate", **fields).json


def test_alternatives_do_not_change_the_translation(client: Client) -> None:
    plain, several = client.translate(LINES[:10]), client.translate(LINES[:10], alternatives=100)
    assert several["translatedText"] == plain["translatedText"]
    for best, others in zip(several["translatedText"], several["alternatives"], strict=True):
        assert 1 <= len(others) <= 4  # a beam of 5
        assert len({best, *others}) == len(others) + 1


def test_a_translation_begins_with_its_prefix(client: Client) -> None:
    assert client.translate("ba be.", prefix="go ku")["translatedText"].startswith("go ku")
    found = client.translate(["ba be.", "bi"], prefix=["go", "ku"])["translatedText"]
    assert [text[:2] for text in found] == ["go", "ku"]
    first, second = client.translate("ba be.\nbi", prefix="go")["translatedText"].split("\n")
    assert first.startswith("go")
    assert second == client.translate("bi")["translatedText"]


def test_html_keeps_its_tags() -> None:
    page = '<p class="a">one <b>two</b>.</p>three &amp; four<script>one()</script><!-- one --><i translate=no>x</i>'
    expected = '<p class="a">ONE <b>TWO</b>.</p>THREE &amp; FOUR<script>one()</script><!-- one --><i translate=no>x</i>'
    with serving([Upper()]) as client:
        found = client.translate(page, "en", "up", format="html", alternatives=2)
        assert found == {"translatedText": expected, "alternatives": []}
        parts = client.translate(["<b>7</b>", "one {name}"], "en", "up", format="html")["translatedText"]
        assert parts == ["<b>7</b>", "ONE {name}"]


def test_a_pivot_language_connects_two_models(client: Client) -> None:
    between = client.translate(LINES[:5])["translatedText"]
    expected = client.translate(between, "yy", "zz")["translatedText"]
    assert client.translate(LINES[:5], "xx", "zz")["translatedText"] == expected
    answer = client.post("/explain", q="ba", source="xx", target="zz")
    assert (answer.status, answer.json["error"]) == (400, "no single model translates from xx to zz")


def test_auto_detects_the_language_and_leaves_text_of_the_target_alone(client: Client) -> None:
    found = client.translate("ba be bi bo bu", "auto", "yy")
    assert found["detectedLanguage"]["language"] == "xx"
    text = "the fox runs over the brown dog"
    found = client.translate(text, "auto", "yy")
    assert found == {"translatedText": text, "detectedLanguage": found["detectedLanguage"]}
    assert client.translate(["ba be bi", "bo bu da"], "auto", "yy")["detectedLanguage"][1]["language"] == "xx"
    assert client.post("/detect", q="123 !").json == [{"confidence": 0.0, "language": "xx"}]


def test_codes_of_languages_are_read_generously(client: Client) -> None:
    expected = client.translate("ba be.")
    assert client.translate("ba be.", "XX", "yy-YY") == expected


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"q": None}, 400, "Invalid request: missing q parameter"),
        ({"q": ""}, 400, "Invalid request: missing q parameter"),
        ({"q": []}, 400, "Invalid request: missing q parameter"),
        ({"q": 7}, 400, "Invalid request: q parameter is not a string"),
        ({"q": ["a", 7]}, 400, "Invalid request: q parameter is not a list of strings"),
        ({"source": None}, 400, "Invalid request: missing source parameter"),
        ({"target": None}, 400, "Invalid request: missing target parameter"),
        ({"target": "nn"}, 400, "nn is not supported"),
        ({"source": "nn"}, 400, "nn is not supported"),
        ({"source": "yy", "target": "xx"}, 400, "xx (xx) is not available as a target language from yy (yy)"),
        ({"format": "pdf"}, 400, "pdf format is not supported"),
        ({"alternatives": "many"}, 400, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 101}, 400, "Invalid request: alternatives parameter must be <= 100"),
        ({"prefix": ["a", "b"]}, 400, "Invalid request: 2 prefixes for 1 texts"),
        ({"prefix": "a\nb"}, 400, "Invalid request: prefix has a line break"),
        ({"q": "a" * 100_001}, 400, "Invalid request: request (100001) exceeds text limit (100000)"),
        ({"q": "a\n" * 5001}, 400, "Invalid request: request (5001 lines) exceeds line limit (5000)"),
    ],
)
def test_a_wrong_request_is_told_why(client: Client, fields: dict[str, Any], status: int, error: str) -> None:
    answer = client.post("/translate", **{"q": "ba", "source": "xx", "target": "yy", **fields})
    assert (answer.status, answer.json) == (status, {"error": error})


def test_wrong_methods_and_paths(client: Client) -> None:
    assert client.get("/translate").status == 405
    assert client.get("/detect").status == 405
    assert client.post("/languages").status == 405
    assert client.post("/health").status == 405
    for path in (
        "/nothing",
        "/../pyproject.toml",
        "/explanation/../../pyproject.toml",
        "/%2e%2e/app.py",
        "/app.py",
    ):
        answer = client.get(path)
        assert (answer.status, answer.json) == (404, {"error": "Not Found"})


def test_a_file_is_translated_and_fetched(client: Client) -> None:
    answer = upload(client, "../my notes.txt", "\ufeffba be.\n\nbi\n".encode(), source="auto")
    path = answer.json["translatedFileUrl"].removeprefix(client.address)
    found = client.get(path)
    one, other = client.translate(["ba be.", "bi"])["translatedText"]
    assert found.body.decode() == f"\ufeff{one}\n\n{other}\n"
    assert found.headers["content-disposition"] == 'attachment; filename=".._my notes.txt"'
    assert client.get("/download_file/other.txt").status == 404
    assert upload(client, "a.exe", b"ba").json == {"error": "Invalid request: file format not supported"}
    assert "a.txt is not valid UTF-8" in upload(client, "a.txt", b"a\xff").json["error"]
    assert "messages.po, line 1" in upload(client, "x/messages.po", b"msgid 3").json["error"]
    assert client.form("/translate_file", q="ba").json == {"error": "Invalid request: missing file parameter"}


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "text"])
def test_a_document_is_translated_as_by_the_library(client: Client, run: Path, name: str) -> None:
    translator = Translator.load(run)
    segments = SegmentTranslator(
        lambda texts, align: translator.translate(texts, details=Details(attention=align))
    )
    file = FORMATS[name].files[0] if FORMATS[name].files else f"a{FORMATS[name].suffixes[0]}"
    answer = upload(client, f"../{file}", SAMPLES[name].encode())
    assert answer.status == 200, answer.body
    path = answer.json["translatedFileUrl"].removeprefix(client.address)
    document = reader(name)(SAMPLES[name].encode(), Path(file), DocumentOptions(target_language="yy"))
    found = [one for entry in document.entries for one in entry.segments]
    expected, *_, untouched = rendered(document, dict(zip(found, segments.translate(found), strict=True)))
    assert client.get(path).body == expected != SAMPLES[name].encode()
    assert [(one["where"], one["reason"]) for one in answer.json["untranslated"]] == list(untouched)


def test_a_document_goes_through_a_pivot_with_its_tags(client: Client) -> None:
    answer = upload(client, "a.html", b"<p>ba <b>be</b> bi</p>", target="zz")
    body = client.get(answer.json["translatedFileUrl"].removeprefix(client.address)).body.decode()
    assert body.count("<b>") == body.count("</b>") == 1
    assert re.sub("</?b>", "", body) != "<p>ba be bi</p>"


def test_an_explanation_has_attention_confidence_and_choices(client: Client) -> None:
    answer = client.post("/explain", q="ba be.", source="xx", target="yy", alternatives=3).json
    data = answer["explanation"]
    assert answer["translatedText"] == client.translate("ba be.")["translatedText"]
    T, S = len(data["target_words"]), len(data["source_words"])
    assert len(data["word_attention"]) == len(data["confidence"]) == len(answer["choices"]) == T
    assert all(len(row) == S for row in data["word_attention"])
    assert all(len(step["alternatives"]) == 3 for step in data["steps"])


def test_a_choice_leads_to_a_translation_that_begins_with_it(client: Client) -> None:
    pair = {"q": "ba be.", "source": "xx", "target": "yy"}
    choices = [choice for word in client.post("/explain", **pair).json["choices"] for choice in word]
    assert choices
    for choice in choices[:6]:
        found = client.post("/explain", prefix=choice["prefix"], **pair).json
        assert found["translatedText"].startswith(choice["prefix"])
        assert (
            found["translatedText"] == client.translate("ba be.", prefix=choice["prefix"])["translatedText"]
        )


def test_a_given_translation_is_explained(client: Client) -> None:
    found = client.post("/explain", q="ba be.", source="xx", target="yy", translation="go ku").json
    assert found["translatedText"] == "go ku"
    assert found["explanation"]["forced"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"q": "ba\nbe"}, "a sentence has no line breaks"),
        ({"q": "  "}, "the sentence is blank"),
        ({"q": "ba " * 300}, "more than the 250"),
        ({"prefix": "a\nb"}, "no line breaks"),
        ({"alternatives": 21}, "must be <= 20"),
    ],
)
def test_what_cannot_be_explained_is_told_why(client: Client, fields: dict[str, Any], words: str) -> None:
    answer = client.post("/explain", **{"q": "ba", "source": "xx", "target": "yy", **fields})
    assert answer.status == 400
    assert words in answer.json["error"]


def test_exported_models_translate_like_the_library(exported: Path, run: Path) -> None:
    expected = [one.text for one in Translator.load(run, device="cpu").translate(LINES[:20])]
    with serving([exported]) as client:
        found = client.translate(LINES[:20], alternatives=1)
        assert found["translatedText"] == expected
        assert all(found["alternatives"])


def test_a_server_with_keys_answers_those_who_have_one(exported: Path) -> None:
    settings = ServerSettings(keys=frozenset({"first-key-1", "second-key-2"}))
    with serving([exported], settings) as client:
        pair = {"q": "ba", "source": "xx", "target": "yy"}
        assert client.post("/translate", api_key="second-key-2", **pair).status == 200
        answer = client.post("/translate", **pair)
        assert answer.status == 400
        assert answer.json == {"error": "Please contact the server operator to get an API key"}
        for path in ("/translate", "/explain", "/detect"):
            answer = client.post(path, api_key="second-key-", **pair)
            assert (answer.status, answer.json) == (403, {"error": "Invalid API key"})
        assert client.get("/languages").status == client.get("/health").status == 200
        assert client.get("/frontend/settings").json["keyRequired"]
        api = LibreTranslateAPI(client.address, api_key="first-key-1")
        assert api.translate("ba", "xx", "yy")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            LibreTranslateAPI(client.address, api_key="third").translate("ba", "xx", "yy")
        assert "second-key-2" not in "".join(client.log)


def test_the_rate_is_limited_per_client(exported: Path) -> None:
    with serving([exported], ServerSettings(rate=2)) as client:
        statuses = [client.form("/detect", q="ba").status for _ in range(3)]
        assert statuses == [200, 200, 429]
        answer = client.form("/detect", q="ba")
        assert 1 <= int(answer.headers["retry-after"]) <= 30
        assert answer.json == {"error": "Slowdown: 2 requests per minute are allowed"}
        assert client.get("/languages").status == 200


def test_other_origins_are_refused_unless_allowed(client: Client, exported: Path) -> None:
    def origin(client: Client, name: str) -> str | None:
        return client.request("GET", "/languages", headers={"Origin": name}).headers.get(
            "access-control-allow-origin"
        )

    assert origin(client, "https://example.org") is None
    with serving([exported], ServerSettings(cors=("https://example.org",))) as open_client:
        assert origin(open_client, "https://example.org") == "https://example.org"
        assert origin(open_client, "https://example.com") is None


def test_every_answer_has_security_headers(client: Client) -> None:
    for path in ("/health", "/docs", "/nothing", "/docs.css", "/metrics"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers


def test_a_page_that_the_browser_has_keeps_its_policy(client: Client) -> None:
    first = client.get("/")
    again = client.request("GET", "/", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status, again.status, again.body) == (200, 304, b"")
    name = "content-security-policy"
    assert again.headers[name] == first.headers[name] != client.get("/health").headers[name]


def test_the_documentation_page_needs_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/docs").body.decode()
    assert all(path in page for path in SPEC["paths"])
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page


def test_the_log_has_one_line_per_request_and_no_text(exported: Path) -> None:
    with serving([exported]) as client:
        client.translate("ba be.\nbi")
        client.request("POST", "/translate?q=secret")
        client.get("/nothing")
        until(lambda: len(client.log) == 3)
        entries = [json.loads(line) for line in client.log]
        assert [entry["path"] for entry in entries] == ["/translate", "/translate", "/nothing"]
        assert entries[0] | {"time": "", "ms": 0} == {
            "time": "",
            "client": "127.0.0.1",
            "method": "POST",
            "path": "/translate",
            "status": 200,
            "ms": 0,
            "characters": 9,
            "lines": 2,
            "pair": "xx-yy",
        }
        assert "ba be" not in "".join(client.log)
        assert "secret" not in "".join(client.log)
    with serving([exported], ServerSettings(log_text=True)) as client:
        client.translate("ba be.")
        until(lambda: len(client.log) == 1)
        assert json.loads(client.log[0])["q"] == "ba be."
    with serving([exported], ServerSettings(log=False)) as client:
        client.translate("ba be.")
        assert client.log == []

"""What the programs print with --json, against the schemas of docs/schema."""

import json
import pathlib

import jsonschema

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema"

# Verbs that share a schema; any other one has its own name's.
SCHEMA_OF = {"result": "optimize", "replay": "optimize", "submit": "job", "cancel": "job"}


def closed(schema):
    """The schema without room for fields that it does not name: here one that is not documented
    is a mistake, for a reader it is news."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **parts} if "properties" in parts else parts


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def check(name, document):
    """Asserts that the document is as docs/schema/NAME.json says, and no more."""
    schema = load(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(
        closed(schema), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    validator.validate(document)


def latencies(document, name=""):
    """The numbers in fields whose names begin with latency_us, wherever they stand, as text."""
    if isinstance(document, dict):
        return [each for key, part in document.items() for each in latencies(part, key)]
    if isinstance(document, list):
        return [each for part in document for each in latencies(part, name)]
    is_number = isinstance(document, (int, float)) and name.startswith("latency_us")
    return [f"{name}: {document}"] if is_number else []


def documents(text):
    """The JSON documents that follow each other in a text."""
    decoder = json.JSONDecoder()
    text = text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].strip()


def check_output(words, text):
    """Asserts that every document that `plait WORDS --json` printed fits its verb's schema."""
    verb = "validate" if "--validate-only" in words else SCHEMA_OF.get(words[0], words[0])
    for document in documents(text):
        check("error" if "error" in document and len(document) == 1 else verb, document)

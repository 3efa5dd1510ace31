"""Undocumented is a failing test: the reference is what the code says, and the code says it all."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.main import get_command

from seedance.cli.app import app as client_app
from seedance.facts.costs import Flag, Kind, Reason
from seedance.facts.words import CATALOGUES, code, sentence
from seedance.serve.program import app as server_app
from seedance.settings.load import Described, described
from seedance.web.metrics import METRICS, Name

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def reference() -> ModuleType:
    """`scripts/reference.py` as a module."""
    path = ROOT / "scripts" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


PAGES = sorted(reference().PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_is_what_the_code_says(page: str) -> None:
    found = (DOCS / "reference" / page).read_text(encoding="utf-8")
    assert found == reference().PAGES[page](), f"docs/reference/{page} has drifted; run: make docs"


def test_the_check_passes_and_fails_as_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = reference()
    assert script.main(["--check"]) == 0
    monkeypatch.setattr(script, "REFERENCE", tmp_path)
    assert script.main(["--check"]) == 1
    assert "make docs" in capsys.readouterr().err


@pytest.mark.parametrize("word", [*Reason, *Flag, *Kind], ids=code)
def test_every_reason_flag_and_kind_has_a_sentence(word: Reason | Flag | Kind) -> None:
    assert sentence(word)
    assert code(word).partition(":")[2] in (DOCS / "reference" / "reasons.md").read_text()


def test_every_language_of_the_catalogue_says_as_much_as_english() -> None:
    for catalogue in CATALOGUES.values():
        assert set(catalogue) == set(CATALOGUES["en"])


@pytest.mark.parametrize("entry", list(described()), ids=lambda entry: entry.name)
def test_every_setting_says_what_it_does_its_unit_and_why(entry: Described) -> None:
    assert entry.about.endswith(".")
    assert entry.why
    if entry.kind in {"int", "float", "number", "whole number"}:
        assert entry.unit or re.match(COUNTED, entry.about), "a number needs its unit"
    if entry.secret:
        assert not entry.flag, "a secret on the command line is a secret in the process list"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_documented_and_names_its_unit(metric: Name) -> None:
    assert metric.about.endswith(".")
    assert metric.name.startswith("seedance_")
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert f"`{metric.name}`" in (DOCS / "reference" / "metrics.md").read_text()
    assert "milliseconds" not in metric.name, "seconds and bytes are the units of metrics"


@pytest.mark.parametrize("program", [client_app, server_app], ids=["seedancectl", "seedance"])
def test_every_command_and_option_has_help(program: typer.Typer) -> None:
    waiting: list[tuple[str, Any]] = [("", get_command(program))]
    while waiting:
        path, command = waiting.pop()
        assert command.help, path
        bare = [param.name for param in command.params if not param.help]
        assert bare == [], path
        below = getattr(command, "commands", {})
        waiting += [(f"{path} {name}", each) for name, each in below.items()]


COUNTED = r"Threads|Series|Samples|Kubelets"
"""A number that counts things needs no unit: its sentence starts with what it counts."""


def test_every_field_of_the_api_is_described() -> None:
    document = reference().api_document()
    bare = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        if name not in {"HTTPValidationError", "ValidationError"}
        for field, values in schema.get("properties", {}).items()
        if not values.get("description") and "$ref" not in values and not _is_plain(field)
    ]
    assert bare == []


def _is_plain(field: str) -> bool:
    """Fields whose name says it all."""
    return bool(re.fullmatch(PLAIN, field))


PLAIN = (
    "name|kind|uid|namespace|version|api|at|start|end|rows|bytes|limit|offset|total|items|page|"
    "cluster|clusterName|healthy|reason|ready|reasons|parts|links|by|step|currency|cost|unusedCost|"
    "idle|requested|charged|resources|efficiency|flags|clusters|priceSources|numerator|denominator|"
    "value|book|entry|source|self|csv|cli|unused|window|hidden|shares|object|versions|containers|"
    "related|facts|rest|code|data|health|recorder|watches|scrapes|settles|store|manifests|started|hour|ended|provisional|"
    "violations|violationText|topic|sentence|target"
)


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []

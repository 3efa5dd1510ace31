"""Files to manifests: what is found, what is refused, and how it is told."""

import re
import sys
from pathlib import Path
from subprocess import run

import pytest
from manifest_texts import GOOD, book, entries, refused, rules

from seedance.facts.errors import ManifestError
from seedance.manifests.load import builtin_books, load_manifests, load_text
from seedance.manifests.source import documents

ROOT = Path(__file__).parents[2]


def test_the_examples_load() -> None:
    found = load_manifests([ROOT / "examples"])
    assert {book.name for book in found.books} >= {"contract-2026", "gpu-2026", "list-prices-aws"}
    assert [one.name for one in found.rules] == ["owners-2026"]


@pytest.mark.parametrize("page", ["prices.md", "ownership.md"])
def test_every_manifest_on_the_task_pages_loads(page: str) -> None:
    text = (ROOT / "docs" / "tasks" / page).read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        load_text(block, file=page)


def test_the_message_that_the_task_page_shows_is_the_one_that_comes() -> None:
    page = (ROOT / "docs" / "tasks" / "prices.md").read_text()
    text = entries("{name: a, node: {instanceType: m5.xlarge}, nodeHour: 140.16}")
    (shown,) = re.findall(r"^prices.yaml:\d+(.*)$", page, re.MULTILINE)
    assert refused(text).removeprefix("f.yaml:8") == shown


def test_without_any_manifest_the_built_in_list_prices_hold() -> None:
    found = load_manifests([])
    assert found.books == builtin_books()
    assert found.currency == "USD"
    assert all(book.spec.estimate for book in found.books)


def test_files_of_a_folder_and_documents_of_a_file_come_in_order(tmp_path: Path) -> None:
    entry = "{name: a, node: {zone: z%d}, nodeHour: 1}"
    (tmp_path / "b.yml").write_text(entries(entry % 1, name="third"))
    (tmp_path / "a.yaml").write_text(
        entries(entry % 2, name="first") + "\n---\n" + entries(entry % 3, name="second")
    )
    (tmp_path / "notes.txt").write_text("not read")
    found = load_manifests([tmp_path, tmp_path / "b.yml"])
    assert [book.name for book in found.books[:3]] == ["first", "second", "third"]


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("\ufeff" + entries("{name: a, nodeHour: 1}"), "utf-8")
    assert load_manifests([tmp_path]).books[0].name == "mine"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.yaml", None, "cannot be read: No such file"),
        ("latin.yaml", "ä".encode("latin-1"), "not UTF-8 at byte 0"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ManifestError, match=re.escape(f"{file}: {message}")):
        load_manifests([file])


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="holds no manifest"):
        load_manifests([tmp_path])


SHAPES = {
    "no mapping": ("- a", "f.yaml:1: a manifest is a mapping"),
    "no version": ("kind: PriceBook", "f.yaml:1: apiVersion: apiVersion is missing"),
    "other version": ("apiVersion: v1\nkind: Pod", "f.yaml:1: apiVersion: 'v1' is no API version"),
    "unknown kind": (
        "apiVersion: cost.seedance.io/v2\nkind: PriceBok",
        "f.yaml:2: kind: the kind 'PriceBok' is not known (known kinds: PriceBook, OwnershipRules)",
    ),
    "kind is a list": ("apiVersion: cost.seedance.io/v2\nkind: []", "f.yaml:2: kind: "),
    "no name": (
        "apiVersion: cost.seedance.io/v2\nkind: PriceBook\nmetadata: {}\nspec: {}",
        "f.yaml:3: metadata.name: name is missing",
    ),
    "unknown field": (
        book(f"curency: USD\nentries: [{GOOD}]"),
        "f.yaml:7: spec.curency: unknown field curency (did you mean currency?",
    ),
    "unknown nested field": (
        entries("{name: a, node: {zonee: x}, nodeHour: 1}"),
        "f.yaml:8: spec.entries[0].node.zonee: unknown field zonee (did you mean zone?",
    ),
    "no entries": (book("entries: []"), "f.yaml:7: spec.entries: no entry"),
    "entries no list": (book("entries: {a: 1}"), "f.yaml:7: spec.entries: this must be a list"),
    "entry no mapping": (
        entries("text"),
        "f.yaml:8: spec.entries[0]: this must be a mapping (indent keys below it)",
    ),
    "both kinds of price": (
        entries("{name: a, nodeHour: 1, perResource: {cpuCoreHour: 0.1}}"),
        "f.yaml:8: spec.entries[0]: an entry has either nodeHour or perResource",
    ),
    "no price": (entries("{name: a}"), "f.yaml:8: spec.entries[0]: an entry has either"),
    "weights without node price": (
        entries(
            "{name: a, perResource: {cpuCoreHour: 0.1}, splitWeights: {cpu: 1, memory: 1, gpu: 0}}"
        ),
        "f.yaml:8: spec.entries[0].splitWeights: splitWeights split a nodeHour",
    ),
    "weights incomplete": (
        entries("{name: a, nodeHour: 1, splitWeights: {cpu: 1, memory: 1}}"),
        "f.yaml:8: spec.entries[0].splitWeights.gpu: gpu is missing (Weight of one GPU",
    ),
    "label value is a number": (
        entries("{name: a, node: {labels: {rack: 5}}, nodeHour: 1}"),
        'f.yaml:8: spec.entries[0].node.labels.rack: this must be text (write it in quotes: "5")',
    ),
    "empty instance type": (
        entries('{name: a, node: {instanceType: ""}, nodeHour: 1}'),
        "f.yaml:8: spec.entries[0].node.instanceType",
    ),
    "mistyped capacity type": (
        entries("{name: a, node: {capacityType: on_demand}, nodeHour: 1}"),
        "f.yaml:8: spec.entries[0].node.capacityType",
    ),
    "cpu among others": (
        entries("{name: a, perResource: {resources: {cpu: 1}}}"),
        "f.yaml:8: spec.entries[0].perResource.resources.cpu: cpu has a field of its own (use cpu",
    ),
    "two spellings of a model": (
        entries("{name: a, perResource: {gpuHour: {byModel: {h100: 1, H100: 2}}}}"),
        "f.yaml:8: spec.entries[0].perResource.gpuHour.byModel.H100: 'H100' names no model, or the",
    ),
    "discount above all": (
        entries("{name: a, nodeHour: 1, discount: {percent: 101}}"),
        "f.yaml:8: spec.entries[0].discount.percent: ",
    ),
    "priority out of range": (
        entries("{name: a, nodeHour: 1, priority: 1001}"),
        "f.yaml:8: spec.entries[0].priority: ",
    ),
    "equal entry names": (
        entries(GOOD, "{name: a, node: {zone: b}, nodeHour: 1}"),
        "f.yaml:9: spec.entries[1].name: the name a stands twice in this book",
    ),
    "bad name": (
        entries("{name: A_b, nodeHour: 1}"),
        "f.yaml:8: spec.entries[0].name: 'A_b' is no",
    ),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_wrong_shape_is_refused_with_file_line_path_and_hint(case: str) -> None:
    text, message = SHAPES[case]
    assert message in refused(text)


AMOUNTS = [
    ("abc", "'abc' is no decimal number"),
    ('"$0.03"', "'$0.03' is no decimal number"),
    ('"0,03"', "'0,03' is no decimal number"),
    ("-1", "'-1' is below zero"),
    ('"Infinity"', "'Infinity' is not finite"),
    ("0.0000000000001", "is finer than 12 decimal places"),
    ('"1e40"', "'1e40' is too large"),
    ("true", "an amount is a decimal number, this is a yes or no"),
    ("[1]", "an amount is a decimal number, this is a"),
]


@pytest.mark.parametrize(("text", "message"), AMOUNTS)
def test_an_amount_that_is_none_is_refused(text: str, message: str) -> None:
    found = refused(entries(f"{{name: a, nodeHour: {text}}}"))
    assert found.startswith("f.yaml:8: spec.entries[0].nodeHour: ")
    assert message in found


def test_a_number_and_its_text_are_the_same_exact_amount() -> None:
    found = load_text(
        entries("{name: a, nodeHour: 0.1}", '{name: b, node: {zone: z}, nodeHour: "0.1"}')
    )
    one, other = found.books[0].spec.entries
    assert str(one.node_hour) == str(other.node_hour) == "0.1"


INSTANTS = [
    ("2026-01-01", "is no instant with an offset"),
    ("2026-01-01T00:00:00", "is no instant with an offset"),
    ("soon", "is no instant with an offset"),
    ("2026-01-01T00:00:30Z", "is not on a whole minute (costs are settled by the minute"),
    ("2026-01-01T00:00:00.5Z", "is not on a whole minute"),
    ("5", "an instant is text"),
]


@pytest.mark.parametrize(("text", "message"), INSTANTS)
def test_an_instant_without_offset_or_off_the_minute_is_refused(text: str, message: str) -> None:
    found = refused(entries(f"{{name: a, nodeHour: 1, validFrom: {text}}}"))
    assert found.startswith("f.yaml:8: spec.entries[0].validFrom: ")
    assert message in found


def test_a_validity_that_ends_before_it_starts_is_refused_at_its_end() -> None:
    span = "validFrom: 2026-02-01T00:00:00Z, validTo: 2026-01-01T00:00:00Z"
    assert refused(entries(f"{{name: a, nodeHour: 1, {span}}}")).startswith(
        "f.yaml:8: spec.entries[0].validTo: validTo is not after validFrom"
    )


def test_an_entry_outside_the_validity_of_its_book_is_refused() -> None:
    text = book(
        f"validTo: 2026-01-01T00:00:00Z\nentries:\n- {GOOD[:-1]}, validFrom: 2026-02-01T00:00:00Z}}"
    )
    assert "f.yaml:9: spec.entries[0]: a is never in force" in refused(text)


def test_offsets_are_understood() -> None:
    found = load_text(entries("{name: a, nodeHour: 1, validFrom: 2026-01-01T08:00:00+08:00}"))
    assert str(found.books[0].spec.entries[0].valid_from) == "2026-01-01 00:00:00+00:00"


RULES = {
    "no dimension": ("{}", "f.yaml:4: spec: no dimension at all"),
    "two places": (
        "team: {from: [{label: a, annotation: b}]}",
        "f.yaml:5: spec.team.from[0]: a key is one of label, annotation and namespaceName",
    ),
    "no place": ("team: {from: [{unmatched: keep}]}", "f.yaml:5: spec.team.from[0]: a key is one"),
    "nothing said": ("team: {}", "f.yaml:5: spec.team: neither from nor default is set"),
    "bad regex": (
        "team:\n  default: x\n  values:\n  - {regex: '(', to: x}",
        "f.yaml:8: spec.team.values[0].regex: '(' is no regular expression",
    ),
    "bad group": (
        "team: {default: x, values: [{regex: 'a', to: '\\2'}]}",
        "f.yaml:5: spec.team.values[0].to: '\\\\2' refers to a group that the regex lacks",
    ),
    "exact and regex": (
        "team: {default: x, values: [{regex: a, exact: b, to: c}]}",
        "f.yaml:5: spec.team.values[0]: a value rule has either exact or regex",
    ),
    "value twice": (
        "team: {default: x, values: [{exact: b, to: c}, {exact: [a, b], to: d}]}",
        "f.yaml:5: spec.team.values[1].exact: the value 'b' stands twice",
    ),
    "unmatched": (
        "team: {from: [{label: a, unmatched: drop}]}",
        "f.yaml:5: spec.team.from[0].unmatched: input should be 'keep' or 'skip'",
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_wrong_ownership_rules_are_refused_with_their_line(case: str) -> None:
    spec, message = RULES[case]
    text = rules(spec) if spec != "{}" else rules("").rstrip() + " {}"
    assert message in refused(text)


def test_everything_that_is_wrong_is_told_in_one_go() -> None:
    text = entries("{name: a, nodeHour: x}", "{name: b, nodeHour: -1}") + "\n---\nkind: X"
    lines = refused(text).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["f.yaml:8:", "f.yaml:9:", "f.yaml:11:"]


def test_a_long_list_of_errors_is_cut() -> None:
    many = [f"{{name: e{i}, nodeHour: x}}" for i in range(30)]
    assert refused(entries(*many)).splitlines()[-1] == "and 10 more"


def test_the_fingerprint_follows_the_content_not_the_form() -> None:
    def fingerprint(text: str) -> str:
        return load_text(text).fingerprint

    base = fingerprint(entries(GOOD))
    assert fingerprint("# a comment\n" + entries('{name: a, nodeHour: "1"}')) == base
    assert fingerprint(entries("{name: a, nodeHour: 2}")) != base
    assert fingerprint(entries(GOOD) + "\n---\n" + rules("team: {default: x}")) != base


def test_a_thousand_entries_of_instance_types_load_quickly() -> None:
    many = [f"{{name: e{i}, node: {{instanceType: t{i}}}, nodeHour: 1}}" for i in range(1000)]
    assert len(load_text(entries(*many)).books[0].rules) == 1000


def test_the_built_in_sheet_passes_the_checks_that_user_books_must_pass() -> None:
    sheet = ROOT / "src" / "seedance" / "manifests" / "sheets" / "list-prices.yaml"
    text = sheet.read_text()
    for document in documents(text, file="sheet"):
        assert document.data["spec"]["estimate"] is True
        assert re.search(r"20\d\d", document.data["spec"]["source"])
    renamed = text.replace("name: list-prices-", "name: copy-of-list-prices-")
    assert len(load_text(renamed).books) == 2 * len(builtin_books())


def test_importing_manifests_pulls_no_heavy_library() -> None:
    script = "import sys, seedance.manifests.load, seedance.manifests.explain; print(*sys.modules)"
    loaded = run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numpy", "fastapi", "httpx2", "chdb", "lightkube", "structlog", "typer", "asyncio"}
    assert not heavy & set(loaded.stdout.split())

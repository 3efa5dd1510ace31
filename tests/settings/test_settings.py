from pathlib import Path

import pytest

from seedance.settings.load import SettingsError, described, load


def write(folder: Path, text: str) -> Path:
    file = folder / "seedance.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_flag_beats_variable_beats_file_beats_default(tmp_path: Path) -> None:
    file = write(tmp_path, "web: {listen: ':3', zone: Asia/Tokyo}\nsettle: {every: 5}\n")
    environ = {"SEEDANCE_WEB_LISTEN": ":2", "SEEDANCE_WEB_ZONE": "UTC"}
    loaded = load({"web.listen": ":1"}, environ=environ, file=file)
    web = loaded.settings.web
    assert (web.listen, web.zone, loaded.settings.settle.every) == (":1", "UTC", 5.0)
    assert loaded.origins["web.listen"] == "flag --listen"
    assert loaded.origins["web.zone"] == "variable SEEDANCE_WEB_ZONE"
    assert loaded.origins["settle.every"] == f"file {file}"
    assert loaded.origins["settle.gap"] == "default"


def test_flags_that_say_nothing_say_nothing() -> None:
    loaded = load({"web.listen": None, "web.hosts": [], "kubernetes.clusters": ()}, environ={})
    assert set(loaded.origins.values()) == {"default"}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("web.insecure", "yes", True),
        ("web.insecure", "0", False),
        ("settle.manifests", "a, b", ("a", "b")),
        ("store.memory", "1024", 1024),
        ("intake.flush", "0.5", 0.5),
    ],
)
def test_text_becomes_its_kind(name: str, text: str, value: object) -> None:
    topic, _, field = name.partition(".")
    loaded = load({name: text}, environ={})
    assert getattr(getattr(loaded.settings, topic), field) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("web: {colour: red}", "web.colour"),
        ("colours: {red: 1}", "colours.red"),
        ("web: red", "must be a mapping"),
        ("- web", "must be a mapping"),
        ("web: {listen: [", "no YAML"),
        ("store: {threads: many}", "store.threads"),
        ("store: {threads: true}", "store.threads"),
        ("store: {threads: [1]}", "store.threads"),
        ("web: {insecure: perhaps}", "web.insecure"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SettingsError, match=said) as caught:
        load(environ={}, file=file)
    assert str(file) in str(caught.value)


def test_secrets_come_from_files_and_variables_and_are_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("http://u:geheim@h/d\n")
    loaded = load(environ={"SEEDANCE_STORE_SERVER_FILE": str(secret)})
    assert loaded.settings.store.server == "http://u:geheim@h/d"
    assert all("geheim" not in text for line in loaded.lines() for text in line)
    with pytest.raises(SettingsError, match="secret"):
        load({"store.server": "x"}, environ={})
    with pytest.raises(SettingsError, match="cannot read the secret file"):
        load(environ={"SEEDANCE_STORE_SERVER_FILE": str(tmp_path / "none")})


def test_variables_of_the_client_are_no_settings_of_the_server() -> None:
    environ = {"SEEDANCE_SERVER": "http://x", "SEEDANCE_TOKEN": "t", "SEEDANCE_DEBUG": "1"}
    assert set(load(environ=environ).origins.values()) == {"default"}
    assert {entry.variable for entry in described()}.isdisjoint(environ)

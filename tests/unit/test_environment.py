"""Settings from the environment: the rules that those of every namespace share."""

import pytest

from sidecypher.host.settings import Settings, load_settings
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.rules.client.model import ClientSettings
from sidecypher_procedures.rules.settings import RulesSettings
from sidecypher_procedures.runs.settings import RunsSettings
from sidecypher_procedures.session.settings import SessionSettings

VARIABLES = [
    (GithubSettings, "SIDECYPHER_GITHUB_READ_TIMEOUT"),
    (GithubSettings, "SIDECYPHER_GITHUB_TOKEN"),
    (GithubSettings, "SIDECYPHER_GITHUB_BASE_URL"),
    (GithubSettings, "GITHUB_TOKEN"),
    (RulesSettings, "SIDECYPHER_RULES_STRATEGY"),
    (RunsSettings, "SIDECYPHER_RUNS_TIMEOUT"),
    (SessionSettings, "SIDECYPHER_SESSION_WORKER"),
    (SessionSettings, "SIDECYPHER_SESSION_WORKER_SESSIONS"),
    (SessionSettings, "SIDECYPHER_SESSION_API_HOSTS"),
    (SessionSettings, "SIDECYPHER_SESSION_GENERATE_URL"),
    (SessionSettings, "SIDECYPHER_SESSION_GENERATE_KEY"),
    (ClientSettings, "SIDECYPHER_GRAPHRAG_TIMEOUT"),
]


NAMESPACES = [GithubSettings, RulesSettings, RunsSettings, SessionSettings, ClientSettings]


@pytest.mark.parametrize("settings", NAMESPACES)
def test_the_settings_of_the_sidecar_itself_leave_them_alone(settings):
    """A variable of a namespace is none that the sidecar refuses as unknown."""
    variable = f"{settings.model_config['env_prefix']}ANYTHING"

    assert load_settings({}, {variable: "1"}) == Settings()


@pytest.mark.parametrize("settings", NAMESPACES)
def test_a_misspelt_variable_is_refused_with_the_known_ones(settings, monkeypatch):
    """A variable with the prefix that is not a setting is named, with the nearest setting."""
    prefix = settings.model_config["env_prefix"]
    monkeypatch.setenv(f"{prefix}MISSPELT", "a secret")

    with pytest.raises(settings.refusal, match=rf"^There is no setting `{prefix}MISSPELT`$") as it:
        settings.load()

    assert prefix in it.value.hint
    assert "secret" not in f"{it.value}{it.value.hint}"


@pytest.mark.parametrize(("settings", "variable"), VARIABLES)
def test_an_unusable_value_is_refused_by_the_name_of_its_variable(settings, variable, monkeypatch):
    """The name is that of the variable, also of one without the prefix; the value is never told."""
    monkeypatch.setenv(variable, "a secret")

    with pytest.raises(settings.refusal, match=f"^The setting `{variable}` cannot be used: ") as it:
        settings.load()

    assert "secret" not in f"{it.value}{it.value.hint}"
    assert it.value.__cause__ is None
    assert it.value.__suppress_context__


@pytest.mark.parametrize(
    ("settings", "name"),
    [(GithubSettings, "token_file"), (RunsSettings, "signing_key_file")],
)
def test_a_path_may_begin_with_the_home_of_a_user(settings, name, monkeypatch, tmp_path):
    """`~` is expanded as in the settings of the sidecar itself."""
    variable = f"{settings.model_config['env_prefix']}{name}".upper()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "~/secret")

    assert getattr(settings.load(), name) == tmp_path / "secret"

    monkeypatch.setenv(variable, "~no-such-user/secret")
    with pytest.raises(settings.refusal, match=f"`{variable}` cannot be used: it names the home"):
        settings.load()


@pytest.mark.parametrize(("settings", "variable"), VARIABLES)
def test_an_empty_variable_counts_as_unset(settings, variable, monkeypatch):
    """A variable without a value, as compose files make them, leaves the default."""
    default = settings.load()
    monkeypatch.setenv(variable, "")

    assert settings.load() == default

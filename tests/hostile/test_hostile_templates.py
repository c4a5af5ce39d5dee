"""Templates of a tree's profile that mean harm: what each tries, and what is said.

The limits are tried in a process of its own with little memory and little time: a template that got
past them would end it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import add_file, commit, invoke, make_candle
from jinja2.runtime import Undefined

from portkit.codebases.directory import Directory
from portkit.engine.session import scan_tree
from portkit.errors import ProfileError
from portkit.port.template_values import template_values
from portkit.templates import Templates
from portkit.templates.budget import Budget
from portkit.templates.plain_values import require_plain
from portkit.templates.sandbox import TemplateEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROFILE = """\
name = "toy"
crate = "candle-core"
first_version = "0.1.0"
[names.words]
[templates]
"NOTES.md" = "t.j2"
"""
SIXTEEN = '{% set x = "xxxxxxxxxxxxxxxx" %}'
LONG = '{% set x = "x" * 130000 ~ "y" %}{% set y = "x" * 260000 %}'
FOR = "{% for a in range(1000) %}"
END = "{% endfor %}"
TOO_LARGE = r"makes a text or a list of more than 262,144 characters"
STEPS = r"takes more than 300,000 steps"
DEEP = r"lie .*deep in each other"

CASES = {
    # Reaching something.
    "a file": ('{{ job.workspace.root.joinpath("/etc/passwd").read_text() }}', "calls a method"),
    "an object of portkit": ("{{ job }}", "'job' is undefined"),
    "a class": ("{{ ''.__class__ }}", "has no attribute '__class__'"),
    "a class by item": ("{{ ''['__class__'] }}", "has no attribute '__class__'"),
    "a class by filter": ("{{ ''|attr('__class__') }}", "No filter named 'attr'"),
    "a class by map": ("{{ ['']|map(attribute='__class__')|join }}", "has no attribute"),
    "a class by sort": ("{{ ['', 'a']|sort(attribute='__class__') }}", "."),
    "a global of Jinja": ("{{ cycler }}", "'cycler' is undefined"),
    "a function's globals": ("{{ range.__globals__ }}", "has no attribute '__globals__'"),
    "the function itself": ("{{ range }}", "neither a text nor a whole number"),
    "a macro's function": ("{% macro f() %}{% endmacro %}{{ f._func }}", "has no attribute"),
    "a macro as a text": ("{% macro f() %}{% endmacro %}{{ f|string }}", "a macro or a loop"),
    "a loop as a text": ("{% for a in [1] %}{{ loop|string }}{% endfor %}", "a macro or a loop"),
    "a loop's methods": ("{% for a in [1] %}{{ loop.cycle(1) }}{% endfor %}", "calls a method"),
    "the template itself": ("{{ self._TemplateReference__context }}", "it names 'self'"),
    "a context": ("{% import 't.j2' as t %}", "may not use 'Import'"),
    "a format": ("{{ '{.__class__}'.format(1) }}", "calls a method"),
    "a format's width": ("{{ '%03000000000d' % 1 }}", "'%' on something that is no whole number"),
    "a file above": ("{% include '../../codebase.toml' %}", "leads out of"),
    "an absolute file": ("{% include '/etc/passwd' %}", "leads out of"),
    "a name that is reckoned": ("{% include x %}", "that it does not name"),
    # Memory.
    "a long text": ('{{ "x" * 3000000000 }}', TOO_LARGE),
    "a long text by loops": (FOR * 3 + "x" * 50 + END * 3, f"{TOO_LARGE}|{STEPS}"),
    "a long list": ("{{ [1] * 3000000000 }}", TOO_LARGE),
    "a long range": ("{{ range(3000000000)|list }}", "a range of more than 1,000 numbers"),
    "a power": ("{{ 10 ** 1000000000 }}", "may not use 'Pow'"),
    "a large number": ("{{ " + " * ".join(["9999999999"] * 9) + " }}", "more than 64 bits"),
    "a long number": ("{{ " + "9" * 9000 + " }}", "4300 digits"),
    "doubling": (SIXTEEN + "{% set x = x ~ x %}" * 40, TOO_LARGE),
    "doubling by +": (SIXTEEN + "{% set x = x + x %}" * 40, TOO_LARGE),
    "doubling by blocks": (SIXTEEN + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40, TOO_LARGE),
    "doubling lists": ("{% set x = [1] %}" + "{% set x = [x, x] %}" * 40, TOO_LARGE),
    "doubling mappings": ("{% set x = 1 %}" + '{% set x = {"a": x, "b": x} %}' * 40, TOO_LARGE),
    "lists in lists": ("{% set x = [1] %}" + "{% set x = [x] %}" * 40, "lists more than 24 deep"),
    "an indentation": ('{{ "a\nb"|indent(3000000000) }}', "indents by more than 1000"),
    "a replacement": ('{% set x = "x" * 100000 %}{{ x|replace("x", x) }}', TOO_LARGE),
    "a separator": ('{% set x = "x" * 100000 %}{{ x|join(x) }}', TOO_LARGE),
    "a padding": ('{{ "x"|center(3000000000) }}', "No filter named 'center'"),
    # Time.
    "nested loops": (FOR * 3 + END * 3, STEPS),
    "a loop over nothing": (FOR * 2 + FOR.replace("%}", "if a < 0 %}", 1) + END * 3, STEPS),
    "searching": (LONG + FOR * 2 + "{% if x in y %}{% endif %}" + END * 2, STEPS),
    "searching by a test": (LONG + FOR * 2 + "{{ x is in y }}" + END * 2, f"{STEPS}|{TOO_LARGE}"),
    "comparing": (LONG + FOR * 2 + "{% if x == y %}{% endif %}" + END * 2, STEPS),
    "slicing": (LONG + FOR * 2 + "{% set z = y[::-1] %}" + END * 2, STEPS),
    "selecting": ('{{ ("x" * 4000)|select("eq", "y")|list|length }}' * 900, STEPS),
    "including itself": ('{% include "t.j2" %}', "includes or extends more than 100"),
    "including itself twice": ('{% include "t.j2" %}' * 2, "includes or extends more than 100"),
    "extending itself": ('{% extends "t.j2" %}', "includes or extends more than 100"),
    "a macro of itself": (
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "macros call each other more than 24 deep",
    ),
    "a recursive loop": ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "recursive"),
    # Depth and size of the template.
    "parentheses": ("{{ " + "(" * 50000 + "1" + ")" * 50000 + " }}", DEEP),
    "a chain": ("{{ " + " + ".join(["1"] * 5000) + " }}", DEEP),
    "conditions": ("{% if 1 %}" * 500 + "{% endif %}" * 500, DEEP),
    "loops in loops": ("{% for a in [1] %}" * 25 + END * 25, DEEP),
    "many parts": ("{{ 1 }}" * 30000, "has more than 20,000 parts"),
    "a long template": ("x" * 300000, "has more than 262,144 characters"),
    # Mistakes of Python's.
    "a wrong sum": ('{{ 1 + "a" }}', "unsupported operand"),
    "nothing divided": ("{{ 1 // 0 }}", "by zero"),
    "an open quotation": ('{{ "', "unexpected char"),
}


def make_templates(folder: Path, text: str) -> Templates:
    (folder / "templates").mkdir(parents=True)
    (folder / "templates/t.j2").write_text(text)
    return Templates(Directory(folder))


@pytest.mark.parametrize("name", CASES)
def test_a_template_that_means_harm(tmp_path: Path, name: str) -> None:
    text, said = CASES[name]
    with pytest.raises(ProfileError, match=said) as caught:
        make_templates(tmp_path, text).render("t.j2", {"a": 1})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


RENDER = """\
import sys
from pathlib import Path
from portkit.codebases.directory import Directory
from portkit.templates import Templates
try:
    Templates(Directory(Path(sys.argv[1]))).render("t.j2", {})
except Exception as error:
    print(type(error).__name__)
"""


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are Linux's")
@pytest.mark.parametrize("name", CASES)
def test_a_template_takes_little_memory_and_time(tmp_path: Path, name: str) -> None:
    make_templates(tmp_path, CASES[name][0])
    done = subprocess.run(
        [sys.executable, "-c", RENDER, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert (done.returncode, done.stdout) == (0, "ProfileError\n"), done.stderr


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{{ 2 * 3 + 4 // 2 - 1 }} {{ '-' * 3 }} {{ 'a' ~ 1 ~ 'b' }}", "7 --- a1b"),
        ("{% for k, v in m|dictsort %}{{ loop.index }}{{ k }}{{ v }}{% endfor %}", "1a12b2"),
        ("{% for k, v in m|items if v > 1 %}{{ k }}{{ loop.last }}{% endfor %}", "bTrue"),
        (
            "{% macro f(x, y=2) %}[{{ x }}{{ y }}]{% endmacro %}{{ f(1) }}{{ f(1, y=3) }}",
            "[12][13]",
        ),
        ("{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}x{% endcall %}", "<x>"),
        ("{% set x %}{{ s }}!{% endset %}{{ x|upper }} {{ s[1:3] }} {{ s[0] }}", "TEXT! ex t"),
        ("{% filter indent(2) %}a\nb{% endfilter %}", "a\n  b"),
        (
            "{{ t|map('upper')|join(', ') }} {{ 'b' in t }} {{ t|length }} {{ u|default(5) }}",
            "A, B True 2 5",
        ),
        ("{{ s|replace('t', 'T', 1) }} {{ m.a }}{{ m['b'] }} {{ t[1] }}", "Text 12 b"),
        ("{% include 'u.j2' %}{% if u is defined %}no{% endif %}", "u: text"),
    ],
)
def test_what_templates_use_goes_on_working(tmp_path: Path, text: str, made: str) -> None:
    templates = make_templates(tmp_path, text)
    (tmp_path / "templates/u.j2").write_text("u: {{ s }}")
    values = {"m": {"b": 2, "a": 1}, "s": "text", "t": ("a", "b")}
    assert templates.render("t.j2", values) == made


def test_the_limit_of_steps_holds_for_all_templates_together(tmp_path: Path) -> None:
    templates = make_templates(tmp_path, FOR * 2 + END * 2)
    (tmp_path / "templates/u.j2").write_text(FOR + 20 * "{{ a }}" + END)
    with pytest.raises(ProfileError, match=STEPS):
        for _ in range(100):
            templates.render("u.j2", {})


def test_values_that_are_not_plain_are_refused() -> None:
    for value in (object(), [1], {1: 2}, ({"a": b""},), 1.5, None, frozenset("a")):
        with pytest.raises(TypeError, match="is no plain value"):
            require_plain({"a": {"b": value}})


def reachable(environment: TemplateEnvironment, values: dict[str, Any]) -> Iterator[Any]:
    """Yield every value that a template reaches from some, by items and by any attribute."""
    pending, seen = [*values.values()], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, dict):
            pending += [*value.keys(), *(environment.getitem(value, key) for key in value)]
        elif isinstance(value, tuple | list):
            pending += [environment.getitem(value, at) for at in range(len(value))]
        for name in dir(value):
            for found in (environment.getattr(value, name), environment.getitem(value, name)):
                if not isinstance(found, Undefined):
                    pending.append(found)


def test_all_that_a_template_reaches_is_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values of every template that is rendered in a port, and the environment's globals."""
    given: list[dict[str, Any]] = []
    render = Templates.render

    def noted(self: Templates, name: str, values: dict[str, Any]) -> str:
        given.append(values)
        return render(self, name, values)

    monkeypatch.setattr(Templates, "render", noted)
    candle = make_candle(tmp_path / "candle")
    assert invoke("apply", candle, "--diff").code == 0
    whole = scan_tree(candle)
    given.append(dict(template_values(whole.job)))
    environment = TemplateEnvironment(str, Budget())
    assert set(environment.globals) == {"range"}
    number = 0
    for values in given:
        for value in reachable(environment, values):
            number += 1
            assert type(value) in (str, int, bool, tuple, dict), (value, type(value))
    assert len(given) > 3
    assert number > 100


@pytest.mark.parametrize("command", ["scan", "apply --diff", "apply --check", "apply"])
def test_a_tree_s_template_reads_and_writes_nothing(tmp_path: Path, command: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    tree = make_candle(tmp_path / "tree")
    add_file(tree, "portkit.toml", b'profile = "port"\n')
    add_file(tree, "port/codebase.toml", PROFILE.encode())
    for text in (
        f'{{{{ job.workspace.root.joinpath("{secret}").read_text() }}}}',
        f'{{{{ job.workspace.root.joinpath("{secret}").write_text("x") }}}}',
        f'{{{{ vendor.root.joinpath("{tmp_path}/new").symlink_to("x") }}}}',
    ):
        add_file(tree, "port/templates/t.j2", text.encode())
        commit(tree)
        done = invoke(*command.split(), tree)
        assert done.code in (0, 16) if command == "scan" else done.code == 16
        assert "a secret" not in done.out + done.err
        assert secret.read_text() == "a secret"
        assert not (tmp_path / "new").is_symlink()
        assert not (tree / "NOTES.md").exists()

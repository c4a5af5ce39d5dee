"""The files in which Rust looks for a module, by the tables of the Rust reference ("Modules")."""

from __future__ import annotations

import pytest

from portkit.checks.gated_files import find_gated_files
from portkit.syntax.module_files import find_declarations, find_module_files
from portkit.syntax.source_file import SourceFile

INLINE = 'mod inline {\n    #[path = "other.rs"]\n    mod inner;\n}\n'


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("src/lib.rs", "mod util;", ("src/util.rs", "src/util/mod.rs")),
        ("src/util.rs", "mod config;", ("src/util/config.rs", "src/util/config/mod.rs")),
        ("src/util/mod.rs", "mod r#type;", ("src/util/type.rs", "src/util/type/mod.rs")),
        ("src/a/b.rs", '#[path = "foo.rs"]\nmod c;', ("src/a/foo.rs",)),
        ("src/a/mod.rs", '#[path = "foo.rs"]\nmod c;', ("src/a/foo.rs",)),
        ("src/a/b.rs", INLINE, ("src/a/b/inline/other.rs",)),
        ("src/a/mod.rs", INLINE, ("src/a/inline/other.rs",)),
        (
            "src/lib.rs",
            '#[path = "files"]\nmod thread {\n    #[path = "tls.rs"]\n    mod local_data;\n}',
            ("src/files/tls.rs",),
        ),
        ("a.rs", '#[path = "gpu"]\nmod g {\n    mod s;\n}', ("gpu/s.rs", "gpu/s/mod.rs")),
        ("src/a.rs", '#[path = r"../x.rs"]\n// why\n#[allow(unused)]\npub mod s;', ("x.rs",)),
        ("src/a.rs", '#[cfg_attr(unix, path = "u.rs")]\nmod s;', ()),
    ],
)
def test_a_module_is_looked_for_as_rustc_does(
    path: str, text: str, wanted: tuple[str, ...]
) -> None:
    root = SourceFile(path, text.encode()).tree.root_node
    assert [find_module_files(item, path) for item, *_ in find_declarations(root)] == [wanted]


def test_a_file_has_the_conditions_of_its_module_and_of_those_around_it() -> None:
    on = '#[cfg(feature = "gpu")]\n#[path = "on.rs"]\nmod a;\n'
    off = '#[path = "off.rs"]\nmod again;\n'
    texts = {
        "src/lib.rs": f"{on}#[cfg(unix)]\n{off}mod c;\n",
        "src/on.rs": "mod below;",
        "src/below.rs": "",
        "src/off.rs": "",
        "src/c.rs": off + '#[cfg(feature = "gpu")]\nmod d {\n    mod e;\n}',
        "src/c/d/e.rs": "",
    }
    found = find_gated_files(
        {path: SourceFile(path, text.encode()) for path, text in texts.items()}
    )
    assert {path: [cfg.feature for cfg in each] for path, each in found.items()} == {
        "src/on.rs": ["gpu"],
        "src/below.rs": ["gpu"],
        "src/c/d/e.rs": ["gpu"],
    }

"""Features that a manifest writes in one line, or with dotted keys, are for a person."""

from __future__ import annotations

import pytest
from tree_support import crate, scan_of

from portkit.workspace.finding import Applicability


@pytest.mark.parametrize("features", ["features = { cuda = [] }", 'features."cuda" = []'])
def test_features_without_a_table_of_their_own(features: str) -> None:
    package = 'package = { name = "fixture", version = "0.1.0", edition = "2021" }'
    tree = {**crate("pub fn work() {}\n"), "Cargo.toml": f"{features}\n{package}\n".encode()}
    (found,) = (f for f in scan_of(tree).findings if f.construct == "feature in Cargo.toml")
    assert (found.applicability, found.edits) == (Applicability.MANUAL, ())

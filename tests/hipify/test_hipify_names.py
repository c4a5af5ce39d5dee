"""Each name that hipify-perl knows is renamed, or is a finding, or is the same in HIP."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import pytest

from portkit.hipify.api_table import find_mapping
from portkit.hipify.errors import HipToolError
from portkit.hipify.external_engines import Engine, find_engine
from portkit.hipify.translator import translate

if TYPE_CHECKING:
    from pathlib import Path

OTHERS = {
    "CUDA": "a word, which Caffe2 has for its backend",
    "CUDAContext": "Caffe2's",
    "CUDNN": "a word, which Caffe2 has for its engine",
    "REGISTER_CUDA_OPERATOR": "Caffe2's",
    "REGISTER_CUDA_OPERATOR_CREATOR": "Caffe2's",
    "cuda_stream": "Caffe2's",
    "__CUDACC__": "a macro: a condition with it is a finding (PH213), and no other use is an error",
    "texture": "a finding before <, as in a declaration (PH205)",
}
"""Names that hipify-perl has and that are not CUDA's alone."""


def find_program() -> Path:
    """Return the script of hipify-perl, which may stand behind a command that enters its system."""
    try:
        program = find_engine(Engine.HIPIFY_PERL).program
    except HipToolError as error:
        pytest.skip(str(error))
    inner = program.parents[1] / "root" / "usr" / "bin" / "hipify-perl"
    return inner if inner.is_file() else program


@pytest.mark.real
def test_no_name_is_left_without_a_finding() -> None:
    text = find_program().read_text(encoding="utf-8", errors="replace")
    known = set(re.findall(r'subst\("(\w+)"', text))
    known |= {
        name
        for body in re.findall(r"^sub (?:warn|countSupported)\w+ \{(.*?)^\}", text, re.M | re.S)
        for name in re.findall(r'"([A-Za-z_]\w*)"', body)
    }
    names = sorted(name for name in known if len(name) > 3)
    assert len(names) > 5000
    source = "".join(f"auto v{number} = {name};\n" for number, name in enumerate(names))
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    found = {
        bisect_right(starts, finding.span.start) - 1
        for finding in translate("a.cu", source.encode()).findings
        if finding.code != "PH101"
    }
    left = {name for number, name in enumerate(names) if number not in found}
    same = {name for name in left if (mapped := find_mapping(name)) and mapped.hip == name}
    assert left - same == set(OTHERS)

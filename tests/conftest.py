from __future__ import annotations

import pytest

# What the rules' tests share asserts like a test, and shows what differs like one.
pytest.register_assert_rewrite("harness")

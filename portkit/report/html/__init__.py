"""The HTML report: one file that needs no network, made from a template beside this module."""

from __future__ import annotations

from portkit.report.html.page import render_page

__all__ = ["render_page"]

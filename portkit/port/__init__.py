"""Copies of items and files under the name table, and what joins them."""

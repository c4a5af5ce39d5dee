"""Findings in an editor: ``portkit lsp``, a server of the Language Server Protocol.

It looks at the tree, and neither writes to it nor runs anything: what a person accepts the editor
writes. Nothing here is loaded unless the command runs.
"""

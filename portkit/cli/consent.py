"""Ask whether portkit may run the tree's code."""

from __future__ import annotations

from pathlib import Path

from portkit.cli.output import ask, can_ask, print_progress
from portkit.errors import DiskError, PortkitError, UntrustedTreeError


def check_consent(root: Path, *, given: bool) -> None:
    """Check that the tree's code may run, and say why; ask if a person can answer."""
    from portkit.workspace.trust import ConfirmedBy, require_trust, save_confirmation

    try:
        why = "by --trust" if given else require_trust(root)
    except UntrustedTreeError:
        if not _ask_user(root):
            raise
        try:
            why = f"kept in {save_confirmation(root, ConfirmedBy.ANSWERED)}"
        except DiskError as error:
            why = f"this once, since {error}"
    print_progress(f"What {root} brings is run: {why}.")


def trust_fetched_tree(root: Path) -> None:
    """Keep that a tree is the user's own fetch, whose code may be run."""
    from portkit.workspace.trust import ConfirmedBy, save_confirmation

    try:
        save_confirmation(root, ConfirmedBy.FETCHED)
    except PortkitError as error:
        print_progress(f"`portkit verify` will ask about {root}: {error}")


def _ask_user(root: Path) -> bool:
    from portkit.workspace.trust import describe_origin

    if not can_ask():
        return False
    source = describe_origin(root)
    answer = ask(
        f"Build scripts, macros and tests of {root}{f', from {source},' if source else ''} will be"
        " run. Trust them, now and later? [y/N] "
    )
    return answer.strip().lower() in ("y", "yes")

"""Whether this user may use the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.doctor.complaints import Complaint, make_complaint
from portkit.doctor.driver import is_container
from portkit.doctor.gpus import DRIVER, find_gpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine


def check_access(machine: Machine) -> Iterator[Complaint]:
    """Yield why the device files cannot be opened, once for all of them.

    They belong to the groups ``render`` and ``video`` (ROCm's documentation, "Configuring
    permissions for GPU access").
    """
    places = [DRIVER, *(gpu.render for gpu in find_gpus(machine))]
    refused = {
        place: why
        for place in places
        if place and machine.has(place) and (why := machine.refusal(place))
    }
    if not refused:
        return
    what = "; ".join(f"{place} cannot be opened ({why})" for place, why in refused.items())
    owning = {machine.group_of(place) for place in refused}
    groups = sorted(number for number in owning if number is not None)
    names = {number: name for name, number, _ in _describe_groups(machine)}
    if machine.user == 0 or set(groups) <= machine.groups:
        yield make_complaint("device-refused", what=what)
    elif is_container(machine):
        options = " ".join(f"--group-add {number}" for number in groups)
        yield make_complaint("container-without-groups", what=what, options=options)
    elif joined := sorted(_find_listed_groups(machine, groups)):
        yield make_complaint("groups-not-taken-up", what=what, groups=_join_names(joined))
    else:
        wanted = [names.get(number, "") for number in groups]
        if all(wanted) and "root" not in wanted:
            yield make_complaint("no-group", what=what, groups=",".join(wanted))
        else:
            yield make_complaint("no-group-of-gpus", what=what)


def _find_listed_groups(machine: Machine, wanted: list[int]) -> set[str]:
    """Return which of some groups list this user, as whom the environment names it."""
    me = machine.variable("LOGNAME") or machine.variable("USER")
    owning = [
        (name, members) for name, number, members in _describe_groups(machine) if number in wanted
    ]
    whole = all(me in members for _, members in owning)
    return {name for name, _ in owning} if me and whole else set()


def _describe_groups(machine: Machine) -> list[tuple[str, int, list[str]]]:
    found = []
    for line in machine.text("/etc/group").splitlines():
        parts = line.split(":")
        if len(parts) == 4 and parts[2].isdecimal():
            found.append((parts[0], int(parts[2]), parts[3].split(",")))
    return found


def _join_names(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

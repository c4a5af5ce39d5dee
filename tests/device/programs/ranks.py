"""Ranks of one process, by RCCL's C interface. Usage: ranks.py CASE; what it prints is compared."""

from __future__ import annotations

import ctypes
import sys
import threading

hip = ctypes.CDLL("libamdhip64.so")
rccl = ctypes.CDLL("librccl.so")
FLOAT, SUM = 7, 0


class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def new_id() -> Id:
    made = Id()
    assert rccl.ncclGetUniqueId(ctypes.byref(made)) == 0
    return made


def join(known: Id, rank: int, ranks: int, device: int) -> tuple[int, ctypes.c_void_p]:
    assert hip.hipSetDevice(device) == 0
    comm = ctypes.c_void_p()
    return rccl.ncclCommInitRank(ctypes.byref(comm), ranks, known, rank), comm


def memory(values: list[float]) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(pointer), 4 * len(values)) == 0
    host = (ctypes.c_float * len(values))(*values)
    assert hip.hipMemcpy(pointer, host, ctypes.sizeof(host), 1) == 0
    return pointer


def values_of(pointer: ctypes.c_void_p, count: int) -> list[float]:
    host = (ctypes.c_float * count)()
    assert hip.hipMemcpy(host, pointer, ctypes.sizeof(host), 2) == 0
    return list(host)


def threads(known: list[Id], ranks: list[int], devices: list[int]) -> list[int]:
    """Let each rank come in a thread of its own; return what they are told."""
    told = [-1, -1]

    def come(number: int) -> None:
        told[number], _ = join(known[number], number, ranks[number], devices[number])

    started = [threading.Thread(target=come, args=(number,)) for number in range(2)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    return told


def both() -> list[ctypes.c_void_p]:
    comms = (ctypes.c_void_p * 2)()
    assert rccl.ncclCommInitAll(comms, 2, None) == 0
    return [ctypes.c_void_p(comm) for comm in comms]


def all_reduce(comm: ctypes.c_void_p, device: int, pointer: ctypes.c_void_p, op: int) -> int:
    assert hip.hipSetDevice(device) == 0
    return int(rccl.ncclAllReduce(pointer, pointer, ctypes.c_size_t(2), FLOAT, op, comm, None))


def main(case: str) -> None:
    """Run a case and print what came of it."""
    one = new_id()
    if case == "one device":
        print(threads([one, one], [2, 2], [0, 0]))
    elif case == "how many":
        print(sorted(threads([one, one], [2, 3], [0, 1])))
    elif case == "scaled":
        comms, pointers, ops = both(), [], []
        for device, comm in enumerate(comms):
            assert hip.hipSetDevice(device) == 0
            pointers.append(memory([1.0, 2.0 + device]))
            op, scalar = ctypes.c_int(), ctypes.c_float(10.0**device)
            created = rccl.ncclRedOpCreatePreMulSum(
                ctypes.byref(op), ctypes.byref(scalar), FLOAT, 1, comm
            )
            assert created == 0
            ops.append(op.value)
        assert rccl.ncclGroupStart() == 0
        for device, comm in enumerate(comms):
            assert all_reduce(comm, device, pointers[device], ops[device]) == 0
        assert rccl.ncclGroupEnd() == 0
        print([values_of(pointer, 2) for pointer in pointers])
        for number, comm in zip(ops, comms, strict=True):
            assert rccl.ncclRedOpDestroy(number, comm) == 0
            assert rccl.ncclRedOpDestroy(number, comm) == 4  # ncclInvalidArgument
            assert rccl.ncclCommDestroy(comm) == 0
    elif case == "no group":
        alone = both()[0]
        told = [all_reduce(alone, 0, memory([1.0, 2.0]), SUM), rccl.ncclGroupEnd()]
        print([*told, all_reduce(alone, 0, memory([1.0, 2.0]), SUM)])


if __name__ == "__main__":
    main(sys.argv[1])

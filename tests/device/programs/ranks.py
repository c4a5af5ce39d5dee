"""Ranks by RCCL's C interface. Usage: ranks.py CASE [ID]; what it prints is compared."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
import time

hip = ctypes.CDLL("libamdhip64.so")
rccl = ctypes.CDLL("librccl.so")
FLOAT, SUM = 7, 0
NOT_READY = 600  # hipErrorNotReady


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


def values_of(pointer: ctypes.c_void_p, count: int, device: int) -> list[float]:
    assert hip.hipSetDevice(device) == 0
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


def all_reduce(
    comm: ctypes.c_void_p,
    device: int,
    pointer: ctypes.c_void_p,
    op: int,
    stream: ctypes.c_void_p | None = None,
) -> int:
    assert hip.hipSetDevice(device) == 0
    return int(rccl.ncclAllReduce(pointer, pointer, ctypes.c_size_t(2), FLOAT, op, comm, stream))


def new_stream(device: int) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    assert hip.hipSetDevice(device) == 0
    assert hip.hipStreamCreateWithFlags(ctypes.byref(made), 1) == 0  # hipStreamNonBlocking
    return made


def asked(comms: list[ctypes.c_void_p]) -> None:
    """Ask how far a rank is before the other has begun, and after."""
    pointers, streams = [], []
    for device in range(2):
        streams.append(new_stream(device))
        pointers.append(memory([1.0, 2.0 + device]))
    assert all_reduce(comms[1], 1, pointers[1], SUM, streams[1]) == 0
    begun = time.monotonic()
    told = {hip.hipStreamQuery(streams[1]) for _ in range(100)}
    print(sorted(told), time.monotonic() - begun < 1)
    assert all_reduce(comms[0], 0, pointers[0], SUM, streams[0]) == 0
    # Nobody but who asks does anything for rank 1, and nobody asks for rank 0.
    while hip.hipStreamQuery(streams[1]) == NOT_READY:
        time.sleep(0.001)
    assert hip.hipStreamSynchronize(streams[0]) == 0
    print([values_of(pointer, 2, device) for device, pointer in enumerate(pointers)])


def in_order(comms: list[ctypes.c_void_p]) -> None:
    """Put operations of each rank into two streams in turn; wait for the second alone."""
    found, pointers = [], []
    streams = [[new_stream(device), new_stream(device)] for device in range(2)]
    for device in range(2):
        assert hip.hipSetDevice(device) == 0
        pointers.append([memory([1.0, 10.0]), memory([100.0, 1000.0])])
    for place in range(2):
        for device, comm in enumerate(comms):
            # One is a maximum, the other a sum: in another order the ranks would disagree.
            turn = streams[device][place]
            assert all_reduce(comm, device, pointers[device][place], 2 * place, turn) == 0
    for device in (1, 0):
        assert hip.hipStreamSynchronize(streams[device][1 - device]) == 0
    for device in range(2):
        assert hip.hipSetDevice(device) == 0
        assert hip.hipDeviceSynchronize() == 0
        found += [values_of(pointer, 2, device) for pointer in pointers[device]]
    print(found)


def mixed(comms: list[ctypes.c_void_p]) -> None:
    """Put one group into two streams of each rank; wait for the first alone, and read both."""
    streams = [[new_stream(device), new_stream(device)] for device in range(2)]
    pointers = []
    for device in range(2):
        assert hip.hipSetDevice(device) == 0
        pointers.append([memory([1.0, 10.0]), memory([100.0, 1000.0])])
    assert rccl.ncclGroupStart() == 0
    for device, comm in enumerate(comms):
        for pointer, stream in zip(pointers[device], streams[device], strict=True):
            assert all_reduce(comm, device, pointer, SUM, stream) == 0
    assert rccl.ncclGroupEnd() == 0
    found = []
    for device in range(2):
        assert hip.hipStreamSynchronize(streams[device][0]) == 0
        found += [values_of(pointer, 2, device) for pointer in pointers[device]]
    print(found)


def differ(comms: list[ctypes.c_void_p], what: str) -> None:
    """Put in operations that differ in one thing; abort as soon as that is told."""
    kinds = {
        "count": [(2, FLOAT, SUM), (1, FLOAT, SUM)],
        "type": [(2, FLOAT, SUM), (2, 2, SUM)],  # ncclInt32
        "operation": [(2, FLOAT, SUM), (2, FLOAT, 2)],  # ncclMax
        "root": [(2, FLOAT, 0), (2, FLOAT, 1)],
    }
    begun = time.monotonic()
    call = rccl.ncclBcast if what == "root" else rccl.ncclAllReduce
    streams = [new_stream(0), new_stream(1)]
    for device, (count, datatype, last) in enumerate(kinds[what]):
        assert hip.hipSetDevice(device) == 0
        pointer = memory([1.0, 2.0])
        memories = [pointer] if what == "root" else [pointer, pointer]
        put = call(
            *memories, ctypes.c_size_t(count), datatype, last, comms[device], streams[device]
        )
        assert put == 0
    told = [ctypes.c_int(), ctypes.c_int()]
    while not all(status.value for status in told):
        assert hip.hipStreamQuery(streams[0]) == NOT_READY
        for comm, status in zip(comms, told, strict=True):
            assert rccl.ncclCommGetAsyncError(comm, ctypes.byref(status)) == 0
    for comm, stream in zip(comms, streams, strict=True):
        assert rccl.ncclCommAbort(comm) == 0
        assert hip.hipStreamSynchronize(stream) == 0
    assert time.monotonic() - begun < 2
    print([status.value for status in told])


def idle(known: str) -> None:
    """Be a rank that puts in its work and does nothing more until it is told to."""
    code, comm = join(Id(bytes.fromhex(known)), 1, 2, 1)
    assert code == 0
    pointer = memory([1.0, 2.0])
    assert all_reduce(comm, 1, pointer, SUM, new_stream(1)) == 0
    print("in", flush=True)
    sys.stdin.read()


def beside_idle(known: Id) -> None:
    """Wait for a rank of another process, which calls nothing."""
    raw = bytes(known)
    with subprocess.Popen(
        [sys.executable, __file__, "idle", raw.hex()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        code, comm = join(known, 0, 2, 0)
        assert code == 0
        pointer = memory([1.0, 2.0])
        assert other.stdout is not None and other.stdin is not None
        # Where work is done at once, the other's call does not return before this one's.
        stream = new_stream(0)
        assert all_reduce(comm, 0, pointer, SUM, stream) == 0
        assert other.stdout.readline() == b"in\n"
        assert hip.hipStreamSynchronize(stream) == 0
        print(values_of(pointer, 2, 0))
        other.stdin.close()


def main(case: str) -> None:
    """Run a case and print what came of it."""
    if case == "idle":
        idle(sys.argv[2])
        return
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
        print([values_of(pointer, 2, device) for device, pointer in enumerate(pointers)])
        for number, comm in zip(ops, comms, strict=True):
            assert rccl.ncclRedOpDestroy(number, comm) == 0
            assert rccl.ncclRedOpDestroy(number, comm) == 4  # ncclInvalidArgument
            assert rccl.ncclCommDestroy(comm) == 0
    elif case == "no group":
        alone = both()[0]
        told = [all_reduce(alone, 0, memory([1.0, 2.0]), SUM), rccl.ncclGroupEnd()]
        print([*told, all_reduce(alone, 0, memory([1.0, 2.0]), SUM)])
    elif case == "asked":
        asked(both())
    elif case.startswith("differ in "):
        differ(both(), case.removeprefix("differ in "))
    elif case == "mixed":
        mixed(both())
    elif case == "in order":
        in_order(both())
    elif case == "beside an idle one":
        beside_idle(one)


if __name__ == "__main__":
    main(sys.argv[1])

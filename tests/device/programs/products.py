"""A product by hipBLASLt's C interface. Usage: products.py CASE; it prints what both calls give.

Cases say what is wrong with it; with ``right`` nothing is.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p, sizeof

hip = ctypes.CDLL("libamdhip64.so")
lt = ctypes.CDLL("libhipblaslt.so")
F16, F32, COMPUTE, PLAIN, TURNED = 2, 0, 2, 111, 112  # hipDataType, and hipblas-common.h
BATCH, STRIDE, OP_A, OP_B, WORKSPACE = 0, 1, 0, 1, 1  # attributes of hipblaslt.h
M, N, K = 3, 4, 300
CASE = sys.argv[1]


class Algo(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint8 * 16), ("max_workspace_bytes", c_size_t)]


class Result(ctypes.Structure):
    _fields_ = [
        ("algo", Algo),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    ]


def good(status: int) -> None:
    assert status == 0, status


def layout(kind: int, rows: int, columns: int, leading: int, batch: int = 1) -> c_void_p:
    made = c_void_p()
    sizes = c_uint64(rows), c_uint64(columns), c_int64(leading)
    good(lt.hipblasLtMatrixLayoutCreate(byref(made), kind, *sizes))
    for attribute, value in ((BATCH, c_int32(batch)), (STRIDE, c_int64(rows * columns))):
        size = c_size_t(sizeof(value))
        good(lt.hipblasLtMatrixLayoutSetAttribute(made, attribute, byref(value), size))
    return made


def memory(count: int) -> c_void_p:
    made = c_void_p()
    good(hip.hipMalloc(byref(made), c_size_t(count)))
    good(hip.hipMemset(made, 0, c_size_t(count)))
    return made


def main() -> None:
    handle, desc, preference = c_void_p(), c_void_p(), c_void_p()
    good(lt.hipblasLtCreate(byref(handle)))
    good(lt.hipblasLtMatmulDescCreate(byref(desc), COMPUTE, F32))
    for attribute, op in ((OP_A, TURNED), (OP_B, TURNED if CASE == "both turned" else PLAIN)):
        value = c_int32(op)
        good(lt.hipblasLtMatmulDescSetAttribute(desc, attribute, byref(value), c_size_t(4)))
    good(lt.hipblasLtMatmulPreferenceCreate(byref(preference)))
    most = c_uint64(0 if CASE == "no workspace" else 1 << 20)
    good(lt.hipblasLtMatmulPreferenceSetAttribute(preference, WORKSPACE, byref(most), c_size_t(8)))
    a = layout(F32 if CASE == "two types" else F16, K, M, K)
    wide = N if CASE == "both turned" else K + (CASE == "another depth")
    b = layout(F16, wide, K if CASE == "both turned" else N, wide - (CASE == "overlapping"))
    c = layout(F16, M, N, M, 2 if CASE == "another batch" else 1)
    found, result = c_int(), Result()
    asked = handle, desc, a, b, c, c, preference, 1, byref(result), byref(found)
    status = lt.hipblasLtMatmulAlgoGetHeuristic(*asked)
    print(status, found.value, result.workspace)
    if status != 0 or found.value == 0:
        return
    size = c_size_t(result.workspace - (CASE == "short workspace"))
    space = memory(max(size.value, 1))
    if CASE == "another shape":
        c = layout(F16, M, N, M + 1)
    one, zero = c_float(1), c_float(0)
    values = [memory(2 * K * N * 2) for _ in range(3)]
    if CASE == "null":
        values[1] = c_void_p()
    x, y, z = values
    given = x, a, y, b, byref(zero), z, c, z, c, byref(result.algo), space, size, c_void_p()
    print(lt.hipblasLtMatmul(handle, desc, byref(one), *given))
    good(hip.hipDeviceSynchronize())
    good(lt.hipblasLtDestroy(handle))


main()

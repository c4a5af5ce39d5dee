// RCCL's types, with the values of rccl/rccl.h (RCCL 2.13 and later).
#pragma once

#include <stdint.h>

struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
};

enum ncclDataType_t : int {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};

// Values from ncclNumOps on are of operations that ncclRedOpCreatePreMulSum has made.
enum ncclRedOp_t : int {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
};

enum ncclScalarResidence_t : int { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };

namespace hipcpu::coll {

// Thrown inside of an answer.
struct Failure {
  ncclResult_t status;
};

inline void require(bool holds, ncclResult_t otherwise) {
  if (!holds) throw Failure{otherwise};
}

}  // namespace hipcpu::coll

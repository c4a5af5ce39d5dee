// hipCUB is CUB under another name.
#pragma once

#include <hip/hip_runtime.h>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace hipcub = cub;

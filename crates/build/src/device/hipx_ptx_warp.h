// PTX instructions on warps, and special registers (`hipx_ptx.h`).
#pragma once

#include "hipx.h"

#include "hipx_ptx_operand.h"
#include "hipx_warp.h"

namespace hipx {
namespace ptx {

// ---- "Special Registers" -----------------------------------------------------------------------

HIPX_DEVICE b32 own_lane() { return __lane_id() & 31u; }

#define HIPX_PTX_REGISTER(NAME, VALUE) \
  template <typename D>                \
  HIPX_DEVICE void mov_##NAME(D &&d) { set(d, VALUE); }
HIPX_PTX_REGISTER(laneid, own_lane())
HIPX_PTX_REGISTER(lanemask_eq, 1u << own_lane())
HIPX_PTX_REGISTER(lanemask_lt, (1u << own_lane()) - 1u)
HIPX_PTX_REGISTER(lanemask_le, (2u << own_lane()) - 1u)
HIPX_PTX_REGISTER(lanemask_gt, ~((2u << own_lane()) - 1u))
HIPX_PTX_REGISTER(lanemask_ge, ~((1u << own_lane()) - 1u))
HIPX_PTX_REGISTER(tid_x, (b32)threadIdx.x)
HIPX_PTX_REGISTER(tid_y, (b32)threadIdx.y)
HIPX_PTX_REGISTER(tid_z, (b32)threadIdx.z)
HIPX_PTX_REGISTER(ntid_x, (b32)blockDim.x)
HIPX_PTX_REGISTER(ntid_y, (b32)blockDim.y)
HIPX_PTX_REGISTER(ntid_z, (b32)blockDim.z)
HIPX_PTX_REGISTER(ctaid_x, (b32)blockIdx.x)
HIPX_PTX_REGISTER(ctaid_y, (b32)blockIdx.y)
HIPX_PTX_REGISTER(ctaid_z, (b32)blockIdx.z)
HIPX_PTX_REGISTER(nctaid_x, (b32)gridDim.x)
HIPX_PTX_REGISTER(nctaid_y, (b32)gridDim.y)
HIPX_PTX_REGISTER(nctaid_z, (b32)gridDim.z)
HIPX_PTX_REGISTER(clock, (b32)clock())
HIPX_PTX_REGISTER(clock64, (b64)clock64())
#undef HIPX_PTX_REGISTER

// ---- "Data Movement and Conversion Instructions: shfl.sync", on all lanes ----------------------

enum class shuffle { up, down, bfly, idx };

// Of c the lower five bits are the last lane, or for `up` the first, and those from 8 on the bits
// of a lane's number that its segment of the warp has.
template <typename D, typename X, typename Y, typename Z>
HIPX_DEVICE void shuffled(shuffle how, D &d, X x, Y y, Z z) {
  const int lane = (int)own_lane(), b = (int)(as<b32>(y) & 31u);
  const int clamp = (int)(as<b32>(z) & 31u), segment = (int)(as<b32>(z) >> 8 & 31u);
  const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  const int from = how == shuffle::up     ? lane - b
                   : how == shuffle::down ? lane + b
                   : how == shuffle::bfly ? lane ^ b
                                          : first | (b & ~segment);
  const bool within = how == shuffle::up ? from >= last : from <= last;
  set(d, hipx::shfl(as<b32>(x), within ? from : lane));
}

#define HIPX_PTX_SHUFFLE(NAME)                                    \
  template <typename D, typename X, typename Y, typename Z>       \
  HIPX_DEVICE void shfl_sync_##NAME##_b32(D &&d, X x, Y y, Z z) { \
    shuffled(shuffle::NAME, d, x, y, z);                          \
  }
HIPX_PTX_SHUFFLE(up)
HIPX_PTX_SHUFFLE(down)
HIPX_PTX_SHUFFLE(bfly)
HIPX_PTX_SHUFFLE(idx)
#undef HIPX_PTX_SHUFFLE

// ---- "Parallel Synchronization and Communication Instructions" ---------------------------------

template <typename D>
HIPX_DEVICE void activemask_b32(D &&d) {
  set(d, hipx::activemask());
}
HIPX_DEVICE void bar_warp_sync() { hipx::syncwarp(); }
HIPX_DEVICE void bar_sync() { __syncthreads(); }
HIPX_DEVICE void membar_cta() { __threadfence_block(); }
HIPX_DEVICE void membar_gl() { __threadfence(); }
HIPX_DEVICE void membar_sys() { __threadfence_system(); }

// Kernels of a stream run one after the other on AMD: what it waits for is done, and what it lets
// begin does so later.
HIPX_DEVICE void griddepcontrol_wait() {}
HIPX_DEVICE void griddepcontrol_launch_dependents() {}

}  // namespace ptx
}  // namespace hipx

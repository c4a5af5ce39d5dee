// Inline PTX on warps, special registers, and conversions of CUDA's headers: on wavefronts of
// 32 and of 64 a warp has 32 lanes.
#include "check.h"

#include <cuda_fp8.h>
#include <math.h>

constexpr int threads = 64;

enum { UP, UP_8, DOWN, DOWN_8, BFLY, BFLY_16, IDX, IDX_8, LANE, LT, GE, TID, COUNT, ACTIVE, KINDS };

__global__ void shuffled(unsigned *to) {
  const unsigned x = 1000 + threadIdx.x, by = threadIdx.x % 32 / 8 + 1, from = threadIdx.x * 5;
  unsigned d[KINDS];
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0x0, 0xffffffff;" : "=r"(d[UP]) : "r"(x), "r"(by));
  asm volatile("shfl.sync.up.b32 %0, %1, 3, 0x1800, -1;" : "=r"(d[UP_8]) : "r"(x));
  asm volatile("shfl.sync.down.b32 %0, %1, 2, 0x1f, %2;" : "=r"(d[DOWN]) : "r"(x), "r"(0xffffffffu));
  asm volatile("shfl.sync.down.b32 %0, %1, 3, 0x181f, -1;" : "=r"(d[DOWN_8]) : "r"(x));
  asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, -1;" : "=r"(d[BFLY]) : "r"(x));
  asm volatile("shfl.sync.bfly.b32 %0, %1, 8, 0x101f, -1;" : "=r"(d[BFLY_16]) : "r"(x));
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=r"(d[IDX]) : "r"(x), "r"(from));
  asm volatile("shfl.sync.idx.b32 %0, %1, 13, 0x181f, -1;" : "=r"(d[IDX_8]) : "r"(x));
  asm("mov.u32 %0, %%laneid;" : "=r"(d[LANE]));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(d[LT]));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(d[GE]));
  asm("mov.u32 %0, %%tid.x;" : "=r"(d[TID]));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(d[COUNT]));
  asm volatile("activemask.b32 %0;" : "=r"(d[ACTIVE]));
  asm volatile("bar.warp.sync 0xffffffff;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  for (int i = 0; i < KINDS; ++i) to[KINDS * threadIdx.x + i] = d[i];
}

// The place in the grid, as CUDA's own variables have it.
__global__ void placed(int *wrong) {
  unsigned at[3], size[3], block[3], grid[3], lanes[3];
  asm("mov.u32 %0, %%tid.x;" : "=r"(at[0]));
  asm("mov.u32 %0, %%tid.y;" : "=r"(at[1]));
  asm("mov.u32 %0, %%tid.z;" : "=r"(at[2]));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(size[0]));
  asm("mov.u32 %0, %%ntid.y;" : "=r"(size[1]));
  asm("mov.u32 %0, %%ntid.z;" : "=r"(size[2]));
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(block[0]));
  asm("mov.u32 %0, %%ctaid.y;" : "=r"(block[1]));
  asm("mov.u32 %0, %%ctaid.z;" : "=r"(block[2]));
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(grid[0]));
  asm("mov.u32 %0, %%nctaid.y;" : "=r"(grid[1]));
  asm("mov.u32 %0, %%nctaid.z;" : "=r"(grid[2]));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(lanes[0]));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(lanes[1]));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(lanes[2]));
  bool same = at[0] == threadIdx.x && at[1] == threadIdx.y && at[2] == threadIdx.z;
  same &= block[0] == blockIdx.x && block[1] == blockIdx.y && block[2] == blockIdx.z;
  same &= size[0] == 4 && size[1] == 8 && size[2] == 2 && grid[0] == 2 && grid[1] == 3 && grid[2] == 1;
  const unsigned lane = (threadIdx.x + 4 * (threadIdx.y + 8 * threadIdx.z)) % 32;
  same &= lanes[0] == 1u << lane && lanes[1] == (2ull << lane) - 1 && lanes[2] == ~lanes[1];
  asm volatile("griddepcontrol.launch_dependents;");
  if (!same) atomicAdd(wrong, 1);
}

// A mask that is a constant of the function, beside a variable of its name elsewhere.
__global__ void summed(int *to) {
  const unsigned mask = ~0u;
  int sum = 1;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(mask, sum, offset);
  to[threadIdx.x] = sum;
}
__global__ void largest(int *to) {
  int most = (int)threadIdx.x;
  for (int mask = 16; mask > 0; mask >>= 1) most = max(most, __shfl_xor_sync(0xffffffff, most, mask));
  to[threadIdx.x] = most;
}

static unsigned expected(int kind, int thread) {
  const int lane = thread % 32, warp = thread - lane, in_8 = lane % 8, by = lane / 8 + 1;
  const unsigned base = 1000;
  switch (kind) {
    case UP: return base + warp + (lane >= by ? lane - by : lane);
    case UP_8: return base + warp + (in_8 >= 3 ? lane - 3 : lane);
    case DOWN: return base + warp + (lane < 30 ? lane + 2 : lane);
    case DOWN_8: return base + warp + (in_8 < 5 ? lane + 3 : lane);
    case BFLY: return base + warp + (lane ^ 16);
    case BFLY_16: return base + warp + (lane ^ 8);
    case IDX: return base + warp + thread * 5 % 32;
    case IDX_8: return base + warp + lane / 8 * 8 + 13 % 8;
    case LANE: return lane;
    case LT: return (unsigned)((1ull << lane) - 1);
    case GE: return (unsigned)(0xffffffffull << lane);
    case TID: return thread;
    case COUNT: return threads;
    default: return 0xffffffffu;
  }
}

__global__ void converted(const long long *from, __nv_bfloat16 *to, int n) {
  for (int i = 0; i < n; ++i) {
    to[4 * i] = __ll2bfloat16_rn(from[i]);
    to[4 * i + 1] = __int2bfloat16_rn((int)from[i]);
    to[4 * i + 2] = __uint2bfloat16_rn((unsigned)from[i]);
    to[4 * i + 3] = __ushort2bfloat16_rn((unsigned short)from[i]);
  }
}

// The distance to the nearest of eight bits of significand, of two the even one, in long double.
static bool is_nearest(long double exact, float got) {
  int exponent;
  frexpl(exact, &exponent);
  const long double step = ldexpl(1.0L, exponent - 8), away = fabsl((long double)got - exact);
  if (exact == 0) return got == 0;
  if (away * 2 == step) return fmodl(fabsl((long double)got) / step, 2.0L) == 0;
  return away * 2 < step;
}

__global__ void pairs(const float2 *from, unsigned short *codes, float2 *back, int n) {
  for (int i = 0; i < n; ++i) {
    codes[2 * i] = __nv_cvt_float2_to_fp8x2(from[i], __NV_SATFINITE, __NV_E4M3);
    codes[2 * i + 1] = __nv_fp8x2_e5m2(from[i]).__x;
    const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(codes[2 * i], __NV_E4M3);
    back[i] = __half22float2(__half2(raw));
    __nv_fp8x4_e4m3 four(make_float4(from[i].x, from[i].y, from[i].y, from[i].x));
    const __nv_fp8x4_storage_t bits = four.__x;
    if (bits != ((unsigned)codes[2 * i] | (unsigned)(codes[2 * i] >> 8) << 16 |
                 (unsigned)(codes[2 * i] & 0xff) << 24)) {
      back[i].x = -999;
    }
  }
}

int main() {
  Device<unsigned> to(KINDS * threads);
  shuffled<<<1, threads>>>(to);
  const std::vector<unsigned> got = to.values();
  const char *names[] = {"up",     "up of 8", "down",        "down of 8",   "bfly", "bfly of 16", "idx",
                         "idx of 8", "laneid",  "lanemask_lt", "lanemask_ge", "tid",  "ntid", "active"};
  for (int kind = 0; kind < KINDS; ++kind) {
    bool same = true;
    for (int t = 0; t < threads; ++t) same &= got[KINDS * t + kind] == expected(kind, t);
    check(names[kind], same);
  }

  Device<int> wrong(1);
  placed<<<dim3(2, 3), dim3(4, 8, 2)>>>(wrong);
  CHECK(wrong.values()[0] == 0);

  Device<int> sums(threads);
  summed<<<1, threads>>>(sums);
  CHECK(sums.values()[0] == 32 && sums.values()[32] == 32);
  largest<<<1, threads>>>(sums);
  CHECK(sums.values()[0] == 31 && sums.values()[63] == 63);

  std::vector<long long> integers;
  unsigned long long x = 88172645463325252ull;
  for (int i = 0; i < 4000; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    integers.push_back((long long)(x >> i % 64) * (i % 2 ? -1 : 1));
  }
  for (int bit = 0; bit < 63; ++bit) {
    for (long long near = -2; near <= 2; ++near) integers.push_back((1ll << bit) + near);
    for (long long near = -1; near <= 1; ++near) integers.push_back((257ll << bit % 54) + near);
  }
  const int n = (int)integers.size();
  Device<long long> whole(integers);
  Device<__nv_bfloat16> numbers(4 * n);
  converted<<<1, 1>>>(whole, numbers, n);
  const std::vector<__nv_bfloat16> made = numbers.values();
  bool nearest = true;
  for (int i = 0; i < n; ++i) {
    nearest &= is_nearest((long double)integers[i], __bfloat162float(made[4 * i]));
    nearest &= is_nearest((long double)(int)integers[i], __bfloat162float(made[4 * i + 1]));
    nearest &= is_nearest((long double)(unsigned)integers[i], __bfloat162float(made[4 * i + 2]));
    nearest &= is_nearest((long double)(unsigned short)integers[i], __bfloat162float(made[4 * i + 3]));
  }
  CHECK(nearest && "integers become the nearest bfloat16");

  // 1, 1.125, -448 and 0.5 by the table of E4M3; 57344 and beyond by that of E5M2.
  const std::vector<float2> values = {{1.0f, 1.125f}, {-448.0f, 0.5f}, {1e9f, -1e9f}};
  Device<float2> source(values), back(3);
  Device<unsigned short> codes(6);
  pairs<<<1, 1>>>(source, codes, back, 3);
  CHECK((codes.values() == std::vector<unsigned short>{0x3938, 0x3c3c, 0x30fe, 0x38df, 0xfe7e, 0xfb7b}));
  CHECK(back.values()[0].x == 1.0f && back.values()[0].y == 1.125f);
  CHECK(back.values()[1].x == -448.0f && back.values()[2].y == -448.0f);
}

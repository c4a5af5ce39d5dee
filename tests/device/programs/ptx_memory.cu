// Inline PTX that reads and writes memory: what the PTX ISA says of ld, st, cp.async, cvta, red and atom.
#include "check.h"

#include <cuda_pipeline.h>
#include <string.h>

typedef unsigned char byte;

constexpr int threads = 64;

static std::vector<unsigned> words(size_t count) {
  std::vector<unsigned> result(count);
  unsigned x = 12345;
  for (unsigned &word : result) word = x = x * 1664525u + 1013904223u;
  return result;
}

__global__ void moved(const unsigned *from, unsigned *to) {
  const unsigned *source = from + 4 * threadIdx.x;
  unsigned *target = to + 4 * threadIdx.x;
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(source));
  asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(target), "r"(v.w), "r"(v.z),
               "r"(v.y), "r"(v.x)
               : "memory");
}

__global__ void halves(const unsigned *from, unsigned *to) {
  float a, b;
  asm("ld.global.cg.v2.f32 {%0, %1}, [%2 + 8];" : "=f"(a), "=f"(b) : "l"(from + 4 * threadIdx.x));
  asm volatile("st.global.wt.v2.f32 [%0+8], {%1, %2};" ::"l"(to + 4 * threadIdx.x), "f"(b), "f"(a));
  unsigned c;
  if (threadIdx.x % 2)
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(c) : "l"(from + 4 * threadIdx.x));
  else
    asm volatile("ld.volatile.global.u32 %0, [%1 + 0x4];" : "=r"(c) : "l"(from + 4 * threadIdx.x));
  asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(to + 4 * threadIdx.x), "r"(c));
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(c) : "l"(from + 4 * threadIdx.x + 1));
  asm volatile("st.release.sys.global.b32 [%0], %1;" ::"l"(to + 4 * threadIdx.x + 1), "r"(c));
}

// Narrow values are widened with zeros, or with their sign where the type has one.
__global__ void narrow(const unsigned *from, unsigned *to) {
  unsigned a, b;
  short c;
  unsigned long long d;
  asm("ld.global.u8 %0, [%1];" : "=r"(a) : "l"(from + threadIdx.x));
  asm("ld.global.s8 %0, [%1];" : "=r"(b) : "l"(from + threadIdx.x));
  asm("ld.global.b16 %0, [%1+2];" : "=h"(c) : "l"(from + threadIdx.x));
  asm("ld.b64 %0, [%1];" : "=l"(d) : "l"(from + threadIdx.x / 2 * 2));
  to[8 * threadIdx.x] = a;
  to[8 * threadIdx.x + 1] = b;
  to[8 * threadIdx.x + 2] = (unsigned short)c;
  asm volatile("st.global.b8 [%0], %1;" ::"l"(to + 8 * threadIdx.x + 3), "r"(a));
  asm volatile("st.global.b64 [%0], %1;" ::"l"(to + 8 * threadIdx.x + 4), "l"(d));
}

// A round through shared memory by numbers of 32 bits, of static and of dynamic memory.
template <bool dynamic>
__global__ void through_shared(const unsigned *from, unsigned *to) {
  __shared__ alignas(16) unsigned own[4 * threads];
  extern __shared__ uint4 more[];
  unsigned *tile = dynamic ? (unsigned *)more : own;
  const unsigned address = (unsigned)__cvta_generic_to_shared(tile + 4 * threadIdx.x);
  unsigned other;
  asm("{ cvta.to.shared.u32 %0, %1; }" : "=r"(other) : "l"(tile));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address),
               "l"(from + 4 * threadIdx.x)
               : "memory");
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  asm volatile("bar.sync 0;" ::: "memory");
  unsigned a, b;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2+8];"
               : "=r"(a), "=r"(b)
               : "r"(other + 16 * ((threadIdx.x + 1) % threads)));
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(a ^ b));
  __syncthreads();
  to[threadIdx.x] = *(unsigned *)__cvta_shared_to_generic(other + 16 * threadIdx.x);
}

// Copies of fewer bytes than there is room for, guarded ones, and CUDA's functions for them.
__global__ void copied(const byte *from, byte *to) {
  __shared__ alignas(16) byte tile[threads][48];
  byte *own = tile[threadIdx.x];
  for (int i = 0; i < 48; ++i) own[i] = 0xee;
  const unsigned address = (unsigned)__cvta_generic_to_shared(own);
  const unsigned given = threadIdx.x % 17;
  const bool on = threadIdx.x % 3 == 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address),
               "l"(from + 16 * threadIdx.x), "n"(16), "r"(given));
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.b32 p, %0, 0;  // guarded\n"
      "  @p cp.async.ca.shared.global [%1 + 16], [%2], 8;\n"
      "}\n" ::"r"((int)on),
      "r"(address), "l"(from + 16 * threadIdx.x));
  if (on)
    __pipeline_memcpy_async(own + 32, from + 16 * threadIdx.x, 4);
  else
    __pipeline_memcpy_async(own + 32, from + 16 * threadIdx.x, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  asm volatile("cp.async.wait_all;");
  for (int i = 0; i < 48; ++i) to[48 * threadIdx.x + i] = own[i];
}

__global__ void counted(int *sums, unsigned *seen, float *total) {
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(sums), "r"((int)threadIdx.x));
  asm volatile("red.global.max.u32 [%0+4], %1;" ::"l"(sums), "r"(threadIdx.x));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(sums));
  unsigned before;
  asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(sums + 2));
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(total), "f"(0.5f));
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  seen[before] = 1;
}

// One thread after the other, so that what each finds is known.
__global__ void updated(unsigned *words, unsigned *before) {
  __shared__ unsigned own[8];
  const unsigned address = (unsigned)__cvta_generic_to_shared(own);
  for (int i = 0; i < 8; ++i) own[i] = words[i];
  asm volatile("atom.global.min.s32 %0, [%1], -7;" : "=r"(before[0]) : "l"(words));
  asm volatile("atom.shared.max.u32 %0, [%1+4], %2;" : "=r"(before[1]) : "r"(address), "r"(500u));
  asm volatile("atom.shared.and.b32 %0, [%1+8], 12;" : "=r"(before[2]) : "r"(address));
  asm volatile("atom.shared.or.b32 %0, [%1+12], 12;" : "=r"(before[3]) : "r"(address));
  asm volatile("red.shared.xor.b32 [%0+16], 12;" ::"r"(address));
  asm volatile("atom.shared.exch.b32 %0, [%1+20], 12;" : "=r"(before[5]) : "r"(address));
  asm volatile("red.shared.add.f32 [%0+24], 1.5;" ::"r"(address));
  asm volatile("membar.cta; membar.gl; membar.sys; fence.sc.cta; fence.acq_rel.sys;" ::: "memory");
  for (int i = 1; i < 8; ++i) words[i] = own[i];
}

// Addresses that change their kind.
__global__ void turned(const unsigned *from, unsigned *to) {
  __shared__ unsigned own[2];
  own[1] = 0;
  unsigned long long address, back, there;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(own + 1));
  asm volatile("st.shared.u32 [%0], 77;" ::"l"(address));
  asm("cvta.shared.u64 %0, %1;" : "=l"(back) : "l"(address));
  asm("cvta.to.global.u64 %0, %1;" : "=l"(there) : "l"(from));
  unsigned x, y;
  asm volatile("ld.u32 %0, [%1];" : "=r"(x) : "l"(back));
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(y) : "l"(there));
  long long ticks;
  int tick;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks));
  asm volatile("mov.u32 %0, %%clock;" : "=r"(tick));
  to[0] = x;
  to[1] = y;
  to[2] = ticks >= 0 && own[1] == 77 && from == (const unsigned *)__cvta_generic_to_global(from);
}

__global__ void read_only(const __half *h, const __half2 *pair, const __nv_bfloat16 *b, const int4 *v,
                          float *to) {
  to[0] = __half2float(__ldg(h));
  to[1] = __high2float(__ldg(pair));
  to[2] = __bfloat162float(__ldg(b));
  to[3] = (float)__ldg(v).z;
}

int main() {
  const std::vector<unsigned> source = words(8 * threads);
  Device<unsigned> from(source), to(8 * threads);

  moved<<<1, threads>>>(from, to);
  std::vector<unsigned> got = to.values();
  bool same = true;
  for (int i = 0; i < 4 * threads; ++i) same &= got[i] == source[i / 4 * 4 + 3 - i % 4];
  CHECK(same && "vectors are read and written in their order");

  halves<<<1, threads>>>(from, to);
  got = to.values();
  same = true;
  for (int t = 0; t < threads; ++t) {
    same &= got[4 * t + 2] == source[4 * t + 3] && got[4 * t + 3] == source[4 * t + 2];
    same &= got[4 * t] == source[4 * t + (t % 2 ? 0 : 1)] && got[4 * t + 1] == source[4 * t + 1];
  }
  CHECK(same && "offsets, orders and branches without braces");

  Device<unsigned> wide(std::vector<unsigned>(8 * threads, 0x55555555u));
  narrow<<<1, threads>>>(from, wide);
  got = wide.values();
  same = true;
  for (int t = 0; t < threads; ++t) {
    const unsigned word = source[t];
    same &= got[8 * t] == (word & 0xff) && (int)got[8 * t + 1] == (int)(signed char)word;
    same &= got[8 * t + 2] == word >> 16 && got[8 * t + 3] == (0x55555500u | (word & 0xff));
    same &= got[8 * t + 4] == source[t / 2 * 2] && got[8 * t + 5] == source[t / 2 * 2 + 1];
  }
  CHECK(same && "narrow values are widened and cut");

  for (const bool dynamic : {false, true}) {
    if (dynamic) {
      through_shared<true><<<1, threads, 16 * threads>>>(from, to);
    } else {
      through_shared<false><<<1, threads>>>(from, to);
    }
    got = to.values();
    same = true;
    for (int t = 0; t < threads; ++t) {
      const int next = (t + 1) % threads;
      same &= got[t] == (source[4 * next + 2] ^ source[4 * next + 3]);
    }
    check(dynamic ? "dynamic shared memory by number" : "static shared memory by number", same);
  }

  std::vector<byte> bytes(16 * threads);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = (byte)(source[i % source.size()] >> 8);
  Device<byte> input(bytes), output(48 * threads);
  copied<<<1, threads>>>(input, output);
  const std::vector<byte> result = output.values();
  bool filled = true, guarded = true, pipeline = true;
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < 16; ++i) {
      const byte there = bytes[16 * t + i];
      filled &= result[48 * t + i] == (i < t % 17 ? there : 0);
      guarded &= result[48 * t + 16 + i] == (t % 3 == 0 && i < 8 ? there : 0xee);
      const byte wanted = t % 3 == 0 ? (i < 4 ? there : 0xee) : (i < 12 ? there : 0);
      pipeline &= result[48 * t + 32 + i] == wanted;
    }
  }
  CHECK(filled);
  CHECK(guarded);
  CHECK(pipeline);

  Device<int> sums(3);
  Device<unsigned> seen(threads);
  Device<float> total(1);
  counted<<<1, threads>>>(sums, seen, total);
  const std::vector<int> added = sums.values();
  CHECK(added[0] == threads * (threads - 1) / 2);
  CHECK(added[1] == threads - 1);
  CHECK(added[2] == threads);
  CHECK(seen.values() == std::vector<unsigned>(threads, 1));
  CHECK(total.values()[0] == threads * 0.5f);

  const std::vector<unsigned> words_before = {5, 400, 10, 10, 10, 10, 0x3f800000u, 9};
  Device<unsigned> updates(words_before), before(8);
  updated<<<1, 1>>>(updates, before);
  CHECK((updates.values() == std::vector<unsigned>{(unsigned)-7, 500, 8, 14, 6, 12, 0x40200000u, 9}));
  std::vector<unsigned> seen_before = before.values();
  CHECK(seen_before[0] == 5 && seen_before[1] == 400 && seen_before[2] == 10);
  CHECK(seen_before[3] == 10 && seen_before[5] == 10);
  Device<unsigned> kinds(3);
  turned<<<1, 1>>>(from, kinds);
  CHECK((kinds.values() == std::vector<unsigned>{77, source[0], 1}));

  Device<__half> h(std::vector<__half>{__float2half(1.5f)});
  Device<__half2> pair(std::vector<__half2>{__floats2half2_rn(1, -2)});
  Device<__nv_bfloat16> b(std::vector<__nv_bfloat16>{__float2bfloat16(3.0f)});
  Device<int4> v(std::vector<int4>{make_int4(1, 2, 3, 4)});
  Device<float> read(4);
  read_only<<<1, 1>>>(h, pair, b, v, read);
  const std::vector<float> values = read.values();
  CHECK(values[0] == 1.5f);
  CHECK(values[1] == -2.0f);
  CHECK(values[2] == 3.0f);
  CHECK(values[3] == 3.0f);
}

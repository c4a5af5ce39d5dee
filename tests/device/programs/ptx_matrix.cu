// Inline PTX on matrices, against products of whole numbers: where an element lies in the fragments is
// what the PTX ISA says in "Matrix Fragments for mma" of each shape, element by element.
#include "check.h"

#include <string.h>

typedef unsigned u32;

constexpr int warps = 2;

// Of element i that a lane holds: its row and column, by shape and kind of element.
struct Place {
  int row, column;
};
struct Shape {
  int m, k;
  int each;  // elements of A and B in 32 bits
};

// A: groups of `each` follow each other along k; with two per register from "row = groupID for ai where
// 0 <= i < 2 || 4 <= i < 6, else groupID + 8; col = threadID_in_group * 2 + (i & 1), + 8 for i >= 4".
static Place of_a(Shape s, int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4, each = s.each;
  if (s.m == 8) return {group, in_group * each + i};
  const bool upper = i % (2 * each) < each;
  return {upper ? group : group + 8, in_group * each + i % each + (i >= 2 * each ? 4 * each : 0)};
}
// B: "row = threadID_in_group * 2 + (i & 1), + 8 for i >= 2; col = groupID".
static Place of_b(Shape s, int lane, int i) {
  return {lane % 4 * s.each + i % s.each + (i >= s.each ? 4 * s.each : 0), lane >> 2};
}
// C and D: "row = groupID for ci where i < 2, else groupID + 8; col = threadID_in_group * 2 + (i & 1)".
static Place of_c(int lane, int i) { return {(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

enum Kind { F16, BF16, TF32, E4M3, E5M2, S8, U8 };

static u32 code(Kind kind, int value) {
  const float f = (float)value;
  u32 bits;
  memcpy(&bits, &f, 4);
  const u32 sign = bits >> 31;
  const int exponent = (int)(bits >> 23 & 0xff) - 127;
  const u32 top = bits >> 13 & 0x3ff;  // ten bits of the fraction, more than any small number needs
  switch (kind) {
    case F16: return value == 0 ? 0 : sign << 15 | (u32)(exponent + 15) << 10 | top;
    case BF16: return bits >> 16;
    case TF32: return bits | 0x1fff;  // what lies below its ten bits is not looked at
    case E4M3: return value == 0 ? 0 : sign << 7 | (u32)(exponent + 7) << 3 | top >> 7;
    case E5M2: return value == 0 ? 0 : sign << 7 | (u32)(exponent + 15) << 2 | top >> 8;
    default: return (u32)value & 0xff;
  }
}

// The largest value that products are made of, so that all sums are exact in the format.
static int most(Kind kind) { return kind == S8 ? 127 : kind == U8 ? 255 : kind == E5M2 ? 3 : 7; }

struct Problem {
  Shape shape;
  Kind kind;
  std::vector<int> a, b, c;  // of each warp
  std::vector<u32> registers[3];

  Problem(Shape s, Kind k, bool half_sums) : shape(s), kind(k) {
    u32 x = 2463534242u;
    const auto drawn = [&](int limit, bool is_signed) {
      x ^= x << 13, x ^= x >> 17, x ^= x << 5;
      return (int)(x % (u32)(limit + 1)) * (is_signed && x >> 20 & 1 ? -1 : 1);
    };
    for (int i = 0; i < warps * s.m * s.k; ++i) a.push_back(drawn(most(k), k != U8));
    for (int i = 0; i < warps * s.k * 8; ++i) b.push_back(drawn(most(k), k != U8));
    for (int i = 0; i < warps * s.m * 8; ++i) c.push_back(drawn(100, true));
    const int width = 32 / s.each, in_a = s.m * s.k / 32, in_b = s.k * 8 / 32, in_c = s.m * 8 / 32;
    for (int t = 0; t < 32 * warps; ++t) {
      const int lane = t % 32, w = t / 32;
      u32 a_words[4] = {}, b_words[4] = {}, c_words[4] = {};
      for (int i = 0; i < in_a; ++i) {
        const Place p = of_a(s, lane, i);
        a_words[i / s.each] |= code(k, a[(w * s.m + p.row) * s.k + p.column]) << width * (i % s.each);
      }
      for (int i = 0; i < in_b; ++i) {
        const Place p = of_b(s, lane, i);
        b_words[i / s.each] |= code(k, b[(w * s.k + p.row) * 8 + p.column]) << width * (i % s.each);
      }
      for (int i = 0; i < in_c; ++i) {
        const Place p = of_c(lane, i);
        const int value = c[(w * s.m + p.row) * 8 + p.column];
        const float f = (float)value;
        if (half_sums) {
          c_words[i / 2] |= code(F16, value) << 16 * (i % 2);
        } else if (k == S8 || k == U8) {
          c_words[i] = (u32)value;
        } else {
          memcpy(&c_words[i], &f, 4);
        }
      }
      for (int i = 0; i < 4; ++i) {
        registers[0].push_back(a_words[i]);
        registers[1].push_back(b_words[i]);
        registers[2].push_back(c_words[i]);
      }
    }
  }

  bool holds(const std::vector<u32> &d, bool half_sums) const {
    bool same = true;
    for (int t = 0; t < 32 * warps; ++t) {
      for (int i = 0; i < shape.m * 8 / 32; ++i) {
        const Place p = of_c(t % 32, i);
        const int w = t / 32;
        int sum = c[(w * shape.m + p.row) * 8 + p.column];
        for (int k = 0; k < shape.k; ++k) {
          sum += a[(w * shape.m + p.row) * shape.k + k] * b[(w * shape.k + k) * 8 + p.column];
        }
        const float f = (float)sum;
        u32 wanted = (u32)sum, got = d[4 * t + i];
        if (half_sums) {
          got = d[4 * t + i / 2] >> 16 * (i % 2) & 0xffff;
          wanted = code(F16, sum);
        } else if (kind != S8 && kind != U8) {
          memcpy(&wanted, &f, 4);
        }
        same &= got == wanted;
      }
    }
    return same;
  }
};

#define OPERANDS                                                                    \
  const int t = threadIdx.x;                                                        \
  const u32 *A = a + 4 * t, *B = b + 4 * t, *C = c + 4 * t;                         \
  u32 *D = d + 4 * t;                                                               \
  (void)A, (void)B, (void)C, (void)D;

// D, A, B and C by their own operands; then C in place of D; then no C at all.
__global__ void f16_16(const u32 *a, const u32 *b, const u32 *c, u32 *d) {
  OPERANDS
  const float *F = (const float *)C;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};\n"
      : "=f"(((float *)D)[0]), "=f"(((float *)D)[1]), "=f"(((float *)D)[2]), "=f"(((float *)D)[3])
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]), "f"(F[0]), "f"(F[1]),
        "f"(F[2]), "f"(F[3]));
}

#define IN_PLACE(NAME, SHAPE_4)                                                                      \
  __global__ void NAME(const u32 *a, const u32 *b, const u32 *c, u32 *d) {                           \
    OPERANDS                                                                                         \
    for (int i = 0; i < 4; ++i) D[i] = C[i];                                                         \
    SHAPE_4                                                                                          \
  }
IN_PLACE(bf16_16, asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                               : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(f16_8, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                             "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                             : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                             : "r"(A[0]), "r"(A[1]), "r"(B[0]));)
IN_PLACE(bf16_8, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                              "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                              : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                              : "r"(A[0]), "r"(A[1]), "r"(B[0]));)
IN_PLACE(tf32_8, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                              "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                              : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                              : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(tf32_4, asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                              "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                              : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                              : "r"(A[0]), "r"(A[1]), "r"(B[0]));)
IN_PLACE(e4m3_32, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, "
                               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                               : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(e5m2_32, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, "
                               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                               : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(s8_32, asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                             "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                             : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(u8_32, asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, "
                             "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                             : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(u8_16, asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, "
                             "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                             : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                             : "r"(A[0]), "r"(A[1]), "r"(B[0]));)
IN_PLACE(u8_8, asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, "
                            "{%0, %1};"
                            : "+r"(D[0]), "+r"(D[1])
                            : "r"(A[0]), "r"(B[0]));)
IN_PLACE(s8_16, asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                             "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                             : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3])
                             : "r"(A[0]), "r"(A[1]), "r"(B[0]));)
IN_PLACE(s8_8, asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, "
                            "{%0, %1};"
                            : "+r"(D[0]), "+r"(D[1])
                            : "r"(A[0]), "r"(B[0]));)
IN_PLACE(half_16, asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
                               "{%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                               : "+r"(D[0]), "+r"(D[1])
                               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));)
IN_PLACE(half_8, asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, "
                              "{%4}, {%0, %1};"
                              : "+r"(D[0]), "+r"(D[1])
                              : "r"(A[0]), "r"(A[1]), "r"(B[0]));)

typedef void (*Kernel)(const u32 *, const u32 *, const u32 *, u32 *);

static void test_product(const char *name, Kernel kernel, Shape shape, Kind kind, bool half_sums) {
  const Problem problem(shape, kind, half_sums);
  Device<u32> a(problem.registers[0]), b(problem.registers[1]), c(problem.registers[2]);
  Device<u32> d(4 * 32 * warps);
  kernel<<<1, 32 * warps>>>(a, b, c, d);
  check(name, problem.holds(d.values(), half_sums));
}

// Matrices of eight rows of eight 16-bit elements, whose rows lie anywhere: a lane gets those of its row
// and columns, and another way round with .trans ("ldmatrix", the figure of the fragments).
__global__ void loaded(const unsigned short *from, u32 *to) {
  __shared__ alignas(16) unsigned short tile[warps][32][16];  // rows of 32 bytes, half of them empty
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = (lane * 7 + 3) % 32;
  for (int i = 0; i < 8; ++i) tile[warp][row][i] = from[(warp * 32 + lane) * 8 + i];
  __syncthreads();
  const u32 address = (u32)__cvta_generic_to_shared(tile[warp][row]);
  u32 r[17] = {};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
               : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.b16 {%0, %1}, [%2];"
               : "=r"(r[8]), "=r"(r[9])
               : "l"(tile[warp][row]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[10]) : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {_, %0, _, %1}, [%2];"
               : "=r"(r[11]), "=r"(r[12])
               : "r"(address));
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[13]) : "r"(r[2]));
  __syncthreads();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0+16], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]));
  __syncthreads();
  // Two matrices once more, by pointers and the other way round, and one.
  if (lane < 16) memset(&tile[warp][row][8], 0, 16);
  __syncthreads();
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.b16 [%0], {%1, %2};" ::"l"(&tile[warp][row][8]),
               "r"(r[0]), "r"(r[1]));
  __syncthreads();
  if (lane < 8) memset(&tile[warp][row][8], 0, 16);
  __syncthreads();
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0+16], {%1};" ::"r"(address), "r"(r[4]));
  __syncthreads();
  for (int i = 0; i < 3; ++i) memcpy(&r[14 + i], &tile[warp][row][8 + 2 * i], 4);
  for (int i = 0; i < 17; ++i) to[17 * threadIdx.x + i] = r[i];
}

static void test_rows() {
  std::vector<unsigned short> elements(warps * 32 * 8);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = (unsigned short)(i * 40503u >> 3);
  Device<unsigned short> from(elements);
  Device<u32> to(17 * 32 * warps);
  loaded<<<1, 32 * warps>>>(from, to);
  const std::vector<u32> got = to.values();
  bool plain = true, transposed = true, others = true, moved = true, stored = true;
  for (int t = 0; t < 32 * warps; ++t) {
    const int lane = t % 32, row = lane / 4, column = lane % 4 * 2;
    const auto element = [&](int matrix, int r, int c) {
      return (u32)elements[((t / 32) * 32 + 8 * matrix + r) * 8 + c];
    };
    const auto held = [&](int matrix) {
      return element(matrix, row, column) | element(matrix, row, column + 1) << 16;
    };
    const auto turned = [&](int matrix, int r, int c) {
      return element(matrix, c, r) | element(matrix, c + 1, r) << 16;
    };
    const u32 *r = &got[17 * t];
    for (int m = 0; m < 4; ++m) {
      plain &= r[m] == held(m);
      transposed &= r[4 + m] == turned(m, row, column);
    }
    others &= r[8] == held(0) && r[9] == held(1) && r[10] == turned(0, row, column);
    others &= r[11] == held(1) && r[12] == held(3);
    moved &= r[13] == turned(2, row, column);
    for (int i = 0; i < 3; ++i) stored &= r[14 + i] == turned(lane / 8, lane % 8, 2 * i);
  }
  CHECK(plain);
  CHECK(transposed);
  CHECK(others);
  CHECK(moved);
  CHECK(stored);
}

int main() {
  test_rows();
  test_product("m16n8k16 f16", f16_16, {16, 16, 2}, F16, false);
  test_product("m16n8k16 bf16", bf16_16, {16, 16, 2}, BF16, false);
  test_product("m16n8k8 f16", f16_8, {16, 8, 2}, F16, false);
  test_product("m16n8k8 bf16", bf16_8, {16, 8, 2}, BF16, false);
  test_product("m16n8k8 tf32", tf32_8, {16, 8, 1}, TF32, false);
  test_product("m16n8k4 tf32", tf32_4, {16, 4, 1}, TF32, false);
  test_product("m16n8k32 e4m3", e4m3_32, {16, 32, 4}, E4M3, false);
  test_product("m16n8k32 e5m2", e5m2_32, {16, 32, 4}, E5M2, false);
  test_product("m16n8k32 s8", s8_32, {16, 32, 4}, S8, false);
  test_product("m16n8k32 u8", u8_32, {16, 32, 4}, U8, false);
  test_product("m16n8k16 s8", s8_16, {16, 16, 4}, S8, false);
  test_product("m16n8k16 u8", u8_16, {16, 16, 4}, U8, false);
  test_product("m8n8k16 u8", u8_8, {8, 16, 4}, U8, false);
  test_product("m8n8k16 s8", s8_8, {8, 16, 4}, S8, false);
  test_product("m16n8k16 in f16", half_16, {16, 16, 2}, F16, true);
  test_product("m16n8k8 in f16", half_8, {16, 8, 2}, F16, true);
}

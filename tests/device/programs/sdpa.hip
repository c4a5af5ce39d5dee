// The kernels of attention, as candle's port launches them, against plain sums in double precision:
// random shapes, strides, masks, windows, lengths and pages. The arguments: how many cases, and a seed.
// Each line says what the case has, and how much of what it may be off it is, at worst.
#include "check.h"

#include "attention.hip"

#include <math.h>

#include <string>

static uint64_t state = 1;

static uint32_t below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(state >> 33) % n;
}

static double real(double most) { return most * (below(1u << 20) / double(1u << 19) - 1.0); }

// Numbers of the device that a case may lack.
template <typename T>
static const T *there(const Device<T> &values, bool is) {
  return is ? static_cast<T *>(values) : nullptr;
}

struct AsF16 {
  static uint16_t put(double x) { return __half_as_ushort(__float2half_rn(static_cast<float>(x))); }
  static double get(uint16_t x) { return __half2float(__ushort_as_half(x)); }
  static constexpr double EPSILON = 1.0 / 1024;
};
struct AsBF16 {
  static uint16_t put(double x) {
    const float narrow = static_cast<float>(x);
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    return static_cast<uint16_t>((bits + 0x8000) >> 16);
  }
  static double get(uint16_t x) {
    const uint32_t bits = static_cast<uint32_t>(x) << 16;
    float wide;
    memcpy(&wide, &bits, 4);
    return wide;
  }
  static constexpr double EPSILON = 1.0 / 128;
};
struct AsF32 {
  static float put(double x) { return static_cast<float>(x); }
  static double get(float x) { return x; }
  static constexpr double EPSILON = 1.0 / (1 << 23);
};

// By how much the weights of many queries may be rounded: by half a place of the type where matrix
// cores take them. Those of f32 are not, and without matrix cores none are.
template <typename As>
static double of_weights() {
  int device = 0;
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, device));
  const bool plain = strncmp(properties.gcnArchName, "gfx10", 5) == 0;
  return plain || As::EPSILON == AsF32::EPSILON ? 0 : As::EPSILON * 0.5001;
}

// A tensor of four dimensions whose rows lie apart, in an order of the outer dimensions.
template <typename As, typename T>
struct Input {
  std::vector<T> data;
  int64_t stride[4];
  int64_t offset;

  Input(int batches, int heads, int rows, int width) {
    const int64_t apart = width + (below(3) == 0 ? 1 + below(9) : 0);
    if (below(2)) {  // (batch, row, head, width), as projections give it
      stride[0] = apart * heads * rows, stride[1] = apart, stride[2] = apart * heads;
    } else {
      stride[0] = apart * heads * rows, stride[1] = apart * rows, stride[2] = apart;
    }
    stride[3] = 1;
    offset = below(3);
    data.resize(offset + stride[0] * batches);
    for (auto &each : data) each = As::put(real(2.0));
  }
  int64_t at(int b, int h, int r, int d) const {
    return offset + b * stride[0] + h * stride[1] + r * stride[2] + d * stride[3];
  }
};

// The addresses of a type's kernels.
struct Kernels {
  const void *decode[2][4];  // of 1, 2, 4 and 8 rows; the second have something besides
  const void *combine;
  const void *prefill[2][2];  // of heads up to 128 and up to 256
};

static void launch(const void *kernel, dim3 grid, void **arguments) {
  HIP(hipLaunchKernel(kernel, grid, dim3(THREADS), arguments, 0, nullptr));
}

struct Compared {
  std::string what;   // it has
  double worst;       // of what is off, in parts of what may be
  std::string where;  // that is
};

template <typename As, typename T>
static Compared compare(const Kernels &kernels) {
  Launch a{};
  const bool few = below(2), more = below(2), ended = more && below(2), paged = ended && below(2);
  a.shared_by = 1 + below(below(3) ? 4 : 9);
  const int kv_heads = 1 + below(2);
  a.batches = 1 + below(ended ? 4 : 2);
  a.heads = kv_heads * a.shared_by;
  a.width = 8 * (1 + below(below(3) ? 16 : few ? 64 : 32));
  a.v_width = below(3) ? a.width : 8 * (1 + below(few ? 64 : 32));
  const bool wide = a.width > 256 || a.v_width > 256;
  const int row_kind = below(wide ? 3 : 4), width = 1 << row_kind;

  // Sequences of their own lengths, some empty, or all alike.
  const int longest = few ? 1 + below(8) : 1 + below(80), most_keys = 1 + below(below(4) ? 150 : 700);
  std::vector<uint32_t> q_ends(1), k_ends(1);
  for (int i = 0; i < a.batches; ++i) {
    q_ends.push_back(q_ends.back() + (ended ? below(longest + 1) : longest));
    k_ends.push_back(k_ends.back() + (ended ? below(most_keys + 1) : most_keys));
  }
  a.page = 32 * (1 + below(2));
  a.pages = (most_keys + a.page - 1) / a.page + below(2);
  a.queries = ended ? q_ends.back() : longest;
  a.keys = paged ? a.pages * a.page : ended ? k_ends.back() : most_keys;
  if (a.queries == 0) return {"no queries", 0, ""};
  const int lying = a.batches * a.pages + below(3);  // pages
  std::vector<int32_t> pages(a.batches * a.pages);
  for (size_t i = 0; i < pages.size(); ++i) pages[i] = (i * 7 + 3) % lying;
  if (lying % 7 == 0)
    for (size_t i = 0; i < pages.size(); ++i) pages[i] = lying - 1 - i;

  const int none = 1 << 30;
  a.before = below(2) ? none : below(most_keys + 2);
  a.behind = below(3) == 0 ? none : below(3) ? 0 : below(most_keys + 2);
  a.ranges = more && below(3) == 0 ? 1 + below(3) : 0;
  std::vector<int32_t> ranges(a.batches * a.ranges * 2);
  for (auto &each : ranges) each = below(most_keys + 2);
  const bool sloped = more && below(2), masked = !more && below(2);
  std::vector<float> slopes(a.heads);
  for (auto &each : slopes) each = static_cast<float>(exp2(-1.0 - below(8)));
  a.unseeing = below(2);
  a.scale = static_cast<float>(1.0 / sqrt(a.width));
  a.cap = below(3) ? 0.0f : 2.5f;
  a.parts = 1;
  a.keys_each = 64 * (1 + most_keys / 64);
  if (few && below(3)) {
    a.keys_each = 64 * (1 + below(3));
    a.parts = (most_keys + a.keys_each - 1) / a.keys_each;
  }

  // Where there are pages, they are the batches of the keys.
  const int of_queries = ended ? 1 : a.batches, of_keys = paged ? lying : of_queries;
  const int keys_in_each = paged ? a.page : a.keys;
  Input<As, T> q(of_queries, a.heads, a.queries, a.width), k(of_keys, kv_heads, keys_in_each, a.width),
      v(of_keys, kv_heads, keys_in_each, a.v_width), mask(of_queries, a.heads, a.queries, a.keys);
  for (auto &each : mask.data)
    if (below(5) == 0) each = As::put(-INFINITY);
  if (below(2)) mask.stride[0] = mask.stride[1] = 0;  // one for all
  for (int i = 0; i < 3; ++i) {
    a.q_stride[i] = q.stride[i], a.k_stride[i] = k.stride[i], a.v_stride[i] = v.stride[i];
  }
  for (int i = 0; i < 4; ++i) a.mask_stride[i] = mask.stride[i];
  if (ended) a.q_stride[0] = 0;
  if (ended && !paged) a.k_stride[0] = a.v_stride[0] = 0;
  const bool by_query = below(2);  // the output is (batch, query, head, width)
  a.out_stride[0] = ended ? 0 : a.heads * a.queries;
  a.out_stride[1] = by_query ? 1 : a.queries;
  a.out_stride[2] = by_query ? a.heads : 1;
  a.rows = of_queries * a.heads * a.queries;

  const int rows = longest * a.shared_by;
  Device<T> on_q(q.data), on_k(k.data), on_v(v.data), on_mask(mask.data),
      out(static_cast<size_t>(a.rows) * a.v_width);
  Device<float> parts(static_cast<size_t>(a.rows) * a.parts * (a.v_width + 2)), on_slopes(slopes);
  Device<uint32_t> on_q_ends(q_ends), on_k_ends(k_ends);
  Device<int32_t> on_pages(pages), on_ranges(ranges);
  Besides also = {there(on_slopes, sloped), there(on_q_ends, ended), there(on_k_ends, ended),
                  there(on_pages, paged), there(on_ranges, a.ranges > 0)};
  const T *of_mask = masked ? on_mask + mask.offset : nullptr;
  const T *of_q = on_q + q.offset, *of_k = on_k + k.offset, *of_v = on_v + v.offset;
  T *to = out;
  float *through = parts;
  std::vector<void *> arguments = {&of_q, &of_k, &of_v};
  if (!more) arguments.push_back(&of_mask);
  arguments.push_back(&to);
  if (few) arguments.push_back(&through);
  if (more) arguments.push_back(&also);
  arguments.push_back(&a);
  if (few || wide) {
    const dim3 grid(a.batches * kv_heads * a.parts, (rows + width - 1) / width);
    launch(kernels.decode[more][row_kind], grid, arguments.data());
    void *others[] = {&through, &to, &a};
    if (a.parts > 1) launch(kernels.combine, dim3(a.rows), others);
  } else {
    const int tiles = ended ? a.queries * a.shared_by / 64 + a.batches
                            : a.batches * ((rows + 63) / 64);
    launch(kernels.prefill[more][a.width > 128 || a.v_width > 128], dim3(kv_heads * tiles),
           arguments.data());
  }
  const auto got = out.values();
  // Matrix cores take the weights in the type.
  const double weights_rounded = few || wide ? 0 : of_weights<As>();

  std::vector<double> scores;
  double worst = 0;
  std::string where;
  for (int row = 0; row < a.rows; ++row) {
    const int head = by_query ? row % a.heads : row / a.queries % a.heads;
    const int at = by_query ? row / a.heads % a.queries : row % a.queries;
    int b = row / a.queries / a.heads;
    if (ended)
      while (at >= static_cast<int>(q_ends[b + 1])) ++b;
    const int query = ended ? at - q_ends[b] : at, kv_head = head / a.shared_by;
    const int keys = ended ? k_ends[b + 1] - k_ends[b] : a.keys;
    const int queries = ended ? q_ends[b + 1] - q_ends[b] : a.queries;
    const int own = query + keys - queries;
    const auto page_of = [&](int key) {
      return paged ? pages[b * a.pages + key / a.page] : ended ? 0 : b;
    };
    const auto place_of = [&](int key) {
      return paged ? key % a.page : ended ? static_cast<int>(k_ends[b]) + key : key;
    };
    double most = -INFINITY, total = 0, size = 1;
    scores.resize(keys);
    for (int key = 0; key < keys; ++key) {
      double x = 0, sizes = 0;
      for (int d = 0; d < a.width; ++d) {
        const double y = As::get(q.data[q.at(ended ? 0 : b, head, at, d)]) *
                         As::get(k.data[k.at(page_of(key), kv_head, place_of(key), d)]);
        x += y, sizes += fabs(y);
      }
      x *= a.scale, sizes *= a.scale;
      if (a.cap != 0.0f) x = tanh(x / a.cap) * a.cap;
      if (sloped) x -= slopes[head] * abs(own - key), sizes += slopes[head] * abs(own - key);
      if (masked) x += As::get(mask.data[mask.at(b, head, query, key)]);
      bool seen = key <= own + a.behind && key >= own - a.before;
      for (int i = 0; i < a.ranges; ++i) {
        const int from = ranges[(b * a.ranges + i) * 2], to = ranges[(b * a.ranges + i) * 2 + 1];
        seen = seen || (key >= from && key < to && own >= from && own < to);
      }
      if (!seen) x = -INFINITY;
      size = fmax(size, sizes);
      scores[key] = x;
      most = fmax(most, x);
    }
    for (double x : scores) total += exp(x - most);
    for (int d = 0; d < a.v_width; ++d) {
      double want = 0, magnitude = 0;  // and of its terms
      for (int key = 0; key < keys; ++key) {
        const double y =
            exp(scores[key] - most) / total * As::get(v.data[v.at(page_of(key), kv_head, place_of(key), d)]);
        want += y, magnitude += fabs(y);
      }
      if (isnan(total) || keys == 0) want = a.unseeing ? 0.0 : NAN, magnitude = 0;
      const double found = As::get(got[static_cast<size_t>(row) * a.v_width + d]);
      if (isnan(want) != isnan(found)) {
        where = "row " + std::to_string(row) + ": " + std::to_string(found) + ", expected " + std::to_string(want);
        worst = INFINITY;
        continue;
      }
      if (isnan(want)) continue;
      // The rounding of the output and of weights, and that of f32: of scores, which count as they are
      // large, and of sums.
      const double allowed = As::EPSILON * 0.5001 * fabs(want) +
                             AsF32::EPSILON * magnitude * (4 * size + 16) +
                             weights_rounded * magnitude + 1e-7;
      const double off = fabs(found - want) / allowed;
      if (!(off <= worst)) {
        worst = off;
        where = "row " + std::to_string(row) + " column " + std::to_string(d) + ": " +
                std::to_string(found) + ", expected " + std::to_string(want);
      }
    }
  }
  const bool causal = a.before == none && a.behind == 0;
  std::string what = few || wide ? "decode" : "prefill";
  what += ", width " + std::to_string(a.width) + ", width of v " + std::to_string(a.v_width) +
          ", queries " + std::to_string(longest) + ", keys " + std::to_string(most_keys) +
          ", heads " + std::to_string(a.heads) + ", heads of keys " + std::to_string(kv_heads) +
          ", parts " + std::to_string(a.parts);
  if (causal) what += ", causal";
  if (!causal && (a.before != none || a.behind != none))
    what += ", window " + std::to_string(a.before) + " " + std::to_string(a.behind);
  if (a.cap != 0.0f) what += ", softcap";
  if (sloped) what += ", alibi";
  if (masked) what += ", mask";
  if (ended) what += ", lengths";
  if (paged) what += ", pages";
  if (a.ranges > 0) what += ", ranges";
  return {what, worst, where};
}

#define ADDRESS(NAME) reinterpret_cast<const void *>(NAME)
#define DECODE_OF(KIND, NAME)                                                                \
  {ADDRESS(KIND##_decode1_##NAME), ADDRESS(KIND##_decode2_##NAME),                           \
   ADDRESS(KIND##_decode4_##NAME), ADDRESS(KIND##_decode8_##NAME)}
#define PREFILL_OF(KIND, NAME)                                                               \
  {ADDRESS(KIND##_prefill128_##NAME), ADDRESS(KIND##_prefill256_##NAME)}
#define OF(NAME)                                                                             \
  {                                                                                          \
    {DECODE_OF(sdpa, NAME), DECODE_OF(flash, NAME)}, ADDRESS(sdpa_combine_##NAME), {         \
      PREFILL_OF(sdpa, NAME), PREFILL_OF(flash, NAME)                                        \
    }                                                                                        \
  }

int main(int count, char **arguments) {
  const int cases = count > 1 ? atoi(arguments[1]) : 90;
  state = count > 2 ? atoi(arguments[2]) : 1;
  const Kernels f32 = OF(f32), f16 = OF(f16), bf16 = OF(bf16);
  const char *types[] = {"f32", "f16", "bf16"};
  for (int i = 0; i < cases; ++i) {
    const uint64_t seed = state;
    const Compared found = i % 3 == 0   ? compare<AsF32, float>(f32)
                           : i % 3 == 1 ? compare<AsF16, uint16_t>(f16)
                                        : compare<AsBF16, uint16_t>(bf16);
    const bool holds = found.worst <= 1;
    char worst[32];
    snprintf(worst, sizeof(worst), ", off by %.3f", found.worst);
    std::string line = "case " + std::to_string(i) + ": " + types[i % 3] + ", " + found.what + worst;
    if (!holds) line += "; " + found.where + "; seed " + std::to_string(seed);
    check(line.c_str(), holds);
  }
}

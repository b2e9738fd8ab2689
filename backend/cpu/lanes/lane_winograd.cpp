// Winograd's transforms, channels side by side in vectors. Compiled once per processor level.
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"
#include "backend/cpu/lanes/winograd_transforms.h"

namespace tuff::cpu {
namespace {

constexpr int kWindow = kWinogradWindow;

// B^T, G and A^T of F(m, 3) times a column; the elements of g are `step` vectors apart.
template <int kTile>
struct Filter;

template <>
struct Filter<2> {
  static TUFF_INLINE void source(const Vector* d, Vector* to) {
    to[0] = d[0] - d[2];
    to[1] = d[1] + d[2];
    to[2] = d[2] - d[1];
    to[3] = d[1] - d[3];
  }
  static TUFF_INLINE void weights(const Vector* g, int step, Vector* to) {
    Vector ends = (g[0] + g[2 * step]) * 0.5f, middle = g[step] * 0.5f;
    to[0] = g[0];
    to[1] = ends + middle;
    to[2] = ends - middle;
    to[3] = g[2 * step];
  }
  static TUFF_INLINE void result(const Vector* m, Vector* to) {
    to[0] = m[0] + (m[1] + m[2]);
    to[1] = (m[1] - m[2]) - m[3];
  }
};

// By the polynomials' values at 0, +-kA, +-kB and infinity. At +-3/4 and +-3/2 an error is half as
// large as at +-1 and +-2, and the largest of many a quarter.
template <>
struct Filter<4> {
  static constexpr float kA = 0.75f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;

  static TUFF_INLINE void source(const Vector* d, Vector* to) {
    Vector even = d[4] - kB2 * d[2], odd = kA * (d[3] - kB2 * d[1]);
    Vector outer = d[4] - kA2 * d[2], inner = kB * (d[3] - kA2 * d[1]);
    to[0] = kA2 * kB2 * d[0] - (kA2 + kB2) * d[2] + d[4];
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = outer + inner;
    to[4] = outer - inner;
    to[5] = kA2 * kB2 * d[1] - (kA2 + kB2) * d[3] + d[5];
  }
  static TUFF_INLINE void weights(const Vector* g, int step, Vector* to) {
    constexpr float kOfA = 1 / (2 * kA2 * (kA2 - kB2)), kOfB = 1 / (2 * kB2 * (kB2 - kA2));
    Vector near = kOfA * (g[0] + kA2 * g[2 * step]), near1 = kOfA * kA * g[step];
    Vector far = kOfB * (g[0] + kB2 * g[2 * step]), far1 = kOfB * kB * g[step];
    to[0] = g[0] * (1 / (kA2 * kB2));
    to[1] = near + near1;
    to[2] = near - near1;
    to[3] = far + far1;
    to[4] = far - far1;
    to[5] = g[2 * step];
  }
  static TUFF_INLINE void result(const Vector* m, Vector* to) {
    Vector near = m[1] + m[2], near1 = m[1] - m[2], far = m[3] + m[4], far1 = m[3] - m[4];
    to[0] = m[0] + (near + far);
    to[1] = kA * near1 + kB * far1;
    to[2] = kA2 * near + kB2 * far;
    to[3] = (kA * kA2) * near1 + (kB * kB2) * far1 + m[5];
  }
};

template <int kTile, bool kWhole>
TUFF_INLINE void source_vector(const float* const* pixels, const float* const* next, int64_t c,
                               int64_t count, float* to, int64_t step) {
  constexpr int kSide = kTile + kWindow - 1;
  if (c % kFetched == 0)
    for (int i = 0; i < kSide; ++i)
      for (int j = kSide - kTile; j < kSide; ++j) __builtin_prefetch(next[i * kSide + j] + c);
  Vector by_column[kSide][kSide], row[kSide];
  for (int j = 0; j < kSide; ++j) {
    Vector d[kSide], column[kSide];
    for (int i = 0; i < kSide; ++i) d[i] = load_first<kWhole>(pixels[i * kSide + j] + c, count);
    Filter<kTile>::source(d, column);
    for (int i = 0; i < kSide; ++i) by_column[i][j] = column[i];
  }
  for (int i = 0; i < kSide; ++i) {
    Filter<kTile>::source(by_column[i], row);
    for (int j = 0; j < kSide; ++j)
      store_first<kWhole>(to + (i * kSide + j) * step + c, row[j], count);
  }
}

template <int kTile>
void source(int64_t channels, const float* const* pixels, const float* const* next, float* to,
            int64_t step) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes)
    source_vector<kTile, true>(pixels, next, c, kLanes, to, step);
  if (c < channels) source_vector<kTile, false>(pixels, next, c, channels - c, to, step);
}

template <int kTile, bool kWhole>
TUFF_INLINE void weights_vector(const float* taps, int64_t tap_step, int64_t count, float* to,
                                int64_t step) {
  constexpr int kSide = kTile + kWindow - 1;
  Vector g[kWindow * kWindow], by_column[kSide][kWindow], row[kSide];
  for (int t = 0; t < kWindow * kWindow; ++t) g[t] = load_first<kWhole>(taps + t * tap_step, count);
  for (int j = 0; j < kWindow; ++j) {
    Vector column[kSide];
    Filter<kTile>::weights(g + j, kWindow, column);
    for (int i = 0; i < kSide; ++i) by_column[i][j] = column[i];
  }
  for (int i = 0; i < kSide; ++i) {
    Filter<kTile>::weights(by_column[i], 1, row);
    for (int j = 0; j < kSide; ++j) store_first<kWhole>(to + (i * kSide + j) * step, row[j], count);
  }
}

template <int kTile>
void weights(int64_t columns, const float* taps, int64_t tap_step, float* to, int64_t step) {
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes)
    weights_vector<kTile, true>(taps + c, tap_step, kLanes, to + c, step);
  if (c < columns) weights_vector<kTile, false>(taps + c, tap_step, columns - c, to + c, step);
}

template <int kTile, bool kWhole>
TUFF_INLINE void result_vector(const WinogradResult& r, int64_t c, int64_t count) {
  constexpr int kSide = kTile + kWindow - 1;
  Vector by_column[kTile][kSide], row[kTile], shift{};
  const Vector least = Vector{} + r.least, most = Vector{} + r.most;
  if (r.shifts != nullptr) shift = load_first<kWhole>(r.shifts + c, count);
  for (int j = 0; j < kSide; ++j) {
    Vector m[kSide], column[kTile];
    for (int i = 0; i < kSide; ++i)
      m[i] = load_first<kWhole>(r.sums + (i * kSide + j) * r.step + c, count);
    Filter<kTile>::result(m, column);
    for (int i = 0; i < kTile; ++i) by_column[i][j] = column[i];
  }
  for (int i = 0; i < kTile; ++i) {
    Filter<kTile>::result(by_column[i], row);
    for (int j = 0; j < kTile; ++j) {
      int p = i * kTile + j;
      if (r.pixels[p] == nullptr) continue;
      Vector sum = row[j];
      if (r.addends != nullptr) sum += load_first<kWhole>(r.addends[p] + c, count);
      sum += shift;
      sum = sum < least ? least : sum;
      store_first<kWhole>(r.pixels[p] + c, sum > most ? most : sum, count);
    }
  }
}

template <int kTile>
void result(const WinogradResult& r) {
  int64_t c = 0;
  for (; c + kLanes <= r.columns; c += kLanes) result_vector<kTile, true>(r, c, kLanes);
  if (c < r.columns) result_vector<kTile, false>(r, c, r.columns - c);
}

}  // namespace

void TUFF_LEVEL_FN(fill_winograd_lanes)(LaneTable& table) {
  table.winograd[0] = {source<2>, weights<2>, result<2>};
  table.winograd[1] = {source<4>, weights<4>, result<4>};
}

}  // namespace tuff::cpu

// f16 converted by the processor's instructions, which the compiler does not use in loops by
// itself. Same bits as element.h's, but that a signalling NaN becomes a quiet one when it is
// widened: that changes no result, since narrowing does the same. After level.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/cpu/lanes/level.h"

#ifdef __F16C__
#include <immintrin.h>

namespace tuff::cpu {
namespace {

inline constexpr bool kHasHalves = true;

#ifdef __AVX512F__
inline constexpr int64_t kHalves = 16;  // converted at once
TUFF_INLINE __m512 widened(const uint16_t* from) {
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
TUFF_INLINE void widen_some(float* to, const uint16_t* from) {
  _mm512_storeu_ps(to, widened(from));
}
TUFF_INLINE void narrow_some(uint16_t* to, const float* from) {
  __m256i halves = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
}
#else
inline constexpr int64_t kHalves = 8;
TUFF_INLINE __m256 widened(const uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
TUFF_INLINE void widen_some(float* to, const uint16_t* from) {
  _mm256_storeu_ps(to, widened(from));
}
TUFF_INLINE void narrow_some(uint16_t* to, const float* from) {
  __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
}
#endif

// The last ones by way of a whole vector.
template <typename To, typename From, typename Some>
TUFF_INLINE void convert_halves(int64_t n, To* to, const From* from, const Some& some) {
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) some(to + i, from + i);
  if (i == n) return;
  From rest[kHalves] = {};
  To converted[kHalves];
  std::memcpy(rest, from + i, static_cast<size_t>(n - i) * sizeof(From));
  some(converted, rest);
  std::memcpy(to + i, converted, static_cast<size_t>(n - i) * sizeof(To));
}

inline void widen_halves(int64_t n, float* to, const uint16_t* from) {
  convert_halves(n, to, from, [](float* t, const uint16_t* f) { widen_some(t, f); });
}
inline void narrow_halves(int64_t n, uint16_t* to, const float* from) {
  convert_halves(n, to, from, [](uint16_t* t, const float* f) { narrow_some(t, f); });
}

}  // namespace
}  // namespace tuff::cpu

#else

namespace tuff::cpu {
namespace {
inline constexpr bool kHasHalves = false;
inline void widen_halves(int64_t, float*, const uint16_t*) {}
inline void narrow_halves(int64_t, uint16_t*, const float*) {}
}  // namespace
}  // namespace tuff::cpu

#endif

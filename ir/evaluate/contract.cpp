#include "ir/evaluate/contract.h"

#include "ir/evaluate/scalar.h"

namespace tuff::eval {

namespace {

// True iff elements of T accumulate in A.
template <typename T, typename A>
inline constexpr bool kAccumulates = kIsFloat<T> == std::is_same_v<A, double>;

template <typename T, typename A>
void pack(const std::byte* data, const int64_t* offsets, int64_t n, A* out) {
  auto* elements = reinterpret_cast<const T*>(data);
  for (int64_t i = 0; i < n; ++i)
    out[i] = offsets[i] < 0 ? A{} : static_cast<A>(widen(elements[offsets[i]]));
}

template <typename T, typename A>
void store(const A* sums, const int64_t* offsets, int64_t n, std::byte* data) {
  auto* elements = reinterpret_cast<T*>(data);
  for (int64_t i = 0; i < n; ++i) elements[offsets[i]] = narrow<T>(sums[i]);
}

}  // namespace

template <typename A>
PackFunction<A> pack_function(DType dtype) {
  return dispatch(dtype, []<typename T>(Tag<T>) -> PackFunction<A> {
    if constexpr (kAccumulates<T, A>)
      return pack<T, A>;
    else
      return nullptr;
  });
}

template <typename A>
StoreFunction<A> store_function(DType dtype) {
  return dispatch(dtype, []<typename T>(Tag<T>) -> StoreFunction<A> {
    if constexpr (kAccumulates<T, A>)
      return store<T, A>;
    else
      return nullptr;
  });
}

template <typename A>
void multiply_row(const A* a, const A* b, int64_t row_length, int64_t depth, int64_t n, A* c) {
  int64_t k = 0;
  // Four k at a time quarter the traffic on c.
  for (; k + 4 <= depth; k += 4) {
    const A *b0 = b + k * row_length, *b1 = b0 + row_length;
    const A *b2 = b1 + row_length, *b3 = b2 + row_length;
    A a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
    for (int64_t j = 0; j < n; ++j) c[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
  }
  for (; k < depth; ++k)
    for (int64_t j = 0; j < n; ++j) c[j] += a[k] * b[k * row_length + j];
}

template PackFunction<double> pack_function<double>(DType);
template PackFunction<uint64_t> pack_function<uint64_t>(DType);
template StoreFunction<double> store_function<double>(DType);
template StoreFunction<uint64_t> store_function<uint64_t>(DType);
template void multiply_row(const double*, const double*, int64_t, int64_t, int64_t, double*);
template void multiply_row(const uint64_t*, const uint64_t*, int64_t, int64_t, int64_t, uint64_t*);

}  // namespace tuff::eval

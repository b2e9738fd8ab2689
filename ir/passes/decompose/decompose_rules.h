// The expansions of decompose that fill a file of their own.
#pragma once

#include <optional>
#include <vector>

#include "ir/caps.h"
#include "ir/rewrite.h"

namespace tuff::decomposition {

using Values = std::optional<std::vector<Value>>;

// The value spread over `shape`, its dimensions becoming `dims` of it.
Value broadcast(const RewriteSite& site, Value v, const Shape& shape, std::vector<int64_t> dims);
Value convert(const RewriteSite& site, Value v, DType dtype);
Value reshape(const RewriteSite& site, Value v, Shape shape);
// Elements [from, to) of a dimension.
Value slice(const RewriteSite& site, Value v, size_t dimension, int64_t from, int64_t to);
// Over these dimensions, in the value's own type.
Value sum(const RewriteSite& site, Value v, std::vector<int64_t> dims);

// True iff a region of scalars has but elementwise operations and constants.
bool is_elementwise_region(const Graph& region);
// The first output of such a region, for each element of tensors of one shape.
Value elementwise_region(const RewriteSite& site, const Graph& region,
                         const std::vector<Value>& arguments);

// rng_bit_generator as integer arithmetic on counters; nothing for a state that the
// algorithm does not have.
Values random_bits(const RewriteSite& site);

// An fft as products with matrices of roots of unity and elementwise operations.
Values fourier(const RewriteSite& site, const Caps& caps);

// cholesky and triangular_solve of large matrices by blocks, for devices whose kernels do those.
Values blocked_cholesky(const RewriteSite& site, const Caps& caps);
Values blocked_triangular_solve(const RewriteSite& site, const Caps& caps);

// A scatter of many small updates that may meet: by a sort of their places for GPUs, in shares for
// software devices.
Values many_updates(const RewriteSite& site, const Caps& caps);

// An elementwise operation on two values that are spread so that they take turns, as what puts them
// together: for devices with a call for it.
Values interleaved(const RewriteSite& site, const Caps& caps);

// A top_k of the first few of long rows, for software devices.
Values selected_top_k(const RewriteSite& site, const Caps& caps);

// A convolution with batch groups as one with feature groups.
Values batch_groups(const RewriteSite& site);

// A dot_general that sums over nothing, or whose sides are vectors or tiny matrices for each of the
// batch: elementwise operations, and a reduction of them. Where it would be a library's call, so
// does a vector by a small matrix.
Values small_product(const RewriteSite& site, bool is_call);
// A dot_general, or what small_product makes of it.
Value dot_general(const RewriteSite& site, Value lhs, Value rhs, TensorType type,
                  const DotGeneralAttrs& attrs);

}  // namespace tuff::decomposition

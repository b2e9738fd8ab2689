// The expansions of decompose that fill a file of their own.
#pragma once

#include <optional>
#include <vector>

#include "ir/rewrite.h"

namespace tuff::decomposition {

using Values = std::optional<std::vector<Value>>;

// The value spread over `shape`, its dimensions becoming `dims` of it.
Value broadcast(const RewriteSite& site, Value v, const Shape& shape, std::vector<int64_t> dims);
Value convert(const RewriteSite& site, Value v, DType dtype);
Value reshape(const RewriteSite& site, Value v, Shape shape);

// rng_bit_generator as integer arithmetic on counters; nothing for a state that the
// algorithm does not have.
Values random_bits(const RewriteSite& site);

// A convolution with batch groups as one with feature groups.
Values batch_groups(const RewriteSite& site);

}  // namespace tuff::decomposition

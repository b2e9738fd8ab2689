// Shared by the infer_*.cpp files: the rules' signature and the checks they
// have in common. One function per op; infer.cpp holds the table.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "ir/infer/infer.h"

namespace tuff::infer {

using Ints = std::vector<int64_t>;

inline size_t at(int64_t index) { return static_cast<size_t>(index); }

template <typename... Args>
Error invalid(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorCode::kBadInput, fmt::format(text, std::forward<Args>(args)...), ""};
}

// Lists that may be empty; the meaning of that is `missing` everywhere.
Result<Ints> ints_or(const char* name, const Ints& list, int64_t rank, int64_t missing);
// The list has `size` entries.
Status check_size(const char* name, const Ints& list, int64_t size);
// Entries are dimensions: in [0, rank) and each once.
Status check_dimensions(const char* name, const Ints& list, int64_t rank);
Status check_one_dimension(const char* name, int64_t dimension, int64_t rank);
// Entries lie in [low, 2^31): arithmetic on them cannot overflow.
Status check_range(const char* name, const Ints& list, int64_t low);
// The type is a scalar of an integer.
Status check_index(const char* what, const TensorType& type);
Status check_same(const char* what, const TensorType& expected, const TensorType& found);
// The shape's number of elements fits 64 bits, every size is >= 0.
Result<Types> checked(TensorType type);

bool contains(const Ints& list, int64_t value);
// Region `index` takes `parameters` and returns `results`.
Status check_region(const Node& node, size_t index, const char* what, const Types& parameters,
                    const Types& results);
Status check_num_regions(const Node& node, size_t count);
std::string list_text(const Ints& list);
std::string types_text(const Types& types);

// A sliding window: reduce_window, select_and_scatter and convolution.
struct WindowDimension {
  int64_t size = 1, stride = 1, base_dilation = 1, window_dilation = 1, pad_low = 0, pad_high = 0;
};
// Number of places the window takes along a dimension of `input` elements.
Result<int64_t> window_places(int64_t input, const WindowDimension& window);

Result<Types> elementwise(const Node& node, const Types& operands);
Result<Types> compare(const Node& node, const Types& operands);

Result<Types> constant(const Node& node, const Types& operands);
Result<Types> iota(const Node& node, const Types& operands);
Result<Types> bitcast_convert(const Node& node, const Types& operands);
Result<Types> broadcast_in_dim(const Node& node, const Types& operands);
Result<Types> reshape(const Node& node, const Types& operands);
Result<Types> transpose(const Node& node, const Types& operands);
Result<Types> slice(const Node& node, const Types& operands);
Result<Types> reverse(const Node& node, const Types& operands);
Result<Types> pad(const Node& node, const Types& operands);
Result<Types> concatenate(const Node& node, const Types& operands);

Result<Types> dynamic_slice(const Node& node, const Types& operands);
Result<Types> dynamic_update_slice(const Node& node, const Types& operands);
Result<Types> gather(const Node& node, const Types& operands);
Result<Types> scatter(const Node& node, const Types& operands);

Result<Types> reduce(const Node& node, const Types& operands);
Result<Types> reduce_window(const Node& node, const Types& operands);
Result<Types> select_and_scatter(const Node& node, const Types& operands);
Result<Types> sort(const Node& node, const Types& operands);
Result<Types> top_k(const Node& node, const Types& operands);

Result<Types> dot_general(const Node& node, const Types& operands);
Result<Types> convolution(const Node& node, const Types& operands);

Result<Types> batch_norm_inference(const Node& node, const Types& operands);
Result<Types> batch_norm_training(const Node& node, const Types& operands);
Result<Types> batch_norm_grad(const Node& node, const Types& operands);
Result<Types> cholesky(const Node& node, const Types& operands);
Result<Types> triangular_solve(const Node& node, const Types& operands);
Result<Types> fft(const Node& node, const Types& operands);
Result<Types> rng_bit_generator(const Node& node, const Types& operands);
Result<Types> host_call(const Node& node, const Types& operands);

Result<Types> while_loop(const Node& node, const Types& operands);
Result<Types> if_else(const Node& node, const Types& operands);
Result<Types> case_of(const Node& node, const Types& operands);
Result<Types> optimization_barrier(const Node& node, const Types& operands);
Result<Types> map(const Node& node, const Types& operands);
Result<Types> fused(const Node& node, const Types& operands);
Result<Types> hosted(const Node& node, const Types& operands);

}  // namespace tuff::infer

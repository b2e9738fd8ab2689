#include "shaders/families/fold.h"

#include <algorithm>
#include <optional>

namespace tuff {

namespace {

constexpr int64_t kSpelledOut = 16;  // positions; a 3 x 3 window, a 4 x 4 one
constexpr int64_t kMaxUnroll = 64;   // copies of the body in a loop

class Fold {
 public:
  Fold(KernelBuilder& builder, const Shape& sizes, const FoldStep& step)
      : b_(builder), sizes_(sizes), step_(step), at_(sizes.size()) {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] != 1) long_dims_.push_back(d);
  }

  std::vector<Operand> spelled_out(std::vector<Operand> state, size_t depth) {
    if (depth == long_dims_.size()) return step_(at_, std::move(state));
    size_t d = long_dims_[depth];
    for (int64_t i = 0; i < sizes_[d]; ++i) {
      at_[d] = i;
      state = spelled_out(std::move(state), depth + 1);
    }
    return state;
  }

  std::vector<Operand> looped(const std::vector<Operand>& state, int64_t unroll) {
    for (const Operand& value : state) {
      arrays_.push_back(b_.add_array(Scope::kRegister, value.dtype, 1));
      b_.write(arrays_.back(), 0, value);
    }
    loop(0, unroll);
    return read();
  }

 private:
  void loop(size_t depth, int64_t unroll) {
    size_t d = long_dims_[depth];
    if (depth + 1 < long_dims_.size()) {
      at_[d] = b_.begin_serial("f", sizes_[d]);
      loop(depth + 1, unroll);
      return b_.end();
    }
    unroll = std::min(unroll, sizes_[d]);
    IndexExpr first = b_.begin_serial("f", sizes_[d] / unroll) * unroll;
    for (int64_t i = 0; i < unroll; ++i) advance(d, first + i);
    b_.end();
    for (int64_t i = sizes_[d] / unroll * unroll; i < sizes_[d]; ++i) advance(d, i);
  }

  void advance(size_t d, const IndexExpr& position) {
    at_[d] = position;
    std::vector<Operand> next = step_(at_, read());
    for (size_t i = 0; i < next.size(); ++i) b_.write(arrays_[i], 0, next[i]);
  }

  std::vector<Operand> read() {
    std::vector<Operand> state;
    for (uint32_t array : arrays_) state.push_back(b_.read(array, 0));
    return state;
  }

  KernelBuilder& b_;
  const Shape& sizes_;
  const FoldStep& step_;
  IndexVector at_;
  std::vector<size_t> long_dims_;
  std::vector<uint32_t> arrays_;
};

// Iterations of all loops over `sizes` together where the body of the innermost stands `unroll`
// times in it.
double loop_iterations(const Shape& sizes, int64_t unroll) {
  double inside = 0;
  bool innermost = true;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    int64_t count = innermost ? sizes[d] / std::min(unroll, sizes[d]) : sizes[d];
    inside = static_cast<double>(count) * (1 + inside);
    innermost = false;
  }
  return inside;
}

// The least unrolling whose loops the device does; half as many, to leave some to the loops
// around. Nothing where there is none.
std::optional<int64_t> find_unroll(const Shape& sizes, int64_t max_iterations) {
  auto most = static_cast<double>(max_iterations);
  if (loop_iterations(sizes, 1) < most) return 1;
  for (int64_t unroll = 2; unroll <= kMaxUnroll; ++unroll)
    if (loop_iterations(sizes, unroll) <= most / 2) return unroll;
  if (loop_iterations(sizes, kMaxUnroll) < most) return kMaxUnroll;
  return std::nullopt;
}

}  // namespace

Status check_fold(const Shape& sizes, int64_t max_iterations, const std::string& what) {
  int64_t count = num_elements(sizes);
  if (count <= kSpelledOut || find_unroll(sizes, max_iterations)) return {};
  return Error{ErrorCode::kUnsupported,
               what + " of " + std::to_string(count) +
                   " steps is beyond the loop limit of the device (" +
                   std::to_string(max_iterations) + " iterations).",
               ""};
}

std::vector<Operand> emit_fold(KernelBuilder& builder, const Shape& sizes, int64_t max_iterations,
                               std::vector<Operand> state, const FoldStep& step) {
  int64_t count = num_elements(sizes);
  if (count == 0) return state;
  Fold fold(builder, sizes, step);
  if (count <= kSpelledOut) return fold.spelled_out(std::move(state), 0);
  return fold.looped(state, find_unroll(sizes, max_iterations).value_or(kMaxUnroll));
}

}  // namespace tuff

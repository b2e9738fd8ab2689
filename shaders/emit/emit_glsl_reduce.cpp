// reduce_lanes as a tree, in shared memory or, where a workgroup is one subgroup, by
// shuffles. The order is fixed by the lane count. With n the least power of two >= lanes, the steps
// combine lane i (lhs) with lane i + d (rhs) for d = n/2, n/4 ... 1, where lane i + d exists.
// GPUs combine the lanes of a subgroup so, lane i with lane i ^ d, then the subgroups one by one.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "shaders/emit/emit_glsl_body.h"
#include "shaders/kernel/kernel_walk.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// Bytes of a value in workgroup memory, where narrow types and bool take 32 bits.
int64_t value_size(DType dtype) { return std::max<int64_t>(4, dtype_size(dtype)); }

}  // namespace

int64_t shared_size_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const ArrayDecl& array : kernel.arrays)
    if (array.scope == Scope::kShared) bytes += array.count * value_size(array.dtype);
  const Caps any;                          // the types' names differ, their sizes do not
  std::map<std::string, int64_t> scratch;  // by type, the most any one reduce takes
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (stmt.kind != Stmt::Kind::kReduceLanes || kernel.lanes == 1) return;
    std::map<std::string, int64_t> used;
    for (uint32_t id : stmt.arrays) {
      DType dtype = kernel.arrays[id].dtype;
      int64_t& size = used[glsl_type(dtype, any)];
      size += kernel.lanes * value_size(dtype);
      scratch[glsl_type(dtype, any)] = std::max(scratch[glsl_type(dtype, any)], size);
    }
  });
  for (const auto& [type, size] : scratch) bytes += size;
  return bytes;
}

// One scratch array for each reduced array; those of one type are numbered.
std::vector<std::string> GlslBody::scratch_names(const Stmt& stmt, int64_t elements) {
  std::map<std::string, int> used;
  std::vector<std::string> names;
  for (uint32_t id : stmt.arrays) {
    std::string type = glsl_type(kernel_.arrays[id].dtype, caps_);
    names.push_back(fmt::format("scratch_{}{}", type, used[type]++));
    scratch_lanes_ = std::max(scratch_lanes_, elements);
    scratch_[type] = std::max(scratch_[type], used[type]);
  }
  return names;
}

// Writes into[i] = combined(into[i], with[i]).
Status GlslBody::combine(const Stmt& stmt, const std::vector<std::string>& into,
                         const std::vector<std::string>& with) {
  line("{");
  ++depth_;
  for (size_t i = 0; i < into.size(); ++i) {
    DType dtype = kernel_.arrays[stmt.arrays[i]].dtype;
    declare(stmt.lhs[i], dtype, into[i]);
    declare(stmt.rhs[i], dtype, with[i]);
  }
  TUFF_RETURN_IF_ERROR(block(stmt.body));
  for (size_t i = 0; i < into.size(); ++i) line(fmt::format("{} = {};", into[i], operand(stmt, i)));
  --depth_;
  line("}");
  return {};
}

// A lane and its partner combine the same two values, in either order.
Status GlslBody::reduce_in_subgroups(const Stmt& stmt) {
  needs_.lane = needs_.shuffle = true;
  int64_t size = caps_.subgroup_size, subgroups = reduced_lanes(kernel_, stmt) / size;
  int64_t all_subgroups = kernel_.lanes / size;
  std::vector<std::string> local, partner(stmt.arrays.size());
  for (size_t i = 0; i < stmt.arrays.size(); ++i) {
    local.push_back(fmt::format("fold{}_{}", stmt.results[i], i));
    line(fmt::format("{} {} = r{}[0];", glsl_type(kernel_.arrays[stmt.arrays[i]].dtype, caps_),
                     local[i], stmt.arrays[i]));
  }
  for (int64_t distance = size / 2; distance > 0; distance /= 2) {
    for (size_t i = 0; i < local.size(); ++i)
      partner[i] = fmt::format("subgroupShuffleXor({}, {})", local[i], distance);
    TUFF_RETURN_IF_ERROR(combine(stmt, local, partner));
  }
  if (all_subgroups > 1) {
    std::vector<std::string> scratch = scratch_names(stmt, all_subgroups);
    for (size_t i = 0; i < local.size(); ++i)
      line(fmt::format("if (lane % {0} == 0) {1}[lane / {0}] = {2};", size, scratch[i], local[i]));
    barrier(false);
    for (size_t i = 0; i < local.size(); ++i)
      line(fmt::format("{} = {}[0];", local[i], scratch[i]));
    for (int64_t other = 1; other < subgroups; ++other) {
      for (size_t i = 0; i < local.size(); ++i)
        partner[i] = fmt::format("{}[{}]", scratch[i], other);
      TUFF_RETURN_IF_ERROR(combine(stmt, local, partner));
    }
  }
  // Of equals a combiner of several values may choose by their order.
  bool agree = all_subgroups > 1 || local.size() == 1;
  for (size_t i = 0; i < local.size(); ++i)
    declare(stmt.results[i], kernel_.arrays[stmt.arrays[i]].dtype,
            agree ? local[i] : fmt::format("subgroupShuffle({}, 0)", local[i]));
  return {};
}

// Every lane takes every step; what the lanes without a partner compute is not used.
Status GlslBody::reduce_by_shuffles(const Stmt& stmt) {
  needs_.lane = needs_.shuffle = true;
  auto local = [&](size_t i) { return fmt::format("fold{}_{}", stmt.results[i], i); };
  for (size_t i = 0; i < stmt.arrays.size(); ++i)
    line(fmt::format("{} {} = r{}[0];", glsl_type(kernel_.arrays[stmt.arrays[i]].dtype, caps_),
                     local(i), stmt.arrays[i]));
  for (int64_t distance = kernel_.lanes / 2; distance > 0; distance /= 2) {
    line("{");
    ++depth_;
    for (size_t i = 0; i < stmt.arrays.size(); ++i) {
      DType dtype = kernel_.arrays[stmt.arrays[i]].dtype;
      declare(stmt.lhs[i], dtype, local(i));
      declare(
          stmt.rhs[i], dtype,
          fmt::format("subgroupShuffle({}, (lane + {}) % {})", local(i), distance, kernel_.lanes));
    }
    TUFF_RETURN_IF_ERROR(block(stmt.body));
    for (size_t i = 0; i < stmt.arrays.size(); ++i)
      line(fmt::format("{} = {};", local(i), operand(stmt, i)));
    --depth_;
    line("}");
  }
  for (size_t i = 0; i < stmt.arrays.size(); ++i)
    declare(stmt.results[i], kernel_.arrays[stmt.arrays[i]].dtype,
            fmt::format("subgroupShuffle({}, 0)", local(i)));
  return {};
}

Status GlslBody::reduce(const Stmt& stmt) {
  if (shuffles_.in_subgroups.contains(&stmt)) return reduce_in_subgroups(stmt);
  if (shuffles_.reduces.contains(&stmt))
    return is_gpu(caps_) ? reduce_in_subgroups(stmt) : reduce_by_shuffles(stmt);
  std::vector<std::string> scratch(stmt.arrays.size());
  bool alone = kernel_.lanes == 1;
  if (!alone) {
    needs_.lane = true;
    scratch = scratch_names(stmt, kernel_.lanes);
    for (size_t i = 0; i < scratch.size(); ++i)
      line(fmt::format("{}[lane] = r{}[0];", scratch[i], stmt.arrays[i]));
    barrier(false);
    auto lanes = static_cast<uint64_t>(reduced_lanes(kernel_, stmt));
    for (uint64_t d = std::bit_ceil(lanes) / 2; d > 0; d /= 2)
      TUFF_RETURN_IF_ERROR(reduce_step(stmt, scratch, static_cast<int64_t>(d)));
  }
  for (size_t i = 0; i < scratch.size(); ++i) {
    std::string value = alone ? fmt::format("r{}[0]", stmt.arrays[i]) : scratch[i] + "[0]";
    declare(stmt.results[i], kernel_.arrays[stmt.arrays[i]].dtype, value);
  }
  return {};
}

Status GlslBody::reduce_step(const Stmt& stmt, const std::vector<std::string>& scratch,
                             int64_t distance) {
  line(fmt::format("if (lane < {}) {{",
                   std::min(distance, reduced_lanes(kernel_, stmt) - distance)));
  ++depth_;
  for (size_t i = 0; i < scratch.size(); ++i) {
    DType dtype = kernel_.arrays[stmt.arrays[i]].dtype;
    declare(stmt.lhs[i], dtype, scratch[i] + "[lane]");
    declare(stmt.rhs[i], dtype, fmt::format("{}[lane + {}]", scratch[i], distance));
  }
  TUFF_RETURN_IF_ERROR(block(stmt.body));
  for (size_t i = 0; i < scratch.size(); ++i)
    line(fmt::format("{}[lane] = {};", scratch[i], operand(stmt, i)));
  --depth_;
  line("}");
  barrier(false);
  return {};
}

}  // namespace tuff

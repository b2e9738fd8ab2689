// reduce_lanes as a tree, in shared memory or, where a workgroup is one subgroup, by
// shuffles. The order is fixed by the lane count. With n the least power of two >= lanes, the steps
// combine lane i (lhs) with lane i + d (rhs) for d = n/2, n/4 ... 1, where lane i + d exists.
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
std::vector<std::string> GlslBody::scratch_names(const Stmt& stmt) {
  std::map<std::string, int> used;
  std::vector<std::string> names;
  for (uint32_t id : stmt.arrays) {
    std::string type = glsl_type(kernel_.arrays[id].dtype, caps_);
    names.push_back(fmt::format("scratch_{}{}", type, used[type]++));
    scratch_[type] = std::max(scratch_[type], used[type]);
  }
  return names;
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
  if (shuffles_.reduces.contains(&stmt)) return reduce_by_shuffles(stmt);
  std::vector<std::string> scratch(stmt.arrays.size());
  bool alone = kernel_.lanes == 1;
  if (!alone) {
    needs_.lane = true;
    scratch = scratch_names(stmt);
    for (size_t i = 0; i < scratch.size(); ++i)
      line(fmt::format("{}[lane] = r{}[0];", scratch[i], stmt.arrays[i]));
    barrier(false);
    auto lanes = static_cast<uint64_t>(kernel_.lanes);
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
  line(fmt::format("if (lane < {}) {{", std::min(distance, kernel_.lanes - distance)));
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

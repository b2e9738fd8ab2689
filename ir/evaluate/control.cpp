// Control flow: while, if, case, map, fused and hosted regions and the barrier.
#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/ops.h"
#include "ir/evaluate/region.h"

namespace tuff::eval {

namespace {

Result<Literals> evaluate_while(const Node& node, const Literals& operands) {
  Literals carried = operands;
  while (true) {
    TUFF_ASSIGN(Literals condition, evaluate(*node.regions[0], carried));
    if (condition[0].get_int(0) == 0) return carried;
    TUFF_ASSIGN(carried, evaluate(*node.regions[1], carried));
  }
}

Result<Literals> evaluate_branch(const Node& node, size_t branch, const Literals& operands) {
  return evaluate(*node.regions[branch], Literals(operands.begin() + 1, operands.end()));
}

// An index outside the branches takes the last one (StableHLO, case).
size_t case_branch(const Node& node, const Literal& index) {
  int64_t i = index.get_int(0), count = static_cast<int64_t>(node.regions.size());
  return static_cast<size_t>(i < 0 || i >= count ? count - 1 : i);
}

Result<Literals> evaluate_map(const Node& node, const Literals& operands) {
  TUFF_ASSIGN(ScalarRegion body, ScalarRegion::compile(*node.regions[0]));
  Literal result(node.types[0]);
  int64_t result_bytes = dtype_size(node.types[0].dtype);
  std::byte* out = result.mutable_bytes();
  std::vector<Cell> cells(operands.size() + 1);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    for (size_t j = 0; j < operands.size(); ++j) {
      int64_t bytes = dtype_size(operands[j].type().dtype);
      cells[j] = load_cell(operands[j].bytes() + i * bytes, bytes);
    }
    TUFF_RETURN_IF_ERROR(body.run(cells.data(), cells.data()));
    store_cell(cells[0], out + i * result_bytes, result_bytes);
  }
  return Literals{std::move(result)};
}

}  // namespace

Result<Literals> evaluate_control(const Node& node, const Literals& operands) {
  switch (node.op) {
    case Op::kWhile: return evaluate_while(node, operands);
    case Op::kIf: return evaluate_branch(node, operands[0].get_int(0) != 0 ? 0 : 1, operands);
    case Op::kCase: return evaluate_branch(node, case_branch(node, operands[0]), operands);
    case Op::kMap: return evaluate_map(node, operands);
    case Op::kFused:
    case Op::kHosted: return evaluate(*node.regions[0], operands);
    case Op::kOptimizationBarrier: return operands;
    case Op::kCustomCall:
      return unsupported(node, "does not know the target (" +
                                   node.attrs.as<CustomCallAttrs>().call_target_name + ")");
    default: return unsupported(node, "is not control flow");
  }
}

}  // namespace tuff::eval

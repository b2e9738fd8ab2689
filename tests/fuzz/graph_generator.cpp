#include "tests/fuzz/graph_generator.h"

#include <optional>
#include <vector>

#include "tests/fuzz/contraction.h"
#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

namespace {

using Step = void (*)(GraphBuilder&, Op);

Step find_step(Op op) {
  switch (op_category(op)) {
    case OpCategory::kElementwise: return op_info(op).kernel_only ? nullptr : step_elementwise;
    case OpCategory::kView: return step_movement;
    case OpCategory::kIndexing:
    case OpCategory::kScatter: return step_indexing;
    case OpCategory::kReduction:
    case OpCategory::kWindow:
    case OpCategory::kSort: return step_reduction;
    case OpCategory::kContraction: return step_contraction;
    case OpCategory::kRandom:
    case OpCategory::kComposite: return step_library;
    // The evaluator has no function of the host to call.
    case OpCategory::kLibrary:
      return op == Op::kFft || op == Op::kHostCall ? nullptr : step_library;
    case OpCategory::kControl: return op == Op::kCustomCall ? nullptr : step_control;
    case OpCategory::kLeaf: return op == Op::kIota ? step_movement : nullptr;
    case OpCategory::kFused: return nullptr;
  }
  return nullptr;
}

constexpr Op kAllOps[] = {
#define ELEMENTWISE(enumerator, ...) Op::enumerator,
#define OP(enumerator, ...) Op::enumerator,
#include "ir/op.def"
};

const std::vector<Op>& generated_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all;
    for (Op op : kAllOps)
      if (is_generated(op)) all.push_back(op);
    return all;
  }();
  return ops;
}

Shape random_shape(GraphBuilder& b) {
  constexpr int64_t kSmall[] = {1, 2, 3, 4, 5, 7, 6, 11};
  if (b.chance(6)) return {b.chance(2) ? 1031 : 257};
  if (b.chance(8)) return {37, 67};
  Shape s(static_cast<size_t>(b.pick(4)));
  for (int64_t& d : s) d = kSmall[b.pick(8)];
  if (!s.empty() && b.chance(20)) s[0] = 0;
  return s;
}

// What the steps start from: tensors of one type or two, a scalar, a mask, indices.
void add_parameters(GraphBuilder& b) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kI32, DType::kBF16, DType::kF16,
                              DType::kI8,  DType::kU8,  DType::kI16, DType::kU16,  DType::kU32,
                              DType::kI64, DType::kU64, DType::kF64};
  DType dtype = kTypes[b.pick(13)];
  std::string name = b.chance(2) ? kWholeName : "any";
  Shape first = random_shape(b);
  b.parameter({dtype, first}, name);
  b.parameter({b.chance(4) ? kTypes[b.pick(13)] : dtype, first}, name);
  b.parameter({dtype, random_shape(b)}, name);
  b.parameter({dtype, {}}, name);
  b.parameter({DType::kBool, first}, name);
  for (const Shape& shape : {Shape{}, Shape{5, 1}, Shape{2, 3, 2}, Shape{2, 83}})
    b.parameter({DType::kI32, shape}, kIndexName);
}

}  // namespace

bool is_generated(Op op) { return find_step(op) != nullptr; }

Graph make_graph(uint32_t seed) {
  GraphBuilder b(seed);
  std::optional<Sketch> contraction;
  if (b.chance(2)) {
    contraction = sketch_contraction(b, b.pick(count_contractions()), b.pick(count_stores()));
    contraction->add_parameters(b);
  }
  add_parameters(b);
  for (int64_t steps = 3 + b.pick(14); steps > 0; --steps) {
    // Elementwise work and movement are what groups are made of.
    Op op = b.one_of(generated_ops());
    if (b.chance(3)) op = b.chance(2) ? Op::kAdd : Op::kMultiply;
    if (b.chance(6)) op = b.chance(2) ? Op::kTranspose : Op::kBroadcastInDim;
    if (contraction && b.chance(4)) {
      contraction->add_operations(b);
      contraction.reset();
    }
    find_step(op)(b, op);
  }
  return b.finish();
}

}  // namespace tuff::fuzz

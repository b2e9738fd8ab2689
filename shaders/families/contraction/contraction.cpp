// The groups' anchors as contractions, and the choice of their kernels.
#include "shaders/families/contraction/contraction.h"

#include "ir/group/group_space.h"
#include "ir/index/view_map.h"
#include "ir/ops/contraction.h"
#include "ir/passes/group/group_table.h"
#include "shaders/schedule/contraction_schedule.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

Shape sizes_at(const Shape& shape, const std::vector<int64_t>& dims) {
  Shape sizes;
  for (int64_t d : dims) sizes.push_back(shape[static_cast<size_t>(d)]);
  return sizes;
}

void scatter_index(IndexVector& index, const std::vector<int64_t>& dims,
                   const IndexVector& values) {
  for (size_t i = 0; i < dims.size(); ++i) index[static_cast<size_t>(dims[i])] = values[i];
}

Contraction dot_contraction(const Graph& region, const Node& dot) {
  const Shape& lhs = region.type(dot.operands[0]).shape;
  const Shape& rhs = region.type(dot.operands[1]).shape;
  DotDims dims = dot_dims(dot, static_cast<int64_t>(lhs.size()), static_cast<int64_t>(rhs.size()));
  Contraction p;
  p.batch = sizes_at(lhs, dims.lhs_batch);
  p.m = sizes_at(lhs, dims.lhs_free);
  p.n = sizes_at(rhs, dims.rhs_free);
  p.k = sizes_at(lhs, dims.lhs_contract);
  size_t next = 0;
  for (size_t i = 0; i < p.batch.size(); ++i) p.out_batch.push_back(next++);
  for (size_t i = 0; i < p.m.size(); ++i) p.out_m.push_back(next++);
  for (size_t i = 0; i < p.n.size(); ++i) p.out_n.push_back(next++);
  p.a_index = [dims, rank = lhs.size()](const IndexVector& batch, const IndexVector& m,
                                        const IndexVector& k, std::vector<IndexCondition>&) {
    IndexVector index(rank);
    scatter_index(index, dims.lhs_batch, batch);
    scatter_index(index, dims.lhs_free, m);
    scatter_index(index, dims.lhs_contract, k);
    return index;
  };
  p.b_index = [dims, rank = rhs.size()](const IndexVector& batch, const IndexVector& n,
                                        const IndexVector& k) {
    IndexVector index(rank);
    scatter_index(index, dims.rhs_batch, batch);
    scatter_index(index, dims.rhs_free, n);
    scatter_index(index, dims.rhs_contract, k);
    return index;
  };
  return p;
}

// Whether steps along the last spatial dimension and the input features behind it are one run of
// memory, of the input and of the weights: patches that do not reach beyond the edge. Only where a
// pixel's features alone are no whole words.
bool has_runs_of_pixels(const ConvolutionDims& dims, const Shape& input, const Shape& kernel) {
  constexpr int64_t kWord = 4;
  if (dims.input_spatial.empty() || dims.feature_groups != 1) return false;
  if (kernel[static_cast<size_t>(dims.kernel_input_feature)] % kWord == 0) return false;
  size_t last = dims.input_spatial.size() - 1;
  auto rank = static_cast<int64_t>(input.size());
  bool beside = dims.input_feature == rank - 1 && dims.input_spatial[last] == rank - 2 &&
                dims.kernel_input_feature == dims.kernel_spatial[last] + 1;
  bool plain = dims.lhs_dilation[last] == 1 && dims.rhs_dilation[last] == 1 &&
               dims.padding_low[last] == 0 && dims.padding_high[last] <= 0 && !dims.reversal[last];
  return beside && plain && kernel[static_cast<size_t>(dims.kernel_spatial[last])] > 1;
}

using StepsOf = std::function<IndexVector(const IndexVector& joined)>;

// Makes one dimension of the last two of k, and tells what its steps are in those.
StepsOf join_last_two(IndexContext* context, Shape& k) {
  Shape last{k[k.size() - 2], k.back()};
  k.pop_back();
  k.back() = num_elements(last);
  return [=](const IndexVector& joined) {
    IndexVector steps(joined.begin(), joined.end() - 1);
    for (const IndexExpr& part : delinearize(*context, joined.back(), last)) steps.push_back(part);
    return steps;
  };
}

// StableHLO specification, "convolution". Batch: feature groups. m: batch and
// spatial; n: output features of the group; k: window and input features of it.
Result<Contraction> convolution_contraction(GroupContext& group, const Node& node) {
  const Shape& input = group.region.type(node.operands[0]).shape;
  const Shape& kernel = group.region.type(node.operands[1]).shape;
  const Shape& output = node.types[0].shape;
  auto dims = std::make_shared<ConvolutionDims>(convolution_dims(node));
  if (dims->batch_groups != 1)
    return Error{ErrorCode::kUnsupported, "A convolution with batch groups has no kernel yet.",
                 node.loc};
  auto at = [](const Shape& shape, int64_t d) { return shape[static_cast<size_t>(d)]; };
  int64_t groups = dims->feature_groups;
  int64_t group_inputs = at(kernel, dims->kernel_input_feature);
  int64_t group_outputs = at(kernel, dims->kernel_output_feature) / groups;
  Contraction p;
  p.batch = {groups};
  p.splits_m = true;
  p.m = {at(output, dims->output_batch)};
  p.n = {group_outputs};
  p.out_m = {static_cast<size_t>(dims->output_batch)};
  p.out_n = {static_cast<size_t>(dims->output_feature)};
  for (size_t i = 0; i < dims->output_spatial.size(); ++i) {
    p.m.push_back(at(output, dims->output_spatial[i]));
    p.out_m.push_back(static_cast<size_t>(dims->output_spatial[i]));
    p.k.push_back(at(kernel, dims->kernel_spatial[i]));
  }
  p.k.push_back(group_inputs);
  IndexContext* context = &group.index;
  StepsOf steps_of = [](const IndexVector& k) { return k; };
  if (is_gpu(group.caps) && has_runs_of_pixels(*dims, input, kernel))
    steps_of = join_last_two(context, p.k);
  p.a_index = [=](const IndexVector& batch, const IndexVector& m, const IndexVector& steps,
                  std::vector<IndexCondition>& conditions) {
    using Kind = IndexCondition::Kind;
    IndexVector k = steps_of(steps);
    IndexVector index(input.size());
    index[static_cast<size_t>(dims->input_batch)] = m[0];
    index[static_cast<size_t>(dims->input_feature)] = batch[0] * group_inputs + k.back();
    for (size_t i = 0; i < dims->input_spatial.size(); ++i) {
      // Position in the dilated input; it exists iff it is inside and on the grid.
      IndexExpr position =
          m[i + 1] * dims->strides[i] + k[i] * dims->rhs_dilation[i] - dims->padding_low[i];
      int64_t size = at(input, dims->input_spatial[i]);
      IndexExpr source = context->floor_div(position, dims->lhs_dilation[i]);
      for (IndexCondition c :
           {IndexCondition{position, Kind::kNonNegative},
            IndexCondition{context->mod(position, dims->lhs_dilation[i]), Kind::kZero},
            IndexCondition{IndexExpr(size - 1) - source, Kind::kNonNegative}})
        if (truth(*context, c) != Truth::kAlways) conditions.push_back(c);
      index[static_cast<size_t>(dims->input_spatial[i])] = source;
    }
    return index;
  };
  p.b_index = [=](const IndexVector& batch, const IndexVector& n, const IndexVector& steps) {
    IndexVector k = steps_of(steps);
    IndexVector index(kernel.size());
    index[static_cast<size_t>(dims->kernel_input_feature)] = k.back();
    index[static_cast<size_t>(dims->kernel_output_feature)] = batch[0] * group_outputs + n[0];
    for (size_t i = 0; i < dims->kernel_spatial.size(); ++i) {
      int64_t size = at(kernel, dims->kernel_spatial[i]);
      index[static_cast<size_t>(dims->kernel_spatial[i])] =
          dims->reversal[i] ? IndexExpr(size - 1) - k[i] : k[i];
    }
    return index;
  };
  return p;
}

void find_directions(GroupContext& group, Contraction& c) {
  if (c.k.empty() || c.k.back() == 1) return;
  const Node& node = group.region.node(group.space.anchors[0]);
  IndexExpr symbol = group.index.symbol("k", 0, c.k.back() - 1);
  IndexVector k(c.k.size(), 0), batch(c.batch.size(), 0), m(c.m.size(), 0), n(c.n.size(), 0);
  k.back() = symbol;
  std::vector<IndexCondition> unused;
  uint32_t atom = symbol.terms[0].first;
  c.a_along_k = lies_along(group, node.operands[0], c.a_index(batch, m, k, unused), atom);
  c.b_along_k = lies_along(group, node.operands[1], c.b_index(batch, n, k), atom);
}

// Bytes of an element of what the value is loaded from.
int64_t stored_bytes(const Graph& region, Value v) {
  const Node& node = region.node(v);
  if (node.op == Op::kParameter || node.operands.empty()) return dtype_size(region.type(v).dtype);
  std::optional<size_t> read =
      is_free_view(region, node) ? std::optional<size_t>(0) : load_operand(region, node);
  return read ? stored_bytes(region, node.operands[*read]) : dtype_size(region.type(v).dtype);
}

ContractionProblem problem_of(const GroupContext& group, const Contraction& c) {
  const Node& node = group.region.node(group.space.anchors[0]);
  return {{num_elements(c.batch), num_elements(c.m), num_elements(c.n), c.k},
          group.region.type(node.operands[0]).dtype,
          group.region.type(node.operands[1]).dtype,
          stored_bytes(group.region, node.operands[0]),
          stored_bytes(group.region, node.operands[1]),
          contraction_sum_type(node.types[0].dtype),
          c.a_along_k,
          c.b_along_k,
          node.op == Op::kConvolution};
}

Result<LoweredStep> lower_products(GroupContext& group, const Contraction& c,
                                   const ContractionSchedule& chosen) {
  if (chosen.matrices) return lower_contraction_matrices(group, c, *chosen.matrices, chosen.split);
  if (chosen.stream) return lower_contraction_stream(group, c, *chosen.stream, chosen.split);
  if (chosen.tiles) return lower_contraction_tiles(group, c, *chosen.tiles, chosen.split);
  return lower_contraction_registers(group, c, chosen.registers, chosen.split);
}

// Adds up what each part of a split kernel has left, then stores the outputs.
Result<LoweredStep> lower_fold(GroupContext& group, const KSplit& split) {
  const Node& node = group.region.node(group.space.anchors[0]);
  DType dtype = contraction_sum_type(node.types[0].dtype);
  int64_t points = num_elements(group.space.dims);
  PointAnchor anchor{
      GroupBuffer{GroupBuffer::Kind::kScratch, 0}, {dtype, {split.parts, points}}, {}};
  anchor.results = [&](GroupContext& at, FamilyKernel& kernel, uint32_t scratch) {
    KernelBuilder& b = kernel.builder;
    uint32_t sum = b.add_array(Scope::kRegister, dtype, 1);
    b.write(sum, 0, immediate_of(Literal::scalar(dtype, 0)));
    IndexExpr part = b.begin_serial("part", split.parts);
    IndexExpr point = linearize(at.space.vars, at.space.dims);
    Operand term = b.load_now(scratch, part * points + point, std::nullopt);
    b.write(sum, 0, b.compute(Op::kAdd, dtype, {b.read(sum, 0), term}));
    b.end();
    return std::vector<Operand>{b.convert(b.read(sum, 0), node.types[0].dtype)};
  };
  return lower_map(group, &anchor);
}

}  // namespace

Result<Contraction> contraction_of(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  if (node.op == Op::kDotGeneral) return dot_contraction(group.region, node);
  return convolution_contraction(group, node);
}

bool lies_along(GroupContext& group, Value v, const IndexVector& index, uint32_t symbol) {
  const Node& node = group.region.node(v);
  if (node.op == Op::kParameter) {
    for (auto [atom, coefficient] : linearize(index, node.types[0].shape).terms)
      if (atom == symbol) return coefficient == 1;
    return false;
  }
  if (node.operands.empty()) return false;
  if (!is_free_view(group.region, node)) {
    std::optional<size_t> read = load_operand(group.region, node);
    return read && lies_along(group, node.operands[*read], index, symbol);
  }
  std::vector<Shape> shapes;
  for (Value operand : node.operands) shapes.push_back(group.region.type(operand).shape);
  std::vector<ViewSource> sources = view_sources(group.index, node, shapes, index);
  return lies_along(group, node.operands[sources[0].operand], sources[0].index, symbol);
}

DType contraction_sum_type(DType result) {
  if (result == DType::kF16 || result == DType::kBF16) return DType::kF32;
  return result;
}

std::optional<ContractionProblem> contraction_problem(const Graph& region, const Caps& caps) {
  Result<GroupContext> group = make_group_context(region, caps);
  if (!group.ok()) return std::nullopt;
  if (!is_contraction(group->space.kind)) return std::nullopt;
  Result<Contraction> c = contraction_of(*group);
  if (!c.ok()) return std::nullopt;
  find_directions(*group, *c);
  return problem_of(*group, *c);
}

Result<LoweredGroup> lower_contraction(GroupContext& group) {
  LoweredGroup lowered;
  GroupContext products = group;
  TUFF_ASSIGN(Contraction c, contraction_of(products));
  find_directions(products, c);
  DType sum = contraction_sum_type(group.region.node(group.space.anchors[0]).types[0].dtype);
  const ContractionProblem problem = problem_of(products, c);
  if (owns_products(group.caps, problem)) return one_step(lower_contraction_owner(products, c));
  ContractionSchedule chosen = choose_contraction_schedule(group.caps, problem);
  const std::optional<KSplit>& split = chosen.split;
  TUFF_ASSIGN(LoweredStep step, lower_products(products, c, chosen));
  lowered.steps.push_back(std::move(step));
  if (!split) return lowered;
  lowered.scratch_bytes =
      split->parts * num_elements(group.space.dims) * storage_size(sum, group.caps);
  TUFF_ASSIGN(LoweredStep fold, lower_fold(group, *split));
  fold.kernel->family = word_of(GroupKind::kMap);  // the products are the other's work
  lowered.steps.push_back(std::move(fold));
  return lowered;
}

}  // namespace tuff

#include "backend/cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "ir/ops/contraction.h"
#include "ir/ops/fourier.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

double elements(const TensorType& type) { return static_cast<double>(type.num_elements()); }

double product(const std::vector<int64_t>& sizes) {
  double p = 1;
  for (int64_t size : sizes) p *= static_cast<double>(size);
  return p;
}

// FLOP of one application of a scalar region.
double body_flops(const Node& node) {
  double flops = 0;
  for (const GraphPtr& region : node.regions)
    for (const Node& member : region->nodes())
      flops += is_elementwise(member.op) && is_float(member.types[0].dtype) ? 1 : 0;
  return flops;
}

bool computes(const Node& node) {
  return is_elementwise(node.op) && node.op != Op::kConvert && node.op != Op::kSelect &&
         is_float(node.types[0].dtype);
}

double contracted_size(const Graph& graph, const Node& dot) {
  const TensorType& lhs = graph.type(dot.operands[0]);
  double size = 1;
  for (int64_t d : dot_dims(dot, lhs.rank(), graph.type(dot.operands[1]).rank()).lhs_contract)
    size *= static_cast<double>(lhs.shape[static_cast<size_t>(d)]);
  return size;
}

double kernel_size(const Graph& graph, const Node& convolution) {
  const Shape& kernel = graph.type(convolution.operands[1]).shape;
  ConvolutionDims dims = convolution_dims(convolution);
  auto size = static_cast<double>(kernel[static_cast<size_t>(dims.kernel_input_feature)]);
  for (int64_t d : dims.kernel_spatial) size *= static_cast<double>(kernel[static_cast<size_t>(d)]);
  return size;
}

// The work of a node, by family.
double no_flops(const Graph&, const Node&) { return 0; }
double elementwise_flops(const Graph&, const Node& node) {
  return computes(node) ? elements(node.types[0]) : 0;
}
double dot_flops(const Graph& graph, const Node& node) {
  const TensorType& result = node.types[0];
  return is_float(result.dtype) ? 2 * elements(result) * contracted_size(graph, node) : 0;
}
double convolution_flops(const Graph& graph, const Node& node) {
  const TensorType& result = node.types[0];
  return is_float(result.dtype) ? 2 * elements(result) * kernel_size(graph, node) : 0;
}
double reduce_flops(const Graph& graph, const Node& node) {
  return body_flops(node) * elements(graph.type(node.operands[0]));
}
double window_flops(const Graph&, const Node& node) {
  return body_flops(node) * elements(node.types[0]) *
         product(node.attrs.as<WindowAttrs>().window_dimensions);
}
double scatter_flops(const Graph& graph, const Node& node) {
  return body_flops(node) * elements(graph.type(node.operands.back()));
}
double select_scatter_flops(const Graph& graph, const Node& node) {
  return body_flops(node) * elements(graph.type(node.operands[1]));
}

// cholesky: n^3 / 3 a matrix; triangular_solve: n for each element of the result.
double triangular_flops(const Graph& graph, const Node& node) {
  auto n = static_cast<double>(graph.type(node.operands[0]).shape.back());
  return elements(node.types[0]) * (node.op == Op::kCholesky ? n / 3 : n);
}

// 5 n log2(n) for n complex numbers, half of that for real ones: what is usually counted, whatever
// the algorithm.
double fft_flops(const FftForm& form) {
  const double n = product(form.length);
  return (form.real_input || form.real_result ? 2.5 : 5) * n * std::log2(std::max(n, 1.0));
}
double fft_flops(const Graph&, const Node& node) {
  const FftForm form = fft_form(node);
  const TensorType& type = node.types[0];
  const auto rank = static_cast<int64_t>(form.length.size());
  return product(Shape(type.shape.begin(), type.shape.end() - rank)) * fft_flops(form);
}

double region_flops(const Graph& region);
// Of all rounds, where it is known how many there are.
double loop_flops(const Graph&, const Node& node) {
  std::optional<int64_t> count = node.attrs.as<WhileAttrs>().trip_count;
  return count ? static_cast<double>(*count) * region_flops(*node.regions[1]) : 0;
}

double node_flops(const Graph& graph, const Node& node) {
  static constexpr double (*kWork[])(const Graph&, const Node&) = {
#define FAMILY(kind, name, takes, work, ...) work,
#include "ir/group/family.def"
  };
  return kWork[static_cast<size_t>(group_kind_of(node.op))](graph, node);
}

double region_flops(const Graph& region) {
  double flops = 0;
  for (const Node& node : region.nodes()) flops += node_flops(region, node);
  return flops;
}

void count_contractions(const Graph& graph, std::map<DType, double>& flops) {
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kDotGeneral || node.op == Op::kConvolution)
      flops[graph.type(node.operands[0]).dtype] += node_flops(graph, node);
    for (const GraphPtr& region : node.regions) count_contractions(*region, flops);
  }
}

double flops_of(std::monostate) { return 0; }
double flops_of(const MatmulCall& call) {
  return 2 * product(call.batch) * product({call.m, call.n, call.k});
}
// The forward one's multiplications, whichever of the three it is.
double flops_of(const ConvolutionCall& call) {
  const StridedTensor& weights = call.weights;  // [groups, co, ci, spatial..]
  auto filters = static_cast<double>(weights.sizes[0] * weights.sizes[1]);
  return 2 * product(call.destination.sizes) * product(weights.sizes) / std::max(filters, 1.0);
}
double flops_of(const ByteProductCall& call) {
  return 2 * product(call.batch) * product({call.num_rows(), call.columns, call.num_steps()});
}
double flops_of(const AttentionCall& call) {
  double scores = product(call.batch) * product({call.rows, call.columns});
  return scores * (2 * static_cast<double>(call.depth + call.outs) + 5);
}
// Two sums; subtract, square, subtract, multiply, scale, shift.
double flops_of(const LayerNormCall& call) { return 8 * product({call.rows, call.columns}); }
// A sum; square, multiply, scale.
double flops_of(const RmsNormCall& call) { return 4 * product({call.rows, call.columns}); }
// Maximum, subtract, exponential, sum, divide.
double flops_of(const SoftmaxCall& call) { return 5 * product({call.rows, call.columns}); }
double flops_of(const WindowCall& call) {
  auto flops = static_cast<double>(call.columns);
  for (const WindowCall::Dim& dim : call.dims) flops *= product({dim.results, dim.window});
  return flops;
}
double flops_of(const CholeskyCall& call) {
  return product({call.matrices, call.n, call.n, call.n}) / 3;
}
double flops_of(const TriangularSolveCall& call) {
  return product({call.matrices, call.n, call.rows, call.columns});
}
double flops_of(const FftCall& call) { return call.outer * fft_flops(call.form); }
double flops_of(const TopKCall&) { return 0; }
double flops_of(const SortCall&) { return 0; }
double flops_of(const CopyCall&) { return 0; }
double flops_of(const ScatterCall& call) {
  return call.op ? product({call.outer, call.count, call.width}) : 0;
}

double call_flops(const LoweredStep& step) {
  return std::visit([](const auto& call) { return flops_of(call); }, step.call);
}

// The main kernel is the last that is no map after it; a group of maps has one kernel.
size_t main_step(const LoweredGroup& group) {
  for (size_t i = group.steps.size(); i-- > 0;)
    if (group.steps[i].kernel && group.steps[i].kernel->family != "map") return i;
  return group.steps.size() - 1;
}

bool looks_into(const Node& user, Value value) {
  return (user.op == Op::kGather || user.op == Op::kDynamicSlice || user.op == Op::kSlice) &&
         user.operands[0] == value;
}

// Elements of a region's parameter that its users take.
double elements_read(const Graph& region, uint32_t parameter) {
  Value value{parameter, 0};
  double all = elements(region.type(value)), taken = 0;
  for (const Node& user : region.nodes())
    for (Value operand : user.operands) {
      if (operand != value) continue;
      if (!looks_into(user, value)) return all;
      taken += elements(user.types[0]);
    }
  return taken == 0 ? all : std::min(all, taken);
}

}  // namespace

StepCost cost_of_step(const Graph& region, const LoweredGroup& group, size_t index,
                      const Caps& caps) {
  const LoweredStep& step = group.steps[index];
  StepCost cost;
  double called = 0;
  for (const LoweredStep& other : group.steps) called += other.kernel ? 0 : call_flops(other);
  if (!step.kernel)
    cost.flops = call_flops(step);
  else if (index == main_step(group))
    cost.flops = std::max(0.0, region_flops(region) - called);

  for (size_t b = 0; b < step.bindings.size(); ++b) {
    const GroupBuffer& buffer = step.bindings[b];
    Access access = step.kernel                     ? step.kernel->buffers[b].access
                    : b + 1 == step.bindings.size() ? Access::kWrite
                                                    : Access::kRead;
    auto bytes = [&](const TensorType& type, double count) {
      return static_cast<int64_t>(count) * storage_size(type.dtype, caps);
    };
    int64_t size = buffer.size_bytes > 0 ? buffer.size_bytes : group.scratch_bytes;
    if (buffer.kind == GroupBuffer::Kind::kInput)
      size = bytes(region.type({buffer.index, 0}), elements_read(region, buffer.index));
    if (buffer.kind == GroupBuffer::Kind::kOutput) {
      const TensorType& type = region.type(region.outputs()[buffer.index]);
      size = bytes(type, elements(type));
    }
    if (access != Access::kWrite) cost.read_bytes += size;
    if (access != Access::kRead) cost.written_bytes += size;
  }
  return cost;
}

Op main_op(const Graph& region, bool after_call) {
  Op costliest = Op::kParameter, last = Op::kParameter;
  double most = 0;
  for (const Node& node : region.nodes()) {
    if (node.op == Op::kParameter || node.op == Op::kConstant) continue;
    if (after_call && op_category(node.op) == OpCategory::kContraction) continue;
    last = node.op;
    double flops = node_flops(region, node);
    if (flops <= most) continue;
    most = flops;
    costliest = node.op;
  }
  return costliest != Op::kParameter ? costliest : last;
}

std::string matmul_precision(const Graph& graph) {
  std::map<DType, double> flops;
  count_contractions(graph, flops);
  auto most = std::max_element(flops.begin(), flops.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == flops.end() || most->second == 0 ? "f32" : dtype_name(most->first);
}

int64_t fused_bytes(const Graph& region) {
  std::map<Value, int64_t> uses;
  std::set<Value> outputs(region.outputs().begin(), region.outputs().end());
  for (const Node& node : region.nodes())
    for (Value operand : node.operands) ++uses[operand];
  int64_t saved = 0;
  for (const auto& [value, count] : uses) {
    const Node& node = region.node(value);
    bool stored_anyway = outputs.count(value) > 0;
    if (node.op == Op::kParameter || op_category(node.op) == OpCategory::kLeaf || is_view(node.op))
      continue;
    saved += region.type(value).size_bytes() * (count + (stored_anyway ? 0 : 1));
  }
  return saved;
}

}  // namespace tuff

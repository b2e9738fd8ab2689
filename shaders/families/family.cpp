#include "shaders/families/family.h"

#include <algorithm>

namespace tuff {

namespace {

int64_t largest_tensor(const Graph& region) {
  int64_t elements = 0;
  for (const Node& node : region.nodes())
    for (const TensorType& type : node.types) elements = std::max(elements, type.num_elements());
  return elements;
}

}  // namespace

Result<GroupContext> make_group_context(const Graph& region, const Caps& caps,
                                        const Composite& composite) {
  GroupContext group{region, caps, {}, {}, composite};
  GroupView view;
  view.graph = &region;
  for (uint32_t id = 0; id < region.nodes().size(); ++id)
    if (region.node(id).op != Op::kParameter) view.members.push_back(id);
  view.is_member = [&region](uint32_t id) { return region.node(id).op != Op::kParameter; };
  view.outputs = region.outputs();
  if (auto* attention = std::get_if<Attention>(&composite)) view.attention = *attention;
  // A batch of one runs the kernel of larger ones. Calls have no kernels to share, and where two
  // of a batch might be more than 32 bits count, there is no larger one.
  constexpr int64_t kMostElements = int64_t{1} << 29;
  int64_t largest = largest_tensor(region);
  LeadingUnit unit =
      caps.library_calls || largest > kMostElements ? LeadingUnit::kClosed : LeadingUnit::kOpen;
  GroupSpaceResult found = find_group_space(group.index, view, unit);
  if (!found.space) {
    group.index = {};
    found = find_group_space(group.index, view);
  }
  if (!found.space)
    return Error{ErrorCode::kUnsupported,
                 "A group has no common iteration space (" + found.why_not + ").", ""};
  group.space = std::move(*found.space);
  group.index.set_largest_tensor(largest);
  return group;
}

Result<LoweredGroup> one_step(Result<LoweredStep> step) {
  TUFF_RETURN_IF_ERROR(step);
  LoweredGroup group;
  group.steps.push_back(std::move(step).value());
  return group;
}

bool result_is_output(const GroupContext& group) {
  const std::vector<Value>& outputs = group.region.outputs();
  return outputs.size() == 1 && outputs[0] == Value{group.space.anchors[0], 0};
}

std::optional<std::vector<int64_t>> output_strides(const GroupContext& group) {
  if (group.space.outputs[0].window) return std::nullopt;
  const Shape& dims = group.space.dims;
  const Shape& shape = group.region.type(group.region.outputs()[0]).shape;
  IndexExpr linear = linearize(group.space.outputs[0].index, shape);
  if (linear.constant != 0 || num_elements(shape) != num_elements(dims)) return std::nullopt;
  std::vector<int64_t> strides(dims.size(), 0);
  for (auto [atom, coefficient] : linear.terms) {
    if (group.index.atom(atom).divisor > 0) return std::nullopt;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!group.space.vars[d].terms.empty() && group.space.vars[d].terms[0].first == atom)
        strides[d] = coefficient;
  }
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride, size
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) steps.emplace_back(strides[d], dims[d]);
  std::sort(steps.begin(), steps.end());
  int64_t dense = 1;
  for (auto [stride, size] : steps) {
    if (stride != dense) return std::nullopt;
    dense *= size;
  }
  return strides;
}

int64_t elements_of_word(KernelBuilder& builder, const TensorType& type,
                         const std::vector<IndexExpr>& places, int64_t run) {
  const int64_t size = dtype_size(type.dtype);
  if (size > 4 || !builder.stores_unchanged(type.dtype)) return 1;
  int64_t per_word = 16 / size;
  while (per_word > 1 && (run % per_word != 0 || type.num_elements() % per_word != 0))
    per_word /= 2;
  if (per_word * size < 4) return 1;
  IndexExpr word;
  for (size_t e = 0; e < places.size() && per_word > 1; ++e) {
    auto part = builder.word_part(places[e], per_word);
    auto slot = static_cast<int64_t>(e) % per_word;
    if (!part || part->slot != slot || (slot > 0 && !(part->word == word))) return 1;
    word = part->word;
  }
  return per_word;
}

void store_words(KernelBuilder& builder, uint32_t buffer,
                 const std::vector<StoredElement>& elements, int64_t per_word,
                 const std::optional<Operand>& guard) {
  if (per_word == 1) {
    for (const StoredElement& element : elements)
      builder.store(buffer, element.place, element.value, guard);
    return;
  }
  builder.make_words(buffer, per_word);
  const auto count = static_cast<size_t>(per_word);
  for (size_t first = 0; first < elements.size(); first += count) {
    std::vector<Operand> values;
    for (size_t e = first; e < first + count; ++e) values.push_back(elements[e].value);
    builder.store_word(buffer, builder.word_part(elements[first].place, per_word)->word, values,
                       guard);
  }
}

void store_run(KernelBuilder& builder, uint32_t buffer, const TensorType& type,
               const std::vector<StoredElement>& elements, const std::optional<Operand>& guard) {
  std::vector<IndexExpr> places;
  for (const StoredElement& element : elements) places.push_back(element.place);
  const int64_t per_word =
      elements_of_word(builder, type, places, static_cast<int64_t>(elements.size()));
  store_words(builder, buffer, elements, per_word, guard);
}

FamilyKernel::FamilyKernel(GroupContext& group, int64_t lanes, bool with_outputs)
    : builder(word_of(group.space.kind), lanes, group.index, group.caps),
      emitter(group.region, group.index, builder),
      group_(group) {
  const std::vector<Value>& outputs = group.region.outputs();
  for (uint32_t i = 0; with_outputs && i < outputs.size(); ++i) {
    const TensorType& type = group.region.type(outputs[i]);
    builder.add_buffer(type.dtype, Access::kWrite, type.size_bytes());
    outputs_.push_back({GroupBuffer::Kind::kOutput, i});
  }
}

IndexExpr FamilyKernel::output_place(size_t i) {
  Value v = group_.region.outputs()[i];
  IndexVector at = group_.space.outputs[i].index;
  if (group_.space.outputs[i].window) {
    const Node& node = group_.region.node(v);
    std::vector<int64_t> max = update_start_max(group_.region, node);
    for (size_t d = 0; d < at.size(); ++d)
      at[d] = at[d] + emitter.emit_start(node.operands[2 + d], {}, 0, max[d], std::nullopt);
  }
  return linearize(at, group_.region.type(v).shape);
}

StoredElement FamilyKernel::output_element(size_t i) {
  const Place& output = group_.space.outputs[i];
  const Value v = group_.region.outputs()[i];
  IndexExpr place = output_place(i);
  return {place, emitter.emit(output.window ? group_.region.node(v).operands[1] : v, output.index)};
}

void FamilyKernel::store_output(size_t i, const std::optional<Operand>& guard) {
  StoredElement element = output_element(i);
  builder.store(static_cast<uint32_t>(i), element.place, element.value, guard);
}

void FamilyKernel::store_run(size_t i, const std::vector<StoredElement>& elements,
                             const std::optional<Operand>& guard) {
  tuff::store_run(builder, static_cast<uint32_t>(i), group_.region.type(group_.region.outputs()[i]),
                  elements, guard);
}

Result<LoweredStep> FamilyKernel::finish() { return finish_step(builder, emitter, outputs_); }

Result<LoweredStep> FamilyKernel::finish_with(GroupBuffer more) {
  std::vector<GroupBuffer> first = outputs_;
  first.push_back(more);
  return finish_step(builder, emitter, std::move(first));
}

Result<LoweredStep> finish_step(KernelBuilder& builder, const ValueEmitter& emitter,
                                std::vector<GroupBuffer> first) {
  TUFF_ASSIGN(KernelBuilder::Finished finished, builder.finish());
  LoweredStep step;
  step.bindings = std::move(first);
  for (uint32_t parameter : emitter.inputs())
    step.bindings.push_back({GroupBuffer::Kind::kInput, parameter});
  step.kernel = std::move(finished.kernel);
  step.params = std::move(finished.params);
  step.workgroups = finished.workgroups;
  return step;
}

bool becomes_native(const Caps& caps, const Graph& region) {
  if (caps.native_lanes == 0) return false;
  constexpr int64_t kNarrowLanes = 16;
  for (const Node& node : region.nodes())
    for (const TensorType& type : node.types) {
      const bool narrow = type.dtype != DType::kBool && dtype_size(type.dtype) < 4;
      if (dtype_size(type.dtype) > 4 || (narrow && caps.native_lanes < kNarrowLanes)) return false;
    }
  return true;
}

}  // namespace tuff

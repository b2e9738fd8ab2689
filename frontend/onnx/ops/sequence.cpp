// Sequences and optionals: lists of tensors that exist only while a model is imported.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

Item sequence_of(std::vector<Tensor> tensors) {
  Item item;
  item.kind = Item::Kind::kSequence;
  item.sequence = std::move(tensors);
  return item;
}

const std::vector<Tensor>& sequence(const Call& call, size_t i) {
  if (i >= call.inputs.size() || call.inputs[i].kind != Item::Kind::kSequence)
    refuse_input(fmt::format("Input ({}) is no sequence.", i));
  return call.inputs[i].sequence;
}

// A place in the sequence, from its end where negative.
size_t position(const Call& call, size_t input, size_t length, size_t missing) {
  if (!call.in(input)) return missing;
  int64_t i = call.known_int(input), size = static_cast<int64_t>(length);
  if (i < 0) i += size;
  if (i < 0 || i > size) refuse_input(fmt::format("The sequence has no place ({}).", i));
  return static_cast<size_t>(i);
}

Items construct(const Call& call) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < call.inputs.size(); ++i) tensors.push_back(call.need(i));
  return {sequence_of(std::move(tensors))};
}

Items empty(const Call&) { return {sequence_of({})}; }

Items at_place(const Call& call) {
  const std::vector<Tensor>& list = sequence(call, 0);
  size_t i = position(call, 1, list.size(), 0);
  if (i >= list.size()) refuse_input(fmt::format("The sequence has no place ({}).", i));
  return {list[i]};
}

Items insert(const Call& call) {
  std::vector<Tensor> list = sequence(call, 0);
  size_t i = position(call, 2, list.size(), list.size());
  list.insert(list.begin() + static_cast<ptrdiff_t>(i), call.need(1));
  return {sequence_of(std::move(list))};
}

Items erase(const Call& call) {
  std::vector<Tensor> list = sequence(call, 0);
  if (list.empty()) refuse_input("The sequence is empty.");
  size_t i = position(call, 1, list.size(), list.size() - 1);
  if (i >= list.size()) refuse_input(fmt::format("The sequence has no place ({}).", i));
  list.erase(list.begin() + static_cast<ptrdiff_t>(i));
  return {sequence_of(std::move(list))};
}

Items length(const Call& call) {
  auto size = static_cast<int64_t>(sequence(call, 0).size());
  return {call.constant(Literal::from_ints(DType::kI64, {}, {size}))};
}

Items concat(const Call& call) {
  std::vector<Tensor> list = sequence(call, 0);
  if (list.empty()) refuse_input("The sequence is empty.");
  int64_t axis = call.required_i("axis");
  if (call.flag("new_axis")) {
    if (axis < 0) axis += list[0].rank() + 1;
    for (Tensor& t : list) t = t.unsqueeze({axis});
  }
  return {concatenate(list, axis)};
}

Items split(const Call& call) {
  Tensor x = call.need(0);
  int64_t axis = x.axis(call.i("axis", 0)), size = x.dim(axis);
  bool keeps = call.flag("keepdims", true) || call.in(1);
  Ints sizes;
  if (call.in(1)) {
    sizes = call.known_ints(1);
    if (call.in(1).rank() == 0) {
      int64_t each = sizes[0];
      if (each < 1) refuse_input("The size of a part is not positive.");
      sizes.clear();
      for (int64_t start = 0; start < size; start += each)
        sizes.push_back(std::min(each, size - start));
    }
  } else {
    sizes = Ints(static_cast<size_t>(size), 1);
  }
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - start) refuse_input("The sizes are no split of the dimension.");
    Tensor t = x.slice(axis, start, start + part);
    parts.push_back(keeps ? t : t.squeeze({axis}));
    start += part;
  }
  return {sequence_of(std::move(parts))};
}

// The body for each place of the sequences; single tensors go to all.
Items map(const Call& call) {
  size_t count = sequence(call, 0).size();
  std::vector<std::vector<Tensor>> results(call.wanted.size());
  for (size_t k = 0; k < count; ++k) {
    Items inputs;
    for (const Item& item : call.inputs) {
      if (item.kind == Item::Kind::kSequence && k >= item.sequence.size())
        refuse_input("The sequences have different lengths.");
      inputs.push_back(item.kind == Item::Kind::kSequence ? Item(item.sequence[k]) : item);
    }
    Items outputs = call.around->inline_graph(call.graph("body"), inputs);
    for (size_t i = 0; i < results.size() && i < outputs.size(); ++i) {
      if (outputs[i].kind != Item::Kind::kTensor || !outputs[i].tensor || outputs[i].bound)
        refuse_unsupported("The body gives what is no tensor of known shape.");
      results[i].push_back(outputs[i].tensor);
    }
  }
  Items items;
  for (std::vector<Tensor>& list : results) items.push_back(sequence_of(std::move(list)));
  return items;
}

bool has_element(const Call& call) {
  if (call.inputs.empty()) return false;
  const Item& item = call.inputs[0];
  return item.kind == Item::Kind::kSequence || (item.kind == Item::Kind::kTensor && item.tensor);
}

Items optional(const Call& call) {
  if (has_element(call)) return {call.inputs[0]};
  Item item;
  item.kind = Item::Kind::kEmptyOptional;
  return {item};
}

Items optional_has_element(const Call& call) {
  return {call.constant(Literal::from_ints(DType::kBool, {}, {has_element(call)}))};
}

Items optional_get_element(const Call& call) {
  if (!has_element(call)) refuse_input("The optional is empty.");
  return {call.inputs[0]};
}

constexpr OpRow kSequenceRows[] = {
    {"ConcatFromSequence", concat},
    {"Optional", optional},
    {"OptionalGetElement", optional_get_element},
    {"OptionalHasElement", optional_has_element},
    {"SequenceAt", at_place, "A constant place."},
    {"SequenceConstruct", construct},
    {"SequenceEmpty", empty},
    {"SequenceErase", erase, "A constant place."},
    {"SequenceInsert", insert, "A constant place."},
    {"SequenceLength", length},
    {"SequenceMap", map},
    {"SplitToSequence", split},
};

}  // namespace

std::span<const OpRow> sequence_ops() { return kSequenceRows; }

}  // namespace tuff::onnx

// Attributes of table operations: the fields of their row in ir/attributes.def, by their types.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"
#include "ir/attribute_fields.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

// The structure that holds an operation's dimension numbers, or null.
const char* dimension_numbers(Op op) {
  switch (op) {
    case Op::kGather:
    case Op::kConvolution: return "dimension_numbers";
    case Op::kScatter: return "scatter_dimension_numbers";
    case Op::kDotGeneral: return "dot_dimension_numbers";
    default: return nullptr;
  }
}

// What a missing list of one entry per window dimension is full of; nothing for other lists.
std::optional<int64_t> window_entry(Op op, std::string_view name) {
  for (const char* zeros : {"padding", "window_reversal"})
    if (name == zeros) return 0;
  for (const char* ones : {"window_dimensions", "window_strides", "lhs_dilation", "rhs_dilation"})
    if (name == ones) return 1;
  for (const char* ones : {"base_dilations", "window_dilations"})
    if (name == ones && op == Op::kReduceWindow) return 1;
  return std::nullopt;
}

class AttributeReader {
 public:
  AttributeReader(const OpContext& context, Op op) : context_(context), op_(op) {}

  template <typename T>
  Result<Attrs> run() {
    TUFF_RETURN_IF_ERROR(find_dimension_numbers());
    T attrs;
    Status status;
    FieldsOf<T>::visit([&](const char* name, auto field, InText in_text) {
      if (status.ok()) status = read(name, &(attrs.*field), in_text == InText::kUnlessDefault);
    });
    if (!status.ok()) return status.take_error();
    return Attrs(std::move(attrs));
  }

 private:
  Status find_dimension_numbers() {
    const char* name = dimension_numbers(op_);
    if (!name) return {};
    const Attribute* value = context_.attribute(name);
    if (!value) return missing(name);
    dims_ = std::get_if<DictAttr>(&value->value);
    return dims_ ? Status() : context_.bad("The dimension numbers are not a structure.");
  }

  Status missing(const char* name) const {
    return context_.bad(fmt::format("The attribute ({}) is missing.", name));
  }

  // False: the dimension numbers do not say.
  Result<bool> read_dims(const char* name, Ints* to) const {
    const Attribute* entry = dims_ ? find_attribute(dims_->entries, name) : nullptr;
    if (entry && !attribute_ints(*entry, to))
      return context_.bad(
          fmt::format("The dimension numbers' ({}) is not a list of integers.", name));
    return entry != nullptr;
  }

  // The number of window dimensions, which the missing lists take theirs from.
  Result<size_t> window_rank() const {
    if (context_.operands.empty()) return context_.bad("The operation needs operands.");
    auto rank = static_cast<size_t>(context_.type(context_.operands[0]).rank());
    if (op_ != Op::kConvolution) return rank;
    if (rank < 2) return context_.bad("A convolution's operands have at least two dimensions.");
    return rank - 2;
  }

  Status read(const char* name, Ints* to, bool) const {
    TUFF_ASSIGN(bool found, read_dims(name, to));
    if (found) return {};
    TUFF_ASSIGN(*to, context_.ints_attribute(name));
    std::optional<int64_t> entry = window_entry(op_, name);
    if (!entry) return {};
    TUFF_ASSIGN(size_t count, window_rank());
    if (std::string_view(name) == "padding") count *= 2;
    if (!context_.attribute(name)) to->assign(count, *entry);
    // A splat (padding = dense<0>) is already spelled out; a wrong length is the
    // writer's error.
    if (to->size() != count)
      return context_.bad(fmt::format("The attribute ({}) has ({}) entries, but needs ({}).", name,
                                      to->size(), count));
    return {};
  }

  // A number without a valid default must be there, but dimension numbers leave out zeros.
  Status read(const char* name, int64_t* to, bool optional) const {
    Ints ints;
    TUFF_ASSIGN(bool found, read_dims(name, &ints));
    if (found || (dims_ && *to < 0))
      *to = ints.empty() ? 0 : ints[0];
    else if (context_.attribute(name))
      *to = context_.int_attribute(name, 1);
    else if (*to < 0 && !optional)
      return missing(name);
    return {};
  }

  Status read(const char* name, bool* to, bool optional) const {
    if (!optional && !context_.attribute(name)) return missing(name);
    *to = context_.int_attribute(name) != 0;
    return {};
  }

  Status read(const char* name, double* to, bool) const {
    const Attribute* value = context_.attribute(name);
    if (!value) return missing(name);
    auto* number = std::get_if<double>(&value->value);
    *to = number ? *number : static_cast<double>(context_.int_attribute(name));
    return {};
  }

  template <typename E>
  requires std::is_enum_v<E> Status read(const char* name, E* to, bool)
  const {
    const Attribute* value = context_.attribute(name);
    if (!value) return {};
    std::optional<E> known = parse_word<E>(attribute_words(*value));
    if (!known)
      return context_.bad(
          fmt::format("The attribute ({}) is ({}).", name, attribute_words(*value)));
    *to = *known;
    return {};
  }

  // Left out where all are DEFAULT.
  Status read(const char* name, std::vector<Precision>* to, bool) const {
    const Attribute* value = context_.attribute(name);
    if (!value) return {};
    auto* array = std::get_if<ArrayAttr>(&value->value);
    if (!array) return context_.bad("The precision is not a list.");
    bool is_default = true;
    for (const Attribute& item : array->items) {
      const std::string* word = attribute_text(item);
      std::optional<Precision> known = word ? parse_word<Precision>(*word) : std::nullopt;
      if (!known) return context_.bad("The precision is not a list of DEFAULT, HIGH and HIGHEST.");
      is_default = is_default && *known == Precision::kDefault;
      to->push_back(*known);
    }
    if (is_default) to->clear();
    return {};
  }

  // What no program's text has: what tuff notes on its own nodes.
  template <typename T>
  Status read(const char*, T*, bool) const {
    return {};
  }

  const OpContext& context_;
  Op op_;
  const DictAttr* dims_ = nullptr;
};

}  // namespace

std::string attribute_words(const Attribute& attribute) {
  if (const std::string* text = attribute_text(attribute)) return *text;
  if (auto* opaque = std::get_if<OpaqueAttr>(&attribute.value)) return opaque->text;
  if (auto* type = std::get_if<Type>(&attribute.value)) return type->to_string();
  if (auto* i = std::get_if<int64_t>(&attribute.value)) return std::to_string(*i);
  if (auto* b = std::get_if<bool>(&attribute.value)) return *b ? "true" : "false";
  std::string text;
  if (auto* dict = std::get_if<DictAttr>(&attribute.value))
    for (const NamedAttribute& entry : dict->entries)
      text += (text.empty() ? "<" : ", ") + entry.name + " = " + attribute_words(entry.value);
  return text.empty() ? text : text + ">";
}

Result<Attrs> import_attributes(OpContext& context, Op op) {
  AttrsKind kind = attrs_kind(op);
  if (kind == AttrsKind::kNone) return Attrs();
  return with_attributes(
      kind, [&]<typename T>(const T&) { return AttributeReader(context, op).run<T>(); });
}

}  // namespace tuff::stablehlo

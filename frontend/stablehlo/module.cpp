#include "frontend/stablehlo/module.h"

#include <fmt/format.h>

#include <algorithm>

namespace tuff::stablehlo {

namespace {

std::string join_types(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += (text.empty() ? "" : ", ") + type.to_string();
  return text;
}

constexpr std::string_view kBoundsMark = ", bounds>";

// Why a type has no place in the Graph; the element types are named by family.
std::string reason(const Type& type) {
  const std::string& e = type.element;
  if (e.ends_with(kBoundsMark)) return "sizes that vary up to a bound are not";
  if (type.kind != TypeKind::kTensor) return "only ranked tensors are";
  for (int64_t size : type.shape)
    if (size < 0) return "its size is dynamic; export the model with fixed shapes";
  if (e.starts_with("complex")) return "complex numbers are of f32 or f64";
  if (e.starts_with("!quant")) return "quantized types are not";
  if (e.starts_with("f6")) return "floats of 6 bits are not";
  return fmt::format("the element type ({}) is not", e);
}

Error refuse(const Type& type) {
  return {ErrorCode::kUnsupported,
          fmt::format("The type ({}) is not supported: {}.", type.to_string(), reason(type)), ""};
}

}  // namespace

std::string Type::to_string() const {
  switch (kind) {
    case TypeKind::kTensor: {
      std::string text = "tensor<";
      for (int64_t size : shape) text += (size < 0 ? "?" : std::to_string(size)) + "x";
      return text + element + ">";
    }
    case TypeKind::kTuple: return "tuple<" + join_types(inputs) + ">";
    case TypeKind::kFunction:
      return "(" + join_types(inputs) + ") -> (" + join_types(results) + ")";
    case TypeKind::kToken: return "!stablehlo.token";
    case TypeKind::kScalar:
    case TypeKind::kOpaque: break;
  }
  return element;
}

Type bounded_type(const Type& tensor) {
  std::string text = tensor.to_string();
  text.pop_back();
  return {TypeKind::kOpaque, text.append(kBoundsMark), {}, {}, {}};
}

bool has_open_size(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
}

Result<TensorType> to_tensor_type(const Type& type) {
  if (has_open_size(type.shape)) return refuse(type);
  return to_open_tensor_type(type);
}

std::string_view complex_part(const Type& type) {
  constexpr std::string_view kMark = "complex<";
  std::string_view element = type.element;
  if (type.kind != TypeKind::kTensor || !element.starts_with(kMark)) return {};
  std::string_view part = element.substr(kMark.size(), element.size() - kMark.size() - 1);
  return part == "f32" || part == "f64" ? part : std::string_view();
}

Result<TensorType> to_stored_type(const Type& type) {
  Type stored = type;
  if (std::string_view part = complex_part(type); !part.empty()) {
    stored.element = std::string(part);
    stored.shape.push_back(2);
  }
  return to_tensor_type(stored);
}

Result<TensorType> to_open_tensor_type(const Type& type) {
  auto dtype = parse_element_type(type.element);
  if (type.kind != TypeKind::kTensor || !dtype.ok() || is_complex(*dtype)) return refuse(type);
  TensorType tensor{*dtype, type.shape};
  Shape known = type.shape;  // open sizes are counted when they are known
  std::replace_if(
      known.begin(), known.end(), [](int64_t size) { return size < 0; }, 1);
  auto count = checked_num_elements(known);
  if (!count.ok() || *count > INT64_MAX / 8)
    return Error{
        ErrorCode::kBadInput,
        fmt::format("The type ({}) has more elements than 64 bits can count.", type.to_string()),
        ""};
  return tensor;
}

const Attribute* find_attribute(const Attributes& attributes, std::string_view name) {
  for (const NamedAttribute& entry : attributes)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

bool attribute_ints(const Attribute& attribute, std::vector<int64_t>* ints) {
  ints->clear();
  if (auto* list = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    *ints = *list;
    return true;
  }
  if (auto* one = std::get_if<int64_t>(&attribute.value)) {
    ints->push_back(*one);
    return true;
  }
  if (auto* array = std::get_if<ArrayAttr>(&attribute.value)) {
    for (const Attribute& item : array->items) {
      if (auto* i = std::get_if<int64_t>(&item.value))
        ints->push_back(*i);
      else if (auto* b = std::get_if<bool>(&item.value))
        ints->push_back(*b);
      else
        return false;
    }
    return true;
  }
  auto* dense = std::get_if<std::shared_ptr<const DenseElements>>(&attribute.value);
  if (!dense || !(*dense)->readable) return false;
  auto type = to_tensor_type((*dense)->type);
  // Index lists are short; a splat of a huge type is no list.
  if (!type.ok() || is_float(type->dtype) || type->num_elements() > (1 << 20)) return false;
  for (int64_t i = 0; i < type->num_elements(); ++i)
    ints->push_back((*dense)->values.get_int((*dense)->splat ? 0 : i));
  return true;
}

const std::string* attribute_text(const Attribute& attribute) {
  if (auto* text = std::get_if<std::string>(&attribute.value)) return text;
  if (auto* name = std::get_if<EnumAttr>(&attribute.value)) return &name->name;
  if (auto* symbol = std::get_if<SymbolAttr>(&attribute.value)) return &symbol->name;
  return nullptr;
}

std::string place_text(const std::string& name, const std::string& position) {
  if (position.empty()) return name;
  std::string scopes;
  // The last part is the operation; a function that was jitted is no scope of the model's.
  for (size_t begin = 0, end; (end = name.find('/', begin)) != std::string::npos; begin = end + 1) {
    std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (part.empty() || part.starts_with("jit(") || part.starts_with("pjit(")) continue;
    scopes += (scopes.empty() ? " in " : "/") + std::string(part);
  }
  return position + scopes;
}

}  // namespace tuff::stablehlo

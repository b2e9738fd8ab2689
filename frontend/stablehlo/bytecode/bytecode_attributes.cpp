// Attributes: VHLO's and the builtin ones, as the text reader has them.
#include <fmt/format.h>

#include <charconv>

#include "frontend/stablehlo/bytecode/bytecode_entry.h"
#include "ir/literal.h"

namespace tuff::stablehlo {

namespace {

enum Builtin : uint64_t {
  kArray = 0,
  kDictionary = 1,
  kString = 2,
  kTypedString = 3,
  kSymbol = 4,
  kType = 6,
  kUnit = 7,
  kInteger = 8,
  kFloat = 9,
  kDenseResource = 16,
};

enum Vhlo : uint64_t {
  kVhloArray = 1,
  kVhloBool = 2,
  kVhloDict = 6,
  kVhloFloat = 8,
  kVhloInteger = 9,
  kVhloOutputAlias = 10,
  kVhloString = 14,
  kVhloTensor = 15,
  kVhloType = 17,
  kVhloLast = 25,
};

// The words of VHLO's enums, by the attribute's code.
struct Words {
  uint64_t code;
  std::vector<const char*> words;
};
const Words kEnums[] = {
    {3, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {4, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {5,
     {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
    {7, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {11, {"DEFAULT", "HIGH", "HIGHEST"}},
    {12, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {13, {"", "UNIFORM", "NORMAL"}},
    {16, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {19, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

// Bits of an integer type: 0 for what is none. `is_signed` as the values are read.
int integer_bits(std::string_view element, bool* is_signed) {
  *is_signed = !element.starts_with("ui") && element != "i1";
  if (element == "index") return 64;
  size_t digits = element.find_first_of("0123456789");
  if (digits == std::string_view::npos || !element.substr(0, digits).ends_with("i")) return 0;
  for (int bits : {1, 2, 4, 8, 16, 32, 64})
    if (element.substr(digits) == std::to_string(bits)) return bits;
  return 0;
}

}  // namespace

const Attribute& BytecodeReader::attribute_at(size_t i) {
  return read_entry(attributes_, i, [this](const Entry<Attribute>& entry, ByteCursor from) {
    return parse_attribute(entry, from);
  });
}

Attribute BytecodeReader::parse_attribute(const Entry<Attribute>& entry, ByteCursor from) {
  if (entry.custom && entry.dialect == "vhlo") return vhlo_attribute(from);
  if (entry.custom && entry.dialect == "builtin") return builtin_attribute(from);
  if (entry.custom && entry.dialect == "sdy") return sharding_attribute(from);
  if (!entry.custom && entry.dialect == "sdy")  // as text
    return {OpaqueAttr{std::string(from.null_terminated())}};
  return {OpaqueAttr{fmt::format("#{}", entry.dialect)}};
}

Attribute BytecodeReader::builtin_attribute(ByteCursor& from) {
  uint64_t code = from.varint();
  switch (code) {
    case kArray: return array_attribute(from);
    case kDictionary: return dict_attribute(from);
    case kString:
    case kTypedString: {
      std::string_view text = string(from);
      charge(from, text.size() / 16);
      return {std::string(text)};
    }
    case kSymbol: return {SymbolAttr{text(from)}};
    case kType: return {type(from)};
    case kUnit: return {UnitAttr{}};
    case kInteger: return integer_attribute(from);
    case kFloat: return float_attribute(from);
    case kDenseResource:
      from.fail(
          "A constant's bytes are in a resource, which is not read; write the module with "
          "its constants inline, or pass them as arguments.",
          ErrorCode::kUnsupported);
      return {};
    default: return {OpaqueAttr{fmt::format("builtin attribute {}", code)}};
  }
}

Attribute BytecodeReader::vhlo_attribute(ByteCursor& from) {
  uint64_t code = from.varint();
  switch (code) {
    case kVhloArray: return array_attribute(from);
    case kVhloBool: return {from.varint() != 0};
    case kVhloDict: return dict_attribute(from);
    case kVhloFloat: return float_attribute(from);
    case kVhloInteger: return integer_attribute(from);
    case kVhloString: {
      std::string_view text = string(from);
      charge(from, text.size() / 16);
      return {std::string(text)};
    }
    case kVhloTensor: return dense_attribute(from);
    case kVhloType: return {type(from)};
    default: return enum_attribute(code, from);
  }
}

// The enums; the rest (aliases, accuracies, meshes) says nothing that import reads.
Attribute BytecodeReader::enum_attribute(uint64_t code, ByteCursor& from) {
  for (const Words& row : kEnums) {
    if (row.code != code) continue;
    uint64_t value = from.varint();
    if (value < row.words.size()) return {EnumAttr{row.words[value]}};
    refuse(from, fmt::format("The value ({}) of the attribute (code {})", value, code));
    return {};
  }
  if (code > kVhloLast || code == 0) refuse(from, fmt::format("The attribute (code {})", code));
  return {OpaqueAttr{fmt::format("vhlo attribute {}", code)}};
}

Attribute BytecodeReader::array_attribute(ByteCursor& from) {
  ArrayAttr array;
  size_t count = from.count("items");
  for (size_t i = 0; i < count && !failed(); ++i) array.items.push_back(attribute(from));
  return {std::move(array)};
}

Attribute BytecodeReader::dict_attribute(ByteCursor& from) {
  DictAttr dict;
  size_t count = from.count("entries");
  for (size_t i = 0; i < count && !failed(); ++i) {
    std::string name = text(from);
    dict.entries.push_back({std::move(name), attribute(from)});
  }
  return {std::move(dict)};
}

std::string BytecodeReader::text(ByteCursor& from) {
  const Attribute& name = attribute(from);
  if (const std::string* text = attribute_text(name)) return *text;
  from.fail("A name is not a string.");
  return {};
}

// Up to 8 bits are a byte, more a signed varint of the bits without their sign.
Attribute BytecodeReader::integer_attribute(ByteCursor& from) {
  std::string element = type(from).element;
  bool is_signed = false;
  int bits = integer_bits(element, &is_signed);
  if (bits == 0) {
    if (!failed()) refuse(from, fmt::format("An integer of the type ({})", element));
    return {};
  }
  uint64_t value = bits <= 8 ? from.byte() : static_cast<uint64_t>(from.signed_varint());
  int unused = 64 - bits;
  value <<= unused;
  return {is_signed ? static_cast<int64_t>(value) >> unused
                    : static_cast<int64_t>(value >> unused)};
}

Attribute BytecodeReader::float_attribute(ByteCursor& from) {
  Type scalar = type(from);
  Type tensor;
  tensor.kind = TypeKind::kTensor;
  tensor.element = scalar.element;
  auto type = to_tensor_type(tensor);
  if (failed()) return {};
  // Floats that tuff lacks stand in types it lacks too, which import refuses.
  if (!type.ok() || !is_float(type->dtype)) return {OpaqueAttr{"float"}};
  auto bits = static_cast<uint64_t>(from.signed_varint());
  Literal value(*type);
  for (int64_t i = 0; i < value.size_bytes(); ++i, bits >>= 8)
    value.mutable_bytes()[i] = static_cast<std::byte>(bits & 0xFF);
  if (type->dtype != DType::kF32) return {value.get_double(0)};
  // As text has it: 0.001 is the double next to 0.001, not the f32.
  char digits[32];
  double result = 0;
  auto end = std::to_chars(digits, digits + sizeof digits, *value.data<float>()).ptr;
  std::from_chars(digits, end, result);
  return {result};
}

}  // namespace tuff::stablehlo

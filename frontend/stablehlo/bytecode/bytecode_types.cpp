// Types: VHLO's and the builtin ones, spelled as in text.
#include <fmt/format.h>

#include "frontend/stablehlo/bytecode/bytecode_entry.h"

namespace tuff::stablehlo {

namespace {

constexpr size_t kMaxRank = 64;

// VHLO's element types by code; the codes without a name have fields.
constexpr const char* kElements[] = {
    "i1",       "",         "bf16",     "f16",        "f32",        "f64",
    "f8E4M3FN", "f8E5M2",   "",         "index",      "i4",         "i8",
    "i16",      "i32",      "i64",      "ui4",        "ui8",        "ui16",
    "ui32",     "ui64",     "",         "",           "",           "",
    "",         "",         "",         "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ",
    "",         "i2",       "ui2",      "none",       "tf32",       "f8E4M3",
    "f8E3M4",   "f4E2M1FN", "f6E2M3FN", "f6E3M2FN",   "f8E8M0FNU"};

// The others.
enum VhloType : uint64_t {
  kComplex = 1,
  kFunction = 8,
  kRankedTensor = 20,
  kEncodedTensor = 21,
  kToken = 22,
  kTuple = 23,
  kQuantized = 24,
  kUnrankedTensor = 25,
  kWitness = 26,
  kQuantizedPerAxis = 30,
  kBuffer = 41,
  kFuture = 42,
};

Type scalar(std::string element) {
  Type type;
  type.kind = TypeKind::kScalar;
  type.element = std::move(element);
  return type;
}

Type opaque(std::string spelling) {
  Type type;
  type.element = std::move(spelling);
  return type;
}

}  // namespace

Type BytecodeReader::type(ByteCursor& from) { return type_at(from.index(types_.size(), "types")); }

const Type& BytecodeReader::type_at(size_t i) {
  return read_entry(types_, i, [this](const Entry<Type>& entry, ByteCursor from) {
    return parse_type(entry, from);
  });
}

Type BytecodeReader::parse_type(const Entry<Type>& entry, ByteCursor from) {
  if (!entry.custom) {
    std::string_view text = from.bytes(from.remaining());
    charge(from, text.size() / 16);
    Type type = opaque(std::string(text.substr(0, text.find('\0'))));
    if (type.element == "!stablehlo.token") type.kind = TypeKind::kToken;
    return type;
  }
  if (entry.dialect == "vhlo") return vhlo_type(from);
  if (entry.dialect == "builtin") return builtin_type(from);
  return opaque(fmt::format("!{}.type", entry.dialect));
}

std::vector<Type> BytecodeReader::types(ByteCursor& from) {
  std::vector<Type> list;
  size_t count = from.count("types");
  for (size_t i = 0; i < count && !failed(); ++i) list.push_back(type(from));
  return list;
}

Type BytecodeReader::function_type(ByteCursor& from) {
  Type type;
  type.kind = TypeKind::kFunction;
  type.inputs = types(from);
  type.results = types(from);
  return type;
}

// Sizes, then the element's type. A dynamic size is the least integer.
Type BytecodeReader::tensor_type(ByteCursor& from) {
  Type tensor;
  tensor.kind = TypeKind::kTensor;
  size_t rank = from.count("sizes");
  if (rank > kMaxRank) from.fail("The tensor has too many dimensions (at most 64 are read).");
  for (size_t i = 0; i < rank && !failed(); ++i) {
    int64_t size = from.signed_varint();
    if (size < 0 && size != INT64_MIN) from.fail("A size of the tensor is negative.");
    tensor.shape.push_back(size < 0 ? -1 : size);
  }
  charge(from, rank / 4);
  Type element = type(from);
  if (!failed() && element.kind != TypeKind::kScalar && element.kind != TypeKind::kOpaque)
    from.fail("A tensor's element cannot have that type.");
  tensor.element = element.element;
  return tensor;
}

Type BytecodeReader::vhlo_type(ByteCursor& from) {
  uint64_t code = from.varint();
  if (code < std::size(kElements) && *kElements[code]) return scalar(kElements[code]);
  switch (code) {
    case kComplex: return scalar("complex<" + type(from).element + ">");
    case kFunction: return function_type(from);
    case kEncodedTensor: {
      // The encoding is bounds of open sizes, or nothing that matters to values.
      from.index(attributes_.size(), "attributes");
      Type tensor = tensor_type(from);
      return has_open_size(tensor.shape) ? bounded_type(tensor) : tensor;
    }
    case kRankedTensor: return tensor_type(from);
    case kTuple: {
      Type tuple;
      tuple.kind = TypeKind::kTuple;
      tuple.inputs = types(from);
      return tuple;
    }
    case kToken: {
      Type token = opaque("!stablehlo.token");
      token.kind = TypeKind::kToken;
      return token;
    }
    // Refused by import; their scales are not read.
    case kQuantized:
    case kQuantizedPerAxis: return scalar("!quant.uniform");
    case kUnrankedTensor: return opaque("tensor<*x" + type(from).element + ">");
    case kWitness: return opaque("!shape.witness");
    case kBuffer: return opaque("memref");
    case kFuture: return opaque("!stablehlo.future");
    default: refuse(from, fmt::format("The type (code {})", code)); return {};
  }
}

Type BytecodeReader::builtin_type(ByteCursor& from) {
  uint64_t code = from.varint();
  switch (code) {
    case 0: {
      uint64_t width = from.varint();
      const char* const kSigns[] = {"i", "si", "ui", "i"};
      return scalar(fmt::format("{}{}", kSigns[width & 3], width >> 2));
    }
    case 1: return scalar("index");
    case 2: return function_type(from);
    case 3: return scalar("bf16");
    case 4: return scalar("f16");
    case 5: return scalar("f32");
    case 6: return scalar("f64");
    case 9: return scalar("complex<" + type(from).element + ">");
    case 12: return scalar("none");
    case 14: from.index(attributes_.size(), "attributes"); [[fallthrough]];
    case 13: return tensor_type(from);
    case 15: {
      Type tuple;
      tuple.kind = TypeKind::kTuple;
      tuple.inputs = types(from);
      return tuple;
    }
    default: return opaque(fmt::format("builtin type {}", code));
  }
}

}  // namespace tuff::stablehlo

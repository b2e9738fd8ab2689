#include "shaders/emit/emit_glsl_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "shaders/storage.h"

namespace tuff {

namespace {

struct GlslTypeRow {
  const char* value;
  const char* signed_type;
  const char* unsigned_type;
  const char* storage;
};

constexpr GlslTypeRow kTypes[kNumDTypes] = {
    {"bool", "int", "uint", "uint8_t"},               // i1
    {"int", "int", "uint", "int8_t"},                 // i8
    {"int", "int", "uint", "int16_t"},                // i16
    {"int", "int", "uint", "int"},                    // i32
    {"int64_t", "int64_t", "uint64_t", "int64_t"},    // i64
    {"uint", "int", "uint", "uint8_t"},               // ui8
    {"uint", "int", "uint", "uint16_t"},              // ui16
    {"uint", "int", "uint", "uint"},                  // ui32
    {"uint64_t", "int64_t", "uint64_t", "uint64_t"},  // ui64
    {"float", "int", "uint", "uint16_t"},             // f16
    {"float", "int", "uint", "uint16_t"},             // bf16
    {"float", "int", "uint", "float"},                // f32
    {"double", "int64_t", "uint64_t", "double"},      // f64
};

constexpr GlslTypeRow kPairs[] = {{"ivec2", "ivec2", "uvec2", "ivec2"},
                                  {"uvec2", "ivec2", "uvec2", "uvec2"}};

const GlslTypeRow& row(DType dtype, const Caps& caps) {
  if (has_pairs(caps) && dtype == DType::kI64) return kPairs[0];
  if (has_pairs(caps) && dtype == DType::kU64) return kPairs[1];
  return kTypes[static_cast<int>(dtype)];
}

std::string f32_literal(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  // Compilers read decimals as doubles; where that route is not exact, and for
  // what decimals cannot say, the bits are written.
  bool decimal = (std::isnormal(value) || bits == 0) &&
                 static_cast<float>(std::strtod(text.c_str(), nullptr)) == value;
  return decimal ? text : fmt::format("uintBitsToFloat(0x{:08x}u)", bits);
}

std::string f64_literal(uint64_t bits) {
  auto value = std::bit_cast<double>(bits);
  // Few digits are read exactly by every compiler; the rest is written in bits.
  std::string text = fmt::format("{}", value);
  bool decimal = (bits == 0 || std::isnormal(value)) && text.size() <= 15 &&
                 text.find('e') == std::string::npos;
  if (decimal) return text + (text.find('.') == std::string::npos ? ".0lf" : "lf");
  return fmt::format("packDouble2x32(uvec2(0x{:08x}u, 0x{:08x}u))", static_cast<uint32_t>(bits),
                     static_cast<uint32_t>(bits >> 32));
}

int64_t sign_extended(DType dtype, uint64_t bits) {
  int unused = 64 - 8 * static_cast<int>(dtype_size(dtype));
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace

DType storage_dtype(DType dtype, const Caps& caps) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8: return caps.storage_8bit ? dtype : DType::kU32;
    case DType::kI8: return caps.storage_8bit ? dtype : DType::kI32;
    case DType::kU16: return caps.storage_16bit ? dtype : DType::kU32;
    case DType::kI16: return caps.storage_16bit ? dtype : DType::kI32;
    case DType::kF16:
    case DType::kBF16: return caps.storage_16bit ? dtype : DType::kF32;
    default: return dtype;
  }
}

int64_t storage_size(DType dtype, const Caps& caps) {
  return dtype_size(storage_dtype(dtype, caps));
}

int64_t storage_bytes(const TensorType& type, const Caps& caps) {
  return type.num_elements() * storage_size(type.dtype, caps);
}

std::string glsl_array_name(const Kernel& kernel, uint32_t id) {
  return fmt::format("{}{}", kernel.arrays[id].scope == Scope::kShared ? 's' : 'r', id);
}

const char* glsl_type(DType dtype, const Caps& caps) { return row(dtype, caps).value; }
const char* glsl_signed_type(DType dtype, const Caps& caps) { return row(dtype, caps).signed_type; }
const char* glsl_unsigned_type(DType dtype, const Caps& caps) {
  return row(dtype, caps).unsigned_type;
}
const char* glsl_storage_type(DType dtype, const Caps& caps) {
  return row(storage_dtype(dtype, caps), caps).storage;
}

std::string glsl_literal(DType dtype, uint64_t bits, const Caps& caps) {
  auto low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
  bool wide = dtype == DType::kI64 || dtype == DType::kU64;
  if (wide && has_pairs(caps)) {
    std::string pair = fmt::format("uvec2({}u, {}u)", low, high);
    return dtype == DType::kI64 ? "ivec2(" + pair + ")" : pair;
  }
  switch (dtype) {
    case DType::kBool: return bits != 0 ? "true" : "false";
    case DType::kF16: return f32_literal(f16_to_f32(static_cast<uint16_t>(bits)));
    case DType::kBF16: return f32_literal(bf16_to_f32(static_cast<uint16_t>(bits)));
    case DType::kF32: return f32_literal(std::bit_cast<float>(low));
    case DType::kF64: return f64_literal(bits);
    case DType::kU64: return fmt::format("{}ul", bits);
    case DType::kU8:
    case DType::kU16:
    case DType::kU32: return fmt::format("{}u", low);
    default: break;
  }
  int64_t value = sign_extended(dtype, bits);
  // A minus is an operator in GLSL: the least integers have no decimal literal.
  if (dtype == DType::kI64)
    return value == INT64_MIN ? "int64_t(0x8000000000000000ul)" : fmt::format("{}l", value);
  return value == INT32_MIN ? "int(0x80000000u)" : fmt::format("{}", value);
}

std::string glsl_to_bits(DType dtype, const std::string& value, const Caps& caps,
                         GlslNeeds& needs) {
  switch (dtype) {
    case DType::kBool: return "uint(" + value + ")";
    case DType::kI8: return "(uint(" + value + ") & 0xffu)";
    case DType::kI16: return "(uint(" + value + ") & 0xffffu)";
    case DType::kI64: return fmt::format("{}({})", glsl_unsigned_type(dtype, caps), value);
    case DType::kF16: needs.prelude.insert("t_f16_bits"); return "t_f16_bits(" + value + ")";
    case DType::kBF16: return "(floatBitsToUint(" + value + ") >> 16)";  // rounded already
    case DType::kF32: return "floatBitsToUint(" + value + ")";
    case DType::kF64: needs.int64 = true; return "doubleBitsToUint64(" + value + ")";
    case DType::kI32: return "uint(" + value + ")";
    default: return value;
  }
}

std::string glsl_from_bits(DType dtype, const std::string& bits, const Caps& caps,
                           GlslNeeds& needs) {
  switch (dtype) {
    case DType::kBool: return "(" + bits + " != 0u)";
    case DType::kI8: return "bitfieldExtract(int(" + bits + "), 0, 8)";
    case DType::kI16: return "bitfieldExtract(int(" + bits + "), 0, 16)";
    case DType::kI32: return "int(" + bits + ")";
    case DType::kI64: return fmt::format("{}({})", glsl_type(dtype, caps), bits);
    case DType::kF16: needs.prelude.insert("t_f16_to_f32"); return "t_f16_to_f32(" + bits + ")";
    case DType::kBF16: return "uintBitsToFloat(" + bits + " << 16)";
    case DType::kF32: return "uintBitsToFloat(" + bits + ")";
    case DType::kF64: needs.int64 = true; return "uint64BitsToDouble(" + bits + ")";
    default: return bits;
  }
}

namespace {

int64_t word_bytes(const BufferDecl& buffer) { return buffer.per_word * dtype_size(buffer.dtype); }

// Whether a buffer's words are made of components of 64 bits.
bool has_long_components(const BufferDecl& buffer, const Caps& caps) {
  return caps.device_class == DeviceClass::kSoftwareRasteriser && caps.int64 &&
         word_bytes(buffer) >= 8;
}

// Parts of 32 bits, as a word.
std::string word_of_parts(const BufferDecl& buffer, const std::vector<std::string>& parts,
                          const Caps& caps, GlslNeeds& needs) {
  const char* type = glsl_word_type(buffer, caps);
  if (!has_long_components(buffer, caps))
    return fmt::format("{}({})", type, fmt::join(parts, ", "));
  needs.int64 = true;
  std::vector<std::string> longs;
  for (size_t i = 0; i + 1 < parts.size(); i += 2)
    longs.push_back(fmt::format("packUint2x32(uvec2({}, {}))", parts[i], parts[i + 1]));
  return longs.size() == 1 ? longs[0] : fmt::format("{}({})", type, fmt::join(longs, ", "));
}

// Part i of 32 bits of a word.
std::string part_of_word(const BufferDecl& buffer, const std::string& word, size_t i,
                         const Caps& caps, GlslNeeds& needs) {
  if (word_bytes(buffer) == 4) return word;
  if (!has_long_components(buffer, caps)) return fmt::format("{}.{}", word, "xyzw"[i]);
  needs.int64 = true;
  const char* component = word_bytes(buffer) == 8 ? "" : i < 2 ? ".x" : ".y";
  return fmt::format("unpackUint2x32({}{}).{}", word, component, "xy"[i % 2]);
}

}  // namespace

const char* glsl_word_type(const BufferDecl& buffer, const Caps& caps) {
  const int64_t bytes = word_bytes(buffer);
  if (has_long_components(buffer, caps)) return bytes == 8 ? "uint64_t" : "u64vec2";
  return bytes == 4 ? "uint" : bytes == 8 ? "uvec2" : "uvec4";
}

std::string glsl_from_word(const BufferDecl& buffer, const std::string& word, int64_t i,
                           const Caps& caps, GlslNeeds& needs) {
  int64_t size = dtype_size(buffer.dtype), at = i * size;
  std::string bits = part_of_word(buffer, word, static_cast<size_t>(at / 4), caps, needs);
  int64_t shift = 8 * (at % 4);
  // Signed bytes and halves come by their place, in one instruction.
  if (size < 4 && is_signed_int(buffer.dtype))
    return fmt::format("bitfieldExtract(int({}), {}, {})", bits, shift, 8 * size);
  if (size < 4) bits = fmt::format("bitfieldExtract({}, {}, {})", bits, shift, 8 * size);
  return glsl_from_bits(buffer.dtype, bits, caps, needs);
}

std::string glsl_to_word(const BufferDecl& buffer, const std::vector<std::string>& elements,
                         const Caps& caps, GlslNeeds& needs) {
  auto in_part = static_cast<size_t>(4 / dtype_size(buffer.dtype));
  std::vector<std::string> parts;
  if (buffer.dtype == DType::kF16) {
    needs.prelude.insert("t_f32x2_to_f16");
    for (size_t i = 0; i + 1 < elements.size(); i += 2)
      parts.push_back(fmt::format("t_f32x2_to_f16({}, {})", elements[i], elements[i + 1]));
    return word_of_parts(buffer, parts, caps, needs);
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    std::string bits = glsl_to_bits(buffer.dtype, elements[i], caps, needs);
    if (is_unsigned_int(buffer.dtype)) bits = "uint(" + bits + ")";
    if (i % in_part == 0)
      parts.push_back(bits);
    else
      parts.back() += fmt::format(" | ({} << {})", bits, i % in_part * 32 / in_part);
  }
  return word_of_parts(buffer, parts, caps, needs);
}

std::string glsl_from_storage(DType dtype, const std::string& element, const Caps& caps,
                              GlslNeeds& needs) {
  if (dtype == DType::kBool) return "(uint(" + element + ") != 0u)";
  if (storage_size(dtype, caps) >= 4) return element;
  if (is_float(dtype)) return glsl_from_bits(dtype, "uint(" + element + ")", caps, needs);
  return fmt::format("{}({})", glsl_type(dtype, caps), element);
}

std::string glsl_to_storage(DType dtype, const std::string& value, const Caps& caps,
                            GlslNeeds& needs) {
  bool narrow = storage_size(dtype, caps) < 4;
  if (!narrow && dtype != DType::kBool) return value;
  if (dtype == DType::kF16) {
    needs.prelude.insert("t_f32_to_f16");
    return fmt::format("{}(t_f32_to_f16({}))", glsl_storage_type(dtype, caps), value);
  }
  std::string bits = is_integer(dtype) ? value : glsl_to_bits(dtype, value, caps, needs);
  return narrow ? fmt::format("{}({})", glsl_storage_type(dtype, caps), bits) : bits;
}

std::string glsl_narrow(DType dtype, const std::string& value, GlslNeeds& needs) {
  switch (dtype) {
    case DType::kI8: return "bitfieldExtract(" + value + ", 0, 8)";
    case DType::kI16: return "bitfieldExtract(" + value + ", 0, 16)";
    case DType::kU8: return "((" + value + ") & 0xffu)";
    case DType::kU16: return "((" + value + ") & 0xffffu)";
    case DType::kF16: needs.prelude.insert("t_round_f16"); return "t_round_f16(" + value + ")";
    case DType::kBF16: needs.prelude.insert("t_round_bf16"); return "t_round_bf16(" + value + ")";
    default: return value;
  }
}

}  // namespace tuff

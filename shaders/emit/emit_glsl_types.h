// Types, literals and memory conversions of the GLSL printer.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/caps.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// What the body turned out to use; decides extensions, prelude and declarations.
struct GlslNeeds {
  std::set<std::string> prelude;  // t_* functions
  std::set<uint32_t> coherent;    // buffers one lane writes and another reads
  bool int64 = false;
  bool unroll = false;   // loops have hints
  bool shuffle = false;  // lanes read each other's registers
  bool lane = false;     // the invocation's number in the workgroup
  bool group = false;    // the workgroup's linear number
};

// "r0" or "s1": registers and shared arrays.
std::string glsl_array_name(const Kernel& kernel, uint32_t id);

// 64-bit integers are ivec2 and uvec2: the device has none of its own.
inline bool has_pairs(const Caps& caps) { return !caps.int64; }

// The type values of a dtype have in registers and shared memory: "float".
const char* glsl_type(DType dtype, const Caps& caps);
// The signed and unsigned types of the same width.
const char* glsl_signed_type(DType dtype, const Caps& caps);
const char* glsl_unsigned_type(DType dtype, const Caps& caps);
// A word of a buffer that is read as such, element i of one, and a word of elements, of which f16
// need not be rounded to it. Software devices move each component of a word by itself, so these
// have 64 bits there.
const char* glsl_word_type(const BufferDecl& buffer, const Caps& caps);
std::string glsl_from_word(const BufferDecl& buffer, const std::string& word, int64_t i,
                           const Caps& caps, GlslNeeds& needs);
std::string glsl_to_word(const BufferDecl& buffer, const std::vector<std::string>& elements,
                         const Caps& caps, GlslNeeds& needs);
// The element type of a buffer: "uint16_t".
const char* glsl_storage_type(DType dtype, const Caps& caps);

// "precise " for types whose arithmetic a driver could contract.
inline const char* glsl_precise(DType dtype) { return is_float(dtype) ? "precise " : ""; }

// An immediate, exact to the bit.
std::string glsl_literal(DType dtype, uint64_t bits, const Caps& caps);

// The bits of a value as uint (the unsigned type of 64-bit ones), zero-extended, and back.
std::string glsl_to_bits(DType dtype, const std::string& value, const Caps& caps, GlslNeeds& needs);
std::string glsl_from_bits(DType dtype, const std::string& bits, const Caps& caps,
                           GlslNeeds& needs);

// An element as read from a buffer -> a value, and back; an f16 of 16 bits need not be rounded to
// it.
std::string glsl_from_storage(DType dtype, const std::string& element, const Caps& caps,
                              GlslNeeds& needs);
std::string glsl_to_storage(DType dtype, const std::string& value, const Caps& caps,
                            GlslNeeds& needs);

// `value`, computed in the wide type, rounded or wrapped to a narrow dtype.
std::string glsl_narrow(DType dtype, const std::string& value, GlslNeeds& needs);

}  // namespace tuff

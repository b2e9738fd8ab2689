// The prelude's functions as GLSL text, for the shader printer.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "ir/type.h"

namespace tuff {

struct PreludeOptions {
  bool int64 = false;    // the shader has int64_t: GL_EXT_shader_explicit_arithmetic_types_int64
  bool pairs = false;    // without int64_t: 64-bit integers are ivec2 and uvec2 (pairs.glsl)
  bool float64 = false;  // the shader has double and int64_t
  // The device's a / b and sqrt(a) round as IEEE 754 says for all floats, denormals
  // included, so they need no repair. Vulkan does not promise it.
  bool native_division = false;
  // Else: the device's fma rounds once, so that they are repaired by it.
  bool fused_multiply_add = false;
  // The device converts from and to f16 as IEEE 754 says, denormals included. To f16 needs
  // GL_EXT_shader_explicit_arithmetic_types_float16.
  bool native_f16_widen = false;
  bool native_f16_narrow = false;
};

// The text of the functions named and of all they call, each before its use. A name
// stands for all its overloads ("t_max"), or with a type for the one whose first
// parameter has that type ("t_max/int"). Unknown names are ignored: the caller may
// pass every identifier it prints.
std::string prelude_functions(const std::set<std::string>& used,
                              const PreludeOptions& options = {});

// The t_* names that occur in a text.
std::set<std::string> prelude_names(std::string_view text);

// The expression that converts `operand`, of from's compute type, by StableHLO's
// convert: floats round to nearest even, float to integer truncates, saturates and
// makes NaN 0, integers wrap, anything to i1 is "not zero". Names narrow types'
// values as op.def does (32 bits wide). With `pairs`, 64-bit integers are ivec2 and uvec2.
std::string convert_expression(DType from, DType to, const std::string& operand,
                               bool pairs = false);

// The embedded files; the list ends with a null name.
struct PreludeFile {
  const char* name;
  const char* text;
};
extern const PreludeFile kPreludeFiles[];

}  // namespace tuff

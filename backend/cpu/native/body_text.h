// The functions of the prelude as text, found by name and parameter types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/native/body_graph.h"

namespace tuff::cpu::native {

struct Token {
  enum class Type : uint8_t { kWord, kNumber, kSign, kEnd };
  Type type = Type::kEnd;
  std::string_view text;
};
std::vector<Token> tokens_of(std::string_view text);

struct PreludeFunction {
  std::string_view name;
  std::vector<std::string_view> parameters;
  std::vector<Kind> kinds;
  std::vector<Token> body;  // what stands between the braces
};
// Null for none of 32 bits.
const PreludeFunction* find_prelude_function(std::string_view name, const std::vector<Kind>& kinds);

}  // namespace tuff::cpu::native

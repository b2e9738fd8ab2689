#include "backend/cpu/native/body_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "shaders/prelude/prelude_text.h"

namespace tuff::cpu::native {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::optional<Kind> kind_named(std::string_view type) {
  if (type == "float") return Kind::kFloat;
  if (type == "int") return Kind::kSigned;
  if (type == "uint") return Kind::kUnsigned;
  if (type == "bool") return Kind::kBool;
  return std::nullopt;
}

// Two characters that are one sign.
bool is_pair(std::string_view text) {
  static constexpr std::string_view kPairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  for (std::string_view pair : kPairs)
    if (text.starts_with(pair)) return true;
  return false;
}

using Functions = std::multimap<std::string_view, PreludeFunction>;

// Of "T_FN type name(type a, type b) { ... }", at the name.
void add_function(const std::vector<Token>& all, size_t at, Functions& functions) {
  PreludeFunction function{.name = all[at].text, .parameters = {}, .kinds = {}, .body = {}};
  for (at += 2; all[at - 1].text != ")"; at += 3) {
    std::optional<Kind> kind = kind_named(all[at].text);
    if (!kind) return;  // of 64 bits
    function.kinds.push_back(*kind);
    function.parameters.push_back(all[at + 1].text);
  }
  int depth = 1;
  for (++at; depth > 0; ++at) {
    depth += all[at].text == "{" ? 1 : all[at].text == "}" ? -1 : 0;
    if (depth > 0) function.body.push_back(all[at]);
  }
  functions.emplace(function.name, std::move(function));
}

const Functions& all_functions() {
  static const Functions functions = [] {
    static constexpr std::string_view kFiles[] = {"int", "float", "exp_log", "hyperbolic",
                                                  "erf", "trig",  "power",   "convert"};
    Functions found;
    for (const PreludeFile* file = kPreludeFiles; file->name != nullptr; ++file) {
      if (std::find(std::begin(kFiles), std::end(kFiles), std::string_view(file->name)) ==
          std::end(kFiles))
        continue;
      std::vector<Token> tokens = tokens_of(file->text);
      for (size_t at = 0; at + 2 < tokens.size(); ++at)
        if (tokens[at].text == "T_FN") add_function(tokens, at + 2, found);
    }
    return found;
  }();
  return functions;
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t end = at + 1;
    if (std::isspace(static_cast<unsigned char>(c))) {
      at = end;
      continue;
    }
    if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    Token::Type type = Token::Type::kSign;
    if (std::isdigit(static_cast<unsigned char>(c))) {
      type = Token::Type::kNumber;
      bool hex = text.substr(at).starts_with("0x");
      while (end < text.size() &&
             (is_word(text[end]) || text[end] == '.' ||
              (!hex && (text[end] == '-' || text[end] == '+') && text[end - 1] == 'e')))
        ++end;
    } else if (is_word(c)) {
      type = Token::Type::kWord;
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (is_pair(text.substr(at))) {
      ++end;
    }
    tokens.push_back({type, text.substr(at, end - at)});
    at = end;
  }
  tokens.push_back({});
  return tokens;
}

const PreludeFunction* find_prelude_function(std::string_view name,
                                             const std::vector<Kind>& kinds) {
  auto [first, last] = all_functions().equal_range(name);
  for (auto it = first; it != last; ++it)
    if (it->second.kinds == kinds) return &it->second;
  return nullptr;
}

}  // namespace tuff::cpu::native

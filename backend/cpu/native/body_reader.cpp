#include "backend/cpu/native/body_reader.h"

#include <bit>
#include <cstdlib>

namespace tuff::cpu::native {

namespace {

constexpr size_t kMaxNodes = 1000;

// Signs of one rank, those that bind least first.
constexpr std::string_view kRanks[][4] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
constexpr size_t kNumRanks = std::size(kRanks);

std::optional<Kind> kind_called(std::string_view name, Kind type) {
  if (name == "float") return Kind::kFloat;
  if (name == "int") return Kind::kSigned;
  if (name == "uint") return Kind::kUnsigned;
  if (name == "bool") return Kind::kBool;
  if (name == "T") return type;
  if (name == "UT") return Kind::kUnsigned;
  if (name == "ST") return Kind::kSigned;
  return std::nullopt;
}

}  // namespace

bool BodyReader::read(std::string_view text, const std::vector<Kind>& operands, Kind type,
                      Kind result, uint32_t bits) {
  static constexpr std::string_view kNames[] = {"a", "b", "c"};
  type_ = type;
  for (size_t i = 0; i < operands.size(); ++i)
    scope_[std::string(kNames[i])] =
        node(Prim::kArgument, operands[i], 0, 0, 0, static_cast<uint32_t>(i));
  scope_["W"] = constant(Kind::kSigned, bits);
  std::vector<Token> tokens = tokens_of(text);
  tokens_ = &tokens;
  Id value = expression();
  if (peek().type != Token::Type::kEnd) failed_ = true;
  if (!failed_) graph_.result = cast(value, result);
  tokens_ = nullptr;
  return !failed_;
}

bool BodyReader::accept(std::string_view sign) {
  if (peek().text != sign) return false;
  ++at_;
  return true;
}

void BodyReader::expect(std::string_view sign) {
  if (!accept(sign)) failed_ = true;
}

BodyReader::Id BodyReader::node(Prim prim, Kind kind, Id a, Id b, Id c, uint32_t bits) {
  std::vector<uint32_t> key{
      static_cast<uint32_t>(prim), static_cast<uint32_t>(kind), a, b, c, bits};
  auto [it, fresh] = known_.try_emplace(std::move(key), static_cast<Id>(graph_.nodes.size()));
  if (fresh) graph_.nodes.push_back({prim, kind, {a, b, c}, bits});
  if (graph_.nodes.size() > kMaxNodes) failed_ = true;
  return it->second;
}

BodyReader::Id BodyReader::cast(Id value, Kind to) {
  Kind from = kind(value);
  const BodyNode& known = graph_.nodes[value];
  if (from == to) return value;
  if (from == Kind::kBool) {
    uint32_t one = to == Kind::kFloat ? 0x3f800000u : 1u;
    return node(Prim::kSelect, to, value, constant(to, one), constant(to, 0));
  }
  if (to == Kind::kBool) {
    Id zero = constant(from, 0);
    return from == Kind::kFloat ? node(Prim::kNotEqualF, to, value, zero)
                                : negated(node(Prim::kEqual, to, value, zero));
  }
  if (to == Kind::kFloat)
    return node(from == Kind::kSigned ? Prim::kFloatFromSigned : Prim::kFloatFromUnsigned, to,
                value);
  if (from == Kind::kFloat) {
    if (to == Kind::kUnsigned) failed_ = true;  // no function but t_f32_to_u32 needs it
    return node(Prim::kSignedFromFloat, to, value);
  }
  // The same bits under another name.
  if (known.prim == Prim::kConstant) return constant(to, known.bits);
  return node(Prim::kOr, to, value, constant(from, 0));
}

BodyReader::Id BodyReader::negated(Id value) {
  return node(Prim::kXor, Kind::kBool, value, constant(Kind::kBool, 1));
}

BodyReader::Id BodyReader::compared(std::string_view sign, Id a, Id b) {
  Kind type = kind(a);
  bool floats = type == Kind::kFloat;
  if (sign == ">" || sign == ">=") {
    std::swap(a, b);
    sign = sign == ">" ? "<" : "<=";
  }
  if (sign == "==" || sign == "!=") {
    if (floats) return node(sign == "==" ? Prim::kEqualF : Prim::kNotEqualF, Kind::kBool, a, b);
    Id equal = type == Kind::kBool ? negated(node(Prim::kXor, Kind::kBool, a, b))
                                   : node(Prim::kEqual, Kind::kBool, a, b);
    return sign == "==" ? equal : negated(equal);
  }
  if (floats) return node(sign == "<" ? Prim::kLessF : Prim::kLessEqualF, Kind::kBool, a, b);
  Prim less = type == Kind::kSigned ? Prim::kLessSigned : Prim::kLessUnsigned;
  return sign == "<" ? node(less, Kind::kBool, a, b) : negated(node(less, Kind::kBool, b, a));
}

BodyReader::Id BodyReader::binary(std::string_view sign, Id a, Id b) {
  if (sign == "&&")
    return node(Prim::kAnd, Kind::kBool, cast(a, Kind::kBool), cast(b, Kind::kBool));
  if (sign == "||") return node(Prim::kOr, Kind::kBool, cast(a, Kind::kBool), cast(b, Kind::kBool));
  if (sign == "<<" || sign == ">>") {
    Prim right = kind(a) == Kind::kSigned ? Prim::kShiftRightSigned : Prim::kShiftRight;
    return node(sign == "<<" ? Prim::kShiftLeft : right, kind(a), a, b);
  }
  // C++'s conversions of int to uint, uint to float.
  Kind type = std::max(kind(a), kind(b));
  if (kind(a) == Kind::kFloat || kind(b) == Kind::kFloat) type = Kind::kFloat;
  if (kind(a) != kind(b)) a = cast(a, type), b = cast(b, type);
  if (sign == "==" || sign == "!=" || sign[0] == '<' || sign[0] == '>') return compared(sign, a, b);
  bool floats = type == Kind::kFloat;
  switch (sign[0]) {
    case '+': return node(floats ? Prim::kAddF : Prim::kAdd, type, a, b);
    case '-': return node(floats ? Prim::kSubtractF : Prim::kSubtract, type, a, b);
    case '*': return node(floats ? Prim::kMultiplyF : Prim::kMultiply, type, a, b);
    case '&': return node(Prim::kAnd, type, a, b);
    case '|': return node(Prim::kOr, type, a, b);
    case '^': return node(Prim::kXor, type, a, b);
    case '/':
      if (floats) return node(Prim::kDivideF, type, a, b);
      if (type == Kind::kUnsigned) return node(Prim::kDivideUnsigned, type, a, b);
      break;
    default: break;
  }
  failed_ = true;
  return a;
}

BodyReader::Id BodyReader::expression() {
  if (++depth_ > 200) failed_ = true;
  if (failed_) return 0;
  Id value = chain(0);
  if (accept("?")) {
    Id yes = expression();
    expect(":");
    Id no = expression();
    if (failed_) return 0;
    Kind type = std::max(kind(yes), kind(no));
    if (kind(yes) != kind(no)) yes = cast(yes, type), no = cast(no, type);
    value = node(Prim::kSelect, type, cast(value, Kind::kBool), yes, no);
  }
  --depth_;
  return value;
}

BodyReader::Id BodyReader::chain(size_t level) {
  if (level == kNumRanks) return unary();
  Id left = chain(level + 1);
  while (!failed_) {
    std::string_view sign = peek().text;
    bool found = false;
    for (std::string_view known : kRanks[level]) found |= !known.empty() && known == sign;
    if (!found || peek().type != Token::Type::kSign) return left;
    ++at_;
    Id right = chain(level + 1);
    if (!failed_) left = binary(sign, left, right);
  }
  return left;
}

BodyReader::Id BodyReader::unary() {
  if (accept("-")) {
    Id value = unary();
    if (failed_) return 0;
    const BodyNode known = graph_.nodes[value];
    if (known.kind == Kind::kFloat && known.prim == Prim::kConstant)
      return constant(Kind::kFloat, known.bits ^ 0x80000000u);
    if (known.kind == Kind::kFloat)
      return node(Prim::kXor, Kind::kFloat, value, constant(Kind::kFloat, 0x80000000u));
    if (known.prim == Prim::kConstant) return constant(known.kind, 0u - known.bits);
    return node(Prim::kSubtract, known.kind, constant(known.kind, 0), value);
  }
  if (accept("!")) return negated(cast(unary(), Kind::kBool));
  if (accept("~")) {
    Id value = unary();
    return node(Prim::kXor, kind(value), value, constant(kind(value), 0xffffffffu));
  }
  return primary();
}

BodyReader::Id BodyReader::number(std::string_view text) {
  std::string digits(text);
  bool hex = digits.starts_with("0x");
  bool is_unsigned = digits.ends_with("u");
  if (!hex && digits.find_first_of(".ef") != std::string::npos)
    return constant(Kind::kFloat, std::bit_cast<uint32_t>(std::strtof(digits.c_str(), nullptr)));
  auto bits = static_cast<uint32_t>(std::strtoul(digits.c_str(), nullptr, 0));
  // A hexadecimal one that int does not hold is unsigned.
  is_unsigned |= hex && bits > 0x7fffffffu;
  return constant(is_unsigned ? Kind::kUnsigned : Kind::kSigned, bits);
}

BodyReader::Id BodyReader::primary() {
  const Token token = peek();
  if (token.type == Token::Type::kEnd) failed_ = true;
  if (failed_) return 0;
  ++at_;
  if (token.type == Token::Type::kNumber) return number(token.text);
  if (token.text == "(") {
    Id value = expression();
    expect(")");
    return value;
  }
  if (token.type != Token::Type::kWord) failed_ = true;
  if (failed_) return 0;
  if (accept("(")) {
    std::vector<Id> arguments;
    while (!failed_ && peek().text != ")") {
      arguments.push_back(expression());
      if (peek().text != ")") expect(",");
    }
    expect(")");
    return failed_ ? Id{0} : call(token.text, arguments);
  }
  std::string name(token.text);
  if (accept(".")) name += "." + std::string((*tokens_)[at_++].text);
  if (name == "true" || name == "false") return constant(Kind::kBool, name == "true");
  auto found = scope_.find(name);
  if (found == scope_.end()) failed_ = true;
  return failed_ ? Id{0} : found->second;
}

BodyReader::Id BodyReader::call(std::string_view name, const std::vector<Id>& arguments) {
  std::optional<Kind> to = kind_called(name, type_);
  if (to && arguments.size() == 1) return cast(arguments[0], *to);
  if (std::optional<Id> known = builtin(name, arguments)) return *known;
  std::vector<Kind> kinds;
  for (Id argument : arguments) kinds.push_back(kind(argument));
  if (const PreludeFunction* function = find_prelude_function(name, kinds))
    return called(*function, arguments);
  failed_ = true;
  return 0;
}

// GLSL's own functions, and those that prelude.h gives C++ in place of the text.
std::optional<BodyReader::Id> BodyReader::builtin(std::string_view name,
                                                  const std::vector<Id>& arguments) {
  struct Row {
    std::string_view name;
    Kind takes;
    Prim prim;
  };
  static constexpr Row kRows[] = {{"floor", Kind::kFloat, Prim::kFloorF},
                                  {"ceil", Kind::kFloat, Prim::kCeilF},
                                  {"trunc", Kind::kFloat, Prim::kTruncF},
                                  {"roundEven", Kind::kFloat, Prim::kRoundF},
                                  {"sqrt", Kind::kFloat, Prim::kSqrtF},
                                  {"t_sqrt", Kind::kFloat, Prim::kSqrtF},
                                  {"t_div", Kind::kFloat, Prim::kDivideF},
                                  {"fma", Kind::kFloat, Prim::kFmaF},
                                  {"t_umulhi", Kind::kUnsigned, Prim::kHighUnsigned},
                                  {"t_imulhi", Kind::kSigned, Prim::kHighSigned}};
  if (arguments.empty()) return std::nullopt;
  Id a = arguments[0];
  for (const Row& row : kRows)
    if (name == row.name && kind(a) == row.takes &&
        arity_of(row.prim) == static_cast<int>(arguments.size()))
      return node(row.prim, row.takes, a, arguments.size() > 1 ? arguments[1] : Id{0},
                  arguments.size() > 2 ? arguments[2] : Id{0});
  if (name == "abs" && kind(a) == Kind::kFloat)
    return node(Prim::kAnd, Kind::kFloat, a, constant(Kind::kFloat, 0x7fffffffu));
  auto bits_as = [&](Kind to) {
    const BodyNode known = graph_.nodes[a];
    if (known.prim == Prim::kConstant) return constant(to, known.bits);
    return node(Prim::kOr, to, a, constant(kind(a), 0));
  };
  if (name == "floatBitsToUint") return bits_as(Kind::kUnsigned);
  if (name == "floatBitsToInt") return bits_as(Kind::kSigned);
  if (name == "uintBitsToFloat" || name == "intBitsToFloat") return bits_as(Kind::kFloat);
  if (name == "t_rcp_1_2")
    return node(Prim::kDivideF, Kind::kFloat, constant(Kind::kFloat, 0x3f800000u), a);
  if (name == "t_rem" && kind(a) == Kind::kFloat) failed_ = true;  // the C library's
  return failed_ ? std::optional<Id>(a) : std::nullopt;
}

BodyReader::Id BodyReader::called(const PreludeFunction& function,
                                  const std::vector<Id>& arguments) {
  if (++depth_ > 200) failed_ = true;
  Scope outer = std::move(scope_);
  const std::vector<Token>* tokens = tokens_;
  size_t at = at_;
  scope_.clear();
  for (size_t i = 0; i < arguments.size(); ++i)
    scope_[std::string(function.parameters[i])] = arguments[i];
  std::vector<Token> body = function.body;
  body.push_back({});
  tokens_ = &body;
  at_ = 0;
  statements();
  Id value = value_;
  scope_ = std::move(outer);
  tokens_ = tokens;
  at_ = at;
  --depth_;
  return value;
}

void BodyReader::statements() {
  while (!failed_ && peek().type != Token::Type::kEnd) {
    if (accept("return")) {
      // A struct's members are returned by its name.
      std::string prefix = std::string(peek().text) + ".";
      returned_.clear();
      for (const auto& [name, id] : scope_)
        if (name.starts_with(prefix)) returned_[name.substr(prefix.size())] = id;
      if (returned_.empty())
        value_ = expression();
      else
        ++at_;
      expect(";");
      return;
    }
    declaration();
  }
  failed_ = true;
}

// [precise] [type] name [= value]; or name.member = value;
void BodyReader::declaration() {
  accept("precise");
  accept("const");
  std::string_view first = peek().text;
  std::optional<Kind> type = kind_called(first, type_);
  bool is_struct = !type && peek(1).type == Token::Type::kWord;
  if (type || is_struct) ++at_;
  std::string name((*tokens_)[at_++].text);
  if (accept(".")) name += "." + std::string((*tokens_)[at_++].text);
  if (is_struct && accept(";")) return;
  expect("=");
  returned_.clear();
  Id value = expression();
  expect(";");
  if (failed_) return;
  if (is_struct) {
    for (const auto& [member, id] : returned_) scope_[name + "." + member] = id;
    return;
  }
  auto known = scope_.find(name);
  if (!type && known != scope_.end()) type = kind(known->second);
  scope_[name] = type ? cast(value, *type) : value;
}

}  // namespace tuff::cpu::native

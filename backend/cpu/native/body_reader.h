// Reads an expression of op.def, and the prelude's functions that it calls, into a graph.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/native/body_graph.h"
#include "backend/cpu/native/body_text.h"

namespace tuff::cpu::native {

class BodyReader {
 public:
  // Operands a, b, c of these kinds; T and its kin are `type`'s, W is `bits`. False: not of the
  // part of the language that is known here.
  bool read(std::string_view text, const std::vector<Kind>& operands, Kind type, Kind result,
            uint32_t bits = 32);
  BodyGraph take() { return std::move(graph_); }

 private:
  using Id = uint16_t;
  // Names of a function's variables; members as "angle.r".
  using Scope = std::map<std::string, Id, std::less<>>;
  // What an expression is: a value, or a struct's members.
  struct Result {
    Id id = 0;
    const Scope* members = nullptr;
  };

  const Token& peek(size_t ahead = 0) const { return (*tokens_)[at_ + ahead]; }
  bool accept(std::string_view sign);
  void expect(std::string_view sign);

  Id node(Prim prim, Kind kind, Id a = 0, Id b = 0, Id c = 0, uint32_t bits = 0);
  Id constant(Kind kind, uint32_t bits) { return node(Prim::kConstant, kind, 0, 0, 0, bits); }
  Id cast(Id value, Kind to);
  Kind kind(Id id) const { return graph_.nodes[id].kind; }
  Id same(Id a, Id b, Id c) { return node(Prim::kSelect, kind(b), a, b, c); }
  Id negated(Id value);
  Id compared(std::string_view sign, Id a, Id b);
  Id binary(std::string_view sign, Id a, Id b);

  Id expression();  // with ?:
  Id chain(size_t level);
  Id unary();
  Id primary();
  Id number(std::string_view text);
  Id call(std::string_view name, const std::vector<Id>& arguments);
  std::optional<Id> builtin(std::string_view name, const std::vector<Id>& arguments);
  Id called(const PreludeFunction& function, const std::vector<Id>& arguments);
  void statements();
  void declaration();

  BodyGraph graph_;
  std::map<std::vector<uint32_t>, Id> known_;
  const std::vector<Token>* tokens_ = nullptr;
  size_t at_ = 0;
  bool failed_ = false;
  int depth_ = 0;
  Scope scope_;
  Scope returned_;  // members of the struct that the last call returned
  Id value_ = 0;    // what it returned else
  Kind type_ = Kind::kFloat;
};

}  // namespace tuff::cpu::native

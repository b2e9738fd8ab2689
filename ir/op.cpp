#include "ir/op.h"

#include <cstring>
#include <string>
#include <unordered_map>

namespace tuff {

namespace {

constexpr const char* body_or_null(const char* text) {
  return std::string_view(text) == "NONE" ? nullptr : text;
}

constexpr OpInfo kOps[] = {
#define ELEMENTWISE(e, name, arity, rule, F, S, U, B) \
  {name,                                              \
   OpCategory::kElementwise,                          \
   arity,                                             \
   arity,                                             \
   TypeRule::k##rule,                                 \
   false,                                             \
   body_or_null(#F),                                  \
   body_or_null(#S),                                  \
   body_or_null(#U),                                  \
   body_or_null(#B)},
#define KERNEL_ONLY(e, name, arity, rule, F, S, U, B) \
  {name,                                              \
   OpCategory::kElementwise,                          \
   arity,                                             \
   arity,                                             \
   TypeRule::k##rule,                                 \
   true,                                              \
   body_or_null(#F),                                  \
   body_or_null(#S),                                  \
   body_or_null(#U),                                  \
   body_or_null(#B)},
#define OP(e, name, category, min, max) \
  {name,                                \
   OpCategory::k##category,             \
   min,                                 \
   max,                                 \
   TypeRule::kNotElementwise,           \
   false,                               \
   nullptr,                             \
   nullptr,                             \
   nullptr,                             \
   nullptr},
#include "ir/op.def"
};

}  // namespace

const OpInfo& op_info(Op op) { return kOps[static_cast<int>(op)]; }

std::optional<Op> find_op(std::string_view name) {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (size_t i = 0; i < std::size(kOps); ++i) map->emplace(kOps[i].name, static_cast<Op>(i));
    return map;
  }();
  auto it = table->find(name);
  if (it == table->end()) return std::nullopt;
  return it->second;
}

const char* op_body(Op op, DType dtype) {
  const OpInfo& info = op_info(op);
  if (dtype == DType::kBool) return info.bool_body;
  if (is_float(dtype)) return info.float_body;
  return is_signed_int(dtype) ? info.signed_body : info.unsigned_body;
}

}  // namespace tuff

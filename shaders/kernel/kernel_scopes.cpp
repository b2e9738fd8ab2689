#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "shaders/kernel/kernel_rules.h"
#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

class Scopes {
 public:
  explicit Scopes(const Kernel& kernel) : kernel_(kernel) {}

  Complaint run() {
    for (const GridLoop& loop : kernel_.grid) {
      if (loop.extent.kind == Operand::Kind::kParam && loop.extent.id >= kernel_.num_params)
        complain(fmt::format("parameter p{} is not declared", loop.extent.id));
      define(loop.var, DType::kI32);
    }
    block(kernel_.body);
    return found_;
  }

 private:
  void complain(std::string text) {
    if (found_.text.empty()) found_ = {std::move(text), stmt_};
  }

  void define(uint32_t id, DType dtype) {
    if (id >= kernel_.num_values)
      return complain(
          fmt::format("value %{} is not below num_values ({})", id, kernel_.num_values));
    if (!ever_.insert(id).second) return complain(fmt::format("value %{} is defined twice", id));
    visible_[id] = dtype;
    defined_.push_back(id);
  }

  void use(const Operand& operand) {
    if (operand.kind != Operand::Kind::kValue) return;
    auto it = visible_.find(operand.id);
    if (it == visible_.end())
      return complain(fmt::format("value %{} is used where it is not defined", operand.id));
    if (it->second != operand.dtype)
      complain(fmt::format("value %{} is {} and used as {}", operand.id, dtype_name(it->second),
                           dtype_name(operand.dtype)));
  }

  // Runs `inside`, then forgets what it defined.
  template <typename Inside>
  void scope(Inside&& inside) {
    size_t outer = defined_.size();
    inside();
    for (; defined_.size() > outer; defined_.pop_back()) visible_.erase(defined_.back());
  }

  void block(const Block& body) {
    for (const Stmt& stmt : body) {
      if (!found_.text.empty()) return;
      stmt_ = &stmt;
      stmt.kind == Stmt::Kind::kReduceLanes ? reduce(stmt) : statement(stmt);
    }
  }

  void statement(const Stmt& stmt) {
    for (const Operand& operand : stmt.operands) use(operand);
    if (is_let(stmt.kind)) define(stmt.result, stmt.dtype);
    for (uint32_t id : stmt.results) define(id, stmt.dtype);
    if (!is_scope(stmt.kind)) return;
    scope([&] {
      if (is_loop(stmt.kind)) define(stmt.result, DType::kI32);
      block(stmt.body);
    });
  }

  void reduce(const Stmt& stmt) {
    scope([&] {
      for (size_t i = 0; i < stmt.arrays.size(); ++i) {
        define(stmt.lhs[i], kernel_.arrays[stmt.arrays[i]].dtype);
        define(stmt.rhs[i], kernel_.arrays[stmt.arrays[i]].dtype);
      }
      block(stmt.body);
      stmt_ = &stmt;
      for (const Operand& operand : stmt.operands) use(operand);
    });
    for (size_t i = 0; i < stmt.results.size(); ++i)
      define(stmt.results[i], kernel_.arrays[stmt.arrays[i]].dtype);
  }

  const Kernel& kernel_;
  std::unordered_map<uint32_t, DType> visible_;
  std::set<uint32_t> ever_;
  std::vector<uint32_t> defined_;
  const Stmt* stmt_ = nullptr;
  Complaint found_;
};

}  // namespace

Complaint scope_rule(const Kernel& kernel) { return Scopes(kernel).run(); }

}  // namespace tuff

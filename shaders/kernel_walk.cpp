#include "shaders/kernel_walk.h"

#include <map>

namespace tuff {

namespace {

// Gives old numbers new ones in the order they are asked for.
class Numbering {
 public:
  uint32_t operator()(uint32_t old) {
    auto [it, is_new] = numbers_.try_emplace(old, static_cast<uint32_t>(order_.size()));
    if (is_new) order_.push_back(old);
    return it->second;
  }
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  std::map<uint32_t, uint32_t> numbers_;
  std::vector<uint32_t> order_;
};

class Renumberer {
 public:
  Renumbered run(Kernel kernel) {
    for (GridLoop& loop : kernel.grid) {
      loop.var = values_(loop.var);
      operand(loop.extent);
    }
    block(kernel.body);
    Renumbered out;
    out.buffers = buffers_.order();
    out.params = params_.order();
    std::vector<BufferDecl> buffers;
    for (uint32_t old : buffers_.order()) buffers.push_back(kernel.buffers[old]);
    std::vector<ArrayDecl> arrays;
    for (uint32_t old : arrays_.order()) arrays.push_back(kernel.arrays[old]);
    kernel.buffers = std::move(buffers);
    kernel.arrays = std::move(arrays);
    kernel.num_params = static_cast<uint32_t>(out.params.size());
    kernel.num_values = static_cast<uint32_t>(values_.order().size());
    out.kernel = std::move(kernel);
    return out;
  }

 private:
  void operand(Operand& operand) {
    if (operand.kind == Operand::Kind::kValue) operand.id = values_(operand.id);
    if (operand.kind == Operand::Kind::kParam) operand.id = params_(operand.id);
  }

  void block(Block& body) {
    for (Stmt& stmt : body) statement(stmt);
  }

  // In the order of the text: results, targets, operands, body. The outputs of
  // reduce_lanes come after its body.
  void statement(Stmt& stmt) {
    for (uint32_t& id : stmt.results) id = values_(id);
    if (is_loop(stmt.kind) || is_let(stmt.kind)) stmt.result = values_(stmt.result);
    if (stmt.kind == Stmt::Kind::kLoad || stmt.kind == Stmt::Kind::kStore)
      stmt.target = buffers_(stmt.target);
    if (stmt.kind == Stmt::Kind::kRead || stmt.kind == Stmt::Kind::kWrite)
      stmt.target = arrays_(stmt.target);
    for (uint32_t& id : stmt.arrays) id = arrays_(id);
    for (size_t i = 0; i < stmt.lhs.size(); ++i) {
      stmt.lhs[i] = values_(stmt.lhs[i]);
      stmt.rhs[i] = values_(stmt.rhs[i]);
    }
    bool outputs = stmt.kind == Stmt::Kind::kReduceLanes;
    if (outputs) block(stmt.body);
    for (Operand& use : stmt.operands) operand(use);
    if (!outputs) block(stmt.body);
  }

  Numbering values_, params_, buffers_, arrays_;
};

}  // namespace

bool is_loop(Stmt::Kind kind) {
  return kind == Stmt::Kind::kSerial || kind == Stmt::Kind::kUnroll || kind == Stmt::Kind::kLane;
}

bool is_let(Stmt::Kind kind) {
  return kind == Stmt::Kind::kCompute || kind == Stmt::Kind::kConvert ||
         kind == Stmt::Kind::kBitcast || kind == Stmt::Kind::kLoad || kind == Stmt::Kind::kRead;
}

Renumbered renumber(Kernel kernel) { return Renumberer().run(std::move(kernel)); }

}  // namespace tuff

// The statements of a kernel as GLSL.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shaders/emit/emit_glsl_barriers.h"
#include "shaders/emit/emit_glsl_expression.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// Prints the body of main(). Values are v0, v1 ..., except those that folding
// makes immediates or other values. Blocks keep the names of repeated bodies apart.
class GlslBody {
 public:
  GlslBody(const Kernel& kernel, const Caps& caps);

  Status print();

  const std::string& text() const { return out_; }
  const GlslNeeds& needs() const { return needs_; }
  // What needs no shared memory.
  const Shuffles& shuffles() const { return shuffles_; }
  // Scratch arrays of reduce_lanes: how many of each element type, and their elements.
  const std::map<std::string, int>& scratch() const { return scratch_; }
  int64_t scratch_lanes() const { return scratch_lanes_; }

 private:
  void line(const std::string& text);
  Operand resolve(const Operand& operand) const;
  std::string name(const Operand& operand) const;
  std::string operand(const Stmt& stmt, size_t i) const { return name(stmt.operands[i]); }
  bool is_known(const Operand& operand, uint64_t bits) const;

  void grid();
  Status block(const Block& body);
  Status nested(const std::string& head, const Block& body);
  Status statement(const Stmt& stmt);
  Status serial(const Stmt& stmt);
  const char* unroll_hint(const Stmt& stmt, const Operand& extent) const;
  Status unroll(const Stmt& stmt);
  Status lanes(const Stmt& stmt);
  Status let(const Stmt& stmt);
  void load(const Stmt& stmt);
  void load_word(const Stmt& stmt);
  void store(const Stmt& stmt);
  void store_word(const Stmt& stmt);
  void read(const Stmt& stmt);
  void write(const Stmt& stmt);
  void declare(uint32_t id, DType dtype, const std::string& value);
  void barrier(bool with_buffers);

  // emit_glsl_reduce.cpp
  Status reduce(const Stmt& stmt);
  Status reduce_by_shuffles(const Stmt& stmt);
  Status reduce_in_subgroups(const Stmt& stmt);
  Status combine(const Stmt& stmt, const std::vector<std::string>& into,
                 const std::vector<std::string>& with);
  Status reduce_step(const Stmt& stmt, const std::vector<std::string>& scratch, int64_t distance);
  std::vector<std::string> scratch_names(const Stmt& stmt, int64_t elements);

  // emit_glsl_matrix.cpp
  void declare_matrices();
  void matrix_clear();
  void matrix_multiply(const Stmt& stmt);
  void matrix_store(const Stmt& stmt);

  const Kernel& kernel_;
  const Caps& caps_;
  Shuffles shuffles_;
  BarrierPlan barriers_;
  std::vector<bool> rounded_by_stores_;  // by value
  std::vector<Operand> values_;          // what a value stands for; itself by default
  std::vector<std::string> names_;       // its name
  GlslNeeds needs_;
  std::map<std::string, int> scratch_;
  int64_t scratch_lanes_ = 0;
  size_t depth_ = 1;
  std::string out_;
};

}  // namespace tuff

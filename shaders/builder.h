// KernelBuilder: writes a Kernel from index expressions and values. Every pure
// statement is numbered (equal ones are one) and placed in the outermost loop
// where its operands exist, so loop invariants hoist by themselves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/caps.h"
#include "ir/index/index_expr.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

class KernelBuilder {
 public:
  KernelBuilder(std::string family, int64_t lanes, IndexContext& context, const Caps& caps);

  uint32_t add_buffer(DType dtype, Access access, int64_t size_bytes, int64_t per_word = 1);
  uint32_t add_array(Scope scope, DType dtype, int64_t count);
  // A size of the problem: a dispatch parameter, so that kernels of other shapes
  // are the same kernel; an immediate for -1, 0, 1 and once parameters run out.
  Operand size(int64_t value);

  // 0, as an i32 that no compiler knows to be 0 (but for kernels with many parameters).
  Operand unknown_zero();

  // Loops. Each returns its variable as an expression in [0, extent).
  // Grid loops come first, outermost first; a loop of extent 1 is left out.
  IndexExpr grid(const std::string& name, int64_t extent);
  // The same, with a variable in [0, range) of which only the first `extent` values are taken:
  // it is not left out where the extent is 1 and the range is not.
  IndexExpr open_grid(const std::string& name, int64_t extent, int64_t range);
  IndexExpr begin_serial(const std::string& name, int64_t extent);
  // The same, the extent spelled out in the text: a constant of the schedule.
  IndexExpr begin_fixed(const std::string& name, int64_t extent);
  // As long as element 0 of a register array of i1 is true.
  void begin_while(uint32_t array);
  // The lane loop runs lanes [0, extent); max_extent bounds what extent can be.
  IndexExpr begin_lanes(const Operand& extent);
  void end();

  // min(lanes, total - base): how many lanes have work in the block at `base`.
  Operand lane_extent(const IndexExpr& base, int64_t total);
  // An expression clamped from above: min(e, high), opaque to the algebra.
  IndexExpr clamp_to(const IndexExpr& e, int64_t high);
  // e + by as one opaque value, `by` spelled out in the text: for constants of the
  // schedule, so that strides are multiplied by it and no multiple becomes a parameter.
  IndexExpr stepped(const IndexExpr& e, int64_t by);
  // e * by in the same way: where the block number e begins. The last block may reach
  // beyond `total`; then no place within a block counts as inside for sure, so that
  // kernels do not differ by how far it reaches.
  IndexExpr block_start(const IndexExpr& e, int64_t by, int64_t total);
  // The same; not whole: as if the last block were cut off, even if it is not.
  IndexExpr block_start(const IndexExpr& e, int64_t by, int64_t total, bool whole);
  // A symbol standing for an i32 value with a known range.
  IndexExpr symbol_for(const Operand& value, int64_t low, int64_t high);
  // Replaces a one-symbol expression by another one in all later emissions. The value may be
  // made of a symbol that was bound before, which is replaced after all others have been: so
  // parts of it (quotient and remainder) cancel as if it were a plain variable.
  void bind(const IndexExpr& symbol, const IndexExpr& value);

  // The expression with what its symbols are bound to now.
  IndexExpr resolve(const IndexExpr& e);
  Operand index(const IndexExpr& e);
  // False where a view of a view of a view would divide sums that 32 bits do not hold.
  bool divides_32_bits(const IndexExpr& e);
  // A position in a tensor of `count` elements, computed, as a symbol from then on.
  IndexExpr computed(const IndexExpr& e, int64_t count);
  // All conditions and `guard` together; nothing when everything always holds.
  std::optional<Operand> all_of(const std::vector<IndexCondition>& conditions,
                                const std::optional<Operand>& guard);

  Operand compute(Op op, DType dtype, std::vector<Operand> operands);
  Operand convert(const Operand& value, DType dtype);
  Operand bitcast(const Operand& value, DType dtype);
  Operand pack(const Operand& low, const Operand& high);
  Operand load(uint32_t buffer, const IndexExpr& element, const std::optional<Operand>& guard);
  // A load that stands where it is written: of a buffer the kernel also stores to.
  Operand load_now(uint32_t buffer, const IndexExpr& element, const std::optional<Operand>& guard);
  // The elements of a word of a buffer that is read as words; zeros where the guard fails.
  std::vector<Operand> load_word(uint32_t buffer, const IndexExpr& word,
                                 const std::optional<Operand>& guard);
  void store(uint32_t buffer, const IndexExpr& element, const Operand& value,
             const std::optional<Operand>& guard);
  // A buffer that is not stored to yet becomes one of words; then one word of it.
  void make_words(uint32_t buffer, int64_t per_word);
  void store_word(uint32_t buffer, const IndexExpr& word, const std::vector<Operand>& values,
                  const std::optional<Operand>& guard);
  // Where an element lies in a buffer seen as words of `per_word` elements: known iff
  // its place within the word is the same for all values of the variables.
  struct WordPart {
    IndexExpr word;
    int64_t slot = 0;
  };
  std::optional<WordPart> word_part(const IndexExpr& element, int64_t per_word);
  Operand read(uint32_t array, const IndexExpr& element);
  void write(uint32_t array, const IndexExpr& element, const Operand& value);
  // Statements of a kernel with matrices, between lane loops (kernel.h).
  void set_matrices(const SubgroupMatrices& matrices) { kernel_.matrices = matrices; }
  void matrix_clear();
  void matrix_multiply(uint32_t a, uint32_t b);
  void matrix_store(int64_t number, uint32_t array);
  // Folds arrays over all lanes; combine(lhs, rhs) writes the combiner.
  template <typename Combine>
  std::vector<Operand> reduce_lanes(const std::vector<uint32_t>& arrays, const Combine& combine);

  // Elements in memory are as wide as the type says.
  bool stores_unchanged(DType dtype) const;
  DType array_dtype(uint32_t array) const { return kernel_.arrays[array].dtype; }
  int64_t array_count(uint32_t array) const { return kernel_.arrays[array].count; }
  int64_t lanes() const { return kernel_.lanes; }

  struct Finished {
    Kernel kernel;
    std::vector<int32_t> params;
    int64_t workgroups = 0;
  };
  // Numbers everything in order of appearance. Errors: an index that does not fit 32 bits;
  // loops that are longer than the device runs them.
  Result<Finished> finish();

  // Identifies the open loop in which an operand lives; for memo tables: an entry
  // is valid while alive(scope_of(operand)).
  uint64_t scope_of(const Operand& operand) const;
  bool alive(uint64_t scope) const;

 private:
  struct Level {
    Stmt loop;         // the loop statement being filled (unused at level 0)
    bool real = true;  // false: a loop of extent 1 that is left out
    uint64_t id = 0;
    std::map<std::string, Operand> numbered;
    std::map<std::string, std::vector<Operand>> words;
  };

  Operand place(Stmt stmt);
  size_t level_for(const Stmt& stmt) const;  // the outermost where its operands exist
  Stmt load_stmt(uint32_t buffer, const IndexExpr& element, const std::optional<Operand>& guard);
  Operand append(Stmt stmt, size_t level);
  void append_matrix(Stmt::Kind kind, std::vector<uint32_t> arrays, std::vector<Operand> operands);
  size_t level_of(const Operand& operand) const;
  uint32_t new_value(size_t level);
  void open(Stmt::Kind kind, Operand extent, bool real);
  IndexExpr begin_loop(const std::string& name, int64_t extent, const Operand& count);
  std::vector<Operand> begin_reduce(const std::vector<uint32_t>& arrays, Stmt& stmt,
                                    std::vector<Operand>& rhs);
  std::vector<Operand> end_reduce(Stmt stmt, const std::vector<Operand>& combined);
  size_t max_params() const;
  Operand new_parameter(int64_t value);  // an immediate once parameters run out
  void require_32_bits(int64_t value);
  void require_32_bits(const IndexRange& range);
  Operand multiple(const Operand& value, int64_t by);
  bool is_position(const IndexExpr& e) const;
  int64_t lift_of(const IndexContext::Atom& atom) const;
  // Of all serial loops of the block that one lane runs.
  double iterations(const Block& block) const;

  Kernel kernel_;
  IndexContext& context_;
  const Caps& caps_;
  std::vector<Level> levels_;
  std::vector<uint64_t> value_scope_;  // by value number: id of its level
  std::map<int64_t, Operand> sizes_;
  std::vector<int32_t> params_;
  std::vector<int64_t> grid_extents_;
  std::map<uint32_t, Operand> atoms_;  // symbol -> its i32 value
  std::map<uint32_t, IndexExpr> bindings_;
  bool chained_ = false;  // some are bound to expressions of others
  uint64_t next_scope_ = 1;
  std::string error_;
};

template <typename Combine>
std::vector<Operand> KernelBuilder::reduce_lanes(const std::vector<uint32_t>& arrays,
                                                 const Combine& combine) {
  Stmt stmt;
  std::vector<Operand> rhs;
  std::vector<Operand> lhs = begin_reduce(arrays, stmt, rhs);
  return end_reduce(std::move(stmt), combine(lhs, rhs));
}

}  // namespace tuff

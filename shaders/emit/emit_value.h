// ValueEmitter: writes the value of any member of a group at any index, by
// following views as index arithmetic down to loads. Fusion is nothing else.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "ir/graph.h"
#include "ir/index/view_map.h"
#include "shaders/builder.h"

namespace tuff {

class ValueEmitter {
 public:
  // region: the group's graph; its parameters are the kernel's inputs. Buffers
  // for them are declared at their first load; inputs() says which are.
  ValueEmitter(const Graph& region, IndexContext& context, KernelBuilder& builder);

  // How an anchor's value is had at the present point of the kernel.
  std::function<Operand(Value)> anchor_value;
  // A value that is had the same way though it is no anchor: what a library call
  // made of its anchor.
  std::optional<Value> stored;

  Operand emit(Value v, const IndexVector& index,
               const std::optional<Operand>& guard = std::nullopt);

  // Element `index` of an integer tensor clamped to [low, high], as an index expression.
  IndexExpr emit_start(Value start, const IndexVector& index, int64_t low, int64_t high,
                       const std::optional<Operand>& guard);

  // Values that are had in another way than by the rules here, if set: asked first, it gives
  // nothing of others.
  std::function<std::optional<Operand>(Value, const IndexVector&, const std::optional<Operand>&)>
      elsewhere;

  // While set, two neighbouring elements of an input are loaded as one word where their
  // places allow it. The loads of a tile gain, single elements do not.
  bool wide_loads = false;

  // While above 1, so many neighbouring elements of an input are loaded as words of up to 16 bytes
  // where their places allow it.
  int64_t run = 1;

  // While set, a run's elements of 8 and 16 bits are parts of words of 32 bits.
  bool keep_words = false;
  // The word of 32 bits whose parts these are, all of them in their order; nothing for others.
  std::optional<Operand> whole_word(std::span<const Operand> parts) const;

  // Drops what was remembered: values at equal indices now mean other points
  // (the variables were bound anew).
  void forget() { memo_.clear(); }

  // Region parameters in the order of their buffers; twice if also read as words.
  const std::vector<uint32_t>& inputs() const { return inputs_; }

 private:
  using Guard = std::optional<Operand>;
  Operand emit_fresh(Value v, const IndexVector& index, const Guard& guard);
  Operand emit_elementwise(const Node& node, const IndexVector& index, const Guard& guard);
  Operand emit_view(const Node& node, const IndexVector& index, const Guard& guard);
  Operand emit_indexed_load(const Node& node, const IndexVector& index, const Guard& guard);
  Operand emit_update_slice(const Node& node, const IndexVector& index, const Guard& guard);
  Operand emit_bitcast(const Node& node, const IndexVector& index, const Guard& guard);
  Operand emit_constant(const Node& node, const IndexVector& index);
  Operand load_input(uint32_t parameter, const IndexVector& index, const Guard& guard);
  std::optional<Operand> load_from_word(uint32_t parameter, const IndexExpr& element,
                                        const Guard& guard);
  std::optional<Operand> load_from_run(uint32_t parameter, const IndexExpr& element,
                                       const Guard& guard);
  std::optional<Operand> load_part(uint32_t parameter, const IndexExpr& element,
                                   const Guard& guard);
  // Element number `slot` of the bits of a wider one.
  Operand part_of(const Operand& bits, int64_t slot, DType dtype);
  // The parameter's buffer in `buffers`, read as elements of `dtype` or words of them.
  uint32_t buffer_of(std::map<uint32_t, uint32_t>& buffers, uint32_t parameter, DType dtype,
                     int64_t per_word = 1);

  const Graph& region_;
  IndexContext& context_;
  KernelBuilder& builder_;
  std::vector<uint32_t> inputs_;
  std::map<uint32_t, uint32_t> buffers_;  // region parameter -> buffer
  std::map<uint32_t, uint32_t> words_;    // the same memory as 64-bit words
  // The same as words of so many elements, or of so many words of 32 bits.
  std::map<int64_t, std::map<uint32_t, uint32_t>> runs_, word_runs_;
  struct WordPart {
    Operand word;
    int64_t slot = 0;
  };
  std::map<uint32_t, WordPart> word_parts_;  // by value number
  struct Memo {
    Operand value;
    uint64_t scope;
  };
  std::map<std::tuple<Value, IndexVector, uint64_t>, Memo> memo_;
};

// One elementwise op (compare, convert and reduce_precision included) on operands
// that are there already.
Operand emit_scalar_op(KernelBuilder& builder, const Node& node, std::vector<Operand> operands);

// The first element's bits as an immediate.
Operand immediate_of(const Literal& literal, int64_t element = 0);

}  // namespace tuff

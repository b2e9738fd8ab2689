// loop: a while as one kernel: over rows (row_loop.cpp), or over scalars. One lane keeps what is
// carried in registers and runs condition and body until the condition is false: nothing returns to
// the host.
#include "ir/group/row_loop.h"
#include "shaders/families/family.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

class LoopBuilder {
 public:
  explicit LoopBuilder(GroupContext& group)
      : group_(group), kernel_(group, 1), b_(kernel_.builder) {}

  Result<LoweredStep> build() {
    const Node& loop = group_.region.node(group_.space.anchors[0]);
    b_.begin_lanes(Operand::i32(1));
    std::vector<Operand> start;
    for (Value v : loop.operands) start.push_back(kernel_.emitter.emit(v, {}));
    std::vector<Operand> results = run(loop, start);
    kernel_.emitter.anchor_value = [&results](Value v) { return results[v.result]; };
    for (size_t i = 0; i < group_.region.outputs().size(); ++i)
      kernel_.store_output(i, std::nullopt);
    b_.end();
    return kernel_.finish();
  }

 private:
  // The loop's results, in registers of its own.
  std::vector<Operand> run(const Node& loop, const std::vector<Operand>& start) {
    std::vector<uint32_t> carries;
    for (const Operand& value : start)
      carries.push_back(b_.add_array(Scope::kRegister, value.dtype, 1));
    uint32_t goes_on = b_.add_array(Scope::kRegister, DType::kBool, 1);
    set(loop, carries, goes_on, start);
    b_.begin_while(goes_on);
    set(loop, carries, goes_on, evaluate(*loop.regions[1], read(carries)));
    b_.end();
    return read(carries);
  }

  // Takes up new values of what is carried, and asks the condition about them.
  void set(const Node& loop, const std::vector<uint32_t>& carries, uint32_t goes_on,
           const std::vector<Operand>& values) {
    Operand condition = evaluate(*loop.regions[0], values)[0];
    for (size_t i = 0; i < carries.size(); ++i) b_.write(carries[i], 0, values[i]);
    b_.write(goes_on, 0, condition);
  }

  std::vector<Operand> read(const std::vector<uint32_t>& carries) {
    std::vector<Operand> values;
    for (uint32_t array : carries) values.push_back(b_.read(array, 0));
    return values;
  }

  std::vector<Operand> evaluate(const Graph& region, const std::vector<Operand>& arguments) {
    return emit_region(
        b_, region, arguments,
        [this](const Node& loop, const std::vector<Operand>& start) { return run(loop, start); });
  }

  GroupContext& group_;
  FamilyKernel kernel_;
  KernelBuilder& b_;
};

}  // namespace

Result<LoweredGroup> lower_loop(GroupContext& group) {
  const Node& loop = group.region.node(group.space.anchors[0]);
  if (is_scalar_loop(loop, group.caps)) return one_step(LoopBuilder(group).build());
  std::optional<RowLoop> rows = find_row_loop(group.index, group.region, loop, group.caps);
  if (!rows) return Error{ErrorCode::kUnsupported, "A loop's rows depend on each other.", ""};
  return lower_row_loop(group, *rows);
}

}  // namespace tuff

// One way to partition a program: each operation placed, the first to the last.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/spmd/choose_axes.h"
#include "ir/spmd/collective.h"
#include "ir/spmd/partition.h"
#include "ir/spmd/reshard.h"
#include "ir/spmd/rules.h"
#include "ir/spmd/spread_regions.h"

namespace tuff::spmd {

// Where a value of the whole program is in the program of one device.
struct Placed {
  Value part;
  Sharding sharding;
  // Of a value between full_to_shard and shard_to_full: along these axes, in their order, each
  // device has its own. It is not spread over them.
  std::vector<int64_t> manual = {};
};

// What a device sends in a run of its program.
int64_t sent_bytes_of(const Graph& part);

class Partitioner {
 public:
  // `depth`: of the region, in others.
  Partitioner(const WholeProgram& program, const Graph& whole, GiveUp give_up, int depth = 0)
      : program_(program),
        whole_(whole),
        mesh_(program.mesh),
        give_up_(give_up),
        depth_(depth),
        builder_(out_, mesh_) {}

  // Whether another way of giving up may lead to another program.
  bool contested() const { return contested_; }

  // Loops that had their values whole for want of exchanges in their rounds, which are known.
  const std::set<uint32_t>& whole_loops() const { return whole_loops_; }

  // Of a region that takes the device's number as its last parameter, too.
  Result<PartProgram> run(bool takes_partition_id = false);

 private:
  const TensorType& whole_type(Value v) const { return whole_.type(v); }
  const Placed& at(Value v) const { return placed_[v.node][v.result]; }

  Error error(const Node& node, const std::string& sentence) const {
    std::string where = node_name(node);
    if (!node.loc.empty()) where += " at " + node.loc;
    return {ErrorCode::kUnsupported, sentence, where};
  }
  template <typename T>
  Result<T> at_node(const Node& node, Result<T> result) const {
    if (result.ok() || !result.error().where.empty()) return result;
    return error(node, result.error().message);
  }

  // Regions have no weights: in them nobody exchanges anything.
  void find_weights();

  // Elements go elsewhere, and nothing is computed.
  static bool moves(Op op);
  Status place(uint32_t id);
  Status place_parameter(uint32_t id);
  Result<Sharding> sharding_attribute(const Node& node) const;
  Status place_constraint(uint32_t id);

  // Open dimensions stay as they are where their axes are not wanted elsewhere.
  static void keep_open(const std::vector<int64_t>& open, const Sharding& now, Sharding* wanted);
  // Where the program is that of one device along some axes (place_manual.cpp).
  std::vector<int64_t> manual_of(const Node& node) const;
  std::vector<int64_t> all_axes() const;
  bool is_all(const std::vector<int64_t>& axes) const { return axes.size() == mesh_.axes.size(); }
  Status enter_device(uint32_t id);
  Status leave_device(uint32_t id);
  // Shares of a sum: those of which it was made, a part in its place, or all on the first device.
  Status place_shares(uint32_t id);
  Status place_partition_id(uint32_t id);
  Status place_manual(uint32_t id, const std::vector<int64_t>& manual);
  // The node as it is, on whole values; those of devices are the device's own.
  Status place_own(uint32_t id);
  // Between the devices of some axes: along others the parts stay as they are.
  Status place_exchange(uint32_t id);
  Status check_type(const Node& node, const TensorType& found, const TensorType& wanted) const;

  // How an operation is shared out.
  struct Share {
    ShardingRule rule;
    FactorAxes axes;

    Sharding operand(size_t i) const { return sharding_by(rule.operands[i], axes); }
    Sharding result(size_t r) const { return sharding_by(rule.results[r], axes); }
    bool uses_any(const std::vector<int64_t>& over) const {
      for (const std::vector<int64_t>& used : axes)
        for (int64_t axis : used)
          if (std::find(over.begin(), over.end(), axis) != over.end()) return true;
      return false;
    }
  };
  Share share_of(const Node& node);
  Status place_by_rule(uint32_t id);

  // Where axes of the first operand were moved, a result of its shape is where that was before.
  Sharding moved_back(const Node& node, const Share& share, uint32_t r) const;

  // A result of which devices have shares.
  Value combined(const Node& node, const Share& share, Value part);

  // A loop or branches over parts, where devices need not meet in them; else over whole values.
  Status place_control(uint32_t id);
  Result<PartRegion> partition_region(const Graph& region, const std::vector<Sharding>& arguments,
                                      const std::vector<std::optional<Sharding>>& outputs,
                                      bool partition_id) const;

  // From a dimension that is spread: each device takes what its part has. False where it is less to
  // gather that.
  Result<bool> place_indexed_gather(uint32_t id, const Share& share);

  // Along dimensions that are spread, each device with the edges of its neighbours' parts. False
  // where that does not do or sends more than gathering the whole.
  Result<bool> place_windows(uint32_t id, const Share& share);

  // Along dimensions that are spread, where each device chooses from its part, then from all that
  // was chosen.
  Result<bool> place_merged(uint32_t id, const Share& share);
  Result<bool> place_top_k(uint32_t id, const Share& share);
  Result<Value> gathered_along_new(Value part, const std::vector<int64_t>& over,
                                   const std::string& loc);

  // Into a dimension that is spread: each device puts what belongs into its part; what is outside
  // of it is left out. Nothing where the scatter's own way is in the way.
  Result<std::optional<Value>> scatter_into(const Node& node, const Sharding& wanted, int depth);

  // The node on parts of its operands, with results spread so.
  Result<Value> add_part(const Node& whole, std::vector<Value> operands,
                         const std::vector<Sharding>& results);

  // The value spread as wanted; made once for each.
  Result<Value> spread(const Node& user, Value v, const Sharding& wanted);
  Result<Value> spread(Value v, const Sharding& wanted, int depth);

  // What every device can make its part of without having the whole: constants, counts,
  // what moves elements, scatters and elementwise operations on these.
  Result<Value> make_part(Value v, const Sharding& wanted, int depth);

  // Each device has what it is to have, and more.
  static bool refines(const Sharding& wanted, const Sharding& now);

  // A broadcast's operand is smaller; a view's may be there already, spread as it is needed.
  bool has_cheaper_source(const Node& node, const Sharding& wanted) const;
  bool is_made_from_parts(const Node& node, const Sharding& wanted) const;

  // How the operands must be spread for the result to be spread as wanted.
  std::vector<Sharding> operand_shardings(const Node& node, const Sharding& wanted) const;
  Result<Value> make_from_parts(const Node& node, const Sharding& wanted, int depth);
  Result<PartProgram> finish();

  // Pairs named by the caller where the parts still have one type; for the other arguments
  // given up the first output of their type that nobody has.
  void record_donations();

  const WholeProgram& program_;
  const Graph& whole_;
  const Mesh& mesh_;
  const GiveUp give_up_;
  const int depth_;
  bool contested_ = false;
  std::vector<bool> is_weight_;  // by node: an argument, or made of one alone
  Graph out_;
  PartBuilder builder_;
  std::vector<std::vector<Placed>> placed_;  // by node and result of the whole program
  std::map<std::pair<Value, std::vector<int64_t>>, Value> spread_;
  std::set<uint32_t> whole_loops_;
};

}  // namespace tuff::spmd

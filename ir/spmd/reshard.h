// From one spreading of a value to another, in the graph of one device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/spmd/mesh.h"
#include "ir/spmd/scatter_reductions.h"

namespace tuff::spmd {

// The dimension to which the axes of one go, where an all_to_all does that: it has none before,
// and these after.
std::optional<size_t> moved_to(const Sharding& now, const Sharding& wanted, size_t dimension);

// Adds nodes to the program of one device; types are those of parts.
class PartBuilder {
 public:
  PartBuilder(Graph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh) {}

  // The value, of `whole` type and spread as `from`, spread as `to`: exchanged where axes go from
  // one dimension to another, else gathered along the axes that `to` lacks, then cut along those it
  // has more.
  Result<Value> reshard(Value value, const TensorType& whole, Sharding from, const Sharding& to,
                        const std::string& loc);
  // The shares of a value on the devices along these axes, combined.
  Value all_reduce(Value value, Op combine, const std::vector<int64_t>& over,
                   const std::string& loc);
  // What the device `by` parts before it has; zeros where there is none.
  Value shifted(Value value, int64_t by, const std::vector<int64_t>& over, const std::string& loc);
  // One node, however often it is asked for.
  Value partition_id(const std::string& loc);
  // Whether the device has part `number` along the axes, as a tensor of a shape.
  Value has_part(int64_t number, const std::vector<int64_t>& over, const Shape& shape,
                 const std::string& loc);
  // iota's part: counts from where the device's part begins.
  Value iota(const TensorType& part, int64_t dimension, const std::vector<int64_t>& over,
             const std::string& loc);
  const Added& added() const { return added_; }
  // From here on the device's number is this value.
  void set_partition_id(Value id) { partition_id_ = id; }
  // The device's part number along the axes, times `size`, as i32.
  Value part_start(const std::vector<int64_t>& over, int64_t size, const std::string& loc);
  int64_t num_parts(const std::vector<int64_t>& over) const { return mesh_.num_parts(over); }

 private:
  Value all_gather(Value value, size_t dimension, const std::vector<int64_t>& over,
                   const std::string& loc);
  Value all_to_all(Value value, size_t from, size_t to, const std::vector<int64_t>& over,
                   const std::string& loc);
  Value cut(Value value, size_t dimension, const std::vector<int64_t>& over,
            const std::string& loc);
  Value scalar(int64_t value, const std::string& loc);

  Graph& graph_;
  const Mesh& mesh_;
  std::optional<Value> partition_id_;
  Added added_;
};

}  // namespace tuff::spmd

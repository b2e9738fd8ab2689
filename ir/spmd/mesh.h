// A mesh of devices with named axes, and how tensors are spread over it: the words in
// which a program for several devices is partitioned.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/type.h"

namespace tuff {

// Device ids count row-major over the axes.
struct Mesh {
  struct Axis {
    std::string name;
    int64_t size = 1;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;
  bool operator==(const Mesh&) const = default;

  int64_t num_devices() const;
  // How many parts a dimension has that is spread over these axes.
  int64_t num_parts(std::span<const int64_t> over) const;
  // Ids from one device to the next along an axis.
  int64_t stride(int64_t axis) const;
  // The devices that differ in these axes only, one group after another; within a group
  // the first axis counts slowest.
  std::vector<int64_t> groups(std::span<const int64_t> over) const;
  // Which part of a dimension spread over these axes is the device's.
  int64_t part_of(int64_t device, std::span<const int64_t> over) const;
};

// For each dimension of a tensor the axes it is spread over, the slowest first. Devices
// that differ in other axes hold the same.
struct Sharding {
  std::vector<std::vector<int64_t>> axes;

  static Sharding whole(int64_t rank) {
    return {std::vector<std::vector<int64_t>>(static_cast<size_t>(rank))};
  }
  bool is_whole() const;
  bool operator==(const Sharding&) const = default;

  // As an attribute of a node: for each dimension the number of axes, then those.
  std::vector<int64_t> to_ints() const;
};

// Errors: kBadInput unless the list is a sharding of `rank` dimensions that uses each of
// the mesh's axes at most once.
Result<Sharding> sharding_of_ints(std::span<const int64_t> ints, int64_t rank, const Mesh& mesh);

// The part that each device has. Errors: kUnsupported where a size is no multiple of the
// number of parts.
Result<TensorType> part_type(const TensorType& whole, const Sharding& sharding, const Mesh& mesh);

// In XLA's spelling: "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}", "{replicated}". Along
// `unreduced` axes devices have shares of a sum.
std::string xla_text(const Sharding& sharding, const Mesh& mesh,
                     const std::vector<int64_t>& unreduced = {});

}  // namespace tuff

// The sdy dialect's words for meshes and shardings, read from their text: the bytecode
// reader spells them as the text has them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/spmd/mesh.h"

namespace tuff::stablehlo {

// The meshes of a module as one: its axes are fine enough for every mesh's, whose axes
// are runs of them. Axes of one device vanish.
struct MeshTable {
  Mesh mesh;
  // By mesh and axis: the axes of `mesh` that it is.
  std::unordered_map<std::string, std::unordered_map<std::string, std::vector<int64_t>>> axes;
};

// `texts`: by name, "<["x"=2, "y"=4]>". Errors: kUnsupported for meshes of another number
// of devices, with an order of devices of their own, or that do not divide one another.
Result<MeshTable> read_meshes(const std::unordered_map<std::string, std::string>& texts,
                              int64_t num_devices);

// Gives all meshes of as many axes as there are `extents` these, and says how many devices that
// makes. Errors: kUsage where no mesh has so many axes, naming those that there are.
Result<int64_t> resize_meshes(std::span<const int64_t> extents,
                              std::unordered_map<std::string, std::string>* texts);

struct ReadSharding {
  Sharding sharding;
  std::vector<bool> open;          // by dimension: more axes may be added
  std::string mesh;                // by name
  std::vector<int64_t> unreduced;  // axes: devices along them have shares of a sum
};

// "#sdy.sharding<@mesh, [{"x"}, {?}]>"; the name before "<" may be missing. Errors:
// kUnsupported for parts of an axis.
Result<ReadSharding> read_sharding(std::string_view text, const MeshTable& meshes);
// "[<...>, <...>]"
Result<std::vector<ReadSharding>> read_shardings(std::string_view text, const MeshTable& meshes);
// "{"x", "y"}": axes by name.
Result<std::vector<std::string>> read_axis_names(std::string_view text);

}  // namespace tuff::stablehlo

#include "ir/spmd/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tuff {

int64_t Mesh::num_devices() const {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

int64_t Mesh::num_parts(std::span<const int64_t> over) const {
  int64_t parts = 1;
  for (int64_t axis : over) parts *= axes[static_cast<size_t>(axis)].size;
  return parts;
}

int64_t Mesh::stride(int64_t axis) const {
  int64_t stride = 1;
  for (size_t later = static_cast<size_t>(axis) + 1; later < axes.size(); ++later)
    stride *= axes[later].size;
  return stride;
}

int64_t Mesh::part_of(int64_t device, std::span<const int64_t> over) const {
  int64_t part = 0;
  for (int64_t axis : over) {
    int64_t size = axes[static_cast<size_t>(axis)].size;
    part = part * size + device / stride(axis) % size;
  }
  return part;
}

std::vector<int64_t> Mesh::groups(std::span<const int64_t> over) const {
  std::vector<int64_t> rest;
  for (int64_t axis = 0; axis < static_cast<int64_t>(axes.size()); ++axis)
    if (std::find(over.begin(), over.end(), axis) == over.end()) rest.push_back(axis);
  std::vector<int64_t> ids(static_cast<size_t>(num_devices()));
  int64_t group_size = num_parts(over);
  for (int64_t device = 0; device < num_devices(); ++device)
    ids[static_cast<size_t>(part_of(device, rest) * group_size + part_of(device, over))] = device;
  return ids;
}

bool Sharding::is_whole() const {
  return std::all_of(axes.begin(), axes.end(), [](const auto& list) { return list.empty(); });
}

std::vector<int64_t> Sharding::to_ints() const {
  std::vector<int64_t> ints;
  for (const std::vector<int64_t>& list : axes) {
    ints.push_back(static_cast<int64_t>(list.size()));
    ints.insert(ints.end(), list.begin(), list.end());
  }
  return ints;
}

Result<Sharding> sharding_of_ints(std::span<const int64_t> ints, int64_t rank, const Mesh& mesh) {
  Error malformed{ErrorCode::kBadInput, "The sharding does not fit the tensor and the mesh.", ""};
  Sharding sharding;
  std::vector<bool> used(mesh.axes.size());
  for (size_t at = 0; at < ints.size();) {
    int64_t count = ints[at++];
    if (count < 0 || count > static_cast<int64_t>(ints.size() - at)) return malformed;
    std::vector<int64_t>& list = sharding.axes.emplace_back();
    for (; count > 0; --count) {
      int64_t axis = ints[at++];
      if (axis < 0 || axis >= static_cast<int64_t>(used.size())) return malformed;
      if (used[static_cast<size_t>(axis)]) return malformed;
      used[static_cast<size_t>(axis)] = true;
      list.push_back(axis);
    }
  }
  if (static_cast<int64_t>(sharding.axes.size()) != rank) return malformed;
  return sharding;
}

Result<TensorType> part_type(const TensorType& whole, const Sharding& sharding, const Mesh& mesh) {
  TensorType part = whole;
  for (size_t d = 0; d < part.shape.size(); ++d) {
    int64_t parts = mesh.num_parts(sharding.axes[d]);
    if (part.shape[d] % parts != 0)
      return Error{ErrorCode::kUnsupported,
                   fmt::format("Dimension ({}) of ({}) has a size that is no multiple of its ({}) "
                               "parts; pad it, or leave it whole.",
                               d, whole.to_string(), parts),
                   ""};
    part.shape[d] /= parts;
  }
  return part;
}

std::string xla_text(const Sharding& sharding, const Mesh& mesh,
                     const std::vector<int64_t>& unreduced) {
  if (sharding.is_whole() && unreduced.empty()) return "{replicated}";
  std::vector<int64_t> tiles, order, rest;
  for (const std::vector<int64_t>& list : sharding.axes) {
    tiles.push_back(mesh.num_parts(list));
    order.insert(order.end(), list.begin(), list.end());
  }
  order.insert(order.end(), unreduced.begin(), unreduced.end());
  for (int64_t axis = 0; axis < static_cast<int64_t>(mesh.axes.size()); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) rest.push_back(axis);
  const int64_t shares = mesh.num_parts(unreduced), copies = mesh.num_parts(rest);
  if (shares > 1) tiles.push_back(shares);
  if (copies > 1) tiles.push_back(copies);
  order.insert(order.end(), rest.begin(), rest.end());
  const char* last = copies > 1 ? " last_tile_dim_replicate" : "";
  if (shares > 1)
    last = copies > 1 ? " last_tile_dims={unreduced, replicated}" : " last_tile_dims={unreduced}";
  return fmt::format("{{devices=[{}]{}{}}}", fmt::join(tiles, ","),
                     fmt::join(mesh.groups(order), ","), last);
}

}  // namespace tuff

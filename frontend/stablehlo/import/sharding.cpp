#include "frontend/stablehlo/import/sharding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace tuff::stablehlo {

namespace {

Error unreadable(std::string_view text) {
  return {ErrorCode::kBadInput, fmt::format("The sharding ({}) is not understood.", text), ""};
}

Error unsupported(std::string sentence) {
  return {ErrorCode::kUnsupported, std::move(sentence), ""};
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool eat(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // "x" without its quotes.
  bool quoted(std::string* out) {
    if (!eat('"')) return false;
    size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  // Letters, digits and what names are made of; empty where there are none.
  std::string_view word() {
    skip_blanks();
    size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
            std::string_view("_.#$-").find(text_[at_]) != std::string_view::npos))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool integer(int64_t* out) {
    std::string_view digits = word();
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *out);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  }
  std::string_view text() const { return text_; }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

constexpr int64_t kMaxDevices = 1 << 20;

using AxisNames = std::unordered_map<std::string, std::vector<int64_t>>;

// "x", "y", ? up to the closing brace.
Status read_axes(Scanner& scan, const AxisNames& names, std::vector<int64_t>* axes, bool* open) {
  *open = false;
  while (!scan.eat('}')) {
    std::string name;
    if (scan.eat('?')) {
      *open = true;
    } else if (scan.quoted(&name)) {
      auto it = names.find(name);
      if (it == names.end()) return unreadable(scan.text());
      if (scan.eat(':'))
        return unsupported(fmt::format("The sharding ({}) uses a part of an axis.", scan.text()));
      axes->insert(axes->end(), it->second.begin(), it->second.end());
    } else if (!scan.eat(',')) {
      return unreadable(scan.text());
    }
  }
  return {};
}

// replicated={...} and reduced={...}, which say nothing here, and unreduced={...}.
Status read_others(Scanner& scan, const AxisNames& names, std::vector<int64_t>* unreduced) {
  while (scan.eat(',')) {
    std::string_view what = scan.word();
    std::vector<int64_t> axes;
    bool open = false;
    if (!scan.eat('=') || !scan.eat('{')) return unreadable(scan.text());
    TUFF_RETURN_IF_ERROR(read_axes(scan, names, &axes, &open));
    if (what == "unreduced")
      *unreduced = axes;
    else if (what != "replicated" && what != "reduced")
      return unreadable(scan.text());
  }
  return {};
}

Result<ReadSharding> read_one(Scanner& scan, const MeshTable& meshes) {
  scan.word();  // "#sdy.sharding"
  if (!scan.eat('<')) return unreadable(scan.text());
  if (!scan.eat('@'))
    return unsupported(fmt::format("The sharding ({}) has a mesh of its own.", scan.text()));
  ReadSharding read;
  read.mesh = scan.word();
  auto mesh = meshes.axes.find(read.mesh);
  if (mesh == meshes.axes.end() || !scan.eat(',') || !scan.eat('[')) return unreadable(scan.text());
  while (!scan.eat(']')) {
    if (scan.eat(',')) continue;
    if (!scan.eat('{')) return unreadable(scan.text());
    bool open = false;
    TUFF_RETURN_IF_ERROR(read_axes(scan, mesh->second, &read.sharding.axes.emplace_back(), &open));
    read.open.push_back(open);
    scan.word();  // a priority, p1
  }
  TUFF_RETURN_IF_ERROR(read_others(scan, mesh->second, &read.unreduced));
  if (!scan.eat('>')) return unreadable(scan.text());
  return read;
}

struct NamedMesh {
  std::string name;
  Mesh mesh;
};

// <["x"=2, "y"=4], device_ids=[1, 0]>
Result<Mesh> read_mesh(std::string_view text) {
  Scanner scan(text);
  scan.word();
  if (!scan.eat('<') || !scan.eat('[')) return unreadable(text);
  Mesh mesh;
  int64_t left = kMaxDevices;  // so that products do not overflow
  while (!scan.eat(']')) {
    if (scan.eat(',')) continue;
    Mesh::Axis axis;
    if (!scan.quoted(&axis.name) || !scan.eat('=') || !scan.integer(&axis.size) || axis.size < 1)
      return unreadable(text);
    left /= axis.size;
    if (left == 0) return unsupported("A mesh has too many devices.");
    mesh.axes.push_back(std::move(axis));
  }
  if (!scan.eat('>'))
    return unsupported(
        fmt::format("The mesh ({}) has an order of devices of its own; make all "
                    "meshes of a program from the devices in one order.",
                    text));
  return mesh;
}

std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const Mesh::Axis& axis : mesh.axes)
    axes.push_back(fmt::format("\"{}\"={}", axis.name, axis.size));
  return fmt::format("<[{}]>", fmt::join(axes, ", "));
}

}  // namespace

Result<MeshTable> read_meshes(const std::unordered_map<std::string, std::string>& texts,
                              int64_t num_devices) {
  std::vector<NamedMesh> read;
  std::set<int64_t> strides{1, num_devices};
  for (const auto& [name, text] : texts) {
    TUFF_ASSIGN(Mesh mesh, read_mesh(text));
    int64_t count = mesh.num_devices();
    if (count != 1 && count != num_devices)
      return unsupported(fmt::format("The mesh ({}) has ({}) devices, the program ({}).", text,
                                     count, num_devices));
    if (count != 1)
      for (int64_t axis = 0; axis < static_cast<int64_t>(mesh.axes.size()); ++axis)
        strides.insert(mesh.stride(axis));
    read.push_back({name, std::move(mesh)});
  }
  MeshTable table;
  // From the widest step to the narrowest: each is a run of the next.
  std::vector<int64_t> steps(strides.rbegin(), strides.rend());
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i] % steps[i + 1] != 0)
      return unsupported("The program's meshes do not divide one another.");
    table.mesh.axes.push_back({fmt::format("axis{}", i), steps[i] / steps[i + 1]});
  }
  for (const NamedMesh& named : read) {
    auto& names = table.axes[named.name];
    for (int64_t axis = 0; axis < static_cast<int64_t>(named.mesh.axes.size()); ++axis) {
      const Mesh::Axis& its = named.mesh.axes[static_cast<size_t>(axis)];
      std::vector<int64_t>& run = names[its.name];
      int64_t low = named.mesh.stride(axis), high = low * its.size;
      for (size_t i = 0; i + 1 < steps.size() && its.size > 1; ++i)
        if (steps[i] <= high && steps[i + 1] >= low) run.push_back(static_cast<int64_t>(i));
    }
  }
  return table;
}

Result<int64_t> resize_meshes(std::span<const int64_t> extents,
                              std::unordered_map<std::string, std::string>* texts) {
  std::vector<std::string> others;
  bool resized = false;
  for (auto& [name, text] : *texts) {
    TUFF_ASSIGN(Mesh mesh, read_mesh(text));
    if (mesh.axes.size() != extents.size()) {
      if (!mesh.axes.empty()) others.push_back(text);
      continue;
    }
    for (size_t i = 0; i < extents.size(); ++i) mesh.axes[i].size = extents[i];
    text = mesh_text(mesh);
    resized = true;
  }
  if (!resized) {
    std::string found = others.empty()
                            ? "The model is for one device: lower it with a mesh of jax.sharding"
                            : fmt::format("The model's meshes are {}", fmt::join(others, ", "));
    return Error{ErrorCode::kUsage,
                 fmt::format("No mesh has ({}) axes. {}.", extents.size(), found), "--mesh"};
  }
  // Of other meshes nothing is known: they go by.
  std::erase_if(*texts, [&](const auto& item) {
    return std::find(others.begin(), others.end(), item.second) != others.end();
  });
  int64_t devices = 1;
  for (int64_t extent : extents) devices *= extent;
  return devices;
}

Result<ReadSharding> read_sharding(std::string_view text, const MeshTable& meshes) {
  Scanner scan(text);
  return read_one(scan, meshes);
}

Result<std::vector<ReadSharding>> read_shardings(std::string_view text, const MeshTable& meshes) {
  Scanner scan(text);
  std::vector<ReadSharding> all;
  scan.word();  // "#sdy.sharding_per_value"
  bool wrapped = scan.eat('<');
  if (!scan.eat('[')) return unreadable(text);
  while (!scan.eat(']')) {
    if (scan.eat(',')) continue;
    TUFF_ASSIGN(ReadSharding one, read_one(scan, meshes));
    all.push_back(std::move(one));
  }
  if (wrapped && !scan.eat('>')) return unreadable(text);
  return all;
}

Result<std::vector<std::string>> read_axis_names(std::string_view text) {
  Scanner scan(text.substr(std::min(text.find('{'), text.size())));
  std::vector<std::string> names;
  if (!scan.eat('{')) return unreadable(text);
  while (!scan.eat('}')) {
    std::string name;
    if (scan.quoted(&name))
      names.push_back(std::move(name));
    else if (!scan.eat(','))
      return unreadable(text);
  }
  return names;
}

}  // namespace tuff::stablehlo

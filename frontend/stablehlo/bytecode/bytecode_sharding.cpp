// The sdy dialect's attributes, spelled as its text has them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/stablehlo/bytecode/bytecode.h"

namespace tuff::stablehlo {

namespace {

enum Sdy : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxis = 3,
  kAxisRef = 4,
  kDimension = 5,
  kSharding = 6,
  kShardings = 7,
  kUnreducedSharding = 15,
  kUnreducedShardings = 16,
  kReducedSharding = 17,
};

std::string opaque_text(const Attribute& attribute) {
  auto* opaque = std::get_if<OpaqueAttr>(&attribute.value);
  return opaque ? opaque->text : "";
}

}  // namespace

std::string BytecodeReader::sharding_list(ByteCursor& from) {
  std::vector<std::string> items;
  size_t count = from.count("items");
  for (size_t i = 0; i < count && !failed(); ++i) {
    const Attribute& item = attribute(from);
    const std::string* text = attribute_text(item);
    items.push_back(text ? fmt::format("\"{}\"", *text) : opaque_text(item));
  }
  std::string list = fmt::format("{}", fmt::join(items, ", "));
  charge(from, list.size() / 16);
  return list;
}

Attribute BytecodeReader::sharding_attribute(ByteCursor& from) {
  uint64_t code = from.varint();
  switch (code) {
    case kManualAxes: return {OpaqueAttr{fmt::format("{{{}}}", sharding_list(from))}};
    case kMeshAxis: {
      std::string name(string(from));
      return {OpaqueAttr{fmt::format("\"{}\"={}", name, from.signed_varint())}};
    }
    case kMesh: {
      std::string axes = sharding_list(from);
      size_t count = from.count("device ids");
      std::vector<int64_t> ids(count);
      for (int64_t& id : ids) id = from.signed_varint();
      if (ids.empty()) return {OpaqueAttr{fmt::format("<[{}]>", axes)}};
      return {OpaqueAttr{fmt::format("<[{}], device_ids=[{}]>", axes, fmt::join(ids, ", "))}};
    }
    case kSubAxis: {
      int64_t before = from.signed_varint(), size = from.signed_varint();
      return {OpaqueAttr{fmt::format(":({}){}", before, size)}};
    }
    case kAxisRef: {
      std::string text = fmt::format("\"{}\"", string(from));
      uint64_t part = from.varint();  // an index, and a bit that says whether there is one
      if (part & 1) text += opaque_text(attribute_at(part >> 1));
      return {OpaqueAttr{std::move(text)}};
    }
    case kDimension: {
      std::string axes = sharding_list(from);
      bool closed = from.byte() != 0;
      uint64_t priority = from.varint();
      if (!closed) axes += axes.empty() ? "?" : ", ?";
      std::string tail = priority & 1 ? fmt::format("p{}", priority >> 1) : "";
      return {OpaqueAttr{fmt::format("{{{}}}{}", axes, tail)}};
    }
    case kSharding:
    case kUnreducedSharding:
    case kReducedSharding: {
      const Attribute& mesh = attribute(from);
      const std::string* name = attribute_text(mesh);
      std::string text = "<" + (name ? "@" + *name : "mesh" + opaque_text(mesh));
      text += fmt::format(", [{}]", sharding_list(from));
      if (std::string axes = sharding_list(from); !axes.empty())
        text += fmt::format(", replicated={{{}}}", axes);
      if (code != kSharding) text += fmt::format(", unreduced={{{}}}", sharding_list(from));
      return {OpaqueAttr{text + ">"}};
    }
    case kShardings:
    case kUnreducedShardings: return {OpaqueAttr{fmt::format("[{}]", sharding_list(from))}};
    default: return {OpaqueAttr{fmt::format("sdy attribute {}", code)}};
  }
}

const char* sharding_properties(std::string_view name) {
  if (name == "mesh") return "mesh,sym_name";
  if (name == "manual_computation") return "in_shardings,manual_axes,out_shardings";
  if (name == "sharding_constraint" || name == "reshard") return "sharding";
  return nullptr;
}

void add_mesh(const Attributes& attributes, Module* module) {
  const Attribute* name = find_attribute(attributes, "sym_name");
  const Attribute* mesh = find_attribute(attributes, "mesh");
  const std::string* text = name ? attribute_text(*name) : nullptr;
  if (text && mesh) module->meshes[*text] = opaque_text(*mesh);
}

}  // namespace tuff::stablehlo

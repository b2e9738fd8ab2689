// Locations: attributes that say where in the model's source something is from.
#include <fmt/format.h>

#include "frontend/stablehlo/bytecode/bytecode_entry.h"

namespace tuff::stablehlo {

namespace {

enum Code : uint64_t {
  kCallSite = 10,
  kFileLineColumn = 11,
  kFused = 12,
  kFusedMetadata = 13,
  kName = 14,
  kUnknown = 15,
  kFileRange = 22,
};

std::string_view base_name(std::string_view path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

const BytecodeReader::Place& BytecodeReader::place_at(size_t i) {
  return read_entry(places_, i, [this](const Entry<Place>& entry, ByteCursor from) {
    Place result = parse_place(entry, from);
    charge(from, (result.name.size() + result.position.size()) / 16);
    return result;
  });
}

// As in the text reader: the callee of a call site, the first part of a fused one.
BytecodeReader::Place BytecodeReader::parse_place(const Entry<Place>& entry, ByteCursor from) {
  if (!entry.custom || entry.dialect != "builtin") return {};
  uint64_t code = from.varint();
  Place result;
  switch (code) {
    case kCallSite: return place(from);
    case kFileLineColumn: {
      std::string file = text(from);
      uint64_t line = from.varint();
      result.position = fmt::format("{}:{}:{}", base_name(file), line, from.varint());
      return result;
    }
    case kFileRange: {  // its start says enough
      std::string file = text(from);
      size_t count = from.count("numbers");
      uint64_t line = count > 0 ? from.varint() : 0;
      result.position = fmt::format("{}:{}", base_name(file), line);
      if (count > 1) result.position += fmt::format(":{}", from.varint());
      return result;
    }
    case kFused:
    case kFusedMetadata: {
      size_t count = from.count("locations");
      for (size_t i = 0; i < count && !failed(); ++i)
        if (result = place(from); !result.name.empty() || !result.position.empty()) break;
      return result;
    }
    case kName: {
      std::string name = text(from);
      result = place(from);
      result.name = std::move(name);
      return result;
    }
    default: return result;
  }
}

// The location's index in the module's table, where each is once.
uint32_t BytecodeReader::location_of(size_t i) {
  const Place& found = place_at(i);
  if (failed() || (found.name.empty() && found.position.empty())) return 0;
  if (place_ids_[i] == 0) {
    place_ids_[i] = static_cast<uint32_t>(module_.locations.size());
    module_.locations.push_back(place_text(found.name, found.position));
  }
  return place_ids_[i];
}

}  // namespace tuff::stablehlo

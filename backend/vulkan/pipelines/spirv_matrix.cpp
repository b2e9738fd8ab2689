#include "backend/vulkan/pipelines/spirv_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "shaders/emit/emit_glsl_matrix.h"

namespace tuff {

namespace {

// Numbers of the SPIR-V specification and of SPV_KHR_cooperative_matrix.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5, kBoundWord = 3;
constexpr uint32_t kTypeVoid = 19, kTypeInt = 21, kTypeFloat = 22, kTypeMatrix = 4456;
constexpr uint32_t kLastType = 39;  // but for extensions' types

using Words = std::vector<uint32_t>;

uint32_t opcode(std::span<const uint32_t> instruction) { return instruction[0] & 0xffff; }

// Calls visit(instruction) on all after the header; false unless their lengths add up.
template <typename Visit>
bool for_each_instruction(std::span<const uint32_t> module, Visit&& visit) {
  for (size_t at = kHeaderWords; at < module.size();) {
    size_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at) return false;
    visit(module.subspan(at, length));
    at += length;
  }
  return true;
}

// A component type by its number, as it is declared, but for its id: the operands after it.
std::optional<Words> type_of(uint32_t component) {
  switch (component) {
    case 16:
    case 32: return Words{kTypeFloat, component};
    case kGlslSignedComponent + 8:
    case kGlslSignedComponent + 32: return Words{kTypeInt, component - kGlslSignedComponent, 1};
    default: return std::nullopt;
  }
}

Error no_matrices(const std::string& what) {
  return {ErrorCode::kRunFailed,
          fmt::format("A kernel's SPIR-V has matrices that tuff does not know ({}), which is a bug "
                      "in tuff.",
                      what),
          ""};
}

class Components {
 public:
  Components(std::vector<Words>& instructions, uint32_t& bound)
      : instructions_(instructions), bound_(bound) {}

  Status set() {
    for (Words& instruction : instructions_) {
      if (instruction.empty() || opcode(instruction) != kTypeMatrix) continue;
      if (instruction.size() != 7) return no_matrices("a type of another form");
      std::optional<Words> type = type_of(instruction[2]);
      if (!type) return no_matrices(fmt::format("component {}", instruction[2]));
      instruction[2] = hoist(*type);
    }
    std::erase_if(instructions_, [](const Words& w) { return w.empty(); });
    auto first_type = std::find_if(instructions_.begin(), instructions_.end(), [](const Words& w) {
      return opcode(w) >= kTypeVoid && opcode(w) <= kLastType;
    });
    instructions_.insert(first_type, hoisted_.begin(), hoisted_.end());
    return {};
  }

 private:
  // The id of the type, whose declaration now comes first. (It names no other id.)
  uint32_t hoist(const Words& type) {
    if (auto known = ids_.find(type); known != ids_.end()) return known->second;
    Words declaration;
    for (Words& w : instructions_)
      if (w.size() > 1 && opcode(w) == type[0] &&
          std::equal(w.begin() + 2, w.end(), type.begin() + 1, type.end()))
        declaration = std::exchange(w, {});
    if (declaration.empty()) {
      declaration = {static_cast<uint32_t>(type.size() + 1) << 16 | type[0], bound_++};
      declaration.insert(declaration.end(), type.begin() + 1, type.end());
    }
    hoisted_.push_back(declaration);
    return ids_[type] = declaration[1];
  }

  std::vector<Words>& instructions_;
  uint32_t& bound_;
  std::map<Words, uint32_t> ids_;
  std::vector<Words> hoisted_;
};

}  // namespace

bool has_matrices(std::span<const uint32_t> words) {
  bool any = false;
  for_each_instruction(words, [&](std::span<const uint32_t> instruction) {
    any |= opcode(instruction) == kTypeMatrix;
  });
  return any;
}

Status set_matrix_components(std::vector<uint32_t>& words) {
  if (words.size() < kHeaderWords || words[0] != kMagic) return no_matrices("no module");
  if (!has_matrices(words)) return {};
  std::vector<Words> instructions;
  bool whole = for_each_instruction(words, [&](std::span<const uint32_t> instruction) {
    instructions.emplace_back(instruction.begin(), instruction.end());
  });
  if (!whole) return no_matrices("instructions of other lengths");
  TUFF_RETURN_IF_ERROR(Components(instructions, words[kBoundWord]).set());
  words.resize(kHeaderWords);
  for (const Words& w : instructions) words.insert(words.end(), w.begin(), w.end());
  return {};
}

}  // namespace tuff

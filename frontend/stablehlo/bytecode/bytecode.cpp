// The file's sections, and the tables that the rest refers to by number.
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <fmt/format.h>

#include "frontend/stablehlo/bytecode/bytecode_entry.h"
#include "frontend/stablehlo/read.h"

namespace tuff::stablehlo {

namespace {

enum Section : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kData = 2,
  kOffsets = 3,
  kIr = 4,
  kPropertySection = 8,
};

// Of the bytecode format; VHLO's own version is the producer's name.
constexpr uint64_t kMaxVersion = 6;

}  // namespace

BytecodeReader::BytecodeReader(std::string_view bytes, const std::string& file_name)
    : source_{bytes, file_name, {}}, budget_((size_t{1} << 20) + 64 * bytes.size()) {
  module_.file_name = file_name;
  sections_.assign(kNumSections, ByteCursor(source_, 0, 0));
}

void BytecodeReader::refuse(const ByteCursor& at, const std::string& what) {
  source_.fail(at.position(),
               fmt::format("{} is not known to this reader; the file is of version ({}). Write it "
                           "for an older version (1.17.0).",
                           what, producer_),
               ErrorCode::kUnsupported);
}

void BytecodeReader::charge(const ByteCursor& at, size_t weight) {
  weight_ += weight;
  if (weight > budget_)
    source_.fail(at.position(), "The module is too large for the size of its file.");
  else
    budget_ -= weight;
}

// id, length, [alignment, padding], bytes.
ByteCursor BytecodeReader::read_section(ByteCursor& from, uint8_t* id) {
  uint8_t head = from.byte();
  uint64_t size = from.varint();
  if (head & 0x80) from.align(from.varint());
  *id = head & 0x7F;
  return from.part(size);
}

ByteCursor BytecodeReader::section(uint8_t id) const { return sections_[id]; }

void BytecodeReader::read_sections() {
  ByteCursor file(source_, 4, source_.bytes.size());  // past the magic
  version_ = file.varint();
  producer_ = file.null_terminated();
  if (version_ > kMaxVersion)
    refuse(file,
           fmt::format("The bytecode's version ({}, at most {} is read)", version_, kMaxVersion));
  while (!file.at_end()) {
    uint8_t id = 0;
    ByteCursor bytes = read_section(file, &id);
    if (id >= kNumSections) return refuse(file, fmt::format("The section ({})", id));
    sections_[id] = bytes;
  }
}

// Lengths come first, the last string's before the others'; each counts its \0.
void BytecodeReader::read_strings(ByteCursor from) {
  std::vector<size_t> sizes(from.count("strings"));
  for (size_t i = sizes.size(); i-- > 0;) sizes[i] = from.varint();
  for (size_t size : sizes) {
    std::string_view text = from.bytes(size);
    if (text.empty() || text.back() != '\0') from.fail("A string does not end in a zero.");
    if (failed()) return;
    strings_.push_back(text.substr(0, size - 1));
  }
}

void BytecodeReader::read_dialects(ByteCursor from) {
  size_t count = from.count("dialects");
  for (size_t i = 0; i < count && !failed(); ++i) {
    uint64_t at = from.varint();
    bool has_version = version_ >= 1 && (at & 1);
    if (version_ >= 1) at >>= 1;
    if (at >= strings_.size()) return from.fail("A dialect's name is not one of the strings.");
    dialects_.push_back(strings_[at]);
    uint8_t id = 0;
    if (has_version) read_section(from, &id);
  }
  if (version_ >= 4) from.varint();  // how many operation names follow
  while (!from.at_end()) {
    size_t dialect = from.index(dialects_.size(), "dialects");
    size_t names = from.count("operation names");
    for (size_t i = 0; i < names && !failed(); ++i) {
      uint64_t at = from.varint();
      if (version_ >= 5) at >>= 1;  // is the operation registered
      if (at >= strings_.size()) return from.fail("An operation's name is not one of the strings.");
      operation_names_.push_back({dialects_[dialect], strings_[at]});
    }
  }
}

template <typename T>
void BytecodeReader::read_entries(ByteCursor& from, size_t count, ByteCursor* data,
                                  std::vector<Entry<T>>* entries) {
  while (entries->size() < count && !failed()) {
    size_t dialect = from.index(dialects_.size(), "dialects");
    size_t group = from.count("entries");
    if (group > count - entries->size()) from.fail("There are more entries than announced.");
    for (size_t i = 0; i < group && !failed(); ++i) {
      uint64_t size = from.varint();
      ByteCursor bytes = data->part(size >> 1);
      entries->push_back({dialects_[dialect], bytes, (size & 1) != 0, State::kUnread, 1, {}});
    }
  }
}

void BytecodeReader::read_offsets(ByteCursor from) {
  size_t num_attributes = from.count("attributes"), num_types = from.count("types");
  ByteCursor data = section(kData);
  read_entries(from, num_attributes, &data, &attributes_);
  read_entries(from, num_types, &data, &types_);
  for (const Entry<Attribute>& entry : attributes_)
    places_.push_back({entry.dialect, entry.bytes, entry.custom, State::kUnread, 1, {}});
  place_ids_.resize(places_.size());
}

void BytecodeReader::read_properties(ByteCursor from) {
  if (from.at_end()) return;
  size_t count = from.count("properties");
  for (size_t i = 0; i < count && !failed(); ++i) properties_.push_back(from.part(from.varint()));
}

Result<Module> BytecodeReader::read_module() {
  read_sections();
  read_strings(section(kStrings));
  read_dialects(section(kDialects));
  read_offsets(section(kOffsets));
  read_properties(section(kPropertySection));
  ByteCursor ir = section(kIr);
  if (!failed()) {
    Block block = read_block(ir);
    if (!failed() && block.operations.size() != 1) ir.fail("The file does not hold one module.");
    if (!failed()) add_module(ir, block.operations[0]);
  }
  if (!failed() && module_.functions.empty()) ir.fail("The file holds no function.");
  if (failed()) return *source_.error;
  return std::move(module_);
}

Result<Module> read_bytecode(std::string_view bytes, const std::string& file_name) {
  if (!is_bytecode(bytes))
    return Error{ErrorCode::kBadInput, "The file does not begin as MLIR bytecode does.", file_name};
  return BytecodeReader(bytes, file_name).read_module();
}

}  // namespace tuff::stablehlo

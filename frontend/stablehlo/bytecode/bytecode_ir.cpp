// Operations, blocks and regions, and what the numbers of values stand for.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/bytecode/bytecode_entry.h"

namespace tuff::stablehlo {

namespace {

// Which parts of an operation follow.
enum Mask : uint8_t {
  kAttributes = 0x01,
  kResults = 0x02,
  kOperands = 0x04,
  kSuccessors = 0x08,
  kRegions = 0x10,
  kUseLists = 0x20,
  kProperties = 0x40,
};

}  // namespace

uint32_t BytecodeReader::define(const ByteCursor& at, Type type) {
  auto id = static_cast<uint32_t>(module_.value_types.size());
  if (values_.next >= values_.top)
    source_.fail(at.position(), "A region has more values than it announces.");
  module_.value_types.push_back(std::move(type));
  values_.ids[values_.next++] = id;
  return id;
}

uint32_t BytecodeReader::operand(ByteCursor& from) {
  ByteCursor at = from;
  uint64_t number = from.varint();
  auto it = values_.ids.find(number);
  if (it != values_.ids.end()) return it->second;
  at.fail(fmt::format("The value ({}) is not defined before its use.", number));
  return 0;
}

// The order of each value's uses, which no-one here needs.
void BytecodeReader::skip_use_lists(ByteCursor& from, size_t num_values) {
  size_t lists = num_values > 1 ? from.count("use lists") : 1;
  for (size_t i = 0; i < lists && !failed(); ++i) {
    if (num_values > 1) from.varint();  // which value
    uint64_t count = from.varint() >> 1;
    if (count > from.remaining()) from.fail("A use list is longer than its section.");
    for (uint64_t k = 0; k < count && !failed(); ++k) from.varint();
  }
}

void BytecodeReader::read_arguments(ByteCursor& from, Block* block) {
  size_t count = from.count("arguments");
  for (size_t i = 0; i < count && !failed(); ++i) {
    ByteCursor at = from;
    uint64_t number = from.varint();
    bool has_location = version_ < 4 || (number & 1);
    if (version_ >= 4) number >>= 1;
    if (number >= types_.size()) return at.fail("An argument's type is not one of the types.");
    block->arguments.push_back(define(at, type_at(number)));
    if (has_location)
      argument_places_[block->arguments.back()] = from.index(places_.size(), "locations");
  }
  if (version_ >= 3 && from.byte() != 0) skip_use_lists(from, count);
}

// The number of operations and whether there are arguments, those, the operations.
Block BytecodeReader::read_block(ByteCursor& from) {
  Block block;
  uint64_t head = from.varint();
  if (head >> 1 > from.remaining()) from.fail("A block is longer than its section.");
  if (head & 1) read_arguments(from, &block);
  for (uint64_t i = 0; i < head >> 1 && !failed(); ++i)
    block.operations.push_back(read_operation(from));
  return block;
}

Operation BytecodeReader::read_operation(ByteCursor& from) {
  Nest nest(*this, from);
  Operation op;
  ByteCursor at = from;
  op.line = 1;  // the file is one line, and a byte a column of it
  op.column = static_cast<uint32_t>(at.position() + 1);
  size_t name = from.index(operation_names_.size(), "operation names");
  uint8_t mask = from.byte();
  op.loc = location_of(from.index(places_.size(), "locations"));
  if (failed()) return op;
  read_operation_attributes(from, mask, name, &op);
  if (mask & kResults) op.types = types(from);
  if (mask & kOperands) {
    op.operands.resize(from.count("operands"));
    for (uint32_t& value : op.operands) value = operand(from);
  }
  if (mask & kSuccessors)
    from.fail("Branches between blocks are not supported; only structured control flow is.",
              ErrorCode::kUnsupported);
  if (mask & kUseLists) skip_use_lists(from, op.types.size());
  op.first_result = static_cast<uint32_t>(module_.value_types.size());
  // Results are numbered before the values of the regions.
  for (const Type& type : op.types) define(at, type);
  if (mask & kRegions) read_regions(from, &op);
  if (failed()) return op;
  const OperationName& full = operation_names_[name];
  if (full.dialect == "vhlo")
    translate_operation(full.name, &op);
  else
    op.name = fmt::format("{}.{}", full.dialect, full.name);
  return op;
}

void BytecodeReader::read_operation_attributes(ByteCursor& from, uint8_t mask, size_t name,
                                               Operation* op) {
  const OperationName& full = operation_names_[name];
  bool is_vhlo = full.dialect == "vhlo";
  if (is_vhlo && !vhlo_properties(full.name))
    return refuse(from, fmt::format("The operation (vhlo.{})", full.name));
  if (!is_vhlo && full.dialect != "builtin" && full.dialect != "sdy")
    return from.fail(
        fmt::format("The operation ({}.{}) is not in a portable artifact's dialect; write the "
                    "module as one (in JAX: jax.export) or as text.",
                    full.dialect, full.name),
        ErrorCode::kUnsupported);
  if (mask & kAttributes) {
    ByteCursor at = from;
    const Attribute& attributes = attribute(from);
    auto* dict = std::get_if<DictAttr>(&attributes.value);
    if (!dict) return at.fail("The operation's attributes are not a dictionary.");
    op->attributes = dict->entries;
  }
  if (!(mask & kProperties)) return;
  size_t index = from.index(properties_.size(), "properties");
  const char* names = is_vhlo ? vhlo_properties(full.name) : sharding_properties(full.name);
  if (!failed() && names) read_properties_of(names, properties_[index], op);
}

// Properties are attributes without their names, in alphabetical order of those.
void BytecodeReader::read_properties_of(std::string_view names, ByteCursor from, Operation* op) {
  std::string_view rest = names;
  while (!rest.empty() && !failed()) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string_view property = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    op->attributes.push_back({std::string(property), attribute(from)});
  }
  if (!from.at_end() && !failed())
    from.fail(fmt::format("An operation has more properties than are known ({}).", names));
}

void BytecodeReader::read_regions(ByteCursor& from, Operation* op) {
  uint64_t head = from.varint();
  bool isolated = (head & 1) != 0;
  if (head >> 1 > from.remaining()) from.fail("There are more regions than bytes left.");
  uint8_t id = 0;
  bool nested = isolated && version_ >= 2;  // in a section of its own, to be read lazily
  ByteCursor within = nested ? read_section(from, &id) : from;
  for (uint64_t i = 0; i < head >> 1 && !failed(); ++i)
    op->regions.push_back(read_region(within, isolated));
  if (!nested) from = within;
}

// An isolated region numbers its values from 0. The others' numbers follow all values
// of the region around, those defined after the operation included.
Region BytecodeReader::read_region(ByteCursor& from, bool isolated) {
  Region region;
  size_t num_blocks = from.count("blocks");
  if (num_blocks == 0) return region;
  size_t num_values = from.count("values");
  Values outer;
  uint64_t next = values_.next, top = values_.top;
  if (isolated) std::swap(outer, values_);
  uint64_t first = values_.top;
  values_.next = first;
  values_.top = first + num_values;
  for (size_t i = 0; i < num_blocks && !failed(); ++i) region.blocks.push_back(read_block(from));
  if (isolated) {
    std::swap(outer, values_);
    return region;
  }
  for (uint64_t number = first; number < values_.next; ++number) values_.ids.erase(number);
  values_.next = next;
  values_.top = top;
  return region;
}

}  // namespace tuff::stablehlo

// BytecodeReader: MLIR bytecode of the VHLO dialect (a portable artifact) to the
// Module that the text reader makes of the same program. Split by what is read:
// bytecode (sections), _types, _attributes, _dense, _locations, _ir, _functions,
// _op_table (VHLO's operations) and _ops (what they are here). See read.h for its use.
//
// Attributes and types refer to one another by number and are read when first
// used. A small file can make a huge tree of them (each the double of the last),
// so what is copied is charged to a budget that grows with the file.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/stablehlo/bytecode/bytecode_cursor.h"
#include "frontend/stablehlo/module.h"
#include "ir/support/deep_stack.h"

namespace tuff::stablehlo {

class BytecodeReader {
 public:
  BytecodeReader(std::string_view bytes, const std::string& file_name);
  Result<Module> read_module();

 private:
  enum class State : uint8_t { kUnread, kReading, kRead };
  // An attribute or type: its bytes, and its value once read.
  template <typename T>
  struct Entry {
    std::string_view dialect;
    ByteCursor bytes;
    bool custom = false;  // else it is MLIR text
    State state = State::kUnread;
    size_t weight = 1;  // of the value, in units of the budget
    T value{};
  };
  struct Place {  // see Location in parser.h
    std::string name, position;
  };
  // What the numbers of values mean; an isolated region has its own.
  struct Values {
    std::unordered_map<uint64_t, uint32_t> ids;
    uint64_t next = 0;  // the number of the next value
    uint64_t top = 0;   // where the numbers of a region within begin
  };

  // --- sections (bytecode.cpp)
  bool failed() const { return source_.failed(); }
  ByteCursor read_section(ByteCursor& from, uint8_t* id);
  void read_sections();
  ByteCursor section(uint8_t id) const;
  void read_strings(ByteCursor from);
  void read_dialects(ByteCursor from);
  void read_offsets(ByteCursor from);
  template <typename T>
  void read_entries(ByteCursor& from, size_t count, ByteCursor* data,
                    std::vector<Entry<T>>* entries);
  void read_properties(ByteCursor from);
  std::string_view string(ByteCursor& from) {
    return strings_at(from.index(strings_.size(), "strings"));
  }
  std::string_view strings_at(size_t i) const {
    return failed() ? std::string_view{} : strings_[i];
  }
  // Refuses what a newer writer may have put there, naming its version.
  void refuse(const ByteCursor& at, const std::string& what);
  void charge(const ByteCursor& at, size_t weight);
  template <typename T, typename Read>
  const T& read_entry(std::vector<Entry<T>>& entries, size_t i, Read read);

  // --- types
  Type type(ByteCursor& from);  // the type that the number there stands for
  const Type& type_at(size_t i);
  Type parse_type(const Entry<Type>& entry, ByteCursor from);
  Type builtin_type(ByteCursor& from);
  Type vhlo_type(ByteCursor& from);
  Type tensor_type(ByteCursor& from);
  std::vector<Type> types(ByteCursor& from);
  Type function_type(ByteCursor& from);

  // --- attributes
  const Attribute& attribute(ByteCursor& from) {
    return attribute_at(from.index(attributes_.size(), "attributes"));
  }
  const Attribute& attribute_at(size_t i);
  Attribute parse_attribute(const Entry<Attribute>& entry, ByteCursor from);
  Attribute builtin_attribute(ByteCursor& from);
  Attribute sharding_attribute(ByteCursor& from);
  std::string sharding_list(ByteCursor& from);
  Attribute vhlo_attribute(ByteCursor& from);
  Attribute enum_attribute(uint64_t code, ByteCursor& from);
  Attribute array_attribute(ByteCursor& from);
  Attribute dict_attribute(ByteCursor& from);
  Attribute integer_attribute(ByteCursor& from);
  Attribute float_attribute(ByteCursor& from);
  std::string text(ByteCursor& from);  // of the string attribute numbered there
  Attribute dense_attribute(ByteCursor& from);
  void fill_dense(ByteCursor& at, std::string_view raw, DenseElements* dense);

  // --- locations
  const Place& place_at(size_t i);
  const Place& place(ByteCursor& from) { return place_at(from.index(places_.size(), "locations")); }
  Place parse_place(const Entry<Place>& entry, ByteCursor from);
  uint32_t location_of(size_t i);

  // --- operations and regions
  Block read_block(ByteCursor& from);
  void read_arguments(ByteCursor& from, Block* block);
  Operation read_operation(ByteCursor& from);
  void read_operation_attributes(ByteCursor& from, uint8_t mask, size_t name, Operation* op);
  void read_properties_of(std::string_view names, ByteCursor from, Operation* op);
  void read_regions(ByteCursor& from, Operation* op);
  Region read_region(ByteCursor& from, bool isolated);
  void skip_use_lists(ByteCursor& from, size_t num_values);
  uint32_t define(const ByteCursor& at, Type type);
  uint32_t operand(ByteCursor& from);

  // --- module, functions
  void add_module(ByteCursor& at, Operation& op);
  void add_function(Operation& op);
  void add_argument_names(Function* function);

  // Depth of the input's nesting, bounded so that no input exhausts the stack.
  class Nest {
   public:
    Nest(BytecodeReader& reader, const ByteCursor& at) : reader_(reader) {
      if (++reader_.depth_ > nesting_limit())
        reader_.source_.fail(at.position(), "The module is nested too deeply (" +
                                                std::to_string(nesting_limit()) + " levels).");
    }
    ~Nest() { --reader_.depth_; }

   private:
    BytecodeReader& reader_;
  };

  static constexpr size_t kNumSections = 9;
  ByteSource source_;
  uint64_t version_ = 0;
  std::string producer_;
  std::vector<ByteCursor> sections_;  // by id; empty where there is none
  std::vector<std::string_view> strings_, dialects_;
  struct OperationName {
    std::string_view dialect, name;
  };
  std::vector<OperationName> operation_names_;
  std::vector<Entry<Attribute>> attributes_;
  std::vector<Entry<Type>> types_;
  std::vector<Entry<Place>> places_;  // locations are attributes; parallel to those
  std::vector<uint32_t> place_ids_;   // index into Module::locations, 0: not made yet
  std::vector<ByteCursor> properties_;
  std::unordered_map<uint32_t, size_t> argument_places_;  // by value
  Values values_;
  size_t budget_ = 0;
  size_t weight_ = 0;  // of what is being read
  int depth_ = 0;
  Module module_;
};

// The names of a VHLO operation's properties, in their order in the bytes; null for
// an operation that the reader does not know. `name` has its version: "sort_v1".
const char* vhlo_properties(std::string_view name);
// The same for the operations of sdy that import reads (bytecode_sharding.cpp).
const char* sharding_properties(std::string_view name);
// VHLO's operation as StableHLO has it: its name, dimension numbers as a structure.
void translate_operation(std::string_view vhlo_name, Operation* op);

}  // namespace tuff::stablehlo

// JSON from files: data of others.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/support/result.h"

namespace tuff {

// Parses an object that is nested at most `max_depth` lists and objects deep, the outermost one
// included. A key that stands twice in one object is an error: two readers of a file could take
// different ones. `what` begins the message ("The header"), `path` is where. Errors: kBadInput.
// For nlohmann::json and nlohmann::ordered_json.
template <typename Json>
Result<Json> parse_json_object(std::string_view text, int max_depth, const std::string& what,
                               const std::string& path);

// A value of a JSON text, for what libtuff reads: nlohmann::json's destructor takes memory and ends
// the process where there is none left. Each function gives null for a value of another kind.
class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Object = std::map<std::string, JsonValue, std::less<>>;
  // Integers are signed iff they are negative.
  using Data =
      std::variant<std::monostate, bool, uint64_t, int64_t, double, std::string, List, Object>;

  JsonValue() = default;
  explicit JsonValue(Data data) : data_(std::move(data)) {}

  const std::string* text() const { return std::get_if<std::string>(&data_); }
  const bool* flag() const { return std::get_if<bool>(&data_); }
  const uint64_t* whole() const { return std::get_if<uint64_t>(&data_); }
  std::optional<double> number() const;
  const List* list() const { return std::get_if<List>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  // Of an object; null where it has no such key.
  const JsonValue* find(std::string_view key) const;
  // As JSON.
  std::string to_string() const;

  List* list() { return std::get_if<List>(&data_); }
  Object* object() { return std::get_if<Object>(&data_); }

 private:
  Data data_;
};

// As parse_json_object.
Result<JsonValue> read_json_object(std::string_view text, int max_depth, const std::string& what,
                                   const std::string& path);

// The text as a JSON string, in quotes; bytes that are no UTF-8 are replaced.
std::string json_string(const std::string& text);

}  // namespace tuff

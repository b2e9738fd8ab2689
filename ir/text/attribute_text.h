// The attributes of an operation as text has them: values by name. The printer, the parser and
// the readers of models' formats meet the typed fields here.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/attributes.h"

namespace tuff {

// Booleans are 0 and 1, enums their words.
using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<std::string>, Literal>;

struct NamedValue {
  std::string name;
  AttrValue value;
  size_t place = 0;  // in the text, for messages

  bool operator==(const NamedValue& other) const;
};

// What is printed, in the order of the names.
std::vector<NamedValue> attribute_values(const Attrs& attrs);
// The operation's attributes. Where one is wrong, `place` becomes its place.
Result<Attrs> read_attributes(Op op, std::vector<NamedValue> values, size_t* place = nullptr);

// A composite as the values of a fused node.
void write_composite(const Composite& composite, std::vector<NamedValue>* values);
// Takes what it knows from the values.
Status read_composite(std::vector<NamedValue>* values, Composite* composite);

// Takes the value away, if there is one of that name and type.
template <typename T>
std::optional<T> take(std::vector<NamedValue>& values, std::string_view name) {
  for (auto it = values.begin(); it != values.end(); ++it)
    if (it->name == name && std::holds_alternative<T>(it->value)) {
      T value = std::get<T>(std::move(it->value));
      values.erase(it);
      return value;
    }
  return std::nullopt;
}

}  // namespace tuff

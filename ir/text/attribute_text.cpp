#include "ir/text/attribute_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/attribute_fields.h"
#include "ir/text/print.h"

namespace tuff {

namespace {

using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

// "EQ, NE and LT".
template <typename E>
std::string list_of_words() {
  std::string text;
  std::span<const char* const> words = words_of<E>();
  for (size_t i = 0; i < words.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == words.size() ? " and " : ", ").append(words[i]);
  return text;
}

// A field's value in text, and back: then the text is empty, or says what it should be.
AttrValue text_of(int64_t value) { return value; }
AttrValue text_of(double value) { return value; }
AttrValue text_of(bool value) { return int64_t{value}; }
AttrValue text_of(const std::string& value) { return value; }
AttrValue text_of(const Ints& value) { return value; }
AttrValue text_of(const Literal& value) { return value; }
template <typename E>
requires std::is_enum_v<E> AttrValue text_of(E value) { return std::string(word_of(value)); }
template <typename E>
AttrValue text_of(const std::vector<E>& list) {
  Strings words;
  for (E value : list) words.push_back(word_of(value));
  return words;
}
template <typename T>
AttrValue text_of(const std::optional<T>& value) {
  return text_of(*value);
}

template <typename T>
std::string assign(const AttrValue& from, T* to, const char* what) {
  const T* value = std::get_if<T>(&from);
  if (!value) return what;
  *to = *value;
  return {};
}
std::string read(const AttrValue& from, int64_t* to) { return assign(from, to, "an integer"); }
std::string read(const AttrValue& from, double* to) {
  if (auto* integer = std::get_if<int64_t>(&from)) return *to = static_cast<double>(*integer), "";
  return assign(from, to, "a number");
}
std::string read(const AttrValue& from, bool* to) {
  const int64_t* value = std::get_if<int64_t>(&from);
  if (!value || (*value != 0 && *value != 1)) return "0 or 1";
  *to = *value == 1;
  return {};
}
std::string read(const AttrValue& from, std::string* to) { return assign(from, to, "a string"); }
std::string read(const AttrValue& from, Ints* to) { return assign(from, to, "a list of integers"); }
std::string read(const AttrValue& from, Literal* to) { return assign(from, to, "a literal"); }
template <typename E>
requires std::is_enum_v<E> std::string read(const AttrValue& from, E* to) {
  const std::string* word = std::get_if<std::string>(&from);
  std::optional<E> value = word ? parse_word<E>(*word) : std::nullopt;
  if (!value) return "one of " + list_of_words<E>();
  *to = *value;
  return {};
}
template <typename E>
std::string read(const AttrValue& from, std::vector<E>* to) {
  Strings words;
  const Ints* none = std::get_if<Ints>(&from);
  if (!none || !none->empty())
    if (std::string what = assign(from, &words, "a list of strings"); !what.empty()) return what;
  for (const std::string& word : words)
    if (std::string what = read(AttrValue(word), &to->emplace_back()); !what.empty())
      return "a list of some of " + list_of_words<E>();
  return {};
}
template <typename T>
std::string read(const AttrValue& from, std::optional<T>* to) {
  return read(from, &to->emplace());
}

// Reads the fields of one struct.
template <typename T>
class AttributeReader {
 public:
  AttributeReader(Op op, std::vector<NamedValue> values, size_t* place)
      : op_(op), values_(std::move(values)), place_(place) {}

  Result<Attrs> run() {
    FieldsOf<T>::visit([&](const char* name, auto field, InText in_text) {
      if (error_.empty()) read_field(name, &(attributes_.*field), in_text);
    });
    if (error_.empty() && !values_.empty())
      fail(values_[0].place,
           fmt::format("There is no attribute '{}' of {}.", values_[0].name, op_name(op_)));
    if (!error_.empty()) return Error{ErrorCode::kBadInput, error_, ""};
    return Attrs(std::move(attributes_));
  }

 private:
  void read_field(const char* name, auto* field, InText in_text) {
    auto it = std::find_if(values_.begin(), values_.end(),
                           [&](const NamedValue& given) { return given.name == name; });
    if (it == values_.end()) {
      if (in_text == InText::kRequired)
        fail(*place_, fmt::format("Attribute {} of {} is missing.", name, op_name(op_)));
      return;
    }
    if (std::string what = read(it->value, field); !what.empty()) {
      auto* text = std::get_if<std::string>(&it->value);
      fail(it->place, fmt::format("Attribute {} ({}) is not {}.", name,
                                  text ? *text : print_attr(it->value), what));
    }
    values_.erase(it);
  }

  void read_field(const char*, Composite* field, InText) {
    if (Status status = read_composite(&values_, field); !status.ok())
      fail(*place_, status.error().message);
  }

  void fail(size_t place, std::string error) {
    *place_ = place;
    error_ = std::move(error);
  }

  Op op_;
  std::vector<NamedValue> values_;
  size_t* place_;
  T attributes_;
  std::string error_;
};

}  // namespace

std::vector<NamedValue> attribute_values(const Attrs& attrs) {
  std::vector<NamedValue> values;
  if (attrs.kind() == AttrsKind::kNone) return values;
  with_attributes(attrs.kind(), [&]<typename T>(const T& defaults) {
    const T& attributes = attrs.as<T>();
    FieldsOf<T>::visit([&](const char* name, auto field, InText in_text) {
      if constexpr (std::is_same_v<decltype(field), Composite T::*>)
        write_composite(attributes.*field, &values);
      else if (in_text != InText::kUnlessDefault || attributes.*field != defaults.*field)
        values.push_back({name, text_of(attributes.*field)});
    });
  });
  std::sort(values.begin(), values.end(),
            [](const NamedValue& a, const NamedValue& b) { return a.name < b.name; });
  return values;
}

Result<Attrs> read_attributes(Op op, std::vector<NamedValue> values, size_t* place) {
  AttrsKind kind = attrs_kind(op);
  size_t nowhere = 0;
  if (!place) place = &nowhere;
  if (kind == AttrsKind::kNone && !values.empty()) {
    *place = values[0].place;
    return Error{ErrorCode::kBadInput,
                 fmt::format("There is no attribute '{}' of {}.", values[0].name, op_name(op)), ""};
  }
  if (kind == AttrsKind::kNone) return Attrs();
  return with_attributes(kind, [&]<typename T>(const T&) {
    return AttributeReader<T>(op, std::move(values), place).run();
  });
}

bool NamedValue::operator==(const NamedValue& other) const {
  if (name != other.name) return false;
  auto *a = std::get_if<double>(&value), *b = std::get_if<double>(&other.value);
  if (a && b) return std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b);
  return value == other.value;
}

}  // namespace tuff

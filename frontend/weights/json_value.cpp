#include <fmt/format.h>

#include "frontend/weights/json.h"

namespace tuff {

namespace {

// Listens to the parser and builds what it tells.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(int max_depth) : max_depth_(static_cast<size_t>(max_depth)) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(JsonValue(value)); }
  bool number_integer(int64_t value) override { return add(JsonValue(value)); }
  bool number_unsigned(uint64_t value) override { return add(JsonValue(value)); }
  bool number_float(double value, const std::string&) override { return add(JsonValue(value)); }
  bool string(std::string& value) override { return add(JsonValue(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(JsonValue(JsonValue::Object())); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(JsonValue(JsonValue::List())); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    auto [it, fresh] = open_.back()->object()->try_emplace(name);
    if (!fresh) trouble_ = fmt::format("has the key ({}) twice", name);
    at_key_ = &it->second;
    return fresh;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  const std::string& trouble() const { return trouble_; }
  JsonValue take() { return std::move(root_); }

 private:
  // Where the next value goes. Places of open values stay: a list grows while none of its is open.
  JsonValue* next() {
    if (open_.empty()) return &root_;
    if (JsonValue::List* list = open_.back()->list()) return &list->emplace_back();
    return at_key_;
  }
  bool add(JsonValue value) {
    *next() = std::move(value);
    return true;
  }
  bool open(JsonValue value) {
    if (open_.size() >= max_depth_) {
      trouble_ = fmt::format("is nested more than {} lists and objects deep", max_depth_);
      return false;
    }
    JsonValue* place = next();
    *place = std::move(value);
    open_.push_back(place);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const size_t max_depth_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  JsonValue* at_key_ = nullptr;
  std::string trouble_;
};

std::string printed(std::monostate) { return "null"; }
std::string printed(bool flag) { return flag ? "true" : "false"; }
template <typename Number>
std::string printed(Number number) {
  return fmt::format("{}", number);
}
std::string printed(const std::string& text) { return json_string(text); }
std::string printed(const JsonValue::List& list) {
  std::string text = "[";
  for (const JsonValue& value : list) text += (text.size() > 1 ? "," : "") + value.to_string();
  return text + "]";
}
std::string printed(const JsonValue::Object& object) {
  std::string text = "{";
  for (const auto& [key, value] : object)
    text += (text.size() > 1 ? "," : "") + json_string(key) + ":" + value.to_string();
  return text + "}";
}

}  // namespace

std::optional<double> JsonValue::number() const {
  if (auto* whole = std::get_if<uint64_t>(&data_)) return static_cast<double>(*whole);
  if (auto* negative = std::get_if<int64_t>(&data_)) return static_cast<double>(*negative);
  if (auto* number = std::get_if<double>(&data_)) return *number;
  return std::nullopt;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  auto it = members->find(key);
  return it == members->end() ? nullptr : &it->second;
}

std::string JsonValue::to_string() const {
  return std::visit([](const auto& data) { return printed(data); }, data_);
}

Result<JsonValue> read_json_object(std::string_view text, int max_depth, const std::string& what,
                                   const std::string& path) {
  JsonBuilder builder(max_depth);
  bool read = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!builder.trouble().empty())
    return Error{ErrorCode::kBadInput, fmt::format("{} {}.", what, builder.trouble()), path};
  JsonValue value = builder.take();
  if (!read || value.object() == nullptr)
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} ({} bytes) is not a JSON object.", what, text.size()), path};
  return value;
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tuff

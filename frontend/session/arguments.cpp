#include "frontend/session/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "frontend/session/model.h"
#include "frontend/weights/npy.h"
#include "frontend/weights/safetensors.h"

namespace tuff {

namespace {

constexpr size_t kNamesShown = 6;

// "a (3xf32), b (f32) and 4 more".
std::string list_names(const std::vector<std::string>& names) {
  size_t shown = std::min(names.size(), kNamesShown);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "));
  return names.size() > shown ? text + fmt::format(" and {} more", names.size() - shown) : text;
}

// A file that is known to be of another format is named, not parsed.
Result<Safetensors> open_weights(const std::string& path) {
  TUFF_ASSIGN(ModelBytes file, open_model(path));
  const ModelFormat* format = recognise(file);
  if (format && !file.is_directory && format->name != std::string_view("safetensors"))
    return Error{ErrorCode::kUnsupported,
                 fmt::format("Weights are read from safetensors files; this one is of another "
                             "format ({}).",
                             format->name),
                 path};
  return Safetensors::open(path);
}

// Fills the slots of one call, source by source.
class Gatherer {
 public:
  Gatherer(const Model& model, const ArgumentSources& sources)
      : model_(model), sources_(sources), slots_(model.arguments.size()) {}

  Result<ArgumentValues> gather() {
    TUFF_RETURN_IF_ERROR(take_inputs());
    if (sources_.inputs.empty()) TUFF_RETURN_IF_ERROR(take_bundled_inputs());
    TUFF_RETURN_IF_ERROR(take_weights());
    TUFF_RETURN_IF_ERROR(seed());
    for (std::optional<Literal>& slot : slots_) result_.values.push_back(as_parts(*slot));
    return std::move(result_);
  }

  Result<std::vector<std::optional<Literal>>> gather_known() {
    TUFF_RETURN_IF_ERROR(take_weights());
    for (uint32_t i = 0; i < slots_.size(); ++i) take_known(i);
    return std::move(slots_);
  }

 private:
  TensorType type(uint32_t i) const { return argument_type(model_, i); }
  bool is_weight(uint32_t i) const { return model_.arguments[i].is_weight; }
  const std::string& name(uint32_t i) const { return model_.arguments[i].name; }

  std::optional<uint32_t> find(std::string_view word) const {
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (name(i) == word) return i;
    uint32_t number = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    bool is_number = error == std::errc() && end == word.data() + word.size();
    return is_number && number < slots_.size() ? std::optional(number) : std::nullopt;
  }

  Status take_inputs() {
    for (const std::string& spec : sources_.inputs) {
      size_t equals = spec.find('=');
      std::optional<uint32_t> index;
      if (equals != std::string::npos) index = find(std::string_view(spec).substr(0, equals));
      std::error_code ignored;
      bool named = equals != std::string::npos && !std::filesystem::exists(spec, ignored);
      if (named && !index)
        return Error{ErrorCode::kUsage,
                     fmt::format("The model has no argument ({}); it has ({}).",
                                 spec.substr(0, equals), list_names(input_names())),
                     "--input " + spec};
      std::string file = index ? spec.substr(equals + 1) : spec;
      if (!index) index = next_unnamed();
      if (!index)
        return Error{ErrorCode::kUsage,
                     "There are more files than inputs; name the argument (NAME=FILE.npy).",
                     "--input " + spec};
      if (slots_[*index])
        return Error{ErrorCode::kUsage,
                     fmt::format("The argument ({}) is given twice.", name(*index)),
                     "--input " + spec};
      TUFF_RETURN_IF_ERROR(take_file(*index, file));
    }
    return {};
  }

  // Of a name that is no path.
  Status take_bundled_inputs() {
    if (model_.inputs_path.empty()) return {};
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (is_weight(i) || name(i).find('/') != std::string::npos) continue;
      std::string file = fmt::format("{}/{}.npy", model_.inputs_path, name(i));
      std::error_code ignored;
      if (!std::filesystem::exists(file, ignored)) continue;
      TUFF_RETURN_IF_ERROR(take_file(i, file));
      result_.bundled_inputs.push_back(name(i));
    }
    return {};
  }

  // What a user would name: inputs, or all arguments where nothing says which those are.
  std::vector<std::string> input_names() const {
    std::vector<std::string> inputs;
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (!is_weight(i)) inputs.push_back(name(i));
    return inputs;
  }

  // The first argument without a value that a nameless file may fill.
  std::optional<uint32_t> next_unnamed() const {
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (!slots_[i] && !is_weight(i)) return i;
    return std::nullopt;
  }

  Status take_file(uint32_t i, const std::string& file) {
    Result<Literal> literal = read_npy(file, type(i).dtype);
    if (!literal.ok()) {
      Error error = literal.take_error();
      error.message += fmt::format(" It is given for the argument ({}).", name(i));
      return error;
    }
    return put(i, std::move(*literal), file);
  }

  Status put(uint32_t i, Literal literal, const std::string& file) {
    if (literal.type() != type(i))
      return Error{ErrorCode::kBadInput,
                   fmt::format("The argument ({}) must have type ({}), but the file gives ({}).",
                               name(i), type(i).to_string(), literal.type().to_string()),
                   file};
    const ModelArgument& argument = model_.arguments[i];
    if (argument.is_fixed && !(literal == *argument.value))
      return Error{ErrorCode::kUsage,
                   fmt::format("A shape follows from the argument ({}), and the model was read "
                               "with another value; read it again.",
                               name(i)),
                   file};
    slots_[i] = std::move(literal);
    return {};
  }

  Status take_weights() {
    const std::string& path =
        sources_.weights_path.empty() ? model_.weights_path : sources_.weights_path;
    if (path.empty()) return {};
    TUFF_ASSIGN(Safetensors tensors, open_weights(path));
    have_weights_file_ = true;
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i]) continue;
      if (!tensors.find(name(i))) {
        if (is_weight(i) && !model_.arguments[i].value)
          return Error{ErrorCode::kBadInput,
                       fmt::format("The file holds no tensor for the weight ({}, {}).", name(i),
                                   type(i).to_string()),
                       path};
        continue;
      }
      TUFF_ASSIGN(Literal literal, tensors.tensor(name(i)));
      TUFF_RETURN_IF_ERROR(put(i, std::move(literal), path));
    }
    return {};
  }

  // What was read with the model, or follows from the argument's name.
  void take_known(uint32_t i) {
    if (slots_[i]) return;
    const ModelArgument& argument = model_.arguments[i];
    if (argument.value) {
      slots_[i] = argument.value;
    } else if (argument.init && !have_weights_file_) {
      slots_[i] = seeded_floats(name(i), type(i), *argument.init);
      result_.seeded_weights.push_back(name(i));
    }
  }

  Status seed() {
    std::vector<std::string> missing;
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      take_known(i);
      if (slots_[i]) continue;
      if (sources_.seed_missing) {
        slots_[i] = seeded(i);
        result_.seeded_inputs.push_back(name(i));
      } else {
        missing.push_back(fmt::format("{} ({})", name(i), type(i).to_string()));
      }
    }
    if (missing.empty()) return {};
    return Error{ErrorCode::kUsage,
                 fmt::format("No value is given for {} of {} arguments: {}. Give --input "
                             "NAME=FILE.npy, or --weights F.safetensors for weights.",
                             missing.size(), slots_.size(), list_names(missing)),
                 model_.path};
  }

  Literal seeded(uint32_t i) const {
    TensorType made = is_complex(type(i).dtype) ? as_parts(type(i)) : type(i);
    return seeded_argument(name(i), made).with_type(type(i));
  }

  const Model& model_;
  const ArgumentSources& sources_;
  std::vector<std::optional<Literal>> slots_;
  bool have_weights_file_ = false;
  ArgumentValues result_;
};

}  // namespace

Result<ArgumentValues> gather_arguments(const Model& model, const ArgumentSources& sources) {
  return Gatherer(model, sources).gather();
}

Result<std::vector<std::optional<Literal>>> gather_weights(const Model& model,
                                                           const std::string& weights_path) {
  ArgumentSources sources;
  sources.weights_path = weights_path;
  return Gatherer(model, sources).gather_known();
}

}  // namespace tuff

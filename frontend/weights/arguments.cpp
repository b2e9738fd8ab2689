#include "frontend/weights/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

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

// Fills the slots of one call, source by source.
class Gatherer {
 public:
  Gatherer(const Model& model, const Graph& graph, const ArgumentSources& sources)
      : model_(model), graph_(graph), sources_(sources), slots_(graph.num_parameters()) {
    for (uint32_t i = 0; i < graph.num_parameters(); ++i)
      names_.push_back(argument_name(model, graph, i));
  }

  Result<ArgumentValues> gather() {
    TUFF_RETURN_IF_ERROR(take_inputs());
    TUFF_RETURN_IF_ERROR(take_weights());
    TUFF_RETURN_IF_ERROR(seed());
    for (std::optional<Literal>& slot : slots_) result_.values.push_back(std::move(*slot));
    return std::move(result_);
  }

 private:
  const TensorType& type(uint32_t i) const { return graph_.node(i).types[0]; }
  bool is_weight(uint32_t i) const {
    return model_.signature && model_.signature->arguments[i].is_weight;
  }

  std::optional<uint32_t> find(std::string_view name) const {
    for (uint32_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return i;
    uint32_t number = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    bool is_number = error == std::errc() && end == name.data() + name.size();
    return is_number && number < names_.size() ? std::optional(number) : std::nullopt;
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
                     fmt::format("The argument ({}) is given twice.", names_[*index]),
                     "--input " + spec};
      TUFF_RETURN_IF_ERROR(take_file(*index, file));
    }
    return {};
  }

  // What a user would name: inputs, or all arguments where nothing says which those are.
  std::vector<std::string> input_names() const {
    std::vector<std::string> inputs;
    for (uint32_t i = 0; i < names_.size(); ++i)
      if (!is_weight(i)) inputs.push_back(names_[i]);
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
      error.message += fmt::format(" It is given for the argument ({}).", names_[i]);
      return error;
    }
    return put(i, std::move(*literal), file);
  }

  Status put(uint32_t i, Literal literal, const std::string& file) {
    if (literal.type() != type(i))
      return Error{ErrorCode::kBadInput,
                   fmt::format("The argument ({}) must have type ({}), but the file gives ({}).",
                               names_[i], type(i).to_string(), literal.type().to_string()),
                   file};
    slots_[i] = std::move(literal);
    return {};
  }

  Status take_weights() {
    const std::string& path =
        sources_.weights_path.empty() ? model_.weights_path : sources_.weights_path;
    if (path.empty()) return {};
    TUFF_ASSIGN(Safetensors tensors, Safetensors::open(path));
    have_weights_file_ = true;
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i]) continue;
      if (!tensors.find(names_[i])) {
        if (is_weight(i))
          return Error{ErrorCode::kBadInput,
                       fmt::format("The file holds no tensor for the weight ({}, {}).", names_[i],
                                   type(i).to_string()),
                       path};
        continue;
      }
      TUFF_ASSIGN(Literal literal, tensors.tensor(names_[i]));
      TUFF_RETURN_IF_ERROR(put(i, std::move(literal), path));
    }
    return {};
  }

  Status seed() {
    std::vector<std::string> missing;
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i]) continue;
      std::optional<SeededInit> init;
      if (model_.signature && !have_weights_file_) init = model_.signature->arguments[i].init;
      if (init) {
        slots_[i] = seeded_floats(names_[i], type(i), *init);
        result_.seeded_weights.push_back(names_[i]);
      } else if (sources_.seed_missing) {
        slots_[i] = seeded_argument(names_[i], type(i));
        result_.seeded_inputs.push_back(names_[i]);
      } else {
        missing.push_back(fmt::format("{} ({})", names_[i], type(i).to_string()));
      }
    }
    if (missing.empty()) return {};
    return Error{ErrorCode::kUsage,
                 fmt::format("No value is given for {} of {} arguments: {}. Give --input "
                             "NAME=FILE.npy, or --weights F.safetensors for weights.",
                             missing.size(), slots_.size(), list_names(missing)),
                 model_.path};
  }

  const Model& model_;
  const Graph& graph_;
  const ArgumentSources& sources_;
  std::vector<std::string> names_;
  std::vector<std::optional<Literal>> slots_;
  bool have_weights_file_ = false;
  ArgumentValues result_;
};

}  // namespace

std::string argument_name(const Model& model, const Graph& graph, uint32_t i) {
  if (model.signature) return model.signature->arguments[i].name;
  return graph.parameter_name(i).empty() ? fmt::format("arg{}", i) : graph.parameter_name(i);
}

Result<ArgumentValues> gather_arguments(const Model& model, const Graph& graph,
                                        const ArgumentSources& sources) {
  return Gatherer(model, graph, sources).gather();
}

}  // namespace tuff

// Nodes, functions and subgraphs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontend/onnx/build/bounds.h"
#include "frontend/onnx/import.h"

namespace tuff::onnx {

namespace {

// Functions and subgraphs within one another; the stack must hold them.
constexpr size_t kMaxNesting = 100;
// Functions and loops are inlined, so a small file can stand for an exponential graph.
constexpr int64_t kMaxNodes = 1'000'000;

std::string function_key(const std::string& domain, const std::string& name,
                         const std::string& overload) {
  return (domain == "ai.onnx" ? "" : domain) + ":" + name + ":" + overload;
}

std::string domain_of(const proto::Node& node) {
  return node.domain() == "ai.onnx" ? "" : node.domain();
}

// What profiles and messages call a node.
std::string name_of(const proto::Node& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return node.op_type();
}

// Names that a graph uses and does not make, into `free`.
void collect_free(const proto::Graph& graph, std::set<std::string> bound, size_t depth,
                  std::vector<std::string>* free) {
  if (depth > kMaxNesting) refuse_unsupported("Subgraphs are nested too deeply (100 levels).");
  for (const proto::ValueInfo& input : graph.input()) bound.insert(input.name());
  for (const proto::Tensor& tensor : graph.initializer()) bound.insert(tensor.name());
  auto use = [&](const std::string& name) {
    bool known = name.empty() || bound.contains(name) ||
                 std::find(free->begin(), free->end(), name) != free->end();
    if (!known) free->push_back(name);
  };
  for (const proto::Node& node : graph.node()) {
    for (const std::string& name : node.input()) use(name);
    for (const proto::Attribute& attribute : node.attribute())
      if (attribute.has_g()) collect_free(attribute.g(), bound, depth + 1, free);
    for (const std::string& name : node.output()) bound.insert(name);
  }
  for (const proto::ValueInfo& output : graph.output()) use(output.name());
}

}  // namespace

// What one node's call sees of the model.
class NodeSurroundings : public Surroundings {
 public:
  NodeSurroundings(Importer& importer, Scope& scope) : importer_(importer), scope_(scope) {}

  std::optional<Literal> known(const Tensor& tensor) override { return importer_.known(tensor); }

  Items inline_graph(const proto::Graph& graph, const Items& inputs) override {
    Scope inner{scope_.emitter, &scope_, scope_.opsets, scope_.arguments, {}};
    return bind_and_import(graph, inputs, inner);
  }

  Captures captures(const std::vector<const proto::Graph*>& graphs) override {
    std::vector<std::string> free;
    Captures found;
    for (const proto::Graph* graph : graphs) collect_free(*graph, {}, 0, &free);
    for (const std::string& name : free) {
      const Item* item = scope_.find(name);
      if (item && item->bound)
        refuse_unsupported(
            fmt::format("The body of a loop or branch uses ({}), whose length is "
                        "known only when the model runs.",
                        name));
      if (!item) continue;
      for (const Tensor& t : item->sequence) found.push_back({name, t, true});
      if (item->tensor && !is_constant(item->tensor)) found.push_back({name, item->tensor});
    }
    return found;
  }

  Items import_region(const proto::Graph& graph, const Items& inputs, const Captures& captures,
                      const std::vector<Tensor>& parameters, Emitter& emitter) override {
    Scope inner{&emitter, nullptr, scope_.opsets, scope_.arguments, {}};
    copy_constants(graph, inner);
    for (size_t i = 0; i < captures.size(); ++i) {
      Item& item = inner.items[captures[i].name];
      if (captures[i].in_sequence)
        item.sequence.push_back(parameters[i]);
      else
        item = parameters[i];
    }
    return bind_and_import(graph, inputs, inner);
  }

 private:
  static bool is_constant(const Tensor& t) {
    return t.emitter().graph().node(t.value()).op == Op::kConstant;
  }

  // What the graph uses that is no tensor to capture: constants, and how its sequences begin.
  void copy_constants(const proto::Graph& graph, Scope& inner) {
    std::vector<std::string> free;
    collect_free(graph, {}, 0, &free);
    for (const std::string& name : free) {
      const Item* item = scope_.find(name);
      if (!item) continue;
      if (item->kind != Item::Kind::kTensor) inner.items[name].kind = item->kind;
      if (!item->tensor || !is_constant(item->tensor)) continue;
      const Node& node = item->tensor.emitter().graph().node(item->tensor.value());
      inner.items[name] =
          Tensor(*inner.emitter, inner.emitter->constant(node.attrs.as<ConstantAttrs>().value));
    }
  }

  Items bind_and_import(const proto::Graph& graph, const Items& inputs, Scope& inner) {
    if (static_cast<size_t>(graph.input_size()) != inputs.size())
      refuse_input(fmt::format("The subgraph ({}) takes ({}) inputs, but is given ({}).",
                               graph.name(), graph.input_size(), inputs.size()));
    for (int i = 0; i < graph.input_size(); ++i)
      inner.items[graph.input(i).name()] = inputs[static_cast<size_t>(i)];
    return importer_.import_graph(graph, inner);
  }

  Importer& importer_;
  Scope& scope_;
};

const Item* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer)
    if (auto found = scope->items.find(name); found != scope->items.end()) return &found->second;
  return nullptr;
}

Items Importer::import_graph(const proto::Graph& graph, Scope& scope) {
  struct Leave {
    size_t& depth;
    ~Leave() { --depth; }
  } leave{++depth_};
  if (depth_ > kMaxNesting) refuse_unsupported("Subgraphs are nested too deeply (100 levels).");
  add_initializers(graph, scope);
  for (const proto::Node& node : graph.node()) import_node(node, scope);
  Items outputs;
  for (const proto::ValueInfo& output : graph.output()) {
    const Item* item = scope.find(output.name());
    if (!item)
      refuse_input(fmt::format("No node makes the output ({}) of the graph.", output.name()));
    outputs.push_back(*item);
  }
  return outputs;
}

void Importer::import_node(const proto::Node& node, Scope& scope) {
  if (++num_nodes_ > kMaxNodes)
    refuse_unsupported("The model has more than (1000000) nodes once functions are inlined.");
  std::string outside = scope.emitter->location();
  scope.emitter->set_location(name_of(node));
  try {
    Items results = run_node(node, scope);
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      auto k = static_cast<size_t>(i);
      if (k >= results.size() || (results[k].kind == Item::Kind::kTensor && !results[k].tensor))
        refuse_unsupported(fmt::format("Its output ({}, {}) is not supported.", i, node.output(i)));
      scope.items[node.output(i)] = std::move(results[k]);
    }
  } catch (Refusal& refusal) {
    if (refusal.error.where.empty()) {
      std::string domain = domain_of(node);
      auto opset = scope.opsets->find(domain);
      refusal.error.where = fmt::format("node {} ({}{}{}, opset {})", name_of(node), domain,
                                        domain.empty() ? "" : ".", node.op_type(),
                                        opset == scope.opsets->end() ? 1 : opset->second);
    }
    throw;
  }
  scope.emitter->set_location(outside);
}

Items Importer::run_node(const proto::Node& node, Scope& scope) {
  Call call;
  call.op = node.op_type();
  call.emitter = scope.emitter;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      call.inputs.emplace_back();
      continue;
    }
    const Item* item = scope.find(name);
    if (!item) refuse_input(fmt::format("Its input ({}) is made by no node before it.", name));
    call.inputs.push_back(*item);
  }
  call.attributes = read_attributes(node, scope);
  for (const std::string& name : node.output()) call.wanted.push_back(!name.empty());

  std::string domain = domain_of(node);
  auto function = functions_.find(function_key(domain, node.op_type(), node.overload()));
  if (function != functions_.end())
    return call_function(*function->second, call.inputs, call.attributes);
  auto opset = scope.opsets->find(domain);
  call.opset = opset == scope.opsets->end() ? 1 : opset->second;
  const OpRow* row = find_op_row(domain, node.op_type());
  if (!row)
    refuse_unsupported(
        "The operator is not supported; frontend/onnx/OPERATORS.md lists those that are. Replace "
        "it, or define it as a function of the model.");
  if (!row->function) refuse_unsupported(row->limits);
  NodeSurroundings around(*this, scope);
  call.around = &around;
  Items results = row->function(call);
  pass_bounds(call, &results);
  return results;
}

Items Importer::call_function(const proto::Function& function, const Items& inputs,
                              const AttributeValues& attributes) {
  struct Leave {
    size_t& depth;
    ~Leave() { --depth; }
  } leave{++depth_};
  if (depth_ > kMaxNesting) refuse_unsupported("Functions are nested too deeply (100 levels).");
  std::string key = function_key(function.domain(), function.name(), function.overload());
  AttributeValues arguments = attributes;
  for (const proto::Attribute& attribute : function.attribute_proto())
    if (!arguments.contains(attribute.name()))
      arguments[attribute.name()] = read_attribute(attribute);
  Opsets& opsets = function_opsets_[key];
  if (opsets.empty()) {
    opsets = opsets_;
    for (const proto::OperatorSet& set : function.opset_import())
      opsets[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
  }
  // Within a loop's body the call is in that region's graph: where its inputs are.
  Emitter* emitter = main_.get();
  for (const Item& item : inputs)
    if (item.tensor) emitter = &item.tensor.emitter();
  Scope scope{emitter, nullptr, &opsets, &arguments, {}};
  for (int i = 0; i < function.input_size(); ++i)
    scope.items[function.input(i)] =
        static_cast<size_t>(i) < inputs.size() ? inputs[static_cast<size_t>(i)] : Item();
  for (const proto::Node& node : function.node()) import_node(node, scope);
  Items outputs;
  for (const std::string& name : function.output()) {
    const Item* item = scope.find(name);
    if (!item) refuse_input(fmt::format("No node makes the output ({}) of the function.", name));
    outputs.push_back(*item);
  }
  return outputs;
}

AttributeValue Importer::read_attribute(const proto::Attribute& attribute) {
  AttributeValue value;
  value.f = static_cast<double>(attribute.f());
  value.i = attribute.i();
  value.s = attribute.s();
  value.ints.assign(attribute.ints().begin(), attribute.ints().end());
  value.floats.assign(attribute.floats().begin(), attribute.floats().end());
  value.strings.assign(attribute.strings().begin(), attribute.strings().end());
  auto take = [&](Result<Literal> literal) {
    if (!literal.ok()) refuse(literal.error().code, literal.error().message);
    value.tensor = std::move(*literal);
  };
  if (attribute.has_t()) take(data_.read(attribute.t()));
  if (attribute.has_sparse_tensor()) take(data_.read(attribute.sparse_tensor()));
  if (attribute.has_g()) value.graph = &attribute.g();
  return value;
}

AttributeValues Importer::read_attributes(const proto::Node& node, const Scope& scope) {
  AttributeValues values;
  for (const proto::Attribute& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      values[attribute.name()] = read_attribute(attribute);
      continue;
    }
    if (!scope.arguments)
      refuse_input(fmt::format("The attribute ({}) refers to a function's, but is in none.",
                               attribute.name()));
    auto found = scope.arguments->find(attribute.ref_attr_name());
    if (found != scope.arguments->end()) values[attribute.name()] = found->second;
  }
  return values;
}

std::optional<Literal> Importer::known(const Tensor& tensor) {
  return tensor.emitter().known(tensor.value(), [this, &tensor](uint32_t parameter) {
    return &tensor.emitter() == main_.get() ? ask_value(parameter) : nullptr;
  });
}

Importer::Importer(const proto::Model& model, const ModelBytes& bytes, const AskShapes& ask)
    : source_(model), bytes_(bytes), ask_(ask), data_(bytes.bytes, bytes.owner, bytes.path) {
  for (const proto::Function& function : model.functions())
    functions_[function_key(function.domain(), function.name(), function.overload())] = &function;
}

}  // namespace tuff::onnx

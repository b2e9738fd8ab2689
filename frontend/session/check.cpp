#include "frontend/session/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/evaluate/evaluate.h"
#include "ir/pass.h"

namespace tuff {

namespace {

using Literals = std::vector<Literal>;

bool all_within(const Literals& got, const Literals& expected, double tolerance) {
  for (size_t i = 0; i < got.size(); ++i)
    if (!compare_outputs(got[i], expected[i], tolerance).within) return false;
  return true;
}

// What a node computes, for a message: the members of a group, and where they
// stand in the source.
std::string describe_node(const Graph& graph, Value value) {
  const Node& node = graph.node(value);
  std::string ops, where = node.loc;
  if (is_settled(node.op)) {
    for (const Node& member : node.regions[0]->nodes()) {
      if (member.op == Op::kParameter || member.op == Op::kConstant) continue;
      ops += (ops.empty() ? "" : " ") + std::string(op_name(member.op));
      if (where.empty()) where = member.loc;
    }
  }
  return fmt::format("%{}{} = {}{} : {}{}", value.node,
                     value.result > 0 ? fmt::format("#{}", value.result) : "", op_name(node.op),
                     ops.empty() ? "" : " {" + ops + "}", graph.type(value).to_string(),
                     where.empty() ? "" : " at " + where);
}

// Runs the passes one by one; the result is the last graph, or a sentence that
// names the pass whose graph computes something else.
Result<std::string> find_bad_pass(const Session& session, const Graph& graph,
                                  const Literals& arguments, const Literals& expected,
                                  double tolerance, Graph* grouped) {
  PassContext context;
  context.caps = &session.device().caps();
  context.evaluate_node = evaluate_node;
  PassRunOptions options;
  options.disabled = session.options().disabled;
  options.disabled.erase("library_calls");
  std::string bad;
  Error trouble;
  bool failed = false;
  options.on_step = [&](const char* pass, const Graph&, const Graph& after, bool changed) {
    if (!changed || !bad.empty() || failed) return;
    Result<Literals> got = evaluate(after, arguments);
    if (!got.ok())
      failed = true, trouble = got.take_error();
    else if (!all_within(*got, expected, tolerance))
      bad = pass;
  };
  TUFF_ASSIGN(*grouped, run_passes(graph, context, options));
  if (failed) return trouble;
  return bad.empty()
             ? std::string()
             : fmt::format("The pass ({}) is the first whose graph computes something else.", bad);
}

// Every result of every operation, in node order.
std::vector<Value> all_results(const Graph& graph) {
  std::vector<Value> values;
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::kParameter || node.op == Op::kConstant) continue;
    for (uint32_t r = 0; r < node.types.size(); ++r) values.push_back({id, r});
  }
  return values;
}

}  // namespace

Result<CheckReport> check_outputs(const Graph& graph, const std::vector<Literal>& arguments,
                                  const std::vector<Literal>& outputs) {
  CheckReport check;
  check.tolerance = check_tolerance(graph);
  TUFF_ASSIGN(Literals expected, evaluate(graph, arguments));
  for (size_t i = 0; i < expected.size(); ++i) {
    check.outputs.push_back(compare_outputs(outputs[i], expected[i], check.tolerance));
    check.within = check.within && check.outputs.back().within;
  }
  return check;
}

Result<std::string> locate_difference(const Session& session, const Graph& graph,
                                      const std::vector<Literal>& arguments, double tolerance) {
  TUFF_ASSIGN(Literals expected, evaluate(graph, arguments));
  Graph probe;
  TUFF_ASSIGN(std::string bad_pass,
              find_bad_pass(session, graph, arguments, expected, tolerance, &probe));
  if (!bad_pass.empty()) return bad_pass;

  std::vector<Value> values = all_results(probe);
  probe.set_outputs(values);
  probe.donations.clear();
  TUFF_ASSIGN(Literals reference, evaluate(probe, arguments));
  if (session.options().hooks.check) TUFF_RETURN_IF_ERROR(session.options().hooks.check());
  TUFF_ASSIGN(LoadedModel model, session.load(probe));
  TUFF_RETURN_IF_ERROR(model.set_arguments(arguments));
  TUFF_RETURN_IF_ERROR(model.run(nullptr));
  TUFF_ASSIGN(Literals got, model.outputs());
  for (size_t i = 0; i < values.size(); ++i) {
    Difference d = compare_outputs(got[i], reference[i], tolerance);
    if (d.within) continue;
    return fmt::format(
        "The first node that differs is {} (max abs {:.3g}, max rel {:.3g}, element {}).",
        describe_node(probe, values[i]), d.max_abs, d.max_rel, d.at);
  }
  return std::string(
      "With every group's result as an output, all agree: the difference comes from reused memory "
      "or a missing barrier.");
}

}  // namespace tuff

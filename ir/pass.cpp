#include "ir/pass.h"

#include <fmt/format.h>

#include <chrono>

#include "ir/passes/canonicalize/canonicalize.h"
#include "ir/passes/decompose/decompose.h"
#include "ir/passes/drop_barriers.h"
#include "ir/passes/eliminate_dead.h"
#include "ir/passes/fold_constants.h"
#include "ir/passes/group/group.h"
#include "ir/passes/hoist_invariants.h"
#include "ir/passes/inline_composites.h"
#include "ir/passes/integer_sums.h"
#include "ir/passes/narrow_integers.h"
#include "ir/passes/order.h"
#include "ir/passes/order_effects.h"
#include "ir/passes/place.h"
#include "ir/passes/recognize.h"
#include "ir/passes/recompute.h"
#include "ir/passes/split_concatenates.h"
#include "ir/passes/tabulate_bytes.h"
#include "ir/passes/unroll.h"
#include "ir/verify.h"

namespace tuff {

namespace {

constexpr Pass kPasses[] = {
    {"order_effects", order_effects, false,
     "Gives effects tokens, so that they happen in the program's order."},
    {"eliminate_dead", eliminate_dead, true,
     "Drops nodes, loop carries and branch results that nobody reads."},
    {"inline_composites", inline_composites, false,
     "Opens composites that the source names: as their region, or as tuff knows them."},
    {"decompose", decompose, false,
     "Spells out ops that are a mix of others: batch_norm_*, fft, random bits, implicit "
     "broadcasts."},
    {"fold_constants", fold_constants, true,
     "Computes nodes whose operands are all constants, up to 1 MiB of result."},
    {"canonicalize", canonicalize, true,
     "Brings algebra, views, indexing and control flow into one simple form."},
    {"unroll", unroll, true, "Writes out counted loops of few rounds and operations."},
    {"recognize", recognize, true,
     "Finds erf where it was spelled out as polynomials, and powers that are products."},
    {"tabulate_bytes", tabulate_bytes, true,
     "Looks up what long elementwise work makes of one byte, and drops what gives it again, where "
     "contractions are library calls."},
    {"integer_sums", integer_sums, true,
     "Makes sums of integers of products of dequantised ones, where the device multiplies bytes."},
    {"drop_barriers", drop_barriers, false, "Replaces each optimization_barrier by its operands."},
    {"hoist_invariants", hoist_invariants, true,
     "Computes in front of a loop what each of its rounds would compute alike."},
    {"narrow_integers", narrow_integers, true,
     "Makes 64-bit integers in 32 bits where those hold them and nobody needs more."},
    {"place", place, false, "Gives the CPU what the device has no kernel for."},
    {"split_concatenates", split_concatenates, false,
     "Makes a concatenate of more operands than a kernel binds one of concatenates."},
    {"group", group, true, "Replaces nodes by fused nodes, each of which becomes one kernel."},
    {"isolate", isolate, false, "Makes each op that no group took a kernel of its own."},
    {"recompute", recompute, true,
     "Computes elementwise values again where they would be kept or fetched instead."},
    {"order", order, true, "Orders the groups so that temporaries need less memory."},
};

// The pipeline. A new pass is one row above and one here.
constexpr PassStep kOrder[] = {
    {"order_effects", "before any pass that moves nodes: from here on operands say the order"},
    {"eliminate_dead", "early: no later pass spends time on what nobody reads"},
    {"inline_composites", "before all that rewrites: no pass enters a fused node's region"},
    {"decompose", "before folding and simplifying: its expansions hold constants and broadcasts"},
    {"fold_constants",
     "before canonicalize: known indices and predicates decide slices and branches"},
    {"canonicalize",
     "before fold_constants' second turn: it brings constants into loops and takes branches"},
    {"unroll", "after canonicalize, which brings limits into conditions; before its second turn"},
    {"fold_constants", "after canonicalize: constants that met in a taken branch or a loop's body"},
    {"canonicalize", "after folding: what the new constants decide"},
    {"recognize", "after canonicalize: it looks for products by splats and constants on the right"},
    {"tabulate_bytes",
     "after recognize, which finds long work spelled out; before that is rounded"},
    {"integer_sums", "after canonicalize: it looks through what is left of views and converts"},
    {"drop_barriers", "after the passes they hold back, before they would keep groups apart"},
    {"narrow_integers", "after canonicalize: it looks through what is left of views and converts"},
    {"hoist_invariants", "after all that rewrites bodies; carries that only it reads go next"},
    {"eliminate_dead", "after all rewriting: dead nodes would count as users in grouping"},
    {"place", "before group: what has no kernel must not stand in one"},
    {"split_concatenates", "after canonicalize, which would make one of them again; before group"},
    {"group", "after everything that changes what is computed"},
    {"isolate", "after group: takes what group left, or all where group is disabled"},
    {"recompute", "after isolate: what a group must fetch is known once the groups are"},
    {"order", "last: what is kept in memory is known once the groups are"},
};

Error name_error(std::string_view what, const std::string& name,
                 std::span<const char* const> others) {
  std::string valid;
  for (const Pass& pass : kPasses)
    if (pass.optional) valid += fmt::format("{}{}", valid.empty() ? "" : ", ", pass.name);
  for (const char* other : others) valid += fmt::format(", {}", other);
  return {ErrorCode::kUsage, fmt::format("'{}' {}; the names are {}.", name, what, valid),
          "--disable"};
}

Status verify_after(const Graph& graph, const char* pass) {
  if (Status status = verify(graph); !status.ok()) {
    Error error = status.take_error();
    error.message =
        fmt::format("Pass {} made an invalid graph, a bug in tuff: {}", pass, error.message);
    error.code = ErrorCode::kRunFailed;
    return error;
  }
  return {};
}

}  // namespace

std::span<const Pass> pass_table() { return kPasses; }
std::span<const PassStep> pass_order() { return kOrder; }

const Pass* find_pass(std::string_view name) {
  for (const Pass& pass : kPasses)
    if (name == pass.name) return &pass;
  return nullptr;
}

Status check_disabled(const std::set<std::string>& disabled, std::span<const char* const> others) {
  for (const std::string& name : disabled) {
    bool other = false;
    for (const char* known : others) other |= name == known;
    if (other) continue;
    const Pass* pass = find_pass(name);
    if (!pass) return name_error("is no pass", name, others);
    if (!pass->optional) return name_error("cannot be disabled", name, others);
  }
  return {};
}

Result<Graph> run_pass(const Pass& pass, const Graph& before, const PassContext& context,
                       const PassRunOptions& options) {
  auto start = std::chrono::steady_clock::now();
  Result<Graph> after = pass.run(before, context);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (options.on_time) options.on_time(pass.name, seconds.count());
  if (!after.ok()) return after;
  if (options.verify_each) TUFF_RETURN_IF_ERROR(verify_after(*after, pass.name));
  if (options.on_step) options.on_step(pass.name, before, *after, !(before == *after));
  return after;
}

Result<Graph> run_passes(Graph graph, const PassContext& context, const PassRunOptions& options) {
  TUFF_RETURN_IF_ERROR(check_disabled(options.disabled, options.other_names));
  if (options.verify_each) TUFF_RETURN_IF_ERROR(verify(graph));
  for (const PassStep& step : kOrder) {
    if (options.disabled.count(step.pass)) continue;
    const Pass* pass = find_pass(step.pass);
    TUFF_CHECK(pass, std::string("pass_order names ") + step.pass);
    TUFF_ASSIGN(graph, run_pass(*pass, graph, context, options));
  }
  return graph;
}

}  // namespace tuff

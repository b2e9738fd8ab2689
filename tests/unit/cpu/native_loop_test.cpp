// Loops as native code give the bits that the interpreter gives, from whatever round on they are
// native, and run what has no native code at its place among them.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <new>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/cpu/native/code_memory.h"
#include "backend/cpu/native/loop_code.h"
#include "backend/executable.h"
#include "backend/host_callbacks.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

struct Ran {
  std::vector<std::vector<std::byte>> outputs;
  int64_t dispatches = 0;
  bool operator==(const Ran&) const = default;
};

// Twice: the second run begins with what the first has left.
Result<std::vector<Ran>> run(const Graph& graph, const std::vector<Literal>& arguments,
                             int64_t interpreted_rounds) {
  TUFF_ASSIGN(auto device, create_cpu_device({.interpreted_rounds = interpreted_rounds}));
  CompileOptions options;
  options.verify = true;
  TUFF_ASSIGN(auto program, compile(graph, device->caps(), options, nullptr));
  TUFF_ASSIGN(Executable executable, Executable::create(*device, program, {}));
  std::vector<Ran> runs(2);
  for (Ran& ran : runs) {
    for (uint32_t i = 0; i < arguments.size(); ++i)
      TUFF_RETURN_IF_ERROR(executable.set_argument(i, arguments[i]));
    RunStats stats;
    TUFF_RETURN_IF_ERROR(executable.run(&stats));
    ran.dispatches = stats.dispatches;
    for (uint32_t i = 0; i < program->outputs.size(); ++i) {
      TUFF_ASSIGN(Literal output, executable.output(i));
      ran.outputs.emplace_back(output.bytes(), output.bytes() + output.size_bytes());
    }
  }
  return runs;
}

// Waves around 0, different in each element.
Literal sample(const TensorType& type) {
  Literal values(type);
  for (int64_t i = 0; i < type.num_elements(); ++i)
    is_float(type.dtype) ? values.set_double(i, std::sin(0.7 * static_cast<double>(i) + 0.3))
                         : values.set_int(i, (i * 7919 + 13) % 101);
  return values;
}

struct Loop {
  const char* name;
  const char* text;
};
void PrintTo(const Loop& loop, std::ostream* out) { *out << loop.name; }

class NativeLoop : public testing::TestWithParam<Loop> {};

TEST_P(NativeLoop, GivesTheInterpretersBits) {
  Result<Graph> graph = parse_graph(GetParam().text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  std::vector<Literal> arguments;
  for (const Node& node : graph->nodes())
    if (node.op == Op::kParameter) arguments.push_back(sample(node.types[0]));
  auto expected = run(*graph, arguments, CpuDeviceOptions::kInterpreted);
  ASSERT_TRUE(expected.ok()) << expected.error().to_string();
  for (int64_t rounds : {0, 1, 5, 12, 13, 100}) {
    auto actual = run(*graph, arguments, rounds);
    ASSERT_TRUE(actual.ok()) << actual.error().to_string();
    EXPECT_EQ(*actual, *expected) << rounds;
  }
}

constexpr Loop kLoops[] = {
    {"Scalar", R"(graph main(%x: f32[]) {
  %z = constant i32[] 0
  %w:2 = while(%z, %x) : i32[], f32[] graph cond(%i: i32[], %a: f32[]) {
    %n = constant i32[] 37
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %f = convert(%i) : f32[]
    %s = sine(%f) : f32[]
    %t = add(%a, %s) : f32[]
    %u = tanh(%t) : f32[]
    return %j, %u
  }
  return %w, %w#1
})"},
    // A row a round; odd sizes.
    {"Rows", R"(graph main(%x: f32[13], %y: f32[13,13]) {
  %z = constant i32[] 0
  %w:3 = while(%z, %x, %y) : i32[], f32[13], f32[13,13] graph cond(%i: i32[], %a: f32[13], %b: f32[13,13]) {
    %n = constant i32[] 13
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[13], %b: f32[13,13]) {
    %o = constant i32[] 1
    %z = constant i32[] 0
    %j = add(%i, %o) : i32[]
    %r = dynamic_slice(%b, %i, %z) {slice_sizes = [1, 13]} : f32[1,13]
    %q = reshape(%r) : f32[13]
    %s = add(%a, %q) : f32[13]
    %e = exponential(%s) : f32[13]
    %l = logistic(%e) : f32[13]
    %m = reshape(%l) : f32[1,13]
    %u = dynamic_update_slice(%b, %m, %i, %z) : f32[13,13]
    return %j, %l, %u
  }
  return %w#1, %w#2
})"},
    {"OnData", R"(graph main(%x: f32[21]) {
  %w = while(%x) : f32[21] graph cond(%a: f32[21]) {
    %z = constant f32[] 0
    %b = abs(%a) : f32[21]
    %m = reduce(%b, %z) {dimensions = [0]} : f32[] graph (%p: f32[], %q: f32[]) {
      %r = maximum(%p, %q) : f32[]
      return %r
    }
    %t = constant f32[] 0.01
    %c = compare(%m, %t) {comparison_direction = "GT"} : i1[]
    return %c
  } graph body(%a: f32[21]) {
    %h = constant f32[] 0.75
    %b = broadcast_in_dim(%h) {broadcast_dimensions = []} : f32[21]
    %r = reverse(%a) {dimensions = [0]} : f32[21]
    %m = multiply(%r, %b) : f32[21]
    return %m
  }
  return %w
})"},
    // Branches and a product within a loop within a loop.
    {"Nested", R"(graph main(%x: f32[5,5]) {
  %z = constant i32[] 0
  %w:2 = while(%z, %x) : i32[], f32[5,5] graph cond(%i: i32[], %a: f32[5,5]) {
    %n = constant i32[] 14
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[5,5]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %t = constant i32[] 3
    %k = remainder(%i, %t) : i32[]
    %y = case(%k, %a) : f32[5,5] graph zero(%p: f32[5,5]) {
      %d = dot_general(%p, %p) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[5,5]
      %e = tanh(%d) : f32[5,5]
      return %e
    } graph one(%p: f32[5,5]) {
      %v:2 = while(%p, %p) : f32[5,5], f32[5,5] graph cond(%q: f32[5,5], %r: f32[5,5]) {
        %s = slice(%q) {start_indices = [0, 0], limit_indices = [1, 1], strides = [1, 1]} : f32[1,1]
        %h = reshape(%s) : f32[]
        %l = constant f32[] 2
        %c = compare(%h, %l) {comparison_direction = "LT"} : i1[]
        return %c
      } graph body(%q: f32[5,5], %r: f32[5,5]) {
        %e = exponential(%r) : f32[5,5]
        %s = add(%q, %e) : f32[5,5]
        %t = transpose(%r) {permutation = [1, 0]} : f32[5,5]
        return %s, %t
      }
      %c = cosine(%v) : f32[5,5]
      return %c
    } graph two(%p: f32[5,5]) {
      return %p
    }
    return %j, %y
  }
  return %w, %w#1
})"},
    // Bits, bools and divisions; two values that change places.
    {"Integers", R"(graph main(%x: ui32[19], %y: i32[19], %p: i1[19]) {
  %z = constant i32[] 0
  %w:4 = while(%z, %x, %y, %p) : i32[], ui32[19], i32[19], i1[19] graph cond(%i: i32[], %a: ui32[19], %b: i32[19], %m: i1[19]) {
    %n = constant i32[] 40
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: ui32[19], %b: i32[19], %m: i1[19]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %k = broadcast_in_dim(%j) {broadcast_dimensions = []} : i32[19]
    %u = convert(%b) : ui32[19]
    %v = convert(%a) : i32[19]
    %h = constant ui32[19] {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}
    %s = shift_right_logical(%a, %h) : ui32[19]
    %t = xor(%s, %u) : ui32[19]
    %q = multiply(%v, %k) : i32[19]
    %c = compare(%q, %b) {comparison_direction = "LT"} : i1[19]
    %d = and(%c, %m) : i1[19]
    %e = select(%c, %q, %b) : i32[19]
    %f = not(%d) : i1[19]
    return %j, %t, %e, %f
  }
  return %w, %w#1, %w#2, %w#3
})"},
    // One element, and rows, set and added to; some are outside.
    {"Updates", R"(graph main(%x: f32[23], %y: f32[9,5]) {
  %z = constant i32[] 0
  %w:3 = while(%z, %x, %y) : i32[], f32[23], f32[9,5] graph cond(%i: i32[], %a: f32[23], %b: f32[9,5]) {
    %n = constant i32[] 30
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[23], %b: f32[9,5]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %p = dynamic_slice(%a, %i) {slice_sizes = [1]} : f32[1]
    %q = reshape(%p) : f32[]
    %h = constant f32[] 0.5
    %m = multiply(%q, %h) : f32[]
    %s = sine(%m) : f32[]
    %t = reshape(%j) : i32[1]
    %u = scatter(%a, %t, %s) {index_vector_dim = 0, indices_are_sorted = 1, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], unique_indices = 1, update_window_dims = []} : f32[23] graph update(%d: f32[], %e: f32[]) {
      return %e
    }
    %k = constant i32[3] {1, 40, 8}
    %r = slice(%b) {start_indices = [2, 0], limit_indices = [5, 5], strides = [1, 1]} : f32[3,5]
    %f = scatter(%b, %k, %r) {index_vector_dim = 1, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], update_window_dims = [1]} : f32[9,5] graph update(%d: f32[], %e: f32[]) {
      %g = add(%d, %e) : f32[]
      return %g
    }
    return %j, %u, %f
  }
  return %w#1, %w#2
})"},
    // Small products whose sides, or results, lie by columns; a sum with what was carried.
    {"Products", R"(graph main(%x: f32[3,7], %y: f32[7,7], %v: f32[2,4,4]) {
  %z = constant i32[] 0
  %w:4 = while(%z, %x, %y, %v) : i32[], f32[3,7], f32[7,7], f32[2,4,4] graph cond(%i: i32[], %a: f32[3,7], %b: f32[7,7], %d: f32[2,4,4]) {
    %n = constant i32[] 15
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[3,7], %b: f32[7,7], %d: f32[2,4,4]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %p = dot_general(%a, %b) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[3,7]
    %q = add(%p, %a) : f32[3,7]
    %t = tanh(%q) : f32[3,7]
    %r = dot_general(%t, %t) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[7,7]
    %s = transpose(%r) {permutation = [1, 0]} : f32[7,7]
    %u = logistic(%s) : f32[7,7]
    %e = dot_general(%d, %d) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]} : f32[2,4,4]
    %f = tanh(%e) : f32[2,4,4]
    return %j, %t, %u, %f
  }
  return %w#1, %w#2, %w#3
})"},
    // Elements, parts and turned rows of what a kernel of the same round has stored.
    {"KnownRows", R"(graph main(%x: f32[7], %y: f32[16,3], %k: i32[5]) {
  %z = constant i32[] 0
  %w:4 = while(%z, %x, %y, %k) : i32[], f32[7], f32[16,3], i32[5] graph cond(%i: i32[], %a: f32[7], %b: f32[16,3], %k: i32[5]) {
    %n = constant i32[] 25
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[7], %b: f32[16,3], %k: i32[5]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %s = sine(%a) : f32[7]
    %e = slice(%s) {start_indices = [2], limit_indices = [3], strides = [1]} : f32[1]
    %f = slice(%s) {start_indices = [3], limit_indices = [6], strides = [1]} : f32[3]
    %g = slice(%s) {start_indices = [0], limit_indices = [6], strides = [2]} : f32[3]
    %h = multiply(%f, %g) : f32[3]
    %l = concatenate(%h, %e, %f) {dimension = 0} : f32[7]
    %r = reverse(%l) {dimensions = [0]} : f32[7]
    %t = cosine(%r) : f32[7]
    %q = broadcast_in_dim(%h) {broadcast_dimensions = [1]} : f32[16,3]
    %u = subtract(%b, %q) : f32[16,3]
    %v = slice(%u) {start_indices = [0, 1], limit_indices = [16, 2], strides = [1, 1]} : f32[16,1]
    %d = slice(%u) {start_indices = [0, 0], limit_indices = [16, 1], strides = [1, 1]} : f32[16,1]
    %m = sine(%v) : f32[16,1]
    %y = add(%m, %d) : f32[16,1]
    %b2 = concatenate(%y, %d, %m) {dimension = 1} : f32[16,3]
    %k2 = reverse(%k) {dimensions = [0]} : i32[5]
    %k3 = add(%k2, %k) : i32[5]
    %k4 = slice(%k3) {start_indices = [4], limit_indices = [5], strides = [1]} : i32[1]
    %k5 = slice(%k3) {start_indices = [0], limit_indices = [4], strides = [1]} : i32[4]
    %k6 = concatenate(%k4, %k5) {dimension = 0} : i32[5]
    return %j, %t, %b2, %k6
  }
  return %w#1, %w#2, %w#3
})"},
    // Types that have no native code, beside one that has.
    {"OtherTypes", R"(graph main(%x: f64[6], %y: f16[6], %v: f32[6]) {
  %z = constant i32[] 0
  %w:4 = while(%z, %x, %y, %v) : i32[], f64[6], f16[6], f32[6] graph cond(%i: i32[], %a: f64[6], %b: f16[6], %d: f32[6]) {
    %n = constant i32[] 25
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f64[6], %b: f16[6], %d: f32[6]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %s = cosine(%a) : f64[6]
    %c = convert(%s) : f16[6]
    %t = add(%b, %c) : f16[6]
    %e = sine(%d) : f32[6]
    return %j, %s, %t, %e
  }
  return %w#1, %w#2, %w#3
})"}};

INSTANTIATE_TEST_SUITE_P(Loops, NativeLoop, testing::ValuesIn(kLoops),
                         [](const auto& info) { return info.param.name; });

// What the ninth call of a callback in a loop does, and what comes of it.
Status run_until_ninth(const std::function<Status()>& ninth, int64_t& calls) {
  set_host_callbacks(HostCallbacks{
      [&](int64_t, std::span<const HostTensor>, std::span<const HostTensor>) -> Status {
        return ++calls == 9 ? ninth() : Status();
      },
      [](int64_t) { return true; }, [](int64_t) {}});
  TUFF_ASSIGN(Graph graph, parse_graph(R"(graph main(%x: f32[4]) {
  %z = constant i32[] 0
  %w:2 = while(%z, %x) : i32[], f32[4] graph cond(%i: i32[], %a: f32[4]) {
    %n = constant i32[] 30
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[4]) {
    %o = constant i32[] 1
    %j = add(%i, %o) : i32[]
    %b = add(%a, %a) : f32[4]
    %s = host_call(%b) {function = "callback", callback = 1, has_side_effect = 1} : f32[4]
    return %j, %s
  }
  return %w#1
})"));
  auto runs = run(graph, {sample({DType::kF32, {4}})}, 0);
  set_host_callbacks(std::nullopt);
  return runs.ok() ? Status() : runs.take_error();
}

// A callback has no native code; its error ends the loop and reaches the caller, and so does what
// it throws.
TEST(NativeLoops, AnErrorInTheMiddleEndsTheLoop) {
  int64_t calls = 0;
  Status status = run_until_ninth(
      [] {
        return Error{ErrorCode::kRunFailed, "The ninth call fails.", ""};
      },
      calls);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("ninth"), std::string::npos) << status.error().to_string();
  EXPECT_EQ(calls, 9);
  calls = 0;
  auto throwing = [&] {
    return run_until_ninth([]() -> Status { throw std::bad_alloc(); }, calls);
  };
  if (!cpu::native::has_native_code()) {
    EXPECT_THROW((void)throwing(), std::bad_alloc) << "the interpreter lets it through";
    set_host_callbacks(std::nullopt);
    return;
  }
  status = throwing();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(calls, 9);
}

// Where the system does not let a process write what it runs, loops are interpreted.
TEST(NativeLoops, ASystemThatRefusesCodeIsNoError) {
  Graph graph = std::move(parse_graph(kLoops[0].text)).value();
  std::vector<Literal> arguments{sample({DType::kF32, {}})};
  auto expected = run(graph, arguments, CpuDeviceOptions::kInterpreted);
  ASSERT_TRUE(expected.ok()) << expected.error().to_string();
  constexpr int kDenyWriteExecute = 65, kRefuseGain = 1, kSame = 0, kOther = 1, kNotRefused = 2;
  auto refused = [&] {
    if (prctl(kDenyWriteExecute, kRefuseGain, 0, 0, 0) != 0) std::exit(kNotRefused);
    std::vector<std::byte> code(16);
    if (!cpu::native::CodeMemory::holding(code).empty()) std::exit(kNotRefused);
    auto actual = run(graph, arguments, 0);
    std::exit(actual.ok() && *actual == *expected ? kSame : kOther);
  };
  EXPECT_EXIT(
      refused(), [](int status) { return WEXITSTATUS(status) != kOther; }, "");
}

TEST(NativeLoops, NoCodeNeedsNoMemory) {
  EXPECT_TRUE(cpu::native::CodeMemory::holding({}).empty());
}

}  // namespace
}  // namespace tuff

// Each kind of statement, lane extents, arrays, reductions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/cpu/run_kernel.h"

namespace tuff::test {
namespace {

std::vector<float> ramp(int64_t n, float scale = 1) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale * static_cast<float>(static_cast<int>(i * 7 % 31) - 15);
  return values;
}

std::string map_kernel(int64_t lanes) {
  return "kernel map lanes " + std::to_string(lanes) + R"( params 1 {
    buffer b0: f32 read
    buffer b1: f32 read
    buffer b2: f32 write
    grid %0 < p0 {
      lane %1 < )" +
         std::to_string(lanes) + R"( {
        %2 = i32 multiply %0, )" +
         std::to_string(lanes) + R"(
        %3 = i32 add %2, %1
        %4 = i1 lt %3, 1000
        %5 = f32 load b0[%3] if %4 else 0.0
        %6 = f32 load b1[%3] if %4 else 0.0
        %7 = f32 multiply %5, %6
        %8 = f32 add %7, 0.5
        store b2[%3] = %8 if %4
      }
    }
  })";
}

// 1000 elements: the last group is cut off by the guard, whatever the lane count.
TEST(CpuKernel, MapWithAnyLaneCount) {
  std::vector<float> a = ramp(1000), b = ramp(1000, 0.25f), expected(1000);
  for (size_t i = 0; i < 1000; ++i) expected[i] = a[i] * b[i] + 0.5f;
  for (int lanes : {1, 2, 7, 8, 64, 100, 256, 511, 512, 513, 1000, 1024, 2048}) {
    Buffers out = run(map_kernel(lanes), {(1000 + lanes - 1) / lanes},
                      {bytes_of(a), bytes_of(b), bytes_of(std::vector<float>(1000))});
    ASSERT_EQ(values_of<float>(out[2]), expected) << lanes;
  }
}

// The second word of each pair is guarded: only lane 0 has it.
TEST(CpuKernel, WordsAreTheirElements) {
  const char* text = R"(kernel words lanes 4 params 1 {
    buffer b0: f32 read words 2
    buffer b1: f32 write words 2
    grid {
      lane %0 < 4 {
        %1 = i1 lt %0, p0
        %2, %3 = load_word b0[%0]
        %4, %5 = load_word b0[%0] if %1
        %6 = f32 subtract %2, %3
        %7 = f32 add %4, %5
        %8 = f32 add %6, %7
        store_word b1[%0] = %8, %3
      }
    }
  })";
  std::vector<float> words{1, 2, 3, 5, 7, 11, 13, 17};
  Buffers out = run(text, {1}, {bytes_of(words), bytes_of(std::vector<float>(8))});
  EXPECT_EQ(values_of<float>(out[1]), (std::vector<float>{-1 + 3, 2, -2, 5, -4, 11, -4, 17}));
}

TEST(CpuKernel, LaneExtentBelowTheLanes) {
  const char* text = R"(kernel part lanes 600 params 1 {
    buffer b0: i32 write
    grid {
      lane %0 < p0 {
        %1 = i32 multiply %0, 3
        store b0[%0] = %1
      }
    }
  })";
  for (int extent : {0, 1, 2, 13, 511, 512, 513, 600}) {
    Buffers out = run(text, {extent}, {bytes_of(std::vector<int32_t>(600, -1))});
    std::vector<int32_t> expected(600, -1);
    for (int i = 0; i < extent; ++i) expected[static_cast<size_t>(i)] = 3 * i;
    ASSERT_EQ(values_of<int32_t>(out[0]), expected) << extent;
  }
}

// Steps until 1 is reached: n is halved when even, else 3n + 1.
TEST(CpuKernel, WhileRunsUntilItsRegisterIsFalse) {
  const char* text = R"(kernel loop lanes 1 params 0 {
    buffer b0: i32 read
    buffer b1: i32 write
    register r0: i32[1]
    register r1: i32[1]
    register r2: i1[1]
    grid {
      lane %0 < 1 {
        %1 = i32 load b0[0]
        %2 = i1 ne %1, 1
        write r0[0] = %1
        write r1[0] = 0
        write r2[0] = %2
        while r2 {
          %3 = i32 read r0[0]
          %4 = i32 read r1[0]
          %5 = i32 and %3, 1
          %6 = i1 eq %5, 0
          %7 = i32 index_div %3, 2
          %8 = i32 multiply %3, 3
          %9 = i32 add %8, 1
          %10 = i32 select %6, %7, %9
          %11 = i32 add %4, 1
          %12 = i1 ne %10, 1
          write r0[0] = %10
          write r1[0] = %11
          write r2[0] = %12
        }
        %13 = i32 read r1[0]
        store b1[0] = %13
      }
    }
  })";
  for (auto [n, steps] : {std::pair{1, 0}, {2, 1}, {6, 8}, {27, 111}, {97, 118}}) {
    Buffers out =
        run(text, {}, {bytes_of(std::vector<int32_t>{n}), bytes_of(std::vector<int32_t>{-1})});
    EXPECT_EQ(values_of<int32_t>(out[1])[0], steps) << n;
  }
}

TEST(CpuKernel, EmptyGridDoesNothing) {
  Buffers out = run(map_kernel(8), {0}, {bytes_of(ramp(8)), bytes_of(ramp(8)), bytes_of(ramp(8))});
  EXPECT_EQ(values_of<float>(out[2]), ramp(8));
}

// Register arrays: per lane, indexed by loops, written and read in turn.
TEST(CpuKernel, RegisterArrays) {
  const char* text = R"(kernel registers lanes 520 params 0 {
    buffer b0: f32 read
    buffer b1: f32 write
    register r0: f32[4]
    grid {
      lane %0 < 520 {
        unroll %1 < 4 {
          %2 = i32 multiply %1, 520
          %3 = i32 add %2, %0
          %4 = f32 load b0[%3]
          write r0[%1] = %4
        }
      }
      serial %5 < 3 {
        lane %6 < 520 {
          unroll %7 < 4 {
            %8 = f32 read r0[%7]
            %9 = f32 multiply %8, %8
            write r0[%7] = %9
          }
        }
      }
      lane %10 < 520 {
        serial %11 < 4 {
          %12 = i32 subtract 3, %11
          %13 = f32 read r0[%12]
          %14 = i32 multiply %11, 520
          %15 = i32 add %14, %10
          store b1[%15] = %13
        }
      }
    }
  })";
  std::vector<float> in = ramp(2080, 0.125f), expected(2080);
  for (size_t row = 0; row < 4; ++row)
    for (size_t lane = 0; lane < 520; ++lane) {
      float x = in[(3 - row) * 520 + lane];
      for (int i = 0; i < 3; ++i) x *= x;
      expected[row * 520 + lane] = x;
    }
  Buffers out = run(text, {}, {bytes_of(in), bytes_of(expected)});
  EXPECT_EQ(values_of<float>(out[1]), expected);
}

// The row index of a register array differs between lanes.
TEST(CpuKernel, RegisterArrayIndexedByLane) {
  const char* text = R"(kernel spread lanes 6 params 0 {
    buffer b0: i32 write
    register r0: i32[3]
    grid {
      lane %0 < 6 {
        unroll %1 < 3 {
          write r0[%1] = 0
        }
        %2 = i32 remainder %0, 3
        write r0[%2] = %0
        unroll %3 < 3 {
          %4 = i32 read r0[%3]
          %5 = i32 multiply %3, 6
          %6 = i32 add %5, %0
          store b0[%6] = %4
        }
      }
    }
  })";
  Buffers out = run(text, {}, {bytes_of(std::vector<int32_t>(18))});
  EXPECT_EQ(values_of<int32_t>(out[0]), (std::vector<int32_t>{0, 0, 0, 3, 0, 0,  //
                                                              0, 1, 0, 0, 4, 0,  //
                                                              0, 0, 2, 0, 0, 5}));
}

// A transposition through shared memory: written along rows, read along columns.
TEST(CpuKernel, SharedArrays) {
  const char* text = R"(kernel transpose lanes 64 params 0 {
    buffer b0: i32 read
    buffer b1: i32 write
    shared s0: i32[64]
    grid {
      lane %0 < 64 {
        %1 = i32 load b0[%0]
        write s0[%0] = %1
      }
      %2 = i32 read s0[9]
      lane %3 < 64 {
        %4 = i32 index_div %3, 8
        %5 = i32 remainder %3, 8
        %6 = i32 multiply %5, 8
        %7 = i32 add %6, %4
        %8 = i32 read s0[%7]
        %9 = i32 add %8, %2
        store b1[%3] = %9
      }
    }
  })";
  std::vector<int32_t> in(64), expected(64);
  std::iota(in.begin(), in.end(), 100);
  for (size_t i = 0; i < 64; ++i) expected[i] = in[i % 8 * 8 + i / 8] + in[9];
  Buffers out = run(text, {}, {bytes_of(in), bytes_of(in)});
  EXPECT_EQ(values_of<int32_t>(out[1]), expected);
}

std::string sum_kernel(int64_t lanes) {
  std::string n = std::to_string(lanes);
  return "kernel sum lanes " + n + R"( params 0 {
    buffer b0: f32 read
    buffer b1: f32 write
    register r0: f32[1]
    grid {
      lane %0 < )" +
         n + R"( {
        %1 = f32 load b0[%0]
        write r0[0] = %1
      }
      %2 = reduce_lanes r0 (%3, %4) {
        %5 = f32 add %3, %4
      } -> %5
      lane %6 < 1 {
        store b1[%6] = %2
      }
    }
  })";
}

TEST(CpuKernel, ReduceLanesOfAnyCount) {
  for (int lanes : {1, 2, 3, 7, 8, 100, 512, 513, 1023, 1500}) {
    std::vector<float> in = ramp(lanes);
    float sum = std::accumulate(in.begin(), in.end(), 0.0f);  // exact: small integers
    Buffers buffers{bytes_of(in), bytes_of(std::vector<float>(1))};
    Buffers out = run(sum_kernel(lanes), {}, buffers);
    ASSERT_EQ(values_of<float>(out[1])[0], sum) << lanes;
  }
}

// argmax: a pair of arrays, ties to the lower index; the arrays stay as they were.
TEST(CpuKernel, ReduceLanesOfPairs) {
  const char* text = R"(kernel argmax lanes 700 params 0 {
    buffer b0: f32 read
    buffer b1: f32 write
    buffer b2: i32 write
    buffer b3: f32 write
    register r0: f32[1]
    register r1: i32[1]
    grid {
      lane %0 < 700 {
        %1 = f32 load b0[%0]
        write r0[0] = %1
        write r1[0] = %0
      }
      %2, %3 = reduce_lanes r0, r1 (%4, %5), (%6, %7) {
        %8 = i1 gt %4, %5
        %9 = i1 eq %4, %5
        %10 = i1 lt %6, %7
        %11 = i1 and %9, %10
        %12 = i1 or %8, %11
        %13 = f32 select %12, %4, %5
        %14 = i32 select %12, %6, %7
      } -> %13, %14
      lane %15 < 700 {
        %16 = f32 read r0[0]
        store b3[%15] = %16
      }
      lane %17 < 1 {
        store b1[%17] = %2
        store b2[%17] = %3
      }
    }
  })";
  std::vector<float> in = ramp(700);
  Buffers out = run(text, {},
                    {bytes_of(in), bytes_of(std::vector<float>(1)),
                     bytes_of(std::vector<int32_t>(1)), bytes_of(in)});
  auto best = std::max_element(in.begin(), in.end());
  EXPECT_EQ(values_of<float>(out[1])[0], *best);
  EXPECT_EQ(values_of<int32_t>(out[2])[0], best - in.begin());
  EXPECT_EQ(values_of<float>(out[3]), in);
}

// Outputs that are inputs, crosswise: both sides are read before either is kept.
TEST(CpuKernel, ReduceLanesKeepsOneSide) {
  const char* text = R"(kernel swap lanes 8 params 0 {
    buffer b0: i32 write
    register r0: i32[1]
    register r1: i32[1]
    grid {
      lane %0 < 8 {
        write r0[0] = %0
        %1 = i32 add %0, 100
        write r1[0] = %1
      }
      %2, %3 = reduce_lanes r0, r1 (%4, %5), (%6, %7) {
      } -> %7, %5
      lane %8 < 1 {
        store b0[0] = %2
        store b0[1] = %3
      }
    }
  })";
  // Levels: (i, i+4) -> (104+i, 4+i); then (.., 2 apart) -> (6+i, 106+i); then (107, 7).
  Buffers out = run(text, {}, {bytes_of(std::vector<int32_t>(2))});
  EXPECT_EQ(values_of<int32_t>(out[0]), (std::vector<int32_t>{107, 7}));
}

// 8 x 4 results per lane in registers, rows of A uniform, columns of B contiguous;
// m, n, k are no multiples of anything.
TEST(CpuKernel, MatmulWithRegisterTile) {
  const char* text = R"(kernel matmul lanes 16 params 3 {
    buffer b0: f32 read
    buffer b1: f32 read
    buffer b2: f32 write
    register r0: f32[32]
    grid %0 < 3, %1 < 2 {
      %2 = i32 multiply %0, 8
      %3 = i32 multiply %1, 64
      lane %4 < 16 {
        unroll %5 < 32 {
          write r0[%5] = 0.0
        }
      }
      serial %6 < p2 {
        lane %7 < 16 {
          unroll %8 < 8 {
            %9 = i32 add %2, %8
            %10 = i1 lt %9, p0
            %11 = i32 multiply %9, p2
            %12 = i32 add %11, %6
            %13 = f32 load b0[%12] if %10 else 0.0
            unroll %14 < 4 {
              %15 = i32 multiply %14, 16
              %16 = i32 add %15, %7
              %17 = i32 add %16, %3
              %18 = i1 lt %17, p1
              %19 = i32 multiply %6, p1
              %20 = i32 add %19, %17
              %21 = f32 load b1[%20] if %18 else 0.0
              %22 = i32 multiply %8, 4
              %23 = i32 add %22, %14
              %24 = f32 read r0[%23]
              %25 = f32 fma %13, %21, %24
              write r0[%23] = %25
            }
          }
        }
      }
      lane %26 < 16 {
        unroll %27 < 8 {
          unroll %28 < 4 {
            %29 = i32 multiply %27, 4
            %30 = i32 add %29, %28
            %31 = f32 read r0[%30]
            %32 = i32 multiply %28, 16
            %33 = i32 add %32, %26
            %34 = i32 add %33, %3
            %35 = i32 add %2, %27
            %36 = i1 lt %35, p0
            %37 = i1 lt %34, p1
            %38 = i1 and %36, %37
            %39 = i32 multiply %35, p1
            %40 = i32 add %39, %34
            store b2[%40] = %31 if %38
          }
        }
      }
    }
  })";
  const int m = 19, n = 101, k = 37;
  std::vector<float> a = ramp(m * k), b = ramp(k * n), c(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        c[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
  Buffers out =
      run(text, {m, n, k}, {bytes_of(a), bytes_of(b), bytes_of(std::vector<float>(m * n))});
  EXPECT_EQ(values_of<float>(out[2]), c);
}

// A loop whose length differs between lanes: lane l sums 0 .. l - 1.
TEST(CpuKernel, SerialLoopWithAnExtentPerLane) {
  const char* text = R"(kernel triangle lanes 20 params 0 {
    buffer b0: i32 write
    register r0: i32[1]
    grid {
      lane %0 < 20 {
        write r0[0] = 0
        serial %1 < %0 {
          %2 = i32 read r0[0]
          %3 = i32 add %2, %1
          write r0[0] = %3
        }
        %4 = i32 read r0[0]
        store b0[%0] = %4
      }
    }
  })";
  std::vector<int32_t> expected(20);
  for (int i = 0; i < 20; ++i) expected[static_cast<size_t>(i)] = i * (i - 1) / 2;
  Buffers out = run(text, {}, {bytes_of(std::vector<int32_t>(20))});
  EXPECT_EQ(values_of<int32_t>(out[0]), expected);
}

// In place, and the loaded value is used again after the store.
TEST(CpuKernel, ValuesLoadedBeforeAStoreKeep) {
  const char* text = R"(kernel twice lanes 64 params 0 {
    buffer b0: f32 readwrite
    buffer b1: f32 write
    grid {
      lane %0 < 64 {
        %1 = f32 load b0[%0]
        %2 = f32 add %1, 1.0
        store b0[%0] = %2
        %3 = f32 multiply %1, 2.0
        store b1[%0] = %3
      }
    }
  })";
  std::vector<float> in = ramp(64), plus = in, twice = in;
  for (float& x : plus) x += 1;
  for (float& x : twice) x *= 2;
  Buffers out = run(text, {}, {bytes_of(in), bytes_of(in)});
  EXPECT_EQ(values_of<float>(out[0]), plus);
  EXPECT_EQ(values_of<float>(out[1]), twice);
}

TEST(CpuKernel, IndexOutOfRangeIsReported) {
  const char* text = R"(kernel bad lanes 8 params 1 {
    buffer b0: f32 write
    grid %0 < 4 {
      lane %1 < 8 {
        %2 = i32 add %1, p0
        store b0[%2] = 1.0
      }
    }
  })";
  Kernel kernel = parse(text);
  for (int offset : {-1, 1}) {
    Buffers buffers{bytes_of(std::vector<float>(8))};
    Status status = run_at(cpu::best_isa_level(), kernel, {offset}, buffers);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kRunFailed);
    EXPECT_NE(status.error().message.find("b0"), std::string::npos) << status.error().message;
  }
}

// Enough points for the threads to share; the result may not depend on how.
TEST(CpuKernel, TwoRunsAreBitIdentical) {
  std::vector<float> a = ramp(1000, 0.1f), b = ramp(1000, 0.3f);
  Buffers buffers{bytes_of(a), bytes_of(b), bytes_of(a)};
  Buffers first = run(map_kernel(1), {1000}, buffers);
  EXPECT_EQ(run(map_kernel(1), {1000}, buffers), first);
  EXPECT_EQ(run(map_kernel(512), {2}, buffers), first);
}

// One kernel has the most slots, another the most memory: each has room for its own.
TEST(KernelScratch, HoldsTheMostOfEachKind) {
  cpu::KernelProgram slots, memory;
  slots.slots.resize(1000);
  memory.scratch_bytes = 100'000;
  cpu::KernelScratch scratch;
  ASSERT_TRUE(scratch.reserve(memory).ok());
  ASSERT_TRUE(scratch.reserve(slots).ok());
  ASSERT_TRUE(scratch.reserve(memory).ok());
  EXPECT_GE(scratch.thread(0) - scratch.slots(0),
            static_cast<ptrdiff_t>(cpu::LaneInterpreter::slot_bytes(slots)));
  if (scratch.threads() > 1) {
    EXPECT_GE(scratch.slots(1) - scratch.thread(0), 100'000);
  }
}

}  // namespace
}  // namespace tuff::test

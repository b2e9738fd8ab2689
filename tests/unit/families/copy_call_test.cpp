// Maps of views alone as a copy against the evaluator, and when they become one.
#include <gtest/gtest.h>

#include "backend/device.h"
#include "tests/models/run_model.h"
#include "tests/unit/cpu/lowers_to.h"
#include "tests/unit/families/contractions.h"

namespace tuff::test {
namespace {

std::string graph_of(const std::string& parameters, const std::string& body) {
  return "graph copy(" + parameters + ") {\n" + body + "  return %r\n}\n";
}

// Two values' columns in turn, as channels are shuffled, and a part of the result.
std::string shuffled(const std::string& type, const std::string& first, const std::string& last) {
  return graph_of("%a: " + type + "[41,9,30], %b: " + type + "[41,9,30]",
                  "  %c = concatenate(%a, %b) {dimension = 2} : " + type +
                      "[41,9,60]\n  %s = reshape(%c) : " + type +
                      "[41,9,2,30]\n  %t = transpose(%s) {permutation = [0, 1, 3, 2]} : " + type +
                      "[41,9,30,2]\n  %u = reshape(%t) : " + type +
                      "[41,9,60]\n  %r = slice(%u) {start_indices = [0, 0, " + first +
                      "], limit_indices = [41, 9, " + last + "], strides = [1, 1, 1]} : " + type +
                      "[41,9," + std::to_string(std::stoi(last) - std::stoi(first)) + "]\n");
}

TEST(CpuCopy, AgreesWithEvaluator) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  const std::string texts[] = {
      graph_of("%a: f32[70,64], %b: f32[70,31], %c: f32[70,33]",
               "  %r = concatenate(%a, %b, %c) {dimension = 1} : f32[70,128]\n"),
      // Pieces of one element and of none; large enough for threads.
      graph_of("%a: f32[300,1], %b: f32[300,0], %c: f32[300,150]",
               "  %r = concatenate(%a, %b, %c) {dimension = 1} : f32[300,151]\n"),
      graph_of("%a: f32[90,64], %b: f32[64,50]",
               "  %t = transpose(%a) {permutation = [1, 0]} : f32[64,90]\n"
               "  %c = concatenate(%t, %b) {dimension = 1} : f32[64,140]\n"
               "  %r = transpose(%c) {permutation = [1, 0]} : f32[140,64]\n"),
      shuffled("f32", "0", "60"), shuffled("f32", "30", "60"), shuffled("f32", "29", "59"),
      shuffled("i8", "1", "60"), shuffled("f64", "0", "43"), shuffled("bf16", "7", "53"),
      // Values in front, behind and in between; elements in reverse and every third one.
      graph_of("%a: f32[33,41]",
               "  %z = constant f32[] 0.25\n"
               "  %r = pad(%a, %z) {edge_padding_low = [3, 1], edge_padding_high = [2, 7], "
               "interior_padding = [1, 2]} : f32[70,129]\n"),
      graph_of("%a: f32[33,130], %b: f32[70,130]",
               "  %v = reverse(%a) {dimensions = [0, 1]} : f32[33,130]\n"
               "  %s = slice(%b) {start_indices = [1, 0], limit_indices = [70, 130], strides = [3, "
               "1]} : f32[23,130]\n"
               "  %w = broadcast_in_dim(%s) {broadcast_dimensions = [0, 1]} : f32[23,130]\n"
               "  %r = concatenate(%v, %w, %v) {dimension = 0} : f32[89,130]\n"),
      // Columns beside each other, longer than what is written at a time.
      graph_of("%a: f32[9001,1], %b: f32[9001,1], %c: f32[9001,1]",
               "  %r = concatenate(%a, %b, %c) {dimension = 1} : f32[9001,3]\n"),
      // Two in turns, as complex numbers have their parts; from the middle of one.
      graph_of("%a: f32[9001,1], %b: f32[9001,1]",
               "  %r = concatenate(%a, %b) {dimension = 1} : f32[9001,2]\n"),
      graph_of("%a: f64[40,130,1], %b: f64[41,130,1]",
               "  %c = slice(%b) {start_indices = [1, 0, 0], limit_indices = [41, 130, 1], strides "
               "= [1, 1, 1]} : f64[40,130,1]\n"
               "  %r = concatenate(%a, %c) {dimension = 2} : f64[40,130,2]\n"),
      graph_of("%a: i8[300,60,1], %b: i8[300,60,1]",
               "  %r = concatenate(%a, %b) {dimension = 2} : i8[300,60,2]\n"),
      // A concatenate in front of another.
      graph_of("%a: f32[80,20], %b: f32[80,30], %c: f32[50,80]",
               "  %d = concatenate(%a, %b) {dimension = 1} : f32[80,50]\n"
               "  %t = transpose(%d) {permutation = [1, 0]} : f32[50,80]\n"
               "  %r = concatenate(%t, %c, %t) {dimension = 0} : f32[150,80]\n")};
  for (const std::string& text : texts) {
    EXPECT_TRUE(lowers_to<CopyCall>(text)) << text;
    expect_agreement(text, **device, (*device)->caps());
  }
}

std::string transposed(const std::string& type, int64_t rows, int64_t columns,
                       const std::string& work = "") {
  std::string shape = std::to_string(columns) + "," + std::to_string(rows) + "]\n";
  return graph_of("%a: " + type + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]",
                  (work.empty() ? "  %r" : "  %t") +
                      (" = transpose(%a) {permutation = [1, 0]} : " + type + "[" + shape) +
                      (work.empty() ? "" : "  %r = " + work + "[" + shape));
}

TEST(CpuCopy, Transposes) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  for (const char* type : {"f32", "i8", "bf16", "f64", "i32", "i1"})
    for (auto [rows, columns] : {std::pair(128, 130), {1000, 9}, {9, 1000}, {777, 65}}) {
      const std::string text = transposed(type, rows, columns);
      EXPECT_TRUE(lowers_to<CopyCall>(text)) << text;
      expect_agreement(text, **device, (*device)->caps());
    }
  // Mirrored in either dimension, as a quarter turn is.
  for (const char* dimension : {"0", "1", "0, 1"}) {
    const std::string turned =
        graph_of("%a: bf16[131,200]",
                 "  %t = transpose(%a) {permutation = [1, 0]} : bf16[200,131]\n"
                 "  %r = reverse(%t) {dimensions = [" +
                     std::string(dimension) + "]} : bf16[200,131]\n");
    EXPECT_TRUE(lowers_to<CopyCall>(turned)) << turned;
    expect_agreement(turned, **device, (*device)->caps());
  }
  const std::string batch =
      graph_of("%a: f32[5,33,47,16]",
               "  %r = transpose(%a) {permutation = [0, 3, 2, 1]} : f32[5,16,47,33]\n");
  EXPECT_TRUE(lowers_to<CopyCall>(batch));
  expect_agreement(batch, **device, (*device)->caps());
}

// The copy comes first, the work in place where the types allow it.
TEST(CpuCopy, TransposesForMaps) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  const std::string texts[] = {
      transposed("f32", 200, 130, "negate(%t) : f32"), transposed("i8", 130, 99, "abs(%t) : i8"),
      transposed("f32", 99, 130, "convert(%t) : bf16"),
      transposed("bf16", 99, 130, "convert(%t) : f32"),
      // A quarter turn.
      graph_of("%a: f32[131,200]",
               "  %v = reverse(%a) {dimensions = [1]} : f32[131,200]\n"
               "  %t = transpose(%v) {permutation = [1, 0]} : f32[200,131]\n"
               "  %r = negate(%t) : f32[200,131]\n"),
      // Beside what lies as the result does, and beside another transposition.
      graph_of("%a: f32[130,90], %b: f32[90,130], %c: f32[130,90]",
               "  %t = transpose(%a) {permutation = [1, 0]} : f32[90,130]\n"
               "  %u = transpose(%c) {permutation = [1, 0]} : f32[90,130]\n"
               "  %s = subtract(%t, %b) : f32[90,130]\n"
               "  %r = multiply(%s, %u) : f32[90,130]\n")};
  for (const std::string& text : texts) {
    EXPECT_TRUE(lowers_to<CopyCall>(text, 2)) << text;
    expect_agreement(text, **device, (*device)->caps());
  }
  // Read twice, the second time one row of it alone.
  const std::string twice =
      graph_of("%a: f32[130,130]",
               "  %t = transpose(%a) {permutation = [1, 0]} : f32[130,130]\n"
               "  %s = slice(%t) {start_indices = [0, 0], limit_indices = [1, 130], strides = [1, "
               "1]} : f32[1,130]\n"
               "  %v = broadcast_in_dim(%s) {broadcast_dimensions = [0, 1]} : f32[130,130]\n"
               "  %r = subtract(%t, %v) : f32[130,130]\n");
  EXPECT_FALSE(lowers_to<CopyCall>(twice, 2));
  expect_agreement(twice, **device, (*device)->caps());
}

TEST(CpuCopy, WhatIsNoCall) {
  // Small; few channels; work; too many pieces; elements that come a few times.
  EXPECT_FALSE(lowers_to<CopyCall>(graph_of(
      "%a: f32[8,8], %b: f32[8,8]", "  %r = concatenate(%a, %b) {dimension = 1} : f32[8,16]\n")));
  EXPECT_FALSE(lowers_to<CopyCall>(graph_of(
      "%a: f32[12800,3]", "  %r = transpose(%a) {permutation = [1, 0]} : f32[3,12800]\n")));
  EXPECT_FALSE(
      lowers_to<CopyCall>(graph_of("%a: f32[90,64], %b: f32[90,64]",
                                   "  %c = concatenate(%a, %b) {dimension = 1} : f32[90,128]\n"
                                   "  %r = negate(%c) : f32[90,128]\n")));
  EXPECT_FALSE(lowers_to<CopyCall>(graph_of("%a: f32[101,103]",
                                            "  %t = transpose(%a) {permutation = [1, 0]} : "
                                            "f32[103,101]\n  %r = reshape(%t) : f32[101,103]\n")));
  EXPECT_FALSE(lowers_to<CopyCall>(
      graph_of("%a: f32[4096]",
               "  %b = broadcast_in_dim(%a) {broadcast_dimensions = [0]} : f32[4096,5]\n"
               "  %r = reshape(%b) : f32[20480]\n")));
}

}  // namespace
}  // namespace tuff::test

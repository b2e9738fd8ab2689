// Where a device's program is cut, and which exchanges go on beside what is computed.
#include "ir/spmd/segments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ir/spmd/collective.h"

namespace tuff {
namespace {

// 64 bytes, of which two devices send all in an all_reduce and in a permute.
const TensorType kType{DType::kF32, {16}};

class Builder {
 public:
  Value argument(const char* name) { return part_.add_parameter(kType, name); }
  Value unary(Op op, Value v) { return add_op(part_, op, {v}, kType); }
  Value add(Value a, Value b) { return add_op(part_, Op::kAdd, {a, b}, kType); }
  Value all_reduce(Value v) {
    Node node = make_spmd_node(SpmdOp::kAllReduce, groups(), "");
    Graph sum;
    Value a = sum.add_parameter({DType::kF32, {}}), b = sum.add_parameter({DType::kF32, {}});
    sum.set_outputs({add_op(sum, Op::kAdd, {a, b}, {DType::kF32, {}})});
    node.regions = {std::make_shared<const Graph>(std::move(sum))};
    return exchange(std::move(node), v);
  }
  Value permute(Value v) {
    CustomCallAttrs attrs;
    attrs.source_target_pairs = {0, 1, 1, 0};
    return exchange(make_spmd_node(SpmdOp::kCollectivePermute, attrs, ""), v);
  }
  SegmentedProgram cut(std::vector<Value> outputs, int64_t batch_bytes) {
    part_.set_outputs(std::move(outputs));
    return cut_into_segments(part_, batch_bytes);
  }

 private:
  static CustomCallAttrs groups() {
    CustomCallAttrs attrs;
    attrs.replica_groups = {0, 1};
    attrs.group_size = 2;
    return attrs;
  }
  Value exchange(Node node, Value v) {
    node.operands = {v};
    node.types = {kType};
    return part_.add(std::move(node));
  }

  Graph part_;
};

// "sine cosine / 2" is a segment of these operations, after which two exchanges begin.
std::string text_of(const SegmentedProgram& program) {
  std::vector<std::string> texts;
  for (const Segment& segment : program.segments) {
    std::vector<std::string> words;
    for (const Node& node : segment.graph.nodes())
      if (node.op != Op::kParameter) words.emplace_back(op_name(node.op));
    if (!segment.exchanges.empty()) words.push_back(fmt::format("/ {}", segment.exchanges.size()));
    texts.push_back(fmt::format("{}", fmt::join(words, " ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

// Two gradients, the second made of the first's value; two updates, and what both read.
SegmentedProgram training(int64_t batch_bytes) {
  Builder b;
  Value w1 = b.argument("w1"), w2 = b.argument("w2");
  Value first = b.unary(Op::kSine, w1);
  Value sum1 = b.all_reduce(first);
  Value sum2 = b.all_reduce(b.unary(Op::kCosine, first));
  Value update1 = b.unary(Op::kNegate, sum1);
  Value update2 = b.unary(Op::kAbs, sum2);
  return b.cut({update1, update2, b.add(update1, w2)}, batch_bytes);
}

TEST(Segments, ExchangesOfFewBytesAreMadeTogether) {
  EXPECT_EQ(text_of(training(kBatchBytes)), "sine cosine / 2; negate abs add");
}

TEST(Segments, BatchesBeginAsSoonAsTheirOperandsAreThere) {
  SegmentedProgram program = training(64);
  EXPECT_EQ(text_of(program), "sine / 1; cosine / 1; negate add; abs");
  EXPECT_EQ(program.exchanged_bytes(), 2 * 64);
}

TEST(Segments, WhatNoExchangeNeedsRunsAfterTheyHaveBegun) {
  Builder b;
  Value x = b.argument("x");
  Value beside = b.unary(Op::kSine, x);
  Value sum = b.all_reduce(b.unary(Op::kCosine, x));
  EXPECT_EQ(text_of(b.cut({b.add(sum, beside)}, 64)), "cosine / 1; sine; add");
}

TEST(Segments, ArgumentsAreExchangedInTheOrderOfTheirReaders) {
  Builder b;
  Value w1 = b.argument("w1"), w2 = b.argument("w2");
  Value second = b.permute(w2), first = b.permute(w1);
  Value x = b.unary(Op::kSine, first);
  SegmentedProgram program = b.cut({b.add(x, b.unary(Op::kCosine, second))}, 64);
  EXPECT_EQ(text_of(program), "/ 1; / 1; sine; cosine add");
  EXPECT_EQ(program.segments[0].exchanges[0].operand, 0u);
  EXPECT_EQ(program.segments[1].exchanges[0].operand, 1u);
}

TEST(Segments, ArgumentsAreExchangedALittleBeforeTheyAreRead) {
  Builder b;
  std::vector<Value> weights;
  for (const char* name : {"w0", "w1", "w2", "w3", "w4"}) weights.push_back(b.argument(name));
  for (Value& weight : weights) weight = b.permute(weight);
  Value x = b.unary(Op::kSine, weights[0]);
  for (size_t i = 1; i < weights.size(); ++i) x = b.add(x, weights[i]);
  SegmentedProgram program = b.cut({x}, 64);
  EXPECT_EQ(text_of(program), "/ 1; / 1; / 1; sine; / 1; add; / 1; add; add; add");
  EXPECT_EQ(text_of(b.cut({x}, kBatchBytes)), "/ 5; sine add add add add");
}

TEST(Segments, AnExchangeOfAnExchangeWaitsForIt) {
  Builder b;
  Value x = b.argument("x");
  Value twice = b.permute(b.permute(x));
  SegmentedProgram program = b.cut({b.unary(Op::kSine, twice)}, 64);
  EXPECT_EQ(text_of(program), "/ 1; / 1; sine");
  EXPECT_EQ(program.segments[1].exchanges[0].operand, program.segments[0].exchanges[0].result);
}

TEST(Segments, AreFewThoughExchangesAreMany) {
  Builder b;
  Value x = b.argument("x");
  std::vector<Value> sums;
  for (int i = 0; i < 100; ++i) sums.push_back(b.all_reduce(x = b.unary(Op::kSine, x)));
  SegmentedProgram program = b.cut(sums, 64);
  EXPECT_EQ(program.num_collectives(), 100);
  EXPECT_LE(program.segments.size(), 10u);
}

TEST(Segments, TellWhoMakesAndWhoReadsLast) {
  SegmentedProgram program = training(64);
  std::vector<std::optional<size_t>> made_by = program.exchanged_by();
  std::vector<size_t> last = program.last_uses();
  for (size_t at : {0u, 1u}) {
    const Exchange& exchange = program.segments[at].exchanges[0];
    EXPECT_EQ(made_by[exchange.result], at);
    EXPECT_FALSE(made_by[exchange.operand]);
    EXPECT_EQ(last[exchange.result], at + 2);
  }
}

}  // namespace
}  // namespace tuff

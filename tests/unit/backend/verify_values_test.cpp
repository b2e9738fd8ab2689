// Seeded faults in where values lie: each is found.
#include "backend/verify/verify_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBytes = 256;

Slot slot(const std::string& owner, std::optional<Range> fixed = std::nullopt) {
  return {kBytes, false, fixed, owner};
}

Range at(int64_t offset) { return {Range::Space::kArena, 0, offset, kBytes}; }
Range argument(uint32_t i) { return {Range::Space::kArgument, i, 0, kBytes}; }
Range output(uint32_t i) { return {Range::Space::kOutput, i, 0, kBytes}; }

Instr copy(uint32_t from, uint32_t to) {
  Instr instr;
  instr.kind = Instr::Kind::kCopy;
  instr.operands = instr.reads = {from};
  instr.results = instr.writes = {to};
  return instr;
}

// Two arguments (0, 1) go over two temporaries (2, 3) to two outputs (4, 5).
SlotProgram two_temporaries() {
  SlotProgram program;
  program.slots = {slot("x", argument(0)), slot("y", argument(1)), slot("a"), slot("b"),
                   slot("u", output(0)),   slot("v", output(1))};
  program.code = {copy(0, 2), copy(1, 3), copy(2, 4), copy(3, 5)};
  return program;
}

std::string fault(const SlotProgram& program, const std::vector<Range>& places,
                  const std::vector<Donation>& donations = {}) {
  Status status = verify_values(program, places, donations);
  return status.ok() ? "" : status.error().to_string();
}

std::vector<Range> places_of(const SlotProgram& program, const std::vector<int64_t>& offsets) {
  std::vector<Range> places;
  size_t next = 0;
  for (const Slot& s : program.slots) places.push_back(s.fixed ? *s.fixed : at(offsets[next++]));
  return places;
}

TEST(VerifyValues, FindsNoFaultWhereValuesLieApart) {
  SlotProgram program = two_temporaries();
  EXPECT_EQ(fault(program, places_of(program, {0, kBytes})), "");
}

TEST(VerifyValues, FindsAValueThatAnotherOneOverlaps) {
  SlotProgram program = two_temporaries();
  EXPECT_THAT(fault(program, places_of(program, {0, kBytes / 2})),
              HasSubstr("value 2 (a) is overwritten by value 3 (b)"));
}

// What a lifetime that ends too early comes to.
TEST(VerifyValues, FindsAValueWhosePlaceIsTakenTooEarly) {
  SlotProgram program = two_temporaries();
  EXPECT_THAT(fault(program, places_of(program, {0, 0})),
              HasSubstr("value 2 (a) is overwritten by value 3 (b)"));
}

TEST(VerifyValues, LetsAPlaceBeTakenAfterTheLastRead) {
  SlotProgram program = two_temporaries();
  program.code = {copy(0, 2), copy(2, 4), copy(1, 3), copy(3, 5)};
  EXPECT_EQ(fault(program, places_of(program, {0, 0})), "");
}

TEST(VerifyValues, FindsAReadBeforeTheWrite) {
  SlotProgram program = two_temporaries();
  program.code = {copy(0, 2), copy(2, 4), copy(3, 5)};
  EXPECT_THAT(fault(program, places_of(program, {0, kBytes})),
              HasSubstr("value 3 (b) is read before it is written"));
}

TEST(VerifyValues, FindsAWriteToAnArgument) {
  SlotProgram program = two_temporaries();
  std::vector<Range> places = places_of(program, {0, kBytes});
  places[2] = argument(1);
  EXPECT_THAT(fault(program, places), HasSubstr("value 2 (a) is an argument or a constant"));
}

// A donated argument may lie where its output is written, if it is read before.
TEST(VerifyValues, FindsADonatedArgumentThatIsReadTooLate) {
  SlotProgram program = two_temporaries();
  program.code = {copy(0, 4), copy(1, 3), copy(3, 5)};
  std::vector<Range> places = places_of(program, {0, kBytes});
  EXPECT_EQ(fault(program, places, {{1, 1, true}}), "");
  program.code = {copy(0, 3), copy(3, 5), copy(1, 4)};
  EXPECT_THAT(fault(program, places, {{1, 1, true}}),
              HasSubstr("value 1 (y) is overwritten by value 5 (v)"));
}

SlotProgram in_a_loop(const Code& body) {
  SlotProgram program = two_temporaries();
  Instr loop;
  loop.kind = Instr::Kind::kWhile;
  loop.blocks = {{}, body};
  loop.trip_count = 3;
  program.code = {copy(0, 2), copy(1, 3)};
  program.code.push_back(std::move(loop));
  program.code.push_back(copy(3, 4));
  program.code.push_back(copy(3, 5));
  program.slots.push_back(slot("t"));
  return program;
}

// The second round misses what the first one has overwritten.
TEST(VerifyValues, FindsAValueThatOnlyTheNextRoundMisses) {
  SlotProgram program = in_a_loop({copy(2, 3), copy(1, 6)});
  EXPECT_EQ(fault(program, places_of(program, {0, kBytes, 2 * kBytes})), "");
  EXPECT_THAT(fault(program, places_of(program, {0, kBytes, 0})),
              HasSubstr("value 2 (a) is overwritten by value 6 (t)"));
}

TEST(VerifyValues, FindsAValueThatOneBranchOnlyWrites) {
  SlotProgram program = two_temporaries();
  Instr branches;
  branches.kind = Instr::Kind::kCase;
  branches.blocks = {{copy(0, 2)}, {copy(1, 2)}};
  program.code = {branches, copy(2, 4), copy(2, 5)};
  EXPECT_EQ(fault(program, places_of(program, {0, kBytes})), "");
  program.code[0].blocks[1] = {copy(1, 3)};
  EXPECT_THAT(fault(program, places_of(program, {0, kBytes})),
              HasSubstr("value 2 (a) is read before it is written"));
}

}  // namespace
}  // namespace tuff

// Copies of operands: which are kept, within what budget, and what the machine has.
#include "backend/cpu/derived_operand.h"

#include <gtest/gtest.h>

#include "ir/support/mapped_files.h"
#include "tests/unit/weights/files.h"

namespace tuff::test {
namespace {

using cpu::DerivedKind;
using cpu::DerivedOperand;
using cpu::DerivedOwner;
using cpu::MachineMemory;

constexpr int64_t kGibi = int64_t{1} << 30;

int64_t kept_bytes(const DerivedOwner& owner) {
  int64_t bytes = 0;
  for (int64_t kind : owner.kept()) bytes += kind;
  return bytes;
}

// Whether there is memory for a copy of this version, which is then set.
bool makes(DerivedOperand& operand, uint64_t version) {
  DerivedOperand::Use use = operand.use(version);
  if (use.bytes != nullptr) operand.set(version);
  return use.bytes != nullptr;
}

TEST(DerivedOperand, WhatChangesIsNotCopiedEachTime) {
  DerivedOwner owner(kGibi);
  DerivedOperand operand(owner, DerivedKind::kPanels, 64);
  EXPECT_FALSE(makes(operand, 0));
  EXPECT_TRUE(makes(operand, 1) && makes(operand, 1) && operand.holds(1));
  EXPECT_EQ(kept_bytes(owner), 64);
  EXPECT_FALSE(makes(operand, 2) || operand.holds(1));
  EXPECT_EQ(kept_bytes(owner), 0);
  EXPECT_FALSE(makes(operand, 3));
  EXPECT_TRUE(makes(operand, 3));
}

TEST(DerivedOperand, FactorsArePartOfTheContents) {
  DerivedOwner owner(kGibi);
  DerivedOperand operand(owner, DerivedKind::kPanels, 64);
  DerivedOperand::Use use = operand.use(1);
  operand.set(1, {2, 3});
  EXPECT_TRUE(operand.holds(1, {2, 3}));
  EXPECT_FALSE(operand.holds(1, {2, 4}));
  EXPECT_FALSE(operand.holds(1));
}

TEST(DerivedOwner, ALimitHoldsForAllTogether) {
  DerivedOwner owner(100);
  DerivedOperand first(owner, DerivedKind::kPanels, 60);
  {
    DerivedOperand second(owner, DerivedKind::kBf16Parts, 50);
    EXPECT_TRUE(makes(first, 1));
    EXPECT_FALSE(makes(second, 1));
    EXPECT_EQ(owner.planned()[static_cast<size_t>(DerivedKind::kBf16Parts)], 50);
    EXPECT_EQ(kept_bytes(owner), 60);
    EXPECT_FALSE(makes(first, 2));  // gives it back
    EXPECT_TRUE(makes(second, 1));
  }
  EXPECT_EQ(kept_bytes(owner), 0);
  PackedList list = cpu::packed_list(owner.planned());
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].kind, "panels");
  EXPECT_EQ(list[0].bytes, 60);
}

TEST(DerivedOwner, LeavesRoomOnTheMachine) {
  auto fits = [](int64_t size_bytes, int64_t promised_bytes) {
    DerivedOwner owner(std::nullopt, [] { return MachineMemory{8000, 3000}; });
    owner.promise(promised_bytes);
    DerivedOperand operand(owner, DerivedKind::kPanels, size_bytes);
    return makes(operand, 1);
  };
  EXPECT_TRUE(fits(2000, 0));  // an eighth of it all is left
  EXPECT_FALSE(fits(2001, 0));
  EXPECT_TRUE(fits(1500, 500));
  EXPECT_FALSE(fits(1501, 500));
  mapped_file_bytes += 700;  // the system calls that free
  EXPECT_TRUE(fits(1300, 0));
  EXPECT_FALSE(fits(1301, 0));
  mapped_file_bytes -= 700;
}

TEST(DerivedOwner, CopiesMakeRoomForWhatHasToBeThere) {
  constexpr int64_t kSize = int64_t{100} << 20;
  DerivedOwner owner(kGibi, [] { return MachineMemory{0, kSize}; });
  DerivedOperand oldest(owner, DerivedKind::kPanels, kSize);
  DerivedOperand used(owner, DerivedKind::kPanels, kSize);
  DerivedOperand newest(owner, DerivedKind::kPanels, kSize);
  EXPECT_TRUE(makes(newest, 1) && makes(used, 1) && makes(oldest, 1));
  EXPECT_TRUE(makes(used, 1) && makes(newest, 1));
  DerivedOperand::Use use = used.use(1);
  owner.make_room(kSize);  // there is as much
  EXPECT_EQ(kept_bytes(owner), 3 * kSize);
  owner.make_room(kSize + 1);
  EXPECT_EQ(kept_bytes(owner), 2 * kSize);
  EXPECT_FALSE(oldest.holds(1));
  EXPECT_TRUE(newest.holds(1));
  owner.make_room(10 * kSize);
  EXPECT_EQ(kept_bytes(owner), kSize);
  EXPECT_TRUE(used.holds(1));
}

// Files of a system that is made up.
class MachineMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("proc/meminfo", "MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable:  3000 kB\n");
  }
  void write(const std::string& path, const std::string& text) { folder_.write(path, text); }
  void expect(int64_t total_kib, int64_t free_kib) {
    MachineMemory memory = cpu::machine_memory(folder_.path());
    EXPECT_EQ(memory.total_bytes, total_kib * 1024);
    EXPECT_EQ(memory.free_bytes, free_kib * 1024);
  }
  TemporaryFolder folder_;
};

TEST_F(MachineMemoryTest, WithoutGroups) { expect(8000, 3000); }

TEST_F(MachineMemoryTest, TheTightestGroupAround) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.current", "512000\n");
  write("sys/fs/cgroup/a/memory.max", "2048000\n");
  write("sys/fs/cgroup/a/memory.current", "1024000\n");
  write("sys/fs/cgroup/a/memory.stat", "anon 1\nfile 307200\nshmem 204800\n");
  expect(2000, 1100);
}

TEST_F(MachineMemoryTest, AGroupThatIsTheRoot) {
  write("proc/self/cgroup", "0::/../not/here\n");
  write("sys/fs/cgroup/memory.max", "2048000\n");
  write("sys/fs/cgroup/memory.current", "1024000\n");
  expect(2000, 1000);
}

TEST_F(MachineMemoryTest, Version1) {
  write("proc/self/cgroup", "4:cpu,memory:/a\n1:name=systemd:/b\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1024000\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "2048000\n");
  expect(1000, 0);
}

TEST(MemorySize, Units) {
  auto size = [](const std::string& text) {
    Result<int64_t> bytes = cpu::parse_memory_size(text);
    return bytes.ok() ? *bytes : -1;
  };
  EXPECT_EQ(size("0"), 0);
  EXPECT_EQ(size("4096"), 4096);
  EXPECT_EQ(size("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(size("1.5G"), int64_t{3} << 29);
  EXPECT_EQ(size("2kb"), 2048);
  for (const char* text : {"", "MiB", "-1", "1 MiB", "3XiB", "1kk", "nan", "inf", "1e40", "9e18k"})
    EXPECT_EQ(size(text), -1) << text;
}

}  // namespace
}  // namespace tuff::test

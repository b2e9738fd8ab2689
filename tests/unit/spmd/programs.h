// Programs for several devices, read, run in parts and compared with the whole.
#pragma once

#include <string>

#include "ir/spmd/partition.h"
#include "ir/spmd/segments.h"

namespace tuff {

// A module for a mesh of so many devices along "x" with one function, whose arguments and results
// may say where they are: "{X2}" is the first of two dimensions spread.
Result<WholeProgram> read_spread(std::string function, int64_t devices);

// The program that the parts ran, which agreed with the whole. For ASSERT_NO_FATAL_FAILURE.
void run_and_compare(const Result<WholeProgram>& whole, SegmentedProgram* program);

// "all_reduce 4x6xf32, ...": in the order of the program.
std::string exchanges_of(const SegmentedProgram& program);

}  // namespace tuff

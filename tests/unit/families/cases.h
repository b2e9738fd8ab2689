// Graphs that each kernel family must compute as the reference evaluator does.
// Arguments are small integers whatever their type, so that sums are exact in any
// order: f32 in [-4, 4], integers in [-3, 9].
#pragma once

#include <string>
#include <vector>

namespace tuff::test {

struct FamilyCase {
  std::string name;
  std::string graph;
};

std::vector<FamilyCase> update_cases();
std::vector<FamilyCase> window_cases();
std::vector<FamilyCase> scatter_cases();
std::vector<FamilyCase> sort_cases();
std::vector<FamilyCase> control_cases();
std::vector<FamilyCase> library_cases();
std::vector<FamilyCase> rows_cases();
std::vector<FamilyCase> matmul_cases();
std::vector<FamilyCase> load_cases();
std::vector<FamilyCase> byte_cases();
// Loops over rows that are one kernel on a Vulkan device, and such as are not.
std::vector<FamilyCase> row_loop_cases();
std::vector<FamilyCase> near_row_loop_cases();

}  // namespace tuff::test

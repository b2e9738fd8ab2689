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

}  // namespace tuff::test

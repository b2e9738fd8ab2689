// The processes of one program get to know each other.
#pragma once

#include <string>
#include <vector>

#include "frontend/pjrt/ranks/key_values.h"

namespace tuff::pjrt {

// What a process says of itself.
struct RankInfo {
  std::string host, machine, address, engine;
  std::vector<std::string> devices;  // their descriptions
};

// The infos of all ranks, by rank. `own` is this one's, or why it cannot take part, which the
// others hear, too. Keys begin with `prefix`. Errors: what makes a rank unable, ranks of another
// version or with another engine, and ranks that do not come, each named.
Result<std::vector<RankInfo>> meet_ranks(const KeyValues& store, const std::string& prefix,
                                         int rank, int size, const Result<RankInfo>& own);

// By which other ranks reach this one: the loopback interface where all are on one machine.
// Errors: kUsage where there is no other.
Result<std::string> address_for_ranks(const std::vector<RankInfo>& infos, int rank);

}  // namespace tuff::pjrt

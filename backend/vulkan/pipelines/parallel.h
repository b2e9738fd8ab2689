// Independent pieces of work on all cores.
#pragma once

#include <functional>

#include "ir/support/result.h"

namespace tuff {

// Calls work(i) for i in [0, count) on up to one thread per core, fewer where the system
// refuses threads. The error of the lowest i that failed or threw, if any; once one failed,
// later ones may be left out.
Status parallel_for(size_t count, const std::function<Status(size_t)>& work);

}  // namespace tuff
